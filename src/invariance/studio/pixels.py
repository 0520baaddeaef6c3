"""The pixel mode: strokes and masks of a project, its engine, and what pages are shown of them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from invariance.segmentation import JungleSegmenter, View
from invariance.studio.live_engine import DEFAULT_SWITCHES, SEED, LiveEngine, switches_text
from invariance.studio.mask_files import MaskFiles
from invariance.studio.outbox import Outbox
from invariance.studio.painting import Painting, Step, touched
from invariance.studio.project import Action, Project
from invariance.studio.rasters import Box, PageKey
from invariance.studio.score_history import ScoreHistory
from invariance.studio.sources import Sources
from invariance.studio.worker import Worker

N_SUGGESTIONS = 5
MAX_SUGGESTING_SIDE = 1536  # pixels of a page that is looked through for suggestions
IDENTITY_TEXT = "rotations:1"

# Called with what was painted: the step and the number of the connection that did it.
PaintedListener = Callable[[Step, int | None], None]


class PixelSession:
    """Painting and learning; it is thread-safe.

    Parameters
    ----------
    project : Project
    sources : Sources
    send : callable
        Sends an event to all pages, from any thread.
    on_painted : callable
        Called with every step that changed labels, and the number of the connection that asked for it or None.

    Attributes
    ----------
    project : Project
    sources : Sources
    painting : Painting
    seed : int
    """

    def __init__(
        self,
        project: Project,
        sources: Sources,
        send: Callable[[dict[str, Any]], None],
        on_painted: PaintedListener,
    ):
        self.project, self.sources, self.seed = project, sources, SEED
        self._on_painted = on_painted
        self.painting = Painting(project, sources)
        self._files = MaskFiles(project, sources, self.painting)
        self._engine = LiveEngine(sources, self.painting, self._switches())
        self._scores = ScoreHistory(project, send)
        self._worker = Worker(self._engine, send, self._score)

    def close(self) -> None:
        """Write what is due, and end all threads."""
        self._worker.close()
        self._files.close()
        self._engine.close()

    # ------------------------------------------------------------ painting

    def stroke(
        self,
        key: PageKey,
        tool: str,
        number: int,
        radius: float,
        points: np.ndarray,
        stroke_id: str | None = None,
        origin: int | None = None,
    ) -> Step:
        """Paint a stroke, unless its id came before; return what it did when it is on the disk."""
        step = self.painting.stroke(key, tool, number, radius, points, stroke_id)
        if not step.is_repeated:
            self._painted(step, origin)
        return step

    def paint_mask(
        self, image: int, page: int, mask: np.ndarray, layer: str = "labels", origin: int | None = None
    ) -> int:
        """Paint the pixels of a mask (h, w) that are not 0, as one action; return its number."""
        return self._painted(self.painting.paint_mask(PageKey(image, page, layer), mask), origin)

    def remove_class(self, number: int, origin: int | None = None) -> int:
        """Remove a class and erase its labels, as one action; return its number."""
        return self._painted(self.painting.remove_class(number), origin)

    def travel(self, is_undo: bool, origin: int | None = None) -> Action | None:
        """Undo or redo an action of the project, and return it; None if there is none."""
        action, step = self.painting.travel(is_undo)
        if step is not None:
            self._painted(step, origin)
        return action

    def accept(self, image: int, page: int, origin: int | None = None) -> int:
        """Make the present segmentation of a page its final mask; return the number of the action."""
        self._engine.follow()
        self._engine.live.update()
        source = self.sources.find(image, page)
        mask = np.zeros((source.height, source.width), np.uint8)
        for tile in self._engine.live.predict(self._engine.view_of(image, page, 0, 0, *mask.shape, 1)):
            numbers = tile.classes[tile.probabilities.argmax(axis=-1)]
            mask[tile.tile.top : tile.tile.bottom, tile.tile.left : tile.tile.right] = numbers
        return self.paint_mask(image, page, mask, "final", origin)

    # ------------------------------------------------------------ what is painted

    def labels_of(self, image: int, page: int, layer: str = "labels") -> np.ndarray:
        """Return the class numbers (h, w) uint8 of a page."""
        return self.painting.labels_of(image, page, layer)

    def labelled_pages(self, layer: str = "labels") -> list[tuple[int, int]]:
        """List the (image, page) that hold labels, sorted."""
        return self.painting.pages(layer)

    def final_pages(self) -> list[tuple[int, int]]:
        """List the (image, page) that have a final mask, sorted."""
        return self.painting.pages("final")

    def label_tiles(self, key: PageKey, box: Box) -> list[tuple[int, int]]:
        """List row and column of the label tiles that touch a box and hold anything."""
        self.sources.find(key.image, key.page)
        return self.painting.rasters.tiles(key, box)

    # ------------------------------------------------------------ learning

    def show(self, connection: int, view: tuple[int, int, int, int, int, int, int], outbox: Outbox) -> None:
        """Send the predictions of what a page shows, now and after every update."""
        self.sources.find(*view[:2])
        self._worker.show(connection, view, outbox)

    def hide(self, connection: int) -> None:
        """A page was closed."""
        self._worker.hide(connection)

    def set_live(self, is_live: bool) -> None:
        """Learn from every stroke at once, or only when it is asked for."""
        self._worker.set_live(is_live)

    @property
    def is_live(self) -> bool:
        """Whether every stroke is learned from at once."""
        return self._worker.is_live

    def status(self) -> dict[str, Any] | None:
        """Return the newest status of the model as an event, None if there is none."""
        return self._worker.status

    def update(self) -> None:
        """Learn from all strokes once."""
        self._worker.update()

    @property
    def version(self) -> int:
        """The version of the strokes that the engine follows."""
        return self._engine.version

    def refresh_settings(self) -> None:
        """Make another engine if other things do not matter any more."""
        if self._engine.choose(self._switches()):
            self._worker.update()

    def export(self) -> JungleSegmenter:
        """Return the refined model of the present strokes."""
        self._engine.follow()
        return self._engine.live.export()

    def scores(self) -> dict[str, Any] | None:
        """Return the newest scores as an event, None if there are none."""
        return self._scores.newest

    def suggest(self, image: int | None, page: int | None) -> list[dict[str, Any]]:
        """Suggest places worth a stroke: on a page, or on all that were painted or looked at."""
        self._engine.follow()
        view = None
        if image is not None:
            source = self.sources.find(image, page or 0)
            top = max(0, (source.height - MAX_SUGGESTING_SIDE) // 2)
            left = max(0, (source.width - MAX_SUGGESTING_SIDE) // 2)
            index = self._engine.index_of(image, page or 0)
            view = View(index, top, left, top + MAX_SUGGESTING_SIDE, left + MAX_SUGGESTING_SIDE)
        found = []
        for place in self._engine.live.suggest(N_SUGGESTIONS, view):
            number, at_page = self._engine.page_of(place.image)
            where = {"image": number, "page": at_page, "row": place.row, "col": place.col}
            found.append({**where, "uncertainty": place.uncertainty})
        return found

    def transformations_text(self) -> str:
        """Return what does not matter as for `--invariant-to`."""
        return switches_text(self._switches()) or IDENTITY_TEXT

    # ------------------------------------------------------------ inside

    def _switches(self) -> list[str]:
        return self.project.settings().get("invariant_to", list(DEFAULT_SWITCHES))

    def _painted(self, step: Step, origin: int | None) -> int:
        for key, _ in touched(step):
            if key.layer == "labels":
                self._files.mark(key.image)
        self._on_painted(step, origin)
        self._worker.painted()
        return step.seq

    def _score(self, action: int, check: Callable[[], None]) -> None:
        self._scores.add(action, self._engine.live.scores(check=check))
