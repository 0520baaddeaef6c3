"""Marks in one image, the methods that learn from them, and what is made of their figures."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.ndimage import distance_transform_edt

from experiments import isbi2012, scribbles
from experiments.strokes import LENGTH, WIDTH, Stroke, draw_scribbles, draw_strokes, paint
from invariance.datasets import make_membranes
from tests.experiments.poison import check_only_tested_on

TINY = scribbles.FULL._replace(n_marks=(10, 20), sections=(0, 8), side=64, n_test_cells=1, moments=(1, 2))


@pytest.fixture(scope="module")
def sections():
    return make_membranes(24, (64, 64), random_state=0)


@pytest.fixture(scope="module")
def mask():
    return make_membranes(1, (256, 256), random_state=3).masks[0]


def dark_is_membrane(image):
    return np.clip(1 - image, 0, 1).astype(np.float32)


def draw(mask, n, seed=0):
    return draw_strokes(mask, n, np.random.default_rng(seed))


def test_scribbles_show_the_truth_inside_discs(mask):
    scribbled = draw_scribbles(mask, 5, 4, np.random.default_rng(0))
    marked = scribbled != -1
    assert scribbled.shape == mask.shape
    assert np.array_equal(scribbled[marked], mask[marked])
    one = draw_scribbles(mask, 1, 4, np.random.default_rng(0)) != -1
    rows, cols = np.nonzero(one)
    assert one.sum() == 49
    assert np.all((rows - rows.mean()) ** 2 + (cols - cols.mean()) ** 2 <= 16)


def test_scribbles_of_one_class_are_drawn_again():
    mask = np.zeros((64, 64), bool)
    mask[20:24, 20:24] = True
    for seed in range(5):
        assert {0, 1} < set(draw_scribbles(mask, 1, 4, np.random.default_rng(seed)).ravel().tolist())


def test_a_mask_of_one_class_cannot_be_scribbled_on():
    with pytest.raises(ValueError, match="both classes; got True everywhere"):
        draw_scribbles(np.ones((20, 20), bool), 3, 4, np.random.default_rng(0))


def test_strokes_are_as_wide_and_long_as_a_brush_and_connected(mask):
    for stroke in draw(mask, 20):
        painted = np.pad(paint([stroke], mask.shape) >= 0, 1)
        assert distance_transform_edt(painted).max() <= WIDTH
        extent = np.ptp(np.stack([stroke.rows, stroke.cols]), axis=1)
        assert np.hypot(*extent) <= LENGTH + 3 * WIDTH
        assert len(stroke.rows) >= WIDTH * LENGTH / 4
        rows, cols = np.nonzero(painted)
        steps = np.maximum(np.abs(rows[:, None] - rows), np.abs(cols[:, None] - cols))
        reached = {0}
        waiting = [0]
        while waiting:
            near = set(np.flatnonzero(steps[waiting.pop()] <= 1).tolist()) - reached
            reached |= near
            waiting += near
        assert len(reached) == len(rows)


def test_every_second_stroke_follows_the_foreground_and_the_others_cross_it(mask):
    strokes = draw(mask, 60)
    along, across = strokes[::2], strokes[1::2]
    assert all(stroke.labels.all() for stroke in along)
    assert np.mean([mask[stroke.rows, stroke.cols].mean() for stroke in along]) > 0.9
    shares = [mask[stroke.rows, stroke.cols].mean() for stroke in across]
    assert 0.1 < np.mean(shares) < 0.6
    assert np.mean([len(np.unique(stroke.labels)) == 2 for stroke in across]) > 0.9


def test_a_hand_errs_by_a_pixel_and_seldom(mask):
    painted = paint(draw(mask, 60), mask.shape)
    wrong = (painted >= 0) & (painted != mask)
    assert 0.01 < wrong.sum() / (painted >= 0).sum() < 0.12
    from_border = np.where(mask, distance_transform_edt(mask), distance_transform_edt(~mask))
    assert np.quantile(from_border[wrong], 0.9) <= 2


def test_the_same_seed_draws_the_same_strokes_and_another_others(mask):
    first, same, other = (paint(draw(mask, 10, seed), mask.shape) for seed in (0, 0, 1))
    assert np.array_equal(first, same)
    assert not np.array_equal(first, other)


def test_strokes_stay_inside_small_images_and_show_both_classes():
    mask = np.zeros((12, 40), bool)
    mask[5:7] = True
    for seed in range(10):
        for n in (1, 2):
            painted = paint(draw(mask, n + 1, seed), mask.shape)
            assert set(np.unique(painted).tolist()) >= {0, 1}


def test_a_later_stroke_is_painted_over_an_earlier_one():
    strokes = [Stroke(np.array([0, 1]), np.array([0, 0]), np.array([label] * 2)) for label in (1, 0)]
    assert np.array_equal(paint(strokes, (3, 1)), [[0], [0], [-1]])


@pytest.mark.parametrize("value", [True, False])
def test_a_mask_of_one_class_cannot_be_drawn_on(value):
    with pytest.raises(ValueError, match="both classes"):
        draw(np.full((30, 30), value), 2)


def test_discs_and_strokes_mark_about_as_many_pixels(mask):
    counts = [
        np.mean([(mark(mask, 10, np.random.default_rng(seed)) >= 0).sum() for seed in range(20)])
        for mark in scribbles.MARKS.values()
    ]
    assert 0.75 < counts[0] / counts[1] < 1.33


def test_the_calibration_error_is_the_mean_distance_of_probabilities_from_shares():
    rng = np.random.default_rng(0)
    probabilities = rng.random(100_000)
    truth = rng.random(100_000) < probabilities
    assert scribbles.calibration_error(probabilities, truth) < 0.6
    # In one bin there are 25 % of class 1 where 30 % are expected; in the last one 50 % where 100 % are.
    probabilities = np.repeat([0.3, 1.0], [40, 60])
    truth = np.concatenate([np.arange(40) % 4 == 0, np.arange(60) % 2 == 0])
    assert scribbles.calibration_error(probabilities, truth) == pytest.approx(0.4 * 5 + 0.6 * 50)
    assert scribbles.calibration_error(truth.astype(float), truth) == 0


def test_a_run_is_scored_as_in_the_other_experiments_on_membranes(sections):
    images = scribbles.Images(sections.images[0], sections.masks[0], sections.images[1:3], sections.masks[1:3])
    ours = scribbles.judge("10 discs", "dark", 2.0, dark_is_membrane, images)
    theirs = isbi2012.judge("10 discs", "a", "dark", 2.0, dark_is_membrane, images.test_images, images.truths)
    assert ours.error == theirs.error
    assert (ours.marks, ours.method, ours.training_seconds) == ("10 discs", "dark", 2.0)


@pytest.fixture
def staged(monkeypatch, sections):
    """A function that runs the experiment on some data with a witness; and what the witness and the U-Net learned."""
    fits = []

    def train(image, mask, seed):
        fits.append((image.tobytes(), mask.tobytes(), seed))
        return dark_is_membrane

    def train_unet(images, masks, seconds, *, checkpoints, random_state, on_checkpoint):
        fits.append((images[0].tobytes(), masks[0].tobytes(), random_state))
        for moment in checkpoints:
            on_checkpoint(moment, dark_is_membrane)

    monkeypatch.setattr(scribbles, "FULL", TINY)
    monkeypatch.setattr(scribbles, "METHODS", {"witness": train, scribbles.FOREST: train})
    monkeypatch.setattr(scribbles, "has_torch", lambda: True)
    monkeypatch.setattr(scribbles, "load_unet", lambda: train_unet)

    def run(make_images, runs=1, seed=0):
        return scribbles.run(make_images, runs, seed, False).tables

    return run, fits


def figures_of(tables):
    return [figure for table in tables for row in table.outcomes for figure in row.figures]


def test_test_sections_are_only_tested_on(staged, sections, monkeypatch):
    run, fits = staged
    images, masks = sections.images.copy(), sections.masks.copy()
    tested = list(TINY.test)
    images[tested] = np.random.default_rng(9).random(images[tested].shape)
    masks[tested] ^= True

    def run_on(data):
        monkeypatch.setattr(scribbles, "load_isbi2012", lambda: data)
        return figures_of(run(scribbles.isbi_images))

    check_only_tested_on(run_on, fits, sections, replace(sections, images=images), replace(sections, masks=masks))


def test_test_images_of_cells_are_only_tested_on(staged, monkeypatch):
    run, fits = staged

    def poison(field):
        def make(*arguments, **named):
            data = make_membranes(*arguments, **named)
            values = getattr(data, field).copy()
            values[1:] = 1 - values[1:] if field == "images" else ~values[1:]
            return replace(data, **{field: values})

        return make

    def run_on(make):
        monkeypatch.setattr(scribbles, "make_membranes", make)
        return figures_of(run(scribbles.cell_images))

    check_only_tested_on(run_on, fits, make_membranes, poison("images"), poison("masks"))


def test_every_draw_of_cells_has_images_of_its_own():
    runs = [list(scribbles.cell_images(run, TINY)) for run in (0, 1)]
    images = [image.tobytes() for run in runs for draw in run for image in (draw.image, *draw.test_images)]
    assert len(set(images)) == len(images) == 2 * 2 * 2


def test_no_section_is_both_marked_and_tested_on():
    for plan in (scribbles.FULL, scribbles.QUICK):
        assert not set(plan.sections) & set(plan.test)
    assert (scribbles.FULL.sections, scribbles.FULL.n_marks) == ((0, 8, 16), (10, 40, 160))
    assert (tuple(scribbles.FULL.test), scribbles.FULL.moments) == (tuple(range(18, 24)), (20, 50, 100))


def test_tables_have_errors_ratios_to_the_forest_and_calibration_with_their_seconds():
    runs = [
        scribbles.Run("10 discs", method, error, calibration, seconds, seconds / 10)
        for method, error, calibration, seconds in (
            (scribbles.FOREST, 8.0, 3.0, 1.0),
            ("ours", 6.0, 1.0, 2.0),
            (scribbles.FOREST, 10.0, 4.0, 3.0),
            ("ours", 5.0, 2.0, 4.0),
        )
    ]
    errors, ratios, calibration = scribbles.tables_of(runs)
    assert [table.title for table in (errors, ratios, calibration)] == [
        "10 discs, 1 - F in %",
        "10 discs, 1 - F in % of the pixel forest's",
        "10 discs, calibration error in points",
    ]
    assert [(row.method, row.figures.tolist(), row.seconds) for row in errors.outcomes] == [
        (scribbles.FOREST, [8, 10], 2),
        ("ours", [6, 5], 3),
    ]
    assert [(row.method, row.figures.tolist()) for row in ratios.outcomes] == [("ours", [75, 50])]
    [forest, ours] = calibration.outcomes
    assert (ours.figures.tolist(), ours.seconds) == ([1, 2], pytest.approx(0.3))
    assert forest.figures.tolist() == [3, 4]


def test_a_method_whose_package_is_missing_is_left_out_with_the_reason(sections, capsys, monkeypatch):
    def missing(image, mask, seed):
        raise ImportError("it needs a package. Try: pip install it")

    images = scribbles.Images(sections.images[0], sections.masks[0], sections.images[1:2], sections.masks[1:2])
    methods = {"here": lambda *_: dark_is_membrane, "not here": missing}
    assert list(scribbles.warm_up(methods, iter([images]))) == ["here"]
    assert capsys.readouterr().out == "not here is left out: it needs a package. Try: pip install it\n"
    monkeypatch.setattr(scribbles, "find_spec", lambda name: None)
    assert not scribbles.has_torch()
    assert capsys.readouterr().out.startswith("U-Net is left out: it needs PyTorch")


def test_the_segmenter_and_the_peers_that_are_always_here_learn_from_strokes():
    data = make_membranes(2, (96, 96), random_state=1)
    images = scribbles.Images(data.images[0], data.masks[0], data.images[1:], data.masks[1:])
    mask = scribbles.mark_strokes(images.mask, 20, np.random.default_rng(0))
    methods = {name: scribbles.METHODS[name] for name in (scribbles.SEGMENTER, scribbles.FOREST, "TrainableSegmenter")}
    n_cells = np.count_nonzero(~images.truths)
    blind = 100 * (1 - 2 * n_cells / (n_cells + images.truths.size))
    runs = scribbles.compare("20 strokes", images, mask, 0, methods, ())
    assert [run.method for run in runs] == list(methods)
    assert all(run.error < 0.7 * blind for run in runs), runs
