"""Nothing that an experiment fits depends on its test images or test labels; its figures do. On generated data."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

from experiments import (
    all_methods,
    isbi2012,
    isbi_patches,
    low_rank,
    mnist_digits,
    rotated_images,
    rotated_mnist,
    sample_complexity,
    tangent_digits,
    tangent_faces,
    yale_faces,
)
from invariance import tradeoff
from invariance.datasets import Dataset, make_membranes
from invariance.hierarchies import NeuralResponse
from invariance.tradeoff import TradeoffClassifier
from tests.experiments.poison import check_only_tested_on, watch_fits

N_PEOPLE, N_IMAGES = 15, 11


def noise(shape, seed=9):
    return np.random.default_rng(seed).integers(0, 256, shape, np.uint8)


def nearest(seed=0):
    """A classifier that fits at once and is good enough."""
    return make_pipeline(FunctionTransformer(lambda images: images.reshape(len(images), -1)), KNeighborsClassifier(1))


@pytest.fixture(scope="module")
def sections():
    """24 sections of membranes, as many as the experiments use."""
    data = make_membranes(24, (48, 48), random_state=0)
    return replace(data, images=np.round(255 * data.images).astype(np.uint8))


def poison_sections(data, which):
    """The data with other images, and with other masks, of some sections."""
    images, masks = data.images.copy(), data.masks.copy()
    images[list(which)] = noise(images[list(which)].shape)
    masks[list(which)] ^= True
    return replace(data, images=images), replace(data, masks=masks)


def grey_values(image, rows, cols):
    """A pixel by its own grey value and that of its neighbour."""
    return np.stack([image[rows, cols], image[rows - 1, cols]], axis=1)


def test_patches_of_test_sections_are_only_tested_on(sections, monkeypatch):
    fits = watch_fits(monkeypatch, RandomForestClassifier)
    methods = {"forest": (None, grey_values, lambda seed: RandomForestClassifier(5, random_state=seed))}

    def run(data):
        monkeypatch.setattr(isbi_patches, "load_isbi2012", lambda: data)
        return isbi_patches.run(2, methods, shrink=100)[0].figures

    check_only_tested_on(run, fits, sections, *poison_sections(sections, range(18, 24)))


@pytest.mark.parametrize("part", isbi2012.PARTS)
def test_test_sections_are_only_tested_on(part, sections):
    fits, plan = [], isbi2012.FULL

    def train(images, masks, n_pixels, seed):
        fits.append((images.tobytes(), masks.tobytes(), n_pixels, seed))
        return lambda image: np.clip(1 - image / 255, 0, 1)  # dark is membrane

    def run(data):
        return [found.error for found in isbi2012.PARTS[part](data, plan, methods={"witness": train})]

    check_only_tested_on(run, fits, sections, *poison_sections(sections, plan.test))


@pytest.fixture(scope="module")
def faces():
    """Images of fifteen people, 16 pixels wide: one random image per person and noise."""
    rng = np.random.default_rng(0)
    people = rng.integers(60, 180, (N_PEOPLE, 1, 16, 16))
    images = (people + rng.integers(-60, 60, (N_PEOPLE, N_IMAGES, 16, 16))).reshape(-1, 16, 16)
    return Dataset("faces", images.astype(np.uint8), np.repeat(np.arange(N_PEOPLE), N_IMAGES))


@pytest.fixture
def split(faces, monkeypatch):
    """The test images of the only split; it stays as it is when labels are poisoned."""
    training, test = yale_faces.draw_split(faces.labels, 0)
    for module in (yale_faces, tangent_faces):
        monkeypatch.setattr(module, "draw_split", lambda labels, seed: (training, test))
    return test


def poison_images(data, test):
    """The data with other images, and with other labels, of the test images."""
    images, labels = data.images.copy(), data.labels.copy()
    images[test] = noise(images[test].shape)
    labels[test] = (labels[test] + 1) % (labels.max() + 1)
    return replace(data, images=images), replace(data, labels=labels)


def test_test_faces_are_only_tested_on_by_jungles(faces, split, monkeypatch):
    fits = watch_fits(monkeypatch, KNeighborsClassifier)

    def run(data):
        monkeypatch.setattr(yale_faces, "load_yale", lambda size: data)
        return yale_faces.run(1, {"nearest": (None, nearest)})[0].figures

    check_only_tested_on(run, fits, faces, *poison_images(faces, split))


def test_test_faces_are_only_tested_on_by_kernels(faces, split, monkeypatch):
    monkeypatch.setattr(tangent_digits, "N_HELD_OUT", 1)
    fits = watch_fits(monkeypatch, SVC)
    methods = {name: tangent_faces.METHODS[name] for name in ("RBF", "jittered, shifts")}

    def run(data):
        monkeypatch.setattr(tangent_faces, "load_yale", lambda size: data)
        return [row.mean for rows in tangent_faces.run(1, methods=methods).values() for row in rows]

    check_only_tested_on(run, fits, faces, *poison_images(faces, split))


@pytest.fixture(scope="module")
def digits():
    """{"train": ..., "test": ...}, upright and lying bars with noise."""

    def draw(n, seed):
        rng = np.random.default_rng(seed)
        images, labels = rng.integers(0, 90, (n, 12, 12)), np.arange(n) % 2
        for image, label, place in zip(images, labels, rng.integers(3, 9, n), strict=True):
            (image if label else image.T)[place, 2:10] += 70
        return Dataset("bars", images.astype(np.uint8), labels)

    return {"train": draw(60, 0), "test": draw(40, 1)}


def poison_digits(digits):
    everything = np.arange(len(digits["test"].labels))
    return tuple({**digits, "test": poisoned} for poisoned in poison_images(digits["test"], everything))


def test_test_digits_are_only_tested_on_by_jungles(digits, monkeypatch):
    fits = watch_fits(monkeypatch, KNeighborsClassifier)
    monkeypatch.setattr(mnist_digits, "METHODS", {"nearest": nearest})

    def run(data):
        monkeypatch.setattr(mnist_digits, "load_mnist", lambda part: data[part])
        return mnist_digits.run(2, n_training=20)[0].figures

    check_only_tested_on(run, fits, digits, *poison_digits(digits))


def test_turned_test_digits_are_only_tested_on(digits, monkeypatch):
    fits = watch_fits(monkeypatch, KNeighborsClassifier)
    monkeypatch.setattr(rotated_mnist, "METHODS", {"nearest": nearest})

    def run(data):
        monkeypatch.setattr(rotated_mnist, "load_mnist", lambda part: data[part])
        return rotated_mnist.run(2, sizes=(20,))[0].outcomes[0].figures

    check_only_tested_on(run, fits, digits, *poison_digits(digits))


def test_test_digits_are_only_tested_on_by_kernels(digits, monkeypatch):
    monkeypatch.setattr(tangent_digits, "N_HELD_OUT", 1)
    fits = watch_fits(monkeypatch, SVC)
    names = ("RBF", "virtual, shifts", "tangent vectors, product", "tangent distance two-sided, SVM, clipped")
    methods = {name: tangent_digits.METHODS[name] for name in names}

    def run(data):
        monkeypatch.setattr(tangent_digits, "load_mnist", lambda part="train": data[part])
        return [row.mean for row in tangent_digits.run(1, None, methods, sizes=(20,))[20]]

    check_only_tested_on(run, fits, digits, *poison_digits(digits))


N_TESTED = 7


@pytest.fixture
def shifted_digits(monkeypatch):
    """Eight classes of random images in place of MNIST, and few templates."""
    rng = np.random.default_rng(0)
    labels = np.tile(sample_complexity.DIGITS, 40)
    images = rng.integers(0, 150, (10, 28, 28))[labels] + rng.integers(0, 100, (len(labels), 28, 28))
    data = Dataset("digits", images.astype(np.uint8), labels)
    monkeypatch.setattr(sample_complexity, "load_mnist", lambda: data)
    for module in (sample_complexity, low_rank):
        for name, value in {"N_TEMPLATES": 12, "N_TEMPLATE_IMAGES": 80, "N_TEST": N_TESTED}.items():
            monkeypatch.setattr(module, name, value, raising=False)


def poisoned_draw(draw, kind):
    """`Digits.draw` whose test images, known by their number, are poisoned."""

    def drawn(self, n_each):
        images, labels = draw(self, n_each)
        if n_each == N_TESTED and kind == "images":
            images = np.float32(noise(images.shape) / 255)
        if n_each == N_TESTED and kind == "labels":
            labels = np.roll(labels, 1)
        return images, labels

    return drawn


FEW_COMPONENTS = low_rank.Experiment(3, {"pca": low_rank.Method("2 layers", "pca", (5,))})


@pytest.mark.parametrize(
    "experiment",
    [
        lambda: [curve.rates for curve in sample_complexity.run(2, ("2 layers", "2 layers, attended"), (1, 3))],
        lambda: [curve.rates for curve in low_rank.run(2, FEW_COMPONENTS)],
    ],
    ids=["sample_complexity", "low_rank"],
)
def test_test_digits_are_only_tested_on_by_hierarchies(experiment, shifted_digits, monkeypatch):
    fits = watch_fits(monkeypatch, NeuralResponse)
    classify, draw = sample_complexity.classify, sample_complexity.Digits.draw

    def watched(training, labels, test, test_labels):
        fits.append((training.tobytes(), labels.tobytes()))
        return classify(training, labels, test, test_labels)

    monkeypatch.setattr(sample_complexity, "classify", watched)

    def run(kind):
        monkeypatch.setattr(sample_complexity.Digits, "draw", poisoned_draw(draw, kind))
        return experiment()

    check_only_tested_on(run, fits, "nothing", "images", "labels")


def test_rotated_images_are_only_searched_for(monkeypatch):
    fits, draw_trial = watch_fits(monkeypatch, NeuralResponse), rotated_images.draw_trial
    monkeypatch.setattr(rotated_images, "N_EACH", 6)
    monkeypatch.setattr(rotated_images, "N_TEMPLATES", 12)
    labels = np.repeat([0, 1, 2], 12)
    photos = rotated_images.Images(np.float32(noise((36, 24, 24)) / 255), labels, (8, 16), 1)

    def run(is_poisoned):
        def draw(images, labels, seed):
            trial = draw_trial(images, labels, seed)
            return trial._replace(rotated=np.roll(trial.rotated, 5, axis=0)) if is_poisoned else trial

        monkeypatch.setattr(rotated_images, "draw_trial", draw)
        return [row.figures for row in rotated_images.run(2, ("histogram",), {"photos": lambda: photos})["photos"]]

    check_only_tested_on(run, fits, False, True)


def test_test_images_are_only_tested_on_by_methods_together(digits, monkeypatch):
    fits = watch_fits(monkeypatch, TradeoffClassifier)
    for module in (all_methods, tradeoff.classifier):
        monkeypatch.setattr(module, "default_kernels", lambda *args, **named: tradeoff.default_kernels()[:2])

    def run(data):
        training, test = data["train"].take(slice(20)), data["test"].take(slice(10))
        drawn = all_methods.Draw(training.images / 255, training.labels, test.images / 255, test.labels)
        tables = all_methods.run(1, {"bars": lambda seed: drawn}, {"all, learned weights": {}})
        return [row.mean for row in tables["bars"]]

    check_only_tested_on(run, fits, digits, *poison_digits(digits))


@pytest.mark.parametrize("leak", ["fit on test labels", "fit on test images", "test on training images"])
def test_the_check_fails_where_there_is_a_leak(leak):
    fits = []

    def run(data):
        training, test, labels = data
        fits.append({"fit on test labels": labels, "fit on test images": test}.get(leak, training))
        return [training if leak == "test on training images" else test + labels]

    check = lambda: check_only_tested_on(run, fits, (1, 2, 3), (1, 5, 3), (1, 2, 5))  # noqa: E731
    with pytest.raises(AssertionError, match="figures do not" if "training" in leak else "fitted depends"):
        check()
