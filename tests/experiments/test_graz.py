"""Bikes among other images: the draws, what is learned from what, and the experiments on a few images."""

import os
from base64 import b64decode

import numpy as np
import pytest
import tifffile
from matplotlib.figure import Figure

from experiments import graz02, word_maps
from experiments.catalogue import EXPERIMENTS
from experiments.results import as_json, from_json, perform
from invariance.codebooks import ClusteringForest
from invariance.datasets import load_graz02
from tests.experiments.poison import check_only_tested_on, watch_fits

needs_data = pytest.mark.skipif("INVARIANCE_DATA" not in os.environ, reason="INVARIANCE_DATA is not set")


def test_training_and_test_images_are_different_ones(monkeypatch):
    monkeypatch.setattr(graz02, "N_EACH", 5)
    classes = [[f"bike {i}" for i in range(12)], [f"car {i}" for i in range(11)]]
    drawn = graz02.draw(classes, seed=0)
    assert len(drawn.training) == len(drawn.test) == len(drawn.labels) == len(drawn.test_labels) == 10
    assert not set(drawn.training) & set(drawn.test)
    assert [name.startswith("car") for name in drawn.training] == (drawn.labels == 1).tolist()
    assert [name.startswith("car") for name in drawn.test] == (drawn.test_labels == 1).tolist()
    assert graz02.draw(classes, seed=1).training != drawn.training


def draw_noise(n_each, seed, shift=0.25):
    """Dark and bright noise of 24 x 24."""
    rng = np.random.default_rng(seed)
    labels = np.repeat([0, 1], n_each)
    return [rng.random((24, 24)).astype(np.float32) * (1 - shift * label) for label in labels], labels


READINGS = {"": graz02.NORMALIZATIONS, ", information": ("information",), ", vote": (graz02.VOTE,)}


@pytest.fixture(scope="module")
def drawn():
    return graz02.Draw(*draw_noise(12, 0), *draw_noise(12, 1))


def test_poisoned_test_images_and_labels_change_nothing_that_is_learned():
    drawn = graz02.Draw(*draw_noise(12, 0, 0.06), *draw_noise(12, 1, 0.06))  # so alike that there are errors
    candidates = tuple(ClusteringForest(2, n_leaves=20, max_trials=n) for n in (1, 20))
    words = graz02.Words(candidates, readings=READINGS)
    clean = graz02.judge(words, drawn, 50, 0)
    for poisoned in (
        drawn._replace(test_labels=1 - drawn.test_labels),
        drawn._replace(test=[1 - image for image in drawn.test]),
        drawn._replace(test=drawn.training, test_labels=drawn.labels),
    ):
        other = graz02.judge(words, poisoned, 50, 0)
        for name in READINGS:
            ours, theirs = clean[name].fitted, other[name].fitted
            assert ours.reading == theirs.reading
            assert ours.bag.codebook_.max_trials == theirs.bag.codebook_.max_trials
            for tree, same in zip(ours.bag.codebook_.trees_, theirs.bag.codebook_.trees_, strict=True):
                np.testing.assert_array_equal(tree.threshold, same.threshold)
            if ours.svm is not None:
                np.testing.assert_array_equal(ours.svm.coef_, theirs.svm.coef_)
            if ours.reading == "information":
                np.testing.assert_array_equal(ours.bag.thresholds_, theirs.bag.thresholds_)
        assert [found.rate for found in other.values()] != [found.rate for found in clean.values()]


def test_what_is_chosen_is_best_on_held_out_training_images(drawn):
    """Candidates and normalizations by a direct search over the training images."""
    candidates = tuple(ClusteringForest(3, n_leaves=n) for n in (1, 30))
    fitted = graz02.fit(graz02.Words(candidates), drawn.training, drawn.labels, 50, 0)[""]
    assert fitted.bag.codebook_.n_leaves == 30  # one leaf says nothing
    is_held = np.arange(24) % 3 == 0
    counts = fitted.bag.count(drawn.training)
    rates = {}
    for reading in graz02.NORMALIZATIONS:
        half = graz02.learn(fitted.bag, reading, counts[~is_held], drawn.labels[~is_held])
        rates[reading] = graz02.rate(half, counts[is_held], drawn.labels[is_held])
    assert fitted.reading == max(rates, key=lambda reading: rates[reading])


def test_every_reading_learns_to_tell_bright_from_dark_noise(drawn):
    judged = graz02.judge(graz02.Words(ClusteringForest(3, n_leaves=30), readings=READINGS), drawn, 100, 0)
    assert all(found.rate > 85 for found in judged.values())  # chance is 50
    for rate, hits, _ in judged.values():
        assert np.all(np.diff(hits) >= 0)
        assert hits[-1] == 100
        assert np.interp(100 - rate, graz02.FALSE_ALARMS, hits) == pytest.approx(rate, abs=6)


def test_a_roc_curve_is_read_at_given_false_alarms():
    labels = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    scores = np.array([1, 2, 3, 6, 4, 5, 7, 8])
    np.testing.assert_allclose(graz02.hits_at((0, 25, 100), labels, scores), [50, 100, 100])


def test_of_near_identical_images_the_first_is_kept(tmp_path):
    from PIL import Image

    rng = np.random.default_rng(0)
    scenes = [rng.integers(0, 256, (6, 8, 3), np.uint8).repeat(12, axis=0).repeat(12, axis=1) for _ in range(3)]
    brighter = np.minimum(scenes[0].astype(int) + 8, 255).astype(np.uint8)
    paths = [tmp_path / f"{i}.png" for i in range(4)]
    for path, scene in zip(paths, [scenes[0], scenes[1], brighter, scenes[2]], strict=True):
        Image.fromarray(scene).save(path)
    assert graz02.without_twins(paths) == [paths[0], paths[1], paths[3]]


@needs_data
def test_near_identical_bikes_are_left_out():
    kept = graz02.TASKS["bikes or cars"]()
    assert [len(load_graz02([name])) - len(paths) for name, paths in zip(("bikes", "cars"), kept, strict=True)] == [
        6,
        0,
    ]


@needs_data
def test_digits_that_look_alike_are_told_apart_by_their_words(monkeypatch):
    monkeypatch.setattr(graz02, "N_EACH", 40)
    codebooks = {"quick": graz02.Words(ClusteringForest(2, n_leaves=200))}
    tables = graz02.run(1, 200, codebooks, {"fours or nines": graz02.TASKS["fours or nines"]})
    [row] = tables["fours or nines"]
    assert np.all(row.outcome.figures > 70)  # chance is 50


QUICK = [name for name, experiment in EXPERIMENTS.items() if name.startswith("graz02") and experiment.run]


@needs_data
@pytest.mark.data
@pytest.mark.parametrize("name", [*QUICK, "word_maps"])
def test_every_experiment_rehearses(name, monkeypatch):
    monkeypatch.setattr(graz02, "N_EACH", 12)
    result = perform(EXPERIMENTS[name], is_quick=True)
    again = from_json(as_json(result))
    titles = {table.title: [row.method for row in table.outcomes] for table in again.found.tables}
    assert all(np.all(np.isfinite(row.figures)) for table in again.found.tables for row in table.outcomes)
    assert titles
    if name == "graz02":
        [roc] = again.found.plots
        assert roc.curves[0].places == graz02.FALSE_ALARMS
    if name == "word_maps":
        assert all(b64decode(drawing.png).startswith(b"\x89PNG") for drawing in again.found.drawings)
        assert len(again.found.drawings) == 2


@needs_data
def test_marked_windows_reach_leaves_of_bikes_only(monkeypatch):
    monkeypatch.setattr(graz02, "N_EACH", 6)
    drawn = graz02.draw(graz02.TASKS["bikes or cars"](), 0)
    bag = word_maps.learn_words(drawn, 0)
    image = np.asarray(load_graz02(["bikes"]).images[0])
    windows, n_unmixed = word_maps.mark_windows(bag, image, word_maps.BIKES, 100)
    words = bag.codebook_.transform(bag.descriptor_.extract(image, windows)[0])
    shares = bag.codebook_.posteriors_[words, word_maps.BIKES]
    np.testing.assert_array_equal(n_unmixed, (shares == 1).sum(axis=1))


def write_photographs(folder, test, seed):
    """Files of dark noise and of bright spots, 24 x 24 pixels; those of the rows `test` are of another seed."""
    folder.mkdir()
    for label in (0, 1):
        for place in range(12):
            rng = np.random.default_rng((seed if place in test[label] else 0, label, place))
            image = rng.integers(0, 120, (24, 24), np.uint8)
            image[::3, :: 2 + label] += np.uint8(100 * label)
            tifffile.imwrite(folder / f"{label}-{place}.tif", image)
    return [[folder / f"{label}-{place}.tif" for place in range(12)] for label in (0, 1)]


def test_test_images_of_word_maps_are_only_looked_at(tmp_path, monkeypatch):
    monkeypatch.setattr(graz02, "N_EACH", 6)
    for name in ("draw_maps", "draw_words"):
        monkeypatch.setattr(word_maps, name, lambda *_: Figure())
    places = [list(range(12)), list(range(12))]
    drawn, draw = graz02.draw(places, 0), graz02.draw
    test = [drawn.test[:6], drawn.test[6:]]
    fits = watch_fits(monkeypatch, ClusteringForest)

    def run(data):
        classes, is_flipped = data
        monkeypatch.setitem(graz02.TASKS, "bikes or cars", lambda: classes)

        def flipped(classes, seed):
            found = draw(classes, seed)
            return found._replace(test_labels=1 - found.test_labels) if is_flipped else found

        monkeypatch.setattr(graz02, "draw", flipped)
        rows, _ = word_maps.run(1, 0, 6, 60, 2)
        return [row.mean for row in rows]

    clean = write_photographs(tmp_path / "clean", test, 0)
    other = write_photographs(tmp_path / "other", test, 5)
    check_only_tested_on(run, fits, (clean, False), (other, False), (clean, True))
