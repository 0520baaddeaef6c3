"""Nothing that the experiments on flowers, objects and textures fit depends on their test images or test labels.

Each experiment is run on generated images twice, the second time with its test images or test labels replaced by
garbage. Words, distances between training images, labels and weights must be the same, bit for bit.
"""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import tifffile
from scipy import ndimage
from sklearn.base import clone
from sklearn.svm import SVC

from experiments import caltech_objects, flowers17, pair_weights, uiuc_textures
from experiments.peers.block_l1 import BlockL1Classifier
from invariance.codebooks import BagOfFeatures, KMeansCodebook, histogram_distances
from invariance.datasets import Dataset
from invariance.descriptors import ColourGrid, GradientPyramid, PatchGrid
from invariance.tradeoff import TradeoffClassifier
from tests.experiments.fitted import are_equal, watch_fits

N_EACH, N_CLASSES = 22, 3
TINTS = np.array([[0.9, 0.5, 0.5], [0.5, 0.9, 0.5], [0.5, 0.5, 0.9]])


def words(n_words, step):
    return BagOfFeatures(KMeansCodebook(n_words), ColourGrid(step, step), normalization="sum", random_state=0)


TRANSFORMERS = {"colour": words(6, 4), "fine colour": words(10, 3), "edges": GradientPyramid(levels=2)}
TEXTURES = {
    "patch": uiuc_textures.Entry(PatchGrid(5, step=4)),
    "small patch": uiuc_textures.Entry(PatchGrid(3, step=4)),
    "columns": uiuc_textures.Entry(uiuc_textures.ShapeColumns()),
}
MEASURES = {name: caltech_objects.by_pyramids(transformer) for name, transformer in TRANSFORMERS.items()}


def draw_photographs():
    """66 images of blurred noise in three tints and stripes; 15 per class are for training, the others for testing."""
    labels = np.repeat(np.arange(N_CLASSES), N_EACH)
    noise = np.random.default_rng(0).standard_normal((len(labels), 32, 40, 3))
    images = np.clip(0.5 + 3 * ndimage.gaussian_filter(noise, (0, 3, 3, 0)), 0, 1) * TINTS[labels][:, None, None]
    images *= 0.7 + 0.3 * np.sin(np.arange(40) * np.array([0.4, 0.8, 1.6])[labels, None])[:, None, :, None]
    is_training = np.arange(len(labels)) % N_EACH < 15
    splits = {"train1": np.flatnonzero(is_training), "test1": np.flatnonzero(~is_training)}
    return Dataset("made", images.astype(np.float32), labels, class_names=("a", "b", "c"), splits=splits)


def poison(data, what):
    """The data with test images of black and white pixels, or with wrong test labels."""
    images, labels, test = data.images.copy(), data.labels.copy(), data.splits["test1"]
    if "images" in what:
        images[test] = np.random.default_rng(1).integers(0, 2, images[test].shape)
    if "labels" in what:
        labels[test] = (labels[test] + 1) % N_CLASSES
    return replace(data, images=images, labels=labels)


@pytest.fixture
def fitted(monkeypatch):
    """Everything that is fitted during a test, in order."""
    kinds = {KMeansCodebook: "words_", TradeoffClassifier: "weights_", BlockL1Classifier: "weights_", SVC: "support_"}
    return watch_fits(monkeypatch, kinds)


def run_flowers(data, monkeypatch):
    monkeypatch.setattr(flowers17, "load_flowers17", lambda: data)
    return flowers17.run((1,), transformers=TRANSFORMERS)[0]


def run_objects(data, monkeypatch, measures=MEASURES):
    monkeypatch.setattr(caltech_objects, "load_caltech101", lambda classes: data)
    # Classes are drawn by their labels; here the rows are those of the labels that are right.
    monkeypatch.setattr(caltech_objects, "draw", lambda labels, seed: (data.splits["train1"], data.splits["test1"]))
    return caltech_objects.run(["a", "b", "c"], measures=measures)


def as_files(data, folder):
    """The data with paths of grey images that are written into a folder."""
    paths = [folder / f"{number}.tif" for number in range(len(data.labels))]
    for path, image in zip(paths, data.images, strict=True):
        tifffile.imwrite(path, (255 * image.mean(axis=2)).astype(np.uint8))
    return replace(data, paths=tuple(paths))


def run_textures(data, monkeypatch):
    monkeypatch.setattr(uiuc_textures, "N_WORDS", 8)
    rows = data.splits["train1"], data.splits["test1"]
    monkeypatch.setattr(uiuc_textures, "draw_split", lambda labels, seed: rows)
    names = ("the eight, learned, one against one", "the eight, block-l1, one against one")
    combinations = {name: uiuc_textures.COMBINATIONS[name] for name in names}
    with TemporaryDirectory() as folder:
        monkeypatch.setattr(uiuc_textures, "load_uiuc_textures", lambda classes: as_files(data, Path(folder)))
        tables = uiuc_textures.run(1, table=TEXTURES, more={}, combinations=combinations)
    return tables[uiuc_textures.title_of("combined", uiuc_textures.ALL_TEST)]


EXPERIMENTS = {"flowers": run_flowers, "objects": run_objects, "textures": run_textures}


def fit_twice(run, what, fitted, monkeypatch):
    """What was fitted with right and with poisoned test data, and both accuracies in %."""
    runs = []
    for data in (draw_photographs(), poison(draw_photographs(), what)):
        fitted.clear()
        outcomes = run(data, monkeypatch)
        runs.append((list(fitted), {outcome.method: outcome.mean for outcome in outcomes}))
    return runs


@pytest.mark.parametrize("what", [("images",), ("labels",), ("images", "labels")], ids="+".join)
@pytest.mark.parametrize("run", EXPERIMENTS.values(), ids=EXPERIMENTS.keys())
def test_test_data_change_nothing_that_is_fitted(run, what, fitted, monkeypatch):
    (first, accuracies), (second, poisoned) = fit_twice(run, what, fitted, monkeypatch)
    assert len(first) > 20
    assert are_equal(first, second)
    combined = [name for name in accuracies if "machine" not in name and "nearest" not in name and "noise" not in name]
    assert len(combined) >= 2
    for name in combined:  # the poison is where the test data are
        assert accuracies[name] > 80
        assert poisoned[name] < 60


def weigh_flowers(data, monkeypatch):
    for module in (flowers17, pair_weights):
        monkeypatch.setattr(module, "load_flowers17", lambda: data)
    monkeypatch.setattr(flowers17, "PAPERS_THREE", TRANSFORMERS)
    monkeypatch.setattr(pair_weights, "FLOWERS", {("a", "b"): {}, ("b", "c"): {}})
    monkeypatch.setattr(pair_weights, "RELATED", (("a", "b"), ("c", "a")))
    tables, dominant, _ = pair_weights.of_flowers((1,))
    return [*(outcome for rows in tables.values() for outcome in rows), *dominant]


def weigh_textures(data, monkeypatch):
    monkeypatch.setattr(uiuc_textures, "N_WORDS", 8)
    rows = data.splits["train1"], data.splits["test1"]
    monkeypatch.setattr(uiuc_textures, "draw_split", lambda labels, seed: rows)
    monkeypatch.setattr(pair_weights, "TEXTURES", {("a", "b"): {}, ("b", "c"): {}})
    monkeypatch.setattr(pair_weights, "TEXTURES_BY_SIZE", (("a", "c"),))
    table = {f"{level} (made)": entry for level, entry in zip(pair_weights.LEVELS, TEXTURES.values(), strict=False)}
    with TemporaryDirectory() as folder:
        monkeypatch.setattr(pair_weights, "load_uiuc_textures", lambda classes: as_files(data, Path(folder)))
        tables, _ = pair_weights.of_textures(1, table=table, sizes=(3, 5))
    return [outcome for rows in tables.values() for outcome in rows]


@pytest.mark.parametrize("weigh", [weigh_flowers, weigh_textures])
def test_weights_of_pairs_are_learned_without_test_data(weigh, fitted, monkeypatch):
    runs = []
    for data in (draw_photographs(), poison(draw_photographs(), ("images", "labels"))):
        fitted.clear()
        outcomes = weigh(data, monkeypatch)
        runs.append((list(fitted), np.array([outcome.mean for outcome in outcomes])))
    (first, shares), (second, poisoned) = runs
    assert len(first) > 12
    assert are_equal(first, second)
    np.testing.assert_array_equal(shares, poisoned)
    assert len(np.unique(shares)) > 3  # they are learned


def fit_on_all(transformer, training, test):
    """A leak: words of all images."""
    fitted = clone(transformer).fit([*training, *test])
    histograms, test_histograms = fitted.transform(training), fitted.transform(test)
    return histogram_distances(histograms), histogram_distances(test_histograms, histograms)


def leak_in_flowers(data, monkeypatch):
    def measure(transformers, training, labels, test):
        pairs = [fit_on_all(transformer, training, test) for transformer in transformers.values()]
        return np.stack([pair[0] for pair in pairs]), np.stack([pair[1] for pair in pairs])

    monkeypatch.setattr(flowers17, "measure", measure)
    return run_flowers(data, monkeypatch)


def leak_in_objects(data, monkeypatch):
    def by_leak(transformer):
        return lambda training, test: fit_on_all(transformer, training, test)

    return run_objects(data, monkeypatch, {name: by_leak(part) for name, part in TRANSFORMERS.items()})


@pytest.mark.parametrize("run", [leak_in_flowers, leak_in_objects])
def test_words_of_test_images_would_be_noticed(run, fitted, monkeypatch):
    (first, _), (second, _) = fit_twice(run, ("images",), fitted, monkeypatch)
    assert not are_equal(first, second)
