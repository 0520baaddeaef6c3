"""Images of any sizes and kinds: what is known of them, how they are read, classified, and tried out."""

import numpy as np
import pytest
from PIL import Image
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from invariance.datasets import make_glyphs
from invariance.images import ImageError
from invariance.methods import (
    ImageClassifier,
    cross_validate,
    draw_folds,
    get_method,
    get_methods,
    learn_facts,
    preparation,
    read_images,
)
from invariance.methods.preparation import as_one_kind, as_squares, has_colour
from invariance.methods.trial import draw_part, join_folds, judge_fold
from invariance.models import load, save
from invariance.transformations import Illumination, Rotations, Shifts

QUICK = [method.name for method in get_methods() if not method.combines]  # the others take 20 seconds or more
RNG = np.random.default_rng(0)


def stripes(height, width, is_upright, n_channels=1):
    """A noisy image of stripes, float32 in [0, 1]."""
    rows, columns = np.mgrid[:height, :width]
    wave = 0.5 + 0.4 * np.sin((columns if is_upright else rows) / 1.5)
    photo = (wave + RNG.normal(0, 0.05, wave.shape)).clip(0, 1).astype(np.float32)
    return photo if n_channels == 1 else np.repeat(photo[..., None], n_channels, axis=2)


@pytest.fixture(scope="module")
def mixed():
    """Grey, colour, alpha, uint8 and float images of several sizes, and labels."""
    photos, labels = [], []
    for is_upright in (False, True):
        photos += [
            stripes(30, 40, is_upright),
            stripes(33, 33, is_upright, 3) * np.float32([1, 0.5, 0.2]),
            (255 * stripes(44, 32, is_upright, 4)).astype(np.uint8),
            (255 * stripes(32, 32, is_upright)).astype(np.uint8),
            stripes(24, 44, is_upright, 2),
        ]
        labels += ["upright" if is_upright else "level"] * 5
    return photos, np.array(labels)


def test_facts_count_and_measure():
    photos = [np.zeros((10, 20))] * 3 + [np.zeros((30, 40, 3))] * 2
    facts = learn_facts(photos, np.array([0, 0, 0, 1, 1]))
    assert facts == (5, 2, 2, 1, 10, 20)
    assert facts.side == 10


def test_grey_images_stored_in_colour_are_grey_and_one_colour_makes_all_colour():
    grey = np.repeat(RNG.random((5, 6, 1)), 3, axis=2)
    coloured = grey.copy()
    coloured[2, 3, 1] += 0.1
    assert not has_colour(grey)
    assert has_colour(coloured)
    assert not has_colour(np.concatenate([grey, np.ones((5, 6, 1))], axis=2))
    assert not has_colour(grey[..., :2])
    assert learn_facts([grey, coloured], np.array([0, 1])).n_channels == 3


@pytest.mark.parametrize("n_channels", [1, 3])
def test_images_become_float32_of_one_kind(n_channels, mixed):
    channels = () if n_channels == 1 else (3,)
    for photo in as_one_kind(mixed[0], n_channels, max_side=40):
        assert photo.dtype == np.float32
        assert photo.shape[2:] == channels
        assert max(photo.shape[:2]) <= 40
        assert 0 <= photo.min() < photo.max() <= 1
    squares = as_squares(mixed[0], 16, n_channels)
    assert squares.shape == (10, 16, 16, *channels)
    assert squares.dtype == np.float32


@pytest.mark.parametrize("method", QUICK)
def test_every_method_separates_classes_and_predicts_the_same_after_loading(method, mixed, tmp_path):
    photos, labels = mixed
    if get_method(method).min_side > 1:
        photos = [stripes(64, 70, label == "upright", 3) * np.float32([1, 0.5, 0.2]) for label in labels]
    elif method != "codebook":  # colours take others three times as long
        photos, labels = [as_one_kind([photo], 1)[0] for photo in photos[::2]], labels[::2]
    classifier = ImageClassifier(method, random_state=0).fit(photos, labels)
    probabilities = classifier.predict_proba(photos)
    assert probabilities.shape == (len(photos), 2)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-6)
    assert (classifier.predict(photos) == labels).mean() >= 0.8
    save(classifier, tmp_path / "model.inv")
    np.testing.assert_array_equal(load(tmp_path / "model.inv").predict_proba(photos), probabilities)


def test_images_that_are_too_small_are_refused_with_a_cure(mixed):
    with pytest.raises(ValueError, match="at least 64 pixels per side; the median size is 32 x 33. Take .*'jungle'"):
        ImageClassifier("objects").fit(*mixed)


def test_grey_images_have_no_words_of_colours(mixed):
    large = [np.kron(photo, np.ones((2, 2))) for photo in as_one_kind(mixed[0], 1)]
    model = ImageClassifier("objects", Shifts(1), random_state=0).fit(large, mixed[1])
    assert model.model_.kernel_names_ == ["shape words"]
    assert model.model_.base_kernels_[0].transformer_.n_words_ == 100


@pytest.mark.parametrize(
    ("phi", "has_places"), [(None, True), (Illumination(), True), (Shifts(1), False), (Rotations(4), False)]
)
def test_places_of_edges_are_compared_unless_they_do_not_matter(mixed, phi, has_places):
    large = [np.kron(photo, np.ones((2, 2))) for photo in as_one_kind(mixed[0], 1)]
    model = ImageClassifier("objects", phi, random_state=0).fit(large, mixed[1])
    assert ("places of edges" in model.model_.kernel_names_) == has_places
    assert model.plan().amounts_to(ImageClassifier("objects").plan()) == (phi is None)


def test_what_a_method_ignores_does_not_change_the_size_of_images(mixed):
    for phi in (None, Rotations(4)):
        classifier = ImageClassifier("codebook", phi, random_state=0).fit(*mixed)
        assert [image.shape[:2] for image in classifier.prepare(mixed[0])] == [np.shape(p)[:2] for p in mixed[0]]


def test_the_same_seed_gives_the_same_and_blocks_make_no_difference(mixed, monkeypatch):
    photos, labels = mixed
    classifier = ImageClassifier("codebook", random_state=3)
    whole = clone(classifier).fit(photos, labels).predict_proba(photos)
    monkeypatch.setattr("invariance.methods.classifier.N_TOGETHER", 3)
    np.testing.assert_allclose(clone(classifier).fit(photos, labels).predict_proba(photos), whole, atol=1e-12)


def test_no_images_have_no_probabilities(mixed):
    classifier = ImageClassifier("codebook", random_state=0).fit(*mixed)
    assert classifier.predict_proba([]).shape == (0, 2)
    assert classifier.squares(mixed[0]).shape == (10, 32, 32, 3)


@pytest.mark.parametrize(
    ("method", "labels", "message"),
    [
        ("forest", [0, 0, 1, 1], "method must be one of .*'jungle', .*; got 'forest'"),
        ("jungle", [0, 0, 0, 1], "class '1' has one image only; .* Add another"),
        ("jungle", [0, 0, 0, 0], "at least two classes"),
        ("jungle", [0, 0, 1], "equally long"),
    ],
)
def test_wrong_methods_and_labels_are_refused(method, labels, message):
    with pytest.raises(ValueError, match=message):
        ImageClassifier(method).fit([np.zeros((8, 8))] * 4, labels)


def test_a_text_in_place_of_transformations_is_refused_with_a_cure(mixed):
    with pytest.raises(ValueError, match="got 'rotations:4'. .*parsing.parse_transformations reads texts"):
        ImageClassifier("tangent", "rotations:4").fit(*mixed[:2])


def test_of_more_images_than_a_method_takes_some_are_drawn_by_the_seed(mixed, monkeypatch):
    photos, labels = mixed
    monkeypatch.setattr(type(get_method("tangent")), "max_learned", 6)
    one, again, other = (ImageClassifier("tangent", random_state=seed).fit(photos, labels) for seed in (0, 0, 1))
    assert one.n_learned_ == len(one.model_.codes_) == 6
    assert one.facts_.n_images == len(photos)
    assert f"6 of {len(photos)} images" in one.learned_sentence
    np.testing.assert_array_equal(one.predict_proba(photos), again.predict_proba(photos))
    assert (one.predict_proba(photos) != other.predict_proba(photos)).any()


def test_a_method_that_takes_all_images_says_so(mixed):
    model = ImageClassifier("landmarks").fit(*mixed)
    assert model.n_learned_ == len(mixed[0])
    assert f"all {len(mixed[0])} images" in model.learned_sentence


@pytest.mark.parametrize("method", ["codebook", "texture"])
def test_images_converted_one_by_one_give_the_same_model(mixed, method, monkeypatch):
    photos, labels = mixed
    whole = ImageClassifier(method, random_state=0).fit(photos, labels).predict_proba(photos)
    monkeypatch.setattr(preparation, "MAX_FLOAT_BYTES", 0)
    assert not isinstance(as_one_kind(photos, 1), list)
    np.testing.assert_array_equal(
        ImageClassifier(method, random_state=0).fit(photos, labels).predict_proba(photos), whole
    )


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (np.zeros((8, 8)), "a sequence of images .* got one array of shape .8, 8.. Put a single image in a list"),
        (np.zeros((9, 8, 3)), "got one array of shape .9, 8, 3.. Put a single image in a list"),
        (np.zeros((9, 8, 4), np.uint8), "got one array of shape .9, 8, 4.. Put a single image in a list"),
        ([np.zeros((8, 8)), np.zeros(8)], "image 1 must be"),
        ([np.zeros((8, 8)), np.full((8, 8), np.nan)], "image 1 holds NaN"),
        (np.array([np.zeros((8, 8)), np.full((8, 8), np.inf)]), "image 1 holds NaN or infinity"),
    ],
)
def test_what_is_no_sequence_of_images_is_refused(images, message):
    with pytest.raises(ValueError, match=message):
        ImageClassifier("jungle").fit(images, [0, 1])


def test_one_image_or_a_value_that_is_not_finite_is_refused_after_fitting_too(mixed):
    model = ImageClassifier("tangent").fit(*mixed)
    with pytest.raises(ValueError, match="Put a single image in a list"):
        model.predict(stripes(30, 40, True, 3))
    with pytest.raises(ValueError, match="image 0 holds NaN or infinity"):
        model.predict([np.full((30, 40), np.nan)])


def test_every_image_is_held_out_once_and_never_learned_from_meanwhile():
    labels = np.repeat(["a", "b", "c"], [20, 11, 7])
    folds = draw_folds(labels, 5, seed=1)
    assert len(folds) == 5
    np.testing.assert_array_equal(np.sort(np.concatenate([held for _, held in folds])), np.arange(38))
    for training, held in folds:
        assert not set(training) & set(held)
        assert len(training) + len(held) == 38
        assert set(labels[held]) == {"a", "b", "c"}


def test_folds_of_a_part_are_of_about_that_many_and_of_every_class():
    labels = np.repeat([0, 1, 2], [900, 90, 4])
    training, held = draw_folds(labels, 5, max_images=100)[0]
    counts = np.bincount(np.concatenate([labels[training], labels[held]]))
    np.testing.assert_array_equal(counts, [90, 9, 3])


@pytest.mark.parametrize("least", [2, 3, 4])
def test_at_least_two_of_every_class_are_learned_from(least):
    labels = np.repeat([0, 1, 2], [12, 9, least])
    for training, _ in draw_folds(labels, 5):
        assert np.bincount(labels[training]).min() >= 2


def test_the_seed_decides_the_folds():
    labels = np.arange(60) % 3
    first, again, other = (draw_folds(labels, 3, max_images=40, seed=seed)[0][1] for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(("counts", "message"), [([5, 1], "class '1' has one image only"), ([2, 2], "no class has")])
def test_too_few_images_for_folds_are_refused(counts, message):
    with pytest.raises(ValueError, match=message):
        draw_folds(np.repeat([0, 1], counts))


class Brightness(ClassifierMixin, BaseEstimator):
    """Calls an image bright if its mean is nearer to that of the bright ones."""

    def fit(self, X, y):
        self.classes_, codes = np.unique(y, return_inverse=True)
        means = np.array([photo.mean() for photo in X])
        self.centres_ = [means[codes == code].mean() for code in range(2)]
        return self

    def predict_proba(self, X):
        gaps = np.abs(np.array([photo.mean() for photo in X])[:, None] - self.centres_)
        return 1 - gaps / gaps.sum(axis=1, keepdims=True)


def test_a_trial_judges_what_was_held_out():
    photos = [np.full((2, 2), value) for value in (0.1, 0.2, 0.0, 0.9, 0.8, 0.15)]  # the last is taken for dark
    labels = np.array(["dark"] * 3 + ["light"] * 3)
    trial = cross_validate("brightness", Brightness(), photos, labels, draw_folds(labels, 3))
    assert trial.is_judged.all()
    np.testing.assert_array_equal(trial.is_right, [True] * 5 + [False])
    assert trial.accuracy == pytest.approx(5 / 6)
    assert trial.error_of_accuracy == pytest.approx(np.sqrt(max(5 / 36, 1 / 6) / 6))
    assert min(trial.fit_seconds, trial.image_seconds) > 0
    assert not hasattr(trial.classifier, "classes_")


def test_images_that_are_held_out_again_count_by_how_often_they_are_right():
    photos = [np.full((2, 2), value) for value in (0.1, 0.2, 0.0, 0.9, 0.8, 0.7)]
    labels = np.array(["dark"] * 3 + ["light"] * 3)
    rest = np.arange(1, 6)
    mistaken = np.array(["light", *labels[1:]])
    right = judge_fold(Brightness(), photos, labels, (rest, np.array([0])))
    wrong = right._replace(probabilities=right.probabilities[:, ::-1])
    trial = join_folds("brightness", None, labels, [right, wrong, right])
    assert trial.n_judged == 1
    assert trial.accuracy == pytest.approx(2 / 3)
    assert trial.is_right[0]
    np.testing.assert_allclose(trial.probabilities[0], (2 * right.probabilities[0] + wrong.probabilities[0]) / 3)
    assert join_folds("brightness", None, mistaken, [right, wrong, right]).accuracy == pytest.approx(1 / 3)


def test_a_part_has_about_so_many_of_every_class_and_others_held_out():
    labels = np.repeat([0, 1, 2], [900, 90, 4])
    training, held = draw_part(labels, 100, 50, np.random.default_rng(0))
    np.testing.assert_array_equal(np.bincount(labels[training]), [91, 9, 2])
    assert len(held) == 50
    assert not set(training) & set(held)


@pytest.fixture
def images_folder(tmp_path):
    glyphs = make_glyphs(3, 24, random_state=0)
    for i, (image, label) in enumerate(zip(glyphs.images[:6], [0, 0, 0, 1, 1, 1], strict=True)):
        (tmp_path / f"class {label}").mkdir(exist_ok=True)
        Image.fromarray((255 * image).astype(np.uint8)).resize((600, 300)).save(
            tmp_path / f"class {label}" / f"{i}.png"
        )
    (tmp_path / "class 1" / "broken.png").write_text("no image")
    return tmp_path


def test_a_folder_is_read_smaller_and_unreadable_files_are_listed(images_folder):
    found = read_images(images_folder)
    assert found.labels.tolist() == ["class 0"] * 3 + ["class 1"] * 3
    assert {photo.shape for photo in found.images} == {(160, 320)}
    assert found.max_side == 320
    assert [path.name for path, _ in found.skipped] == ["broken.png"]
    assert "broken.png" in found.skipped[0][1]
    with pytest.raises(ImageError, match=r"broken\.png"):
        read_images(images_folder, strict=True)


def test_many_images_are_read_so_small_that_they_fit_into_memory(images_folder, monkeypatch):
    monkeypatch.setattr(preparation, "MAX_BYTES", 7 * 3 * 100**2)
    found = read_images(images_folder)
    assert found.max_side == 100
    assert {photo.shape for photo in found.images} == {(50, 100)}
