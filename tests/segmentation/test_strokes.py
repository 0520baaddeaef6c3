"""Strokes: the last one on a pixel wins, undo and redo restore exactly, and nothing grows with the history."""

import itertools
import tracemalloc

import numpy as np
import pytest

from invariance.segmentation.live import brush as module
from invariance.segmentation.live.brush import brush_pixels, fill_pixels
from invariance.segmentation.live.strokes import SQUARE_SIDE, Strokes, make_stroke

SHAPE = (150, 130)


def draw(rng, image=0):
    points = rng.uniform(-10, 160, (int(rng.integers(1, 4)), 2))
    rows, cols = brush_pixels(points, rng.uniform(0, 8), SHAPE)
    if len(rows) == 0:
        rows, cols = np.array([3]), np.array([4])
    return make_stroke(image, SHAPE, rows, cols, [None, 0, 1, 5][rng.integers(4)])


def paint(strokes):
    """The plain twin: who owns which pixel after the strokes, painted one after the other."""
    owners = np.full((2, *SHAPE), -1)
    for position, stroke in enumerate(strokes):
        owners[stroke.image, stroke.rows, stroke.cols] = -1 if stroke.label is None else position
    return owners


def owners_of(history):
    owners = np.full((2, *SHAPE), -1)
    for painted in history.painted():
        rows, cols = painted.stroke.rows[painted.owned], painted.stroke.cols[painted.owned]
        assert (owners[painted.stroke.image, rows, cols] == -1).all()
        owners[painted.stroke.image, rows, cols] = painted.position
    return owners


@pytest.mark.parametrize("seed", range(5))
def test_any_history_equals_painting_its_strokes_again(seed):
    rng, history, done, undone = np.random.default_rng(seed), Strokes(), [], []
    for revision in range(60):
        assert history.revision == revision
        action = rng.choice(["add", "undo", "redo"], p=[0.5, 0.3, 0.2])
        if action == "add" or (action == "undo" and not done) or (action == "redo" and not undone):
            done, undone = [*done, draw(rng, int(rng.integers(2)))], []
            history.add(done[-1])
        elif action == "undo":
            assert history.undo() is done[-1]
            undone.append(done.pop())
        else:
            assert history.redo() is undone[-1]
            done.append(undone.pop())
        assert len(history) == len(done)
        np.testing.assert_array_equal(owners_of(history), paint(done))


def test_nothing_to_undo_or_redo_changes_nothing():
    history = Strokes()
    assert history.undo() is None
    assert history.redo() is None
    assert history.revision == 0
    history.add(make_stroke(0, SHAPE, [1], [1], 1))
    assert history.redo() is None
    assert history.revision == 1


def test_a_stroke_added_after_undo_has_a_new_number_and_ends_redoing():
    history = Strokes()
    history.add(make_stroke(0, SHAPE, [1], [1], 1))
    first = history.painted()[0]
    history.undo()
    history.add(make_stroke(0, SHAPE, [1], [1], 1))
    second = history.painted()[0]
    assert (first.position, second.position) == (0, 0)
    assert first.number != second.number
    assert history.numbers() == {second.number}
    assert history.redo() is None


def test_erasing_everything_frees_the_owners():
    history = Strokes()
    history.add(make_stroke(0, SHAPE, *np.indices(SHAPE).reshape(2, -1), 1))
    history.add(make_stroke(0, SHAPE, *np.indices(SHAPE).reshape(2, -1), None))
    assert history.painted() == []
    assert history.nbytes <= 2 * 29 * SHAPE[0] * SHAPE[1]


def test_memory_follows_the_strokes_and_not_the_image():
    history, shape = Strokes(), (1_000_000, 1_000_000)
    for number in range(100):
        rows, cols = brush_pixels([[9_000 * number, 500_000], [9_000 * number + 40, 500_000]], 3, shape)
        history.add(make_stroke(0, shape, rows, cols, number % 2))
    n_pixels = sum(len(painted.stroke.rows) for painted in history.painted())
    assert n_pixels > 100 * 240
    assert history.nbytes <= 29 * n_pixels + 100 * 4 * 4 * SQUARE_SIDE**2


def test_a_stroke_reads_only_squares_that_it_touches(monkeypatch):
    """The cost of a stroke does not grow with the history: the same number of reads at the start and after 300."""
    history, reads = Strokes(), []
    original = Strokes._read
    monkeypatch.setattr(Strokes, "_read", lambda self, entry: reads.append(1) or original(self, entry))
    counts = []
    for number in range(300):
        history.add(make_stroke(0, SHAPE, [number // 2], [number % 130], 1))
        history.painted()
        counts.append(len(reads))
        reads.clear()
    assert max(counts) <= 3


@pytest.mark.parametrize(
    ("rows", "cols", "message"),
    [
        ([], [], "at least one pixel"),
        ([1, 2], [1], "same length"),
        ([-1], [0], "rows must be from 0 to 149 in image 3; got -1 to -1"),
        ([0], [130], "cols must be from 0 to 129"),
        ([0.5], [1], "rows must be integers"),
    ],
)
def test_bad_pixels_are_refused(rows, cols, message):
    with pytest.raises(ValueError, match=message):
        make_stroke(3, SHAPE, rows, cols, 1)


def test_pixels_are_kept_once():
    stroke = make_stroke(0, SHAPE, [5, 1, 5], [2, 3, 2], 1)
    assert stroke.rows.tolist() == [1, 5]
    assert stroke.cols.tolist() == [3, 2]
    assert stroke.rows.dtype == np.int32


@pytest.mark.parametrize("seed", range(8))
def test_a_brush_covers_what_is_near_its_line(seed):
    """The plain twin measures the distance of every pixel to many points of the line."""
    rng = np.random.default_rng(seed)
    points, radius = rng.uniform(-15, 60, (int(rng.integers(1, 5)), 2)), rng.uniform(0, 9)
    shape = (40, 50)
    corners = [np.linspace(a, b, 1000) for a, b in itertools.pairwise(points)] or [points]
    line = np.concatenate(corners)
    pixels = np.stack(np.indices(shape), axis=-1).reshape(-1, 1, 2)
    distance = np.sqrt(np.concatenate([((p - line) ** 2).sum(axis=-1).min(axis=1) for p in np.split(pixels, 40)]))
    distance = distance.reshape(shape)
    found = np.zeros(shape, bool)
    found[brush_pixels(points, radius, shape)] = True
    reach = max(radius, 0.5)
    assert found[distance <= reach - 0.01].all()
    assert not found[distance > reach + 0.01].any()


def test_a_brush_outside_the_image_finds_nothing():
    rows, cols = brush_pixels([[-50, -50], [-40, 10]], 5, SHAPE)
    assert len(rows) == len(cols) == 0


@pytest.mark.parametrize("seed", range(8))
def test_bands_of_rows_do_not_change_what_a_brush_covers(seed, monkeypatch):
    """Also if a line is steep, level or a point, and if it is far longer than the image."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(-15, 60, (2, 2)) * rng.choice([0, 1e-9, 1, 100], (1, 2))
    radius = rng.uniform(0, 9)

    def covered(n_rows):
        monkeypatch.setattr("invariance.segmentation.live.brush.BAND_ROWS", n_rows)
        return brush_pixels(points, radius, (60, 70))

    np.testing.assert_array_equal(covered(1), covered(60))


def test_a_long_line_takes_the_memory_of_its_pixels():
    tracemalloc.start()
    rows, _ = brush_pixels([[0, 0], [30_000, 20_000]], 2, (30_001, 20_001))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(rows) > 30_000
    assert peak < 50 * 2**20  # all pixels of the image, each as one float64, would take 4.8 GB


BAD_BRUSHES = [
    *[([[0, np.nan]], 1), ([[0, 1, 2]], 1), ([[0, 1]], -1)],
    *[([[0, 0], [1e308, 1e308]], 1), ([[-(2**32), 0]], 1), ([[0, 0]], 1e300), ([[0, 0]], np.inf)],
]


@pytest.mark.parametrize(("points", "radius"), BAD_BRUSHES)
def test_bad_brushes_are_refused(points, radius):
    with pytest.raises(ValueError, match="points must be|radius must be"):
        brush_pixels(points, radius, SHAPE)


def test_a_brush_covers_the_same_in_images_of_any_size(monkeypatch):
    rng = np.random.default_rng(0)
    lines = [(rng.uniform(-60, 200, (int(rng.integers(1, 6)), 2)), rng.uniform(0, 20)) for _ in range(30)]
    expected = [brush_pixels(*line, SHAPE) for line in lines]
    monkeypatch.setattr(module, "MAX_DENSE_PIXELS", 0)  # as for a line across a slide
    for line, (rows, cols) in zip(lines, expected, strict=True):
        found = brush_pixels(*line, SHAPE)
        np.testing.assert_array_equal(found[0], rows)
        np.testing.assert_array_equal(found[1], cols)


def is_inside(points, row, col):
    """The plain twin: whether a ray to the right crosses the border of a polygon an odd number of times."""
    inside = False
    for (r_i, c_i), (r_j, c_j) in zip(points, np.roll(points, 1, axis=0), strict=True):
        if (r_i > row) != (r_j > row) and col < (c_j - c_i) * (row - r_i) / (r_j - r_i) + c_i:
            inside = not inside
    return inside


@pytest.mark.parametrize("seed", range(20))
def test_a_fill_covers_what_is_inside(seed):
    rng = np.random.default_rng(seed)
    points = rng.uniform(-8, 30, (int(rng.integers(1, 9)), 2))
    points = points if seed % 2 else points.round()  # corners on the centres of pixels are the hard ones
    expected = [place for place in itertools.product(range(20), range(24)) if is_inside(points, *place)]
    rows, cols = fill_pixels(points, (20, 24))
    assert list(zip(rows.tolist(), cols.tolist(), strict=True)) == expected
    assert rows.dtype == cols.dtype == np.int32


def test_a_fill_of_a_square_is_the_square():
    rows, cols = fill_pixels([[1.5, 2.5], [1.5, 6.5], [4.5, 6.5], [4.5, 2.5]], (9, 9))
    assert (rows.min(), rows.max(), cols.min(), cols.max(), len(rows)) == (2, 4, 3, 6, 12)


def test_bad_fills_are_refused():
    with pytest.raises(ValueError, match="points must be"):
        fill_pixels([[0, np.nan], [1, 1]], SHAPE)
