"""The painted labels of a project: actions of its history as rasters, and as strokes for the engine."""

import threading
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from invariance.segmentation import brush_pixels, fill_pixels
from invariance.studio.database import ProjectError
from invariance.studio.project import Action, Project
from invariance.studio.rasters import TILE_SIDE, Box, Change, PageKey, Rasters
from invariance.studio.sources import Sources

MAX_PIXELS = 4_000_000  # of one stroke; the engine takes 29 bytes for each
# Pixels of boxes around the parts of a stroke, and rows that the borders of a fill cross: about a second each.
MAX_BRUSH_WORK, MAX_FILL_WORK = 50_000_000, 5_000_000
# Of a mask, the engine gets so many pixels per class and tile; it learns from a few hundred of a stroke.
MAX_MASK_PIXELS = 1024


class EngineStroke(NamedTuple):
    """Pixels of a page that got a label; 0 erases."""

    image: int
    page: int
    rows: np.ndarray
    cols: np.ndarray
    label: int


class Step(NamedTuple):
    """What an action did.

    Attributes
    ----------
    seq : int
        The number of the action.
    changes : list of Change
    strokes : list of EngineStroke
    is_repeated : bool
        Whether the stroke had come before, so that nothing was done this time.
    """

    seq: int
    changes: list[Change]
    strokes: list[EngineStroke]
    is_repeated: bool = False


class Painting:
    """Labels of pixels; it is thread-safe.

    Parameters
    ----------
    project : Project
    sources : Sources
    """

    def __init__(self, project: Project, sources: Sources):
        self._project, self._sources = project, sources
        self.rasters = Rasters()
        self._steps: list[Step] = []
        self._lock = threading.RLock()  # one action after the other, in the project and here
        try:
            for action in project.actions("pixels"):
                self._steps.append(self._apply(action))
        except (ValueError, KeyError, TypeError, IndexError, zlib.error) as error:
            raise ProjectError(
                f"the project '{project.directory}' is damaged ({error}). Restore a copy of it."
            ) from error

    # ------------------------------------------------------------ what is painted

    def steps(self) -> list[Step]:
        """Return the actions that are not undone."""
        with self._lock:
            return list(self._steps)

    def labels_of(self, image: int, page: int, layer: str) -> np.ndarray:
        """Return the class numbers (h, w) uint8 of a page."""
        return self.rasters.dense(PageKey(image, page, layer), self._sources.find(image, page).shape)

    def pages(self, layer: str) -> list[tuple[int, int]]:
        """List the (image, page) that hold labels of a layer, sorted."""
        return sorted((key.image, key.page) for key in self.rasters.pages() if key.layer == layer)

    # ------------------------------------------------------------ new actions

    def stroke(
        self, key: PageKey, tool: str, number: int, radius: float, points: np.ndarray, stroke_id: str | None = None
    ) -> Step:
        """Paint a stroke; it is on the disk when this returns. One whose id came before is not painted again."""
        with self._lock:
            seq = None if stroke_id is None else self._project.find_received(stroke_id)
            if seq is not None:
                return Step(seq, [], [], is_repeated=True)
            shape = self._sources.find(key.image, key.page).shape
            self._check_paintable(key, number)
            draft = Action(0, "pixels", tool, *key, number, radius, points.astype("<f8").tobytes(), self._locks())
            rows, _ = self._pixels(draft, shape)
            if len(rows) == 0:
                raise ValueError("nothing was painted: all pixels are outside of the image or of a locked class.")
            return self._commit(draft, stroke_id)

    def paint_mask(self, key: PageKey, mask: np.ndarray) -> Step:
        """Paint the pixels of a mask (h, w) that are not 0, as one action."""
        mask = np.ascontiguousarray(mask, np.uint8)
        with self._lock:
            shape = self._sources.find(key.image, key.page).shape[:2]
            if mask.shape != shape:
                raise ValueError(f"the mask must have the size of the image, {shape}; got {mask.shape}. Resize it.")
            for number in np.unique(mask[mask > 0]).tolist():
                self._check_paintable(key, number)
            data = zlib.compress(mask.tobytes(), 1)
            return self._commit(Action(0, "pixels", "mask", *key, data=data, more=self._locks()))

    def remove_class(self, number: int) -> Step:
        """Remove a class and erase its labels, as one action."""
        with self._lock:
            self._project.find_class("pixels", number)
            return self._commit(Action(0, "pixels", "remove", number=number))

    def travel(self, is_undo: bool) -> tuple[Action | None, Step | None]:
        """Undo the last action of the project or redo the next; return it and, if it is of pixels, what it did."""
        with self._lock:
            action = self._project.undo() if is_undo else self._project.redo()
            if action is None or action.mode != "pixels":
                return action, None
            if not is_undo:
                self._steps.append(self._apply(action))
                return action, self._steps[-1]
            step = self._steps.pop()
            assert step.seq == action.seq
            for change in reversed(step.changes):
                self.rasters.take_back(change)
            return action, step

    # ------------------------------------------------------------ inside

    def _commit(self, draft: Action, stroke_id: str | None = None) -> Step:
        fields = {key: value for key, value in draft._asdict().items() if key not in ("seq", "mode", "kind")}
        seq = self._project.add_action(draft.mode, draft.kind, stroke_id, **fields)
        self._steps.append(self._apply(draft._replace(seq=seq)))
        return self._steps[-1]

    def _apply(self, action: Action) -> Step:
        """Change the rasters as an action says."""
        if action.kind == "remove":
            return self._apply_removal(action)
        key = PageKey(*action[3:6])  # type: ignore[arg-type]
        try:
            shape = self._sources.find(key.image, key.page).shape
        except ValueError:  # the file is gone or damaged; its labels come back with it
            return Step(action.seq, [], [])
        if action.kind == "mask":
            return self._apply_mask(action, key, shape)
        rows, cols = self._pixels(action, shape)
        label = int(action.number or 0)
        strokes = [EngineStroke(key.image, key.page, rows, cols, label)] if key.layer == "labels" and len(rows) else []
        return Step(action.seq, [self.rasters.paint(key, rows, cols, label)], strokes)

    def _apply_removal(self, action: Action) -> Step:
        changes, strokes = [], []
        for key in sorted(self.rasters.pages()):
            rows, cols = self.rasters.find(key, int(action.number or 0))
            if len(rows):
                changes.append(self.rasters.paint(key, rows, cols, 0))
                if key.layer == "labels":
                    strokes.append(EngineStroke(key.image, key.page, rows, cols, 0))
        return Step(action.seq, changes, strokes)

    def _apply_mask(self, action: Action, key: PageKey, shape: tuple[int, ...]) -> Step:
        mask = np.frombuffer(zlib.decompress(action.data or b""), np.uint8).reshape(shape[:2])
        change = self.rasters.paint_mask(key, mask, action.more.get("locked", []))
        strokes = []
        for place in change.tiles if key.layer == "labels" else ():
            tile, old = self.rasters.tile(key, *place), change.tiles[place]
            for label in np.unique(tile[tile > 0]).tolist():
                rows, cols = np.nonzero((tile == label) & (True if old is None else old != label))
                every = max(1, len(rows) // MAX_MASK_PIXELS)
                rows, cols = (rows + place[0] * TILE_SIDE)[::every], (cols + place[1] * TILE_SIDE)[::every]
                if len(rows):
                    strokes.append(
                        EngineStroke(key.image, key.page, rows.astype(np.int32), cols.astype(np.int32), label)
                    )
        return Step(action.seq, [change], strokes)

    def _pixels(self, action: Action, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Return rows and columns of the pixels that a stroke changes: not those of locked classes."""
        points = action.points
        if action.kind == "fill":
            _check_fill_work(points, shape)
            rows, cols = fill_pixels(points, shape)
        else:
            radius = float(action.radius or 0)
            _check_brush_work(points, radius, shape)
            rows, cols = brush_pixels(points, radius, shape)
        if len(rows) > MAX_PIXELS:
            raise ValueError(f"a stroke can have {MAX_PIXELS:,} pixels; got {len(rows):,}. Paint a smaller area.")
        locked = action.more.get("locked", [])
        if locked:
            free = ~np.isin(self.rasters.read(PageKey(*action[3:6]), rows, cols), locked)  # type: ignore[arg-type]
            rows, cols = rows[free], cols[free]
        return rows, cols

    def _locks(self) -> dict[str, Any]:
        return {"locked": [found.number for found in self._project.classes("pixels") if found.is_locked]}

    def _check_paintable(self, key: PageKey, number: int) -> None:
        """Refuse classes that do not exist, and pages with other channels than those painted before."""
        if number:
            self._project.find_class("pixels", number)
        first = next((step.strokes[0].image for step in self._steps if step.strokes), None)
        if first is None or key.layer != "labels":
            return
        source, other = self._sources.find(key.image), self._sources.find(first)
        if source.n_channels != other.n_channels:
            raise ValueError(
                f"image '{source.name}' has {source.n_channels} channels, but '{other.name}', which is painted, has "
                f"{other.n_channels}. Convert one of them, or paint them in two projects."
            )


def _check_brush_work(points: np.ndarray, radius: float, shape: tuple[int, ...]) -> None:
    """Refuse strokes that would take long to draw: a wide brush along very many points."""
    starts = points[:-1] if len(points) > 1 else points
    stops = points[1:] if len(points) > 1 else points
    low, high = np.minimum(starts, stops) - radius, np.maximum(starts, stops) + radius
    sides = np.clip(high, 0, shape[:2]) - np.clip(low, 0, shape[:2])
    if float(np.prod(sides + 1, axis=1).sum()) > MAX_BRUSH_WORK:
        raise ValueError("the stroke is too long for such a wide brush. Paint it in parts, or use the fill tool.")


def _check_fill_work(points: np.ndarray, shape: tuple[int, ...]) -> None:
    rows = np.clip(points[:, 0], 0, shape[0])
    if float(np.abs(rows - np.roll(rows, 1)).sum()) > MAX_FILL_WORK:
        raise ValueError("the border of the filled area is too long. Fill it in parts.")


def touched(step: Step) -> list[tuple[PageKey, Box]]:
    """List what a step changed."""
    return [(change.key, change.box) for change in step.changes if change.box.bottom > change.box.top]


Listener = Callable[[Step, int], None]
