"""Dense prediction equals patch-wise prediction, whatever the tiles and the number of jobs."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from invariance.datasets import make_membranes
from invariance.segmentation import JungleSegmenter, dense, estimators
from invariance.segmentation.bank import REACH
from invariance.segmentation.dense import Chain, context_of, predict_around, predict_maps, predict_part
from invariance.segmentation.description import BANK_ALONE
from invariance.segmentation.standard import StandardImage, prepare_image
from invariance.segmentation.tiles import Tile
from invariance.segmentation.windows import window_reach
from invariance.transformations import Brightness, Illumination, Rotations

HEIGHT, WIDTH = 106, 60
QUICK = {
    "patch_size": 7, "max_pixels": 400, "n_trees": 20, "max_depth": 2, "rank": 12, "n_pseudo_labels": 0,
    "random_state": 0,
}  # fmt: skip
# name -> (settings, number of classes); an estimator without steps shows the rounding itself
MODELS = {
    "one round": ({"transformations": Rotations(4), "n_rounds": 1}, 2),
    "three rounds, three classes": ({"transformations": Rotations(4), "n_rounds": 3}, 3),
    "two rounds, linear": ({"transformations": Rotations(4), "n_rounds": 2, "final_estimator": "linear"}, 3),
    "another estimator": ({"n_rounds": 1, "final_estimator": LogisticRegression(C=0.01, max_iter=500)}, 2),
    "not linear": ({"transformations": Brightness(2), "n_rounds": 2}, 2),
    "normalized": ({"transformations": Rotations(4) * Illumination(5), "n_rounds": 2}, 2),
}


@pytest.fixture(scope="module")
def data():
    """Three images, and masks with membranes, cells and, as a third class, the upper part of cells."""
    made = make_membranes(3, (HEIGHT, WIDTH), cell_size=24, random_state=0)
    masks = made.masks.astype(np.uint8)
    upper = (np.arange(HEIGHT) < 40)[:, None] & (masks == 0)
    return made.images, masks, np.where(upper, 2, masks)


@pytest.fixture(scope="module", params=MODELS)
def model(request, data):
    settings, n_classes = MODELS[request.param]
    images, *masks = data
    fitted = JungleSegmenter(**QUICK | settings).fit(images[:2], masks[n_classes - 2][:2])
    assert len(fitted.final_estimators_) == fitted.n_rounds
    return fitted


def patchwise(model, image):
    """Probabilities (h, w, K): every pixel described by itself, and scikit-learn's own prediction."""
    rows, cols = np.mgrid[: image.shape[0], : image.shape[1]].reshape(2, -1)
    own = features = model._description().at(prepare_image(image, model.standardize, model.transformations), rows, cols)
    for estimator in model.final_estimators_:
        maps = estimator.predict_proba(features).reshape(*image.shape, -1).astype(np.float32)
        features = np.concatenate([own, BANK_ALONE.at(context_of(maps), rows, cols)], axis=1)
    return maps


def assert_same_maps(found, expected):
    """Equal to 1e-3; a tree may send a pixel the other way if it lies on a threshold to the last digit."""
    assert found.dtype == np.float32
    assert found.shape == expected.shape
    differences = np.abs(found - expected).max(axis=2)
    assert np.median(differences) < 1e-5
    assert np.mean(differences > 1e-3) < 1e-3


def test_dense_equals_patchwise(model, data):
    image = data[0][2]
    found = model.predict_proba(image)
    expected = patchwise(model, image)
    assert_same_maps(found, expected)
    if not isinstance(model.final_estimators_[0], HistGradientBoostingClassifier):
        np.testing.assert_allclose(found, expected, atol=1e-3)
    np.testing.assert_allclose(found.sum(axis=2), 1, atol=1e-5)
    assert found[..., 1].std() > 0.05, "an image whose pixels differ"


@pytest.mark.parametrize("side", [1, 70])
def test_tiles_of_any_side_give_the_same(model, data, side, monkeypatch):
    image = StandardImage(data[0][2], True)
    monkeypatch.setattr(estimators, "MAX_COLUMNS", 777)
    settings = (model._description(), model.final_estimators_, image, len(model.classes_))
    assert_same_maps(predict_maps(*settings, side=side), predict_maps(*settings))


def test_the_number_of_jobs_changes_nothing(model, data):
    """Over six tiles, so that there is something to share out."""
    image = StandardImage(data[0][2], True)
    maps = [
        predict_maps(model._description(), model.final_estimators_, image, len(model.classes_), n_jobs, side=50)
        for n_jobs in (1, 2)
    ]
    np.testing.assert_array_equal(*maps)


@pytest.mark.parametrize("shape", [(2, 2), (30, 5)], ids=str)
def test_images_smaller_than_the_reach(model, data, shape):
    image = data[0][2, : shape[0], : shape[1]]
    assert_same_maps(model.predict_proba(image), patchwise(model, image))


@pytest.fixture(scope="module")
def two_rounds(data):
    return JungleSegmenter(Rotations(4), n_rounds=2, **QUICK).fit(data[0][:2], data[1][:2])


def test_no_more_than_a_tile_and_its_halo_is_read_at_once(two_rounds, data):
    class Watched:
        def __init__(self, values):
            self.values, self.shape, self.sides = values, values.shape, []

        def __getitem__(self, place):
            part = self.values[place]
            self.sides.append(part.shape)
            return part

    model = two_rounds
    watched = Watched(np.tile(data[0][2], (2, 3)))
    image = StandardImage(watched, True)
    watched.sides.clear()
    predict_maps(model._description(), model.final_estimators_, image, 2, side=64)
    largest = 64 + 2 * max(REACH, window_reach(model.patch_size_))
    assert len(watched.sides) == -(-2 * HEIGHT // 64) * -(-3 * WIDTH // 64), "each tile once, for both rounds"
    assert max(max(shape) for shape in watched.sides) <= largest


def test_what_describes_a_tile_is_kept_for_as_many_bands_as_there_are_rounds(two_rounds, data, monkeypatch):
    """Tiles are described band by band, and forgotten when the last round has seen them."""
    model = two_rounds
    log, apply = [], dense._apply

    def watch(predictor, features):
        log.append("round 1" if features.shape[0] == model.final_estimators_[0].n_features_in_ else "round 2")
        return apply(predictor, features)

    monkeypatch.setattr(dense, "_apply", watch)
    predict_maps(model._description(), model.final_estimators_, StandardImage(data[0][2], True), 2, side=50)
    assert log == ["round 1"] * 4 + ["round 2"] * 2 + ["round 1"] * 2 + ["round 2"] * 4


def test_two_maps_say_as_much_as_one():
    maps = np.random.default_rng(0).random((4, 5, 3))
    np.testing.assert_array_equal(context_of(maps), maps)
    np.testing.assert_array_equal(context_of(maps[..., :2]), maps[..., 1:2])


@pytest.mark.parametrize("n_rounds", [1, 2])
def test_maps_around_some_pixels_are_those_of_the_whole_image(two_rounds, data, n_rounds, monkeypatch):
    """Two chains, one of them without pixels in this image: described once, and only where it is needed."""
    monkeypatch.setattr(dense, "TILE_SIDE", 64)
    image = StandardImage(np.tile(data[0][2], (4, 6)), True)
    description, estimators = two_rounds._description(), two_rounds.final_estimators_[:n_rounds]
    log, everywhere = [], type(description).everywhere
    monkeypatch.setattr(
        type(description), "everywhere", lambda self, *given: log.append((self, given[1])) or everywhere(self, *given)
    )
    rows, cols, nowhere = np.array([10, 40]), np.array([15, 5]), np.array([], int)
    chains = [Chain(estimators, rows, cols), Chain(estimators, nowhere, nowhere), Chain(estimators, rows[:1], cols[:1])]
    found = predict_around(description, chains, image, 2)
    described = [tile for given, tile in log if given is description]
    assert len(described) == len(set(described)) == (3 if n_rounds == 1 else 6)
    expected = BANK_ALONE.at(context_of(predict_maps(description, estimators, image, 2, side=64)), rows, cols)
    np.testing.assert_array_equal(BANK_ALONE.at(context_of(found[0]), rows, cols), expected)
    np.testing.assert_array_equal(BANK_ALONE.at(context_of(found[2]), rows[:1], cols[:1]), expected[:1])
    assert not found[1].any()


@pytest.mark.parametrize(
    "part", [(0, 1, 0, 1), (3, 200, 90, 131), (64, 128, 0, 64), (150, 212, 170, 180), (0, 212, 0, 180)]
)
def test_parts_are_those_of_the_whole_image_bit_for_bit(model, data, part, monkeypatch):
    monkeypatch.setattr(dense, "TILE_SIDE", 64)
    image = np.tile(data[0][2], (2, 3))
    top, bottom, left, right = part
    whole = predict_maps(
        model._description(), model.final_estimators_, model._prepare(image), len(model.classes_), side=64
    )
    measured = model.measure(image)
    for given in (None, measured):
        found = model.predict_part(image, slice(top, bottom), slice(left, right), given)
        np.testing.assert_array_equal(found, whole[top:bottom, left:right])


def test_a_part_needs_no_more_than_the_tiles_in_reach(two_rounds, data, monkeypatch):
    monkeypatch.setattr(dense, "TILE_SIDE", 64)
    image = StandardImage(np.tile(data[0][2], (6, 10)), True)
    description, estimators = two_rounds._description(), two_rounds.final_estimators_
    log, everywhere = [], type(description).everywhere
    monkeypatch.setattr(
        type(description), "everywhere", lambda self, *given: log.append((self, given[1])) or everywhere(self, *given)
    )
    predict_part(description, estimators, image, 2, Tile(128, 192, 320, 384))
    described = [tile for given, tile in log if given is description]
    assert {(tile.top, tile.left) for tile in described} == {
        (row, col) for row in (64, 128, 192) for col in (256, 320, 384)
    }
    assert len(described) == 9
    assert [tile for given, tile in log if given is not description] == [Tile(128, 192, 320, 384)]
