"""Label rasters equal a plain array, whatever is painted and taken back; actions paint them again after a restart."""

import numpy as np
import pytest

from invariance.segmentation import brush_pixels, fill_pixels
from invariance.studio.painting import Painting
from invariance.studio.project import Project
from invariance.studio.rasters import Box, PageKey, Rasters
from invariance.studio.sources import Sources

KEY = PageKey(1, 0, "labels")
SHAPE = (300, 300)


@pytest.fixture
def painting(folder):
    project = Project(folder)
    yield Painting(project, Sources(project))
    project.close()


def random_stroke(rng, painting):
    tool = rng.choice(["brush", "fill"])
    points = rng.uniform(0, 300, (rng.integers(1, 5) if tool == "brush" else 4, 2))
    return painting.stroke(KEY, tool, int(rng.integers(0, 3)), float(rng.uniform(0, 30)), points)


class TestRasters:
    def test_random_changes_equal_those_of_an_array(self):
        rng = np.random.default_rng(0)
        rasters, twin, history = Rasters(), np.zeros(SHAPE, np.uint8), []
        for _ in range(60):
            if history and rng.random() < 0.3:
                change, twin = history.pop()
                rasters.take_back(change)
            elif rng.random() < 0.3:
                mask = rng.integers(0, 4, SHAPE).astype(np.uint8) * (rng.random(SHAPE) < 0.1)
                history.append((rasters.paint_mask(KEY, mask, [2]), twin))
                twin = np.where((mask > 0) & (twin != 2), mask, twin).astype(np.uint8)
            else:
                rows, cols = brush_pixels(rng.uniform(0, 300, (3, 2)), 9, SHAPE)
                history.append((rasters.paint(KEY, rows, cols, int(rng.integers(4))), twin))
                twin = twin.copy()
                twin[rows, cols] = rasters.read(KEY, rows, cols)
            np.testing.assert_array_equal(rasters.dense(KEY, SHAPE), twin)
            assert (rasters.pages() == [KEY]) == bool(twin.any())

    def test_a_tile_that_was_read_does_not_change(self):
        rasters = Rasters()
        rasters.paint(KEY, np.array([5], np.int32), np.array([6], np.int32), 1)
        tile = rasters.tile(KEY, 0, 0)
        rasters.paint(KEY, np.array([7], np.int32), np.array([6], np.int32), 2)
        assert tile.sum() == 1

    def test_only_tiles_that_touch_a_box_and_hold_something_are_listed(self):
        rasters = Rasters()
        for row, col in ((0, 0), (255, 256), (512, 600)):
            rasters.paint(KEY, np.array([row], np.int32), np.array([col], np.int32), 1)
        assert rasters.tiles(KEY) == [(0, 0), (0, 1), (2, 2)]
        assert rasters.tiles(KEY, Box(0, 256, 600, 300)) == [(0, 1)]


class TestPainting:
    def test_a_restart_paints_the_same(self, folder):
        project = Project(folder)
        painting = Painting(project, Sources(project))
        rng = np.random.default_rng(1)
        for n in range(30):
            try:
                random_stroke(rng, painting)
            except ValueError:  # a stroke without pixels
                continue
            if n % 7 == 3:
                painting.travel(is_undo=True)
            if n == 10:
                project.change_class("pixels", 1, is_locked=True)
            if n == 20:
                painting.paint_mask(KEY, (np.arange(90_000).reshape(SHAPE) % 3).astype(np.uint8))
        before = painting.labels_of(1, 0, "labels")
        strokes = [stroke for step in painting.steps() for stroke in step.strokes]
        project.close()
        project = Project(folder)
        again = Painting(project, Sources(project))
        np.testing.assert_array_equal(again.labels_of(1, 0, "labels"), before)
        for one, other in zip(strokes, [stroke for step in again.steps() for stroke in step.strokes], strict=True):
            assert one.label == other.label
            np.testing.assert_array_equal(one.rows, other.rows)
        project.close()

    def test_undo_of_everything_leaves_nothing(self, painting):
        rng = np.random.default_rng(2)
        for _ in range(10):
            random_stroke(rng, painting)
        painting.paint_mask(KEY, np.full(SHAPE, 2, np.uint8))
        painting.remove_class(2)
        while painting.travel(is_undo=True)[0] is not None:
            pass
        assert not painting.labels_of(1, 0, "labels").any()
        assert painting.rasters.pages() == []

    def test_pixels_of_a_locked_class_stay(self, painting):
        painting.stroke(KEY, "brush", 1, 20, np.array([[50.0, 50.0]]))
        painting._project.change_class("pixels", 1, is_locked=True)
        painting.stroke(KEY, "brush", 2, 20, np.array([[60.0, 60.0]]))
        painting.stroke(KEY, "brush", 0, 20, np.array([[60.0, 60.0]]))
        labels = painting.labels_of(1, 0, "labels")
        rows, cols = brush_pixels([[50, 50]], 20, SHAPE)
        assert (labels[rows, cols] == 1).all()
        assert labels.astype(bool).sum() == len(rows)
        with pytest.raises(ValueError, match="locked"):
            painting.stroke(KEY, "brush", 2, 5, np.array([[50.0, 50.0]]))

    def test_a_removed_class_is_erased_everywhere(self, painting):
        painting.stroke(KEY, "brush", 1, 5, np.array([[50.0, 50.0]]))
        painting.stroke(PageKey(2, 0, "final"), "brush", 1, 5, np.array([[50.0, 50.0]]))
        step = painting.remove_class(1)
        assert painting.rasters.pages() == []
        assert [(stroke.image, stroke.label) for stroke in step.strokes] == [(1, 0)]
        painting.travel(is_undo=True)
        assert len(painting.rasters.pages()) == 2

    def test_the_engine_gets_every_pixel_of_a_fill_once(self, painting):
        points = np.array([[10.0, 10.0], [10.0, 200.0], [150.0, 100.0]])
        step = painting.stroke(KEY, "fill", 1, 0.5, points)
        np.testing.assert_array_equal(np.stack(step.strokes[0][2:4]), np.stack(fill_pixels(points, SHAPE)))
        assert painting.stroke(KEY._replace(layer="final"), "fill", 1, 0.5, points).strokes == []

    @pytest.mark.parametrize(
        ("tool", "points", "radius", "match"),
        [
            ("brush", [[-50, -50]], 5, "nothing was painted"),
            ("fill", [[5, 5], [5, 90]], 0, "nothing was painted"),
            ("brush", np.random.default_rng(0).uniform(0, 300, (2000, 2)), 500, "too long"),
            ("fill", np.random.default_rng(0).uniform(0, 300, (90_000, 2)), 0, "too long"),
        ],
    )
    def test_what_cannot_be_painted_is_refused_and_not_kept(self, painting, tool, points, radius, match):
        with pytest.raises(ValueError, match=match):
            painting.stroke(KEY, tool, 1, radius, np.asarray(points, float))
        assert painting._project.actions("pixels") == []

    def test_an_unknown_class_and_a_mask_of_another_size(self, painting):
        with pytest.raises(ValueError, match="no class 9"):
            painting.stroke(KEY, "brush", 9, 5, np.array([[50.0, 50.0]]))
        with pytest.raises(ValueError, match="size of the image"):
            painting.paint_mask(KEY, np.ones((5, 5), np.uint8))
