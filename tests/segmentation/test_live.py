"""The live engine: the same strokes give the same predictions, results come in order, work is bounded and cancelled."""

import threading
import time

import numpy as np
import pytest
from scipy import ndimage

from invariance.datasets import make_membranes
from invariance.models import load, save
from invariance.segmentation import JungleSegmenter, LiveSegmenter, View, brush_pixels
from invariance.segmentation.description import BANK_ALONE, TILE_SIDE
from invariance.segmentation.live import images as live_images
from invariance.segmentation.live import refinement
from invariance.segmentation.live.background import Background
from invariance.segmentation.live.refinement import Refiner, choose_blocks, count_for_filters, pick_pixels
from invariance.segmentation.live.stroke_rows import MAX_ROWS_PER_STROKE
from invariance.segmentation.live.strokes import Strokes, make_stroke
from invariance.segmentation.live.views import draw_tiles
from invariance.segmentation.tiles import Tile, tiles
from invariance.transformations import Illumination, Rotations

DATA = make_membranes(2, (96, 80), random_state=0)
IMAGE, MASK = DATA.images[0], DATA.masks[0].astype(int)
QUICK = JungleSegmenter(Rotations(2), patch_size=7, n_trees=5, n_pseudo_labels=0, max_depth=2, rank=8, n_rounds=2)
ALL = View(0, 0, 0, 96, 80)
# Lines across the image; each is cut into strokes where the label changes.
LINES = [([5 + 9 * k, 3], [12 + 8 * k, 76]) for k in range(9)]


def make_live(**parameters):
    return LiveSegmenter(**{"random_state": 0, "n_trees": 20, "refine": False, "segmenter": QUICK} | parameters)


def paint(live, lines=LINES, image=0, mask=MASK):
    for line in lines:
        rows, cols = brush_pixels(line, 1, mask.shape)
        for label in np.unique(mask[rows, cols]):
            chosen = mask[rows, cols] == label
            live.add_stroke(image, rows[chosen], cols[chosen], int(label))


def started(**parameters):
    live = make_live(**parameters)
    live.add_image(IMAGE)
    paint(live)
    return live


def whole(live, view=ALL):
    """One array of all tiles of a view, and the stages and versions of them."""
    tiles = list(live.predict(view))
    bottom, right = max(tile.tile.bottom for tile in tiles), max(tile.tile.right for tile in tiles)
    maps = np.full((-(-bottom // view.step), -(-right // view.step), tiles[0].probabilities.shape[2]), np.nan)
    for tile in tiles:
        top, left = tile.tile.top // view.step, tile.tile.left // view.step
        height, width = tile.probabilities.shape[:2]
        maps[top : top + height, left : left + width] = tile.probabilities
    return maps, {(tile.stage, tile.version) for tile in tiles}


def test_the_instant_model_learns_the_strokes():
    live = started()
    version = live.update()
    maps, stages = whole(live)
    assert version == live.version == live.n_strokes
    assert stages == {("instant", version)}
    np.testing.assert_allclose(maps.sum(axis=-1), 1, atol=1e-5)
    assert (maps.argmax(axis=-1) == MASK).mean() > max(MASK.mean(), 1 - MASK.mean()) + 0.05


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_undo_and_redo_return_identical_predictions(n_jobs):
    live = started(n_jobs=n_jobs)
    live.update()
    before, _ = whole(live)
    live.erase(0, *np.indices((40, 40)).reshape(2, -1))
    live.add_stroke(0, [50, 51, 52], [60, 60, 60], 0)
    live.update()
    changed, _ = whole(live)
    assert not np.array_equal(before, changed)
    for _ in range(2):
        assert live.undo()
    live.update()
    np.testing.assert_array_equal(whole(live)[0], before)
    assert live.redo()
    assert live.redo()
    assert not live.redo()
    live.update()
    np.testing.assert_array_equal(whole(live)[0], changed)


def test_the_same_strokes_give_the_same_models_whatever_came_between():
    straight = started(n_jobs=1)
    wandering = make_live(n_jobs=2, max_bytes=2**26)
    wandering.add_image(IMAGE)
    for number, line in enumerate(LINES):
        wandering.add_stroke(0, [number], [number], 1)
        wandering.undo()
        paint(wandering, [line])
        if number > 3:
            wandering.update()
    wandering.undo()
    wandering.redo()
    for live in (straight, wandering):
        live.update()
    np.testing.assert_array_equal(whole(straight)[0], whole(wandering)[0])
    assert straight.suggest(3) == wandering.suggest(3)
    np.testing.assert_array_equal(straight.scores().confusion, wandering.scores().confusion)
    first, second = straight.export(), wandering.export()
    np.testing.assert_array_equal(first.predict_proba(IMAGE), second.predict_proba(IMAGE))


def test_another_seed_gives_another_model():
    maps = []
    for seed in (0, 1):
        live = started(random_state=seed)
        live.update()
        maps.append(whole(live)[0])
    assert not np.array_equal(*maps)


def test_the_refined_model_follows_and_equals_the_exported_one():
    with started(refine=True, refine_after=0) as live:
        version = live.update()
        assert live.wait()
        maps, stages = whole(live)
        assert stages == {("refined", version)}
        segmenter = live.export()
        np.testing.assert_array_equal(maps, segmenter.predict_proba(IMAGE))
        assert segmenter.standardize
        assert segmenter.predict(DATA.images[1]).shape == IMAGE.shape
        live.add_stroke(0, [1], [1], 0)
        assert whole(live)[1] == {("refined", version)}  # until there is something newer
        live.update()
        assert {stage for stage, _ in whole(live)[1]} <= {"instant", "refined"}
        assert {found for _, found in whole(live)[1]} == {version + 1}
        assert live.wait()
        assert whole(live)[1] == {("refined", version + 1)}


def test_old_results_stay_until_newer_ones_are_there():
    live = started()
    assert list(live.recall(ALL)) == []
    live.update()
    maps, _ = whole(live)
    live.add_stroke(0, [1], [1], 1)
    (old,) = live.recall(ALL)
    np.testing.assert_array_equal(old.probabilities, maps)
    live.update()
    (old,) = live.recall(ALL)
    assert old.version == live.version - 1
    whole(live)
    (new,) = live.recall(ALL)
    assert new.version == live.version


def test_predictions_survive_strokes_that_nothing_can_be_learned_from():
    live = started()
    live.update()
    maps, _ = whole(live)
    live.erase(0, *np.indices(IMAGE.shape).reshape(2, -1))
    with pytest.raises(ValueError, match="all are erased. Paint strokes of two classes"):
        live.update()
    with pytest.raises(ValueError, match="all are erased"):
        live.export()
    np.testing.assert_array_equal(whole(live)[0], maps)


def test_errors_say_what_to_do():
    live = make_live()
    with pytest.raises(ValueError, match="index of one of 0 images; got 0. Add it first"):
        live.add_stroke(0, [1], [1], 1)
    live.add_image(IMAGE)
    with pytest.raises(ValueError, match="no model yet"):
        live.predict(ALL)
    with pytest.raises(ValueError, match="no pixel is labelled"):
        live.update()
    live.add_stroke(0, [1], [1], 4)
    with pytest.raises(ValueError, match="all strokes have the label 4"):
        live.update()
    with pytest.raises(ValueError, match="label must be an integer; got 1.5"):
        live.add_stroke(0, [1], [1], 1.5)
    with pytest.raises(ValueError, match="cols must be from 0 to 79"):
        live.add_stroke(0, [1], [80], 1)
    with pytest.raises(ValueError, match="3 channels"):
        live.add_image(np.zeros((9, 9, 3)))
    with pytest.raises(ValueError, match="must show a part of its image of 96 x 80"):
        live.predict(View(0, 96, 0, 200, 80))
    with pytest.raises(ValueError, match="step must be"):
        live.predict(View(0, 0, 0, 9, 9, 0))
    with pytest.raises(ValueError, match="max_bytes must be"):
        make_live(max_bytes=1000)
    with pytest.raises(ValueError, match="transformations must be None"):
        make_live(transformations=Rotations(4))
    assert not live.redo()
    assert live.undo()
    assert not live.undo()
    live.close()
    for call in (live.undo, live.update, live.export, lambda: live.add_image(IMAGE)):
        with pytest.raises(ValueError, match="closed"):
            call()


@pytest.mark.parametrize(
    "view",
    [
        View(0, 0.5, 0, 9, 9),
        View(0, np.nan, 0, 9, 9),
        View(0, 0, 0, np.inf, 9),
        View(0, 0, "0", 9, 9),
        View(0, None, 0, 9, 9),
        View(0, 0, 0, 9, 9, 2**24),
        View(0, 0, 0, 9, 9, 10**30),
    ],
)
def test_views_that_are_none_are_refused(view):
    live = started()
    live.update()
    for look in (live.predict, live.recall):
        with pytest.raises(ValueError, match="the borders of a view must be whole|step must be"):
            look(view)


def test_any_whole_numbers_are_borders_of_a_view():
    live = started()
    live.update()
    for view in (
        View(np.int8(0), np.int8(0), 0, np.int8(9), 9, np.uint8(200)),
        View(0, -(10**30), 0, 10**30, 9, 2**20),
    ):
        assert next(live.predict(view)).probabilities.shape == (1, 1, 2)


@pytest.mark.parametrize("label", [2**63, -(2**63) - 1, 2**70, np.uint64(2**63)])
def test_labels_that_cannot_be_stored_change_nothing(label):
    live = started()
    version = live.version
    with pytest.raises(ValueError, match="label must be between"):
        live.add_stroke(0, [1], [1], label)
    assert live.update() == version


@pytest.mark.parametrize("image", [None, "text", 3.0])
def test_what_is_no_image_is_refused(image):
    with pytest.raises(ValueError, match="an image must be"):
        make_live().add_image(image)


def test_a_model_to_go_on_from_must_be_fitted():
    with pytest.raises(ValueError, match="not fitted"):
        LiveSegmenter.from_model(QUICK)


def test_closing_ends_a_prediction_and_keeps_nothing():
    live = make_live()
    live.add_image(np.tile(IMAGE, (4, 4)))
    paint(live)
    live.update()
    tiles = live.predict(View(0, 0, 0, 384, 320))
    next(tiles)
    live.close()
    with pytest.raises(ValueError, match="closed"):
        next(tiles)
    assert live._maps.nbytes == 0


def three_classes(image=IMAGE):
    live = make_live()
    live.add_image(image)
    for number, (top, label) in enumerate([(2, 7), (30, -3), (60, 12), (10, 7), (40, -3)]):
        live.add_stroke(0, *brush_pixels([[top, 5 + number], [top, 60]], 2, image.shape), label)
    live.update()
    return live


def test_three_classes_and_one_with_a_single_stroke():
    live = three_classes()
    (tile,) = live.predict(ALL)
    assert tile.classes.tolist() == [-3, 7, 12]
    assert tile.probabilities.shape == (96, 80, 3)
    scores = live.scores()
    assert scores.by == "stroke"
    assert scores.n_groups.tolist() == [2, 2, 1]
    assert np.isnan(scores.f[2])
    assert np.isnan([scores.recall[2], scores.precision[2]]).all()
    assert not np.isnan(scores.f[:2]).any()
    assert set(scores.unscored) == {12}
    assert "class 12 has a single stroke" in scores.unscored[12]
    assert scores.confusion[2].sum() == 0
    assert live.export().classes_.tolist() == [-3, 7, 12]


@pytest.mark.parametrize(
    "image",
    [
        np.round(IMAGE * 60_000).astype(np.uint16),
        np.stack([IMAGE, 1 - IMAGE, IMAGE**2], axis=2),
        (IMAGE * 255).astype(np.uint8)[:, :, None],
        IMAGE > 0.5,
    ],
    ids=["uint16", "RGB", "one channel", "bool"],
)
def test_kinds_of_images(image):
    live = make_live()
    live.add_image(image)
    paint(live)
    live.update()
    maps, _ = whole(live)
    segmenter = live.export()
    assert maps.shape == segmenter.predict_proba(image).shape == (96, 80, 2)
    assert segmenter.intensity_range_["dtype"] == image.dtype.name


@pytest.mark.parametrize("shape", [(2, 2), (2, 40), (9, 3)])
def test_tiny_images(shape):
    live = make_live()
    live.add_image(np.random.default_rng(0).random(shape))
    live.add_stroke(0, [0], [0], 0)
    live.add_stroke(0, [1], [1], 1)
    live.update()
    maps, _ = whole(live, View(0, 0, 0, *shape))
    assert maps[0, 0].argmax() == 0
    assert maps[1, 1].argmax() == 1
    assert len(live.suggest()) == (shape == (2, 40))  # elsewhere all is near a stroke
    assert live.scores().unscored.keys() == {0, 1}


def test_normalized_images_are_normalized_once():
    phi = Rotations(2) * Illumination(4)
    live = make_live(segmenter=JungleSegmenter(phi, **{k: v for k, v in vars(QUICK).items() if k != "transformations"}))
    live.add_image(IMAGE)
    paint(live)
    segmenter = live.export()
    assert segmenter.transformations is phi or repr(segmenter.transformations) == repr(phi)
    with make_live(segmenter=segmenter) as again:
        again.add_image(IMAGE)
        paint(again)
        np.testing.assert_array_equal(again.export().predict_proba(IMAGE), segmenter.predict_proba(IMAGE))


# ---------------------------------------------------------------- views


class Lazy:
    """An image that counts what is read of it."""

    def __init__(self, values):
        self.values, self.shape, self.dtype, self.n_read = values, values.shape, values.dtype, 0

    def __getitem__(self, place):
        part = self.values[place]
        self.n_read += part.size
        return part


def test_tiles_come_from_the_centre_outwards_and_cover_the_view_once():
    side = 4 * TILE_SIDE + 10
    live = make_live(n_jobs=2)
    live.add_image(np.random.default_rng(0).random((side, side)).astype(np.float32))
    live.add_stroke(0, [3], [3], 0)
    live.add_stroke(0, [9], [9], 1)
    live.update()
    view = View(0, 300, 300, 900, 1000)
    tiles = [tile.tile for tile in live.predict(view)]
    covered = np.zeros((side, side), int)
    for tile in tiles:
        covered[tile.top : tile.bottom, tile.left : tile.right] += 1
    assert covered.max() == 1
    assert (covered[300:900, 300:1000] == 1).all()
    distances = [np.hypot((t.top + t.bottom) / 2 - 600, (t.left + t.right) / 2 - 650) for t in tiles]
    assert distances == sorted(distances)
    assert len(tiles) == 9


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_leaving_a_view_leaves_no_work_behind(n_jobs, recwarn):
    live = make_live(n_jobs=n_jobs)
    live.add_image(np.tile(IMAGE, (6, 7)))
    paint(live)
    live.update()
    tiles = live.predict(View(0, 0, 0, 520, 520))
    next(tiles)
    del tiles
    assert len(live._maps._latest) == 1
    assert [str(warning.message) for warning in recwarn] == []


def test_a_coarse_view_reads_a_bounded_part_of_a_large_image(monkeypatch):
    monkeypatch.setattr(live_images, "MAX_MEASURED_PIXELS", 1_000_000)
    monkeypatch.setattr(live_images, "N_SAMPLED_PIXELS", 50_000)
    lazy = Lazy(np.tile(IMAGE, (32, 40)).astype(np.float32))
    live = make_live()
    live.add_image(lazy)
    assert lazy.n_read < 0.1 * lazy.values.size
    live.add_stroke(0, *brush_pixels([[100, 100], [100, 900]], 20, lazy.shape), 0)
    live.add_stroke(0, *brush_pixels([[1000, 100], [2000, 900]], 20, lazy.shape), 1)
    live.update()
    lazy.n_read = 0
    (tile,) = live.predict(View(0, 0, 0, 3072, 3200, 16))
    assert tile.probabilities.shape == (192, 200, 2)
    assert tile.tile == Tile(0, 3072, 0, 3200)
    assert lazy.n_read < 0.05 * lazy.values.size


def test_an_instant_tile_equals_describing_the_whole_image():
    """Tiles must not show where they end; a feature may be rounded over the threshold of a single tree."""
    values = np.tile(IMAGE, (4, 5))
    live = make_live()
    live.add_image(values)
    paint(live, mask=np.tile(MASK, (4, 5)))
    live.update()
    maps, _ = whole(live, View(0, 0, 0, *values.shape))
    features = BANK_ALONE.everywhere(live._maps.images[0], Tile(0, 384, 0, 400), 400)
    expected = live._models.best(5).predict(features)
    assert (np.abs(maps - expected) > 1e-5).mean() < 0.01
    assert np.abs(maps - expected).max() < 0.3


def test_refined_tiles_of_any_resolution_equal_the_whole_image():
    values = np.tile(IMAGE, (6, 7))[:530, :520]
    live = make_live(refine=True, refine_after=0)
    live.add_image(values)
    paint(live)
    live.update()
    live.wait()
    expected = live.export().predict_proba(values)
    for step in (1, 2, 3, 4):
        view = View(0, 0, 0, 530, 520, step)
        maps, stages = whole(live, view)
        assert {stage for stage, _ in stages} == {"refined"}
        np.testing.assert_allclose(maps, expected[::step, ::step], atol=1e-5)
        assert all(old.stage == "refined" for old in live.recall(view))
    assert {stage for stage, _ in whole(live, View(0, 0, 0, 530, 520, 5))[1]} == {"instant"}


# ---------------------------------------------------------------- bounds


def test_many_strokes_stay_within_their_bounds():
    live = make_live(max_bytes=2**26, max_pixels=1000)
    for image in DATA.images:
        live.add_image(image)
    rng = np.random.default_rng(0)
    for number in range(150):
        start = rng.uniform(0, 80, 2)
        live.add_stroke(number % 2, *brush_pixels([start, start + 12], 2, IMAGE.shape), number % 3)
        if number > 2 and number % 10 == 0:
            live.update()
            next(live.predict(View(number % 2, 0, 0, 96, 80)))
            rows = live._models.best(5).rows()
            assert len(rows.labels) <= 1000
            assert np.bincount(rows.strokes).max() <= MAX_ROWS_PER_STROKE
            assert live._maps.rows_at(1).nbytes <= 2 * 1000 * 31 * 4
            assert live._maps.nbytes <= 2**26 + 2 * 1000 * 31 * 4


def test_a_stroke_describes_only_the_tiles_it_is_in(monkeypatch):
    from invariance.segmentation import description

    described = []
    original = description.filter_bank
    monkeypatch.setattr(description, "filter_bank", lambda *arguments: described.append(1) or original(*arguments))
    live = make_live()
    live.add_image(np.tile(IMAGE, (11, 13)))
    live.add_stroke(0, [5], [5], 0)
    live.add_stroke(0, [6], [300], 1)
    live.update()
    assert len(described) == 2
    live.add_stroke(0, [7], [7], 1)
    live.update()
    assert len(described) == 2
    list(live.predict(View(0, 0, 0, 200, 500)))
    assert len(described) == 2
    live.add_stroke(0, [1] * 1000, list(range(1000)), 1)
    live.update()
    assert len(described) == 4


# ---------------------------------------------------------------- suggestions


def test_suggestions_are_apart_from_each_other_and_from_strokes():
    live = make_live()
    for image in DATA.images:
        live.add_image(image)
    live.add_stroke(0, *brush_pixels([[10, 10], [10, 70]], 2, IMAGE.shape), 0)
    live.add_stroke(0, *brush_pixels([[30, 10], [30, 30]], 2, IMAGE.shape), 1)
    places = live.suggest(6)
    assert 3 <= len(places) <= 6
    assert [place.uncertainty for place in places] == sorted((p.uncertainty for p in places), reverse=True)
    for number, place in enumerate(places):
        assert 0 <= place.uncertainty <= 1
        near = [(10, col) for col in range(10, 71)] + [(30, col) for col in range(10, 31)] if place.image == 0 else []
        near += [(other.row, other.col) for other in places[:number] if other.image == place.image]
        assert all(np.hypot(place.row - row, place.col - col) >= 24 for row, col in near)
    assert {place.image for place in live.suggest(3, View(1, 0, 0, 96, 80))} == {1}


def test_tiles_are_drawn_from_all_images_without_repetition():
    shapes = [(300, 600, 1), (2, 2, 1), (256, 257, 1)]
    everything = [(index, tile) for index, shape in enumerate(shapes) for tile in tiles(shape[0], shape[1], TILE_SIDE)]
    assert draw_tiles(shapes, 99, np.random.default_rng(0)) == everything
    some = draw_tiles(shapes, 5, np.random.default_rng(0))
    assert len(set(some)) == 5
    assert set(some) < set(everything)


def test_the_least_sure_place_is_suggested():
    values = np.zeros((120, 120), np.float32)
    values[:, 60:] = 1
    values[80:110, 10:40] = 0.5
    live = make_live(n_trees=50)
    live.add_image(values)
    live.add_stroke(0, *brush_pixels([[10, 10], [40, 40]], 2, values.shape), 0)
    live.add_stroke(0, *brush_pixels([[10, 80], [40, 110]], 2, values.shape), 1)
    (place,) = live.suggest(1)
    (tile,) = live.predict(View(0, 0, 0, 120, 120))
    ranked = np.sort(tile.probabilities, axis=-1)
    assert place.uncertainty >= np.median(1 - (ranked[..., -1] - ranked[..., -2]))
    assert place.uncertainty > 0.3


# ---------------------------------------------------------------- scores


def test_scores_see_strokes_that_cannot_be_learned():
    """Labels drawn at random: a model that had seen the strokes would score well, held out it cannot."""
    rng, live = np.random.default_rng(0), make_live()
    noise = rng.random((200, 200)).astype(np.float32)
    live.add_image(noise)
    for number in range(36):
        row, col = 10 + 32 * (number // 6), 10 + 32 * (number % 6)
        live.add_stroke(0, *brush_pixels([[row, col]], 2, noise.shape), int(rng.integers(2)))
    scores = live.scores()
    assert scores.confusion.sum() == 36 * 13
    assert np.trace(scores.confusion) / scores.confusion.sum() < 0.75
    np.testing.assert_allclose(scores.recall, np.diag(scores.confusion) / scores.confusion.sum(axis=1))
    np.testing.assert_allclose(scores.precision, np.diag(scores.confusion) / scores.confusion.sum(axis=0))
    np.testing.assert_allclose(scores.f, 2 / (1 / scores.recall + 1 / scores.precision))


def test_scores_by_image():
    live = make_live()
    for index in range(4):
        live.add_image(DATA.images[index % 2])
        paint(live, LINES[::4], index, DATA.masks[index % 2].astype(int))
    scores = live.scores()
    assert scores.by == "image"
    assert scores.n_groups.tolist() == [4, 4]
    assert scores.unscored == {}
    assert live.scores(by="stroke").by == "stroke"
    with pytest.raises(ValueError, match="by must be"):
        live.scores(by="pixel")


# ---------------------------------------------------------------- background


def test_new_strokes_cancel_stale_work(monkeypatch):
    live = started(refine=True, refine_after=0)
    begun, ended = threading.Event(), []

    def fit(self, version, painted, images, token):
        begun.set()
        while True:
            time.sleep(0.005)
            try:
                token.check()
            except Exception:
                ended.append(version)
                raise

    monkeypatch.setattr(Refiner, "fit", fit)
    version = live.update()
    assert begun.wait(5)
    live.add_stroke(0, [1], [1], 1)
    assert live.wait(5)
    assert ended == [version]
    begun.clear()
    live.update()
    assert begun.wait(5)
    live.close()
    assert ended == [version, version + 1]


def test_reading_an_image_ends_a_cancelled_job(monkeypatch):
    live = started(refine=True, refine_after=0)
    reached, released = threading.Event(), threading.Event()
    original = JungleSegmenter.fit

    def fit(self, X, y):
        reached.set()
        released.wait(5)
        return original(self, X, y)

    monkeypatch.setattr(JungleSegmenter, "fit", fit)
    live.update()
    assert reached.wait(5)
    live.undo()
    released.set()
    assert live.wait(20)
    assert live._models._refined is None


def test_failures_in_the_background_are_reported_once_and_not_lost(monkeypatch):
    live = started(refine=True, refine_after=0)

    def fit(*_):
        raise OSError("the disk is gone")

    monkeypatch.setattr(Refiner, "fit", fit)
    live.update()
    live._models.wait(5)
    with pytest.raises(RuntimeError, match="could not be fitted: the disk is gone"):
        live.update()
    live.update()
    live._models.wait(5)
    assert {stage for stage, _ in whole(live)[1]} == {"instant"}
    for call in (live.wait, live.export):  # which tries again
        live.add_stroke(0, [1], [1], 1)
        live.update()
        with pytest.raises(RuntimeError, match="the disk is gone"):
            call()
        with pytest.raises(RuntimeError, match="the disk is gone"):
            live.export()


def test_refining_waits_for_a_pause_unless_it_is_waited_for():
    live = started(refine=True, refine_after=600)
    live.update()
    assert {stage for stage, _ in whole(live)[1]} == {"instant"}
    assert live.wait(60)
    assert {stage for stage, _ in whole(live)[1]} == {"refined"}


def test_a_delay_longer_than_a_thread_can_wait_is_a_delay():
    background, done = Background(), []
    background.start(lambda token: done.append(1), delay=1e300)
    time.sleep(0.05)
    assert done == []
    assert background.wait(5)
    assert done == [1]


def test_only_the_newest_job_is_left():
    background, done, begun, first = Background(), [], threading.Event(), threading.Event()

    def wait_and_note(token):
        begun.set()
        assert first.wait(5)
        done.append(0)

    background.start(wait_and_note)
    assert begun.wait(5)
    for number in range(1, 5):
        background.start(lambda token, number=number: done.append(number), name=number)
    first.set()
    assert background.wait(5)
    assert done == [0, 4]
    background.start(lambda token: done.append(5), delay=600)
    background.cancel()
    assert background.wait(5)
    assert done == [0, 4]


def test_a_closed_engine_leaves_no_thread():
    before = set(threading.enumerate())
    with started(refine=True, refine_after=0) as live:
        live.update()
    assert not set(threading.enumerate()) - before
    assert live._maps.nbytes == 0


def test_threads_may_do_everything_at_once():
    live = started(refine=True, refine_after=0, n_jobs=2)
    live.update()
    failures, stop = [], time.monotonic() + 2

    def hammer(seed):
        rng = np.random.default_rng(seed)
        try:
            while time.monotonic() < stop:
                action = rng.integers(6)
                if action == 0:
                    live.add_stroke(0, *brush_pixels([rng.uniform(0, 80, 2)], 2, IMAGE.shape), int(rng.integers(2)))
                elif action == 1:
                    live.undo()
                    live.redo()
                elif action == 2:
                    live.update()
                elif action == 3:
                    for tile in live.predict(ALL):
                        assert np.isfinite(tile.probabilities).all()
                elif action == 4:
                    list(live.recall(ALL))
                    live.scores()
                else:
                    live.suggest(2)
        except Exception as failure:
            failures.append(failure)

    threads = [threading.Thread(target=hammer, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    live.update()
    expected = make_live()
    expected.add_image(IMAGE)
    for entry in live._strokes._entries[: live.n_strokes]:
        expected._strokes.add(entry.stroke)
    expected.update()
    assert live.wait(60)
    np.testing.assert_array_equal(live.export().predict_proba(IMAGE), expected.export().predict_proba(IMAGE))


# ---------------------------------------------------------------- stage two


def test_filters_are_kept_while_labels_are_added(monkeypatch):
    learned = []
    original = JungleSegmenter._learn_filters
    monkeypatch.setattr(JungleSegmenter, "_learn_filters", lambda *a: learned.append(1) or original(*a))
    live = make_live()
    live.add_image(IMAGE)
    for number in range(6):
        live.add_stroke(0, *brush_pixels([[14 * number + 5, 5], [14 * number + 5, 70]], 2, IMAGE.shape), number % 2)
    first = live.export()
    live.add_stroke(0, *brush_pixels([[90, 5], [90, 70]], 2, IMAGE.shape), 1)
    second = live.export()
    assert len(learned) == 1
    assert not np.array_equal(first.predict_proba(IMAGE), second.predict_proba(IMAGE))
    live.undo()
    np.testing.assert_array_equal(live.export().predict_proba(IMAGE), first.predict_proba(IMAGE))
    assert len(learned) == 1
    live.erase(0, [5], [20])  # of the strokes that filters were learned from
    live.export()
    assert len(learned) == 2


@pytest.mark.parametrize(
    ("labels", "n_expected"),
    [([0, 1], 2), ([0, 1, 0], 3), ([0, 1] * 5, 8), ([0, 1] * 7, 12), ([0, 1] * 5 + [2], 11), ([0] * 4 + [1], 5)],
)
def test_filters_are_learned_from_the_first_strokes(labels, n_expected):
    assert count_for_filters(np.array(labels)) == n_expected


def test_going_on_from_an_exported_model():
    live = started()
    segmenter = live.export()
    again = LiveSegmenter.from_model(segmenter, random_state=0, refine=False)
    with pytest.raises(ValueError, match="3 channels"):
        again.add_image(np.zeros((9, 9, 3)))
    again.add_image(DATA.images[1])
    maps, stages = whole(again)
    assert stages == {("refined", 0)}
    np.testing.assert_allclose(maps, segmenter.predict_proba(DATA.images[1]), atol=1e-5)
    paint(again, mask=DATA.masks[1].astype(int))
    again.update()
    assert whole(again)[1] == {("instant", again.version)}
    better = again.export()
    np.testing.assert_array_equal(
        better.features_.transform(np.ones((1, 98))), segmenter.features_.transform(np.ones((1, 98)))
    )
    truth = DATA.masks[1]
    assert (better.predict(DATA.images[1]) == truth).mean() >= (
        segmenter.predict(DATA.images[1]) == truth
    ).mean() - 0.05


def test_an_exported_model_can_be_saved(tmp_path):
    segmenter = started().export()
    save(segmenter, tmp_path / "model.inv")
    loaded = load(tmp_path / "model.inv")
    np.testing.assert_array_equal(loaded.predict_proba(IMAGE), segmenter.predict_proba(IMAGE))
    live = LiveSegmenter.from_model(loaded, refine=False)
    live.add_image(IMAGE)
    np.testing.assert_allclose(whole(live)[0], segmenter.predict_proba(IMAGE), atol=1e-5)


def test_of_a_long_stroke_some_connected_pixels_are_learned_from():
    strokes, shape = Strokes(), (5000, 5000)
    strokes.add(make_stroke(0, shape, *brush_pixels([[100, 100], [1500, 100]], 12, shape), 1))
    strokes.add(make_stroke(0, shape, *brush_pixels([[600, 300], [640, 300]], 3, shape), 2))
    strokes.add(make_stroke(0, shape, *brush_pixels([[600, 290], [600, 310]], 1, shape), None))
    long, short = (pick_pixels(part, 0) for part in strokes.painted())
    assert len(short.rows) == strokes.painted()[1].owned.sum()
    assert 300 < len(long.rows) <= 16 * 49
    assert np.ptp(long.rows) > 500
    canvas = np.zeros(shape, np.uint8)
    canvas[long.rows, long.cols] = 1
    assert ndimage.label(canvas, np.ones((3, 3)))[1] <= 16
    np.testing.assert_array_equal(pick_pixels(strokes.painted()[0], 0).rows, long.rows)


def test_of_large_images_blocks_with_strokes_are_used():
    strokes, shape = Strokes(), (40_000, 40_000)
    for number in range(30):
        strokes.add(make_stroke(0, shape, [1300 * number], [1300 * number], 5 if number == 0 else number % 2))
    blocks = choose_blocks([pick_pixels(part, 0) for part in strokes.painted()], [shape])
    assert blocks == sorted(set(blocks))
    n_pixels = sum(tile.shape[0] * tile.shape[1] for _, tile in blocks)
    assert n_pixels <= refinement.MAX_REGION_PIXELS
    assert 5 <= len(blocks) < 30
    for number in (0, 28, 29):  # the only stroke of a class, however old, and the newest
        assert any(tile.top <= 1300 * number < tile.bottom for _, tile in blocks)


def test_a_model_of_blocks_knows_the_whole_image(monkeypatch):
    monkeypatch.setattr(refinement, "MAX_WHOLE_PIXELS", 100 * 100)
    monkeypatch.setattr(refinement, "BLOCK_SIDE", 64)
    monkeypatch.setattr(refinement, "BLOCK_MARGIN", 16)
    values = np.tile(IMAGE, (2, 3)).astype(np.float32)
    values[:, 100:] += 3  # a bright part without strokes
    live = make_live()
    live.add_image(values)
    paint(live)
    predicted = live.export().predict(values)[:96, :80]
    assert (predicted == MASK).mean() > 0.7
