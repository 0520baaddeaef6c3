"""Support vector machines with tangents: what they learn, say, keep and refuse."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.svm import SVC, OneClassSVM

from invariance.models import load, save
from invariance.tangents import JitteredSVC, TangentDistance, TangentOneClassSVM, TangentSVC, TangentVectorKernel
from invariance.transformations import Affine, Brightness, Rotations, Shifts
from tests.tangents.toys import draw_strokes

SIDEWAYS = Affine([[[1, 0, 1], [0, 1, 0]], [[1, 0, -1], [0, 1, 0]]])  # by a pixel
MACHINES = {
    "tangent distance": TangentSVC(),
    "mean": TangentSVC(TangentDistance(Shifts(1), sides="mean", stiffness=0.1), psd_correction="flip"),
    "product": TangentSVC(TangentVectorKernel()),
    "sum": TangentSVC(
        TangentVectorKernel(Rotations(3, limit=15), form="sum", method="difference"), psd_correction="clip"
    ),
    "sum, widths tied": TangentSVC(TangentVectorKernel(Rotations(3, limit=15), form="sum", gamma_w="sigma")),
    "distribution": TangentSVC(TangentVectorKernel(form="distribution"), class_weight="balanced"),
    "jittered": JitteredSVC(SIDEWAYS),
    "jittered over tangents": JitteredSVC(SIDEWAYS, TangentDistance(Rotations()), psd_correction="clip"),
}
every_machine = pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES.keys())
TRAINING, TEST = draw_strokes(16), draw_strokes(35, seed=1)


@pytest.fixture(scope="module")
def three_classes():
    images, labels = draw_strokes(15)
    return np.concatenate([images, images[:10, ::-1] * 0.3 + images[:10] * 0.3]), np.append(labels, np.full(10, 2))


@every_machine
def test_it_is_a_support_vector_machine_on_its_gram_matrix(machine):
    images, labels = TRAINING
    machine = clone(machine).fit(images, labels)
    kernel = clone(machine._unfitted_kernel()).fit(images)
    K = machine.psd_.fit_transform(kernel(images))
    plain = SVC(C=10.0, kernel="precomputed", class_weight=machine.class_weight).fit(K, labels)
    rows = machine.psd_.transform(kernel(TEST[0], images))
    np.testing.assert_allclose(machine.decision_function(TEST[0]), plain.decision_function(rows), atol=1e-4)
    assert machine.score(*TEST) > 0.85


def test_only_what_decides_is_kept():
    machine = TangentSVC(psd_correction=None).fit(*TRAINING)
    assert len(machine.images_) == len(machine.svc_.support_) <= 32
    repaired = TangentSVC(TangentDistance(sigma=4.0), psd_correction="clip").fit(*TRAINING)
    assert repaired.negative_share_ > 0
    assert len(repaired.images_) == 32


def test_tangents_help_where_there_are_few_images():
    """On four strokes of each side, moved at random, against the same machine without tangents."""
    few, test = draw_strokes(4, seed=3), draw_strokes(100, seed=4)
    plain = SVC(C=10.0, gamma="scale").fit(few[0].reshape(8, -1), few[1])
    errors = {
        "none": 1 - plain.score(test[0].reshape(200, -1), test[1]),
        "tangents": 1 - TangentSVC(TangentDistance(Shifts(1))).fit(*few).score(*test),
        "jitters": 1 - JitteredSVC().fit(*few).score(*test),
    }
    assert errors["tangents"] < errors["none"]
    assert errors["jitters"] < errors["none"]


@every_machine
def test_names_are_classes_and_three_of_them_are_as_good_as_two(machine, three_classes):
    images, labels = three_classes
    names = np.array(["left", "right", "both"])[labels]
    machine = clone(machine).fit(images, names)
    np.testing.assert_array_equal(machine.classes_, ["both", "left", "right"])
    assert machine.decision_function(images).shape == (40, 3)
    assert machine.score(images, names) > 0.9


@every_machine
def test_probabilities_are_calibrated(machine, three_classes):
    images, labels = three_classes
    machine = clone(machine).set_params(probability=True).fit(images, labels)
    shares = machine.predict_proba(images)
    assert shares.shape == (40, 3)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert (shares.argmax(axis=1) == labels).mean() > 0.8
    assert not hasattr(clone(machine).set_params(probability=False), "predict_proba")


def test_the_class_is_the_most_probable_one():
    rng = np.random.default_rng(0)
    images, labels = draw_strokes(20)
    images = images + 0.6 * rng.standard_normal(images.shape).astype(np.float32)
    machine = TangentSVC(probability=True).fit(images, np.where(np.arange(40) < 10, 0, labels))
    test = draw_strokes(200, seed=5)[0] + 0.6 * rng.standard_normal((400, 11, 11))
    np.testing.assert_array_equal(machine.predict(test), machine.classes_[machine.predict_proba(test).argmax(axis=1)])


def test_the_class_is_the_one_of_the_largest_decision():
    rng = np.random.default_rng(0)
    machine = TangentSVC(TangentDistance(Shifts(1))).fit(rng.random((40, 6, 6)), np.arange(40) % 4)
    images = rng.random((300, 6, 6))
    np.testing.assert_array_equal(machine.predict(images), machine.decision_function(images).argmax(axis=1))


def test_probabilities_need_two_images_of_every_class():
    images, _ = TRAINING
    with pytest.raises(ValueError, match="probability=True needs at least two images of every class"):
        TangentSVC(probability=True).fit(images[:5], [0, 0, 0, 0, 1])


@every_machine
def test_colours_bytes_lists_and_flat_rows_are_images(machine):
    images, labels = TRAINING
    colours = np.stack([images, 1 - images, images**2], axis=-1)
    learned = clone(machine).fit(colours, labels)
    assert learned.image_shape_ == (11, 11, 3)
    assert learned.score(colours, labels) > 0.9
    expected = clone(machine).fit(images, labels).decision_function(images)
    flat = clone(machine).set_params(image_shape=(11, 11)).fit(images.reshape(32, -1), labels)
    np.testing.assert_allclose(flat.decision_function(images.reshape(32, -1)), expected, atol=1e-6)
    listed = clone(machine).fit(list(images), labels)
    np.testing.assert_allclose(listed.decision_function(list(images)), expected, atol=1e-6)
    pixels = (255 * np.clip(images, 0, 1)).astype(np.uint8)
    assert clone(machine).fit(pixels, labels).score(pixels, labels) > 0.9


@pytest.mark.parametrize(
    "machine",
    [
        *(pytest.param(machine, id=name) for name, machine in MACHINES.items()),
        pytest.param(TangentSVC(probability=True), id="calibrated"),
        pytest.param(TangentOneClassSVM(), id="one class"),
    ],
)
def test_a_saved_or_pickled_machine_says_the_same_and_parameters_are_kept(machine, tmp_path):
    machine = clone(machine)
    before = machine.get_params()
    machine.fit(*TRAINING)
    after = machine.get_params()
    assert all(after[name] is before[name] for name in before)
    loaded = load(save(machine, tmp_path / "machine.zip"))
    assert repr(loaded) == repr(machine)
    for copy in (loaded, pickle.loads(pickle.dumps(machine))):
        for ask in ("decision_function", "predict", "predict_proba"):
            if hasattr(machine, ask):
                np.testing.assert_array_equal(getattr(copy, ask)(TEST[0]), getattr(machine, ask)(TEST[0]))
    decisions = machine.decision_function(TEST[0])
    np.testing.assert_array_equal(machine.fit(*TRAINING).decision_function(TEST[0]), decisions)


def test_a_kernel_that_was_given_is_not_fitted():
    kernel = TangentDistance()
    for machine in (TangentSVC(kernel), TangentOneClassSVM(kernel), JitteredSVC(distance=kernel)):
        machine.fit(*TRAINING)
        assert not hasattr(kernel, "sigma_")


def test_one_class_finds_what_is_unusual():
    usual, unusual = TEST[0][TEST[1] == 0], TEST[0][TEST[1] == 1]
    rng = np.random.default_rng(0)
    noise = rng.random((20, 11, 11)).astype(np.float32)
    machine = TangentOneClassSVM(nu=0.1, psd_correction=None).fit(usual[:30])
    assert (machine.decision_function(usual[:30]) > -1e-3).mean() >= 0.9  # those on the border are so to 3 digits
    assert (machine.predict(noise) == -1).all()
    assert machine.decision_function(usual[30:]).mean() > machine.decision_function(unusual).mean()
    np.testing.assert_allclose(machine.decision_function(usual), machine.score_samples(usual) - machine.offset_)
    np.testing.assert_array_equal(machine.predict(usual), np.where(machine.decision_function(usual) >= 0, 1, -1))
    kernel = TangentDistance().fit(usual[:30])
    plain = OneClassSVM(nu=0.1, kernel="precomputed").fit(kernel(usual[:30]))
    rows = kernel(unusual, usual[:30])
    np.testing.assert_allclose(machine.score_samples(unusual), plain.score_samples(rows), atol=1e-5)


def test_new_images_are_called_unusual_about_as_often_as_nu_says():
    digits = load_digits()
    zeros, others = digits.images[digits.target == 0] / 16, digits.images[digits.target != 0][:200] / 16
    machine = TangentOneClassSVM(nu=0.1).fit(zeros[:60])
    assert 0.02 <= (machine.predict(zeros[60:]) == -1).mean() <= 0.2
    assert (machine.predict(others) == -1).mean() > 0.95


@pytest.mark.parametrize("psd_correction", ["clip", "flip"])
def test_one_class_repairs_its_matrix_too(psd_correction):
    machine = TangentOneClassSVM(TangentDistance(sigma=4.0), psd_correction=psd_correction).fit(TRAINING[0])
    assert machine.negative_share_ > 0
    repaired = machine.psd_.transform(machine.kernel_(TRAINING[0]))
    expected = machine.svm_.score_samples(repaired)
    np.testing.assert_allclose(machine.score_samples(TRAINING[0]), expected, atol=1e-4)


@pytest.mark.parametrize("kernel", [TangentDistance(sides="one"), TangentVectorKernel(sides="one")], ids=["TD", "TVK"])
def test_one_side_is_refused(kernel):
    with pytest.raises(ValueError, match="needs a symmetric kernel; got sides='one'. Use 'two' or 'mean'"):
        TangentSVC(kernel).fit(*TRAINING)


@pytest.mark.parametrize("kernel", ["rbf", TangentDistance, SVC(), Rotations()], ids=repr)
def test_what_is_no_kernel_of_images_is_refused(kernel):
    with pytest.raises(ValueError, match=r"kernel must be a kernel of images; got .* Try TangentDistance\("):
        TangentSVC(kernel).fit(*TRAINING)
    with pytest.raises(ValueError, match="kernel must be a kernel of images"):
        TangentOneClassSVM(kernel).fit(TRAINING[0])


def test_one_side_is_refused_by_one_class():
    with pytest.raises(ValueError, match="sides='one'"):
        TangentOneClassSVM(TangentDistance(sides="one")).fit(TRAINING[0])


@pytest.mark.parametrize(
    ("message", "machine"),
    [
        ("C must be a number .*got 0", TangentSVC(C=0)),
        ("C must be a number .*got -1", JitteredSVC(C=-1)),
        ("sigma must be a number .*got -2", JitteredSVC(sigma=-2)),
        ("sides must be one of .*got 'both'", TangentSVC(TangentDistance(sides="both"))),
        ("nu must be a number .*got 1.5", TangentOneClassSVM(nu=1.5)),
        (r"image_shape is \(4, 4\)", TangentSVC(image_shape=(4, 4))),
        ("n must be a whole number", JitteredSVC(Brightness(0))),
    ],
)
def test_mistakes_are_named(message, machine):
    with pytest.raises(ValueError, match=message):
        machine.fit(*TRAINING)


def test_other_images_than_learned_from_are_refused():
    machine = TangentSVC().fit(*TRAINING)
    with pytest.raises(ValueError, match=r"shape \(9, 9\), but TangentSVC was fitted on \(11, 11\)"):
        machine.predict(np.zeros((2, 9, 9)))
    with pytest.raises(ValueError, match="32 images and 31 labels"):
        TangentSVC().fit(TRAINING[0], TRAINING[1][:31])


UNFITTED = [
    pytest.param(machine, ask, id=f"{type(machine).__name__}.{ask}")
    for machine in (TangentSVC(probability=True), JitteredSVC(probability=True), TangentOneClassSVM())
    for ask in ("predict", "decision_function", "predict_proba", "score_samples")
    if hasattr(type(machine), ask)
]


@pytest.mark.parametrize(("machine", "ask"), UNFITTED)
def test_one_that_has_learned_nothing_says_so(machine, ask):
    with pytest.raises(NotFittedError):
        getattr(clone(machine), ask)(TEST[0])
