"""An open studio: the project, its two modes, its jobs, and the pages that are connected to it."""

import itertools
import threading
from functools import partial
from pathlib import Path
from typing import Any

from invariance.studio import image_jobs, pixel_jobs
from invariance.studio.images import ImageSession
from invariance.studio.jobs import Jobs
from invariance.studio.outbox import Outbox
from invariance.studio.painting import Step, touched
from invariance.studio.pixels import PixelSession
from invariance.studio.project import Project
from invariance.studio.rasters import Box, PageKey
from invariance.studio.score_history import KEY as SCORE_HISTORY
from invariance.studio.sources import Sources

MIN_GRID = 200  # images; a folder with more small ones is probably one of whole images
MAX_GRID_SIDE = 400  # pixels


class Studio:
    """Everything that the pages of one project share; it is thread-safe.

    Parameters
    ----------
    folder : Path
        The folder of the images.
    directory : Path or None, default=None
        The folder of the project.
    """

    def __init__(self, folder: Path, directory: Path | None = None):
        self._outboxes: dict[int, Outbox] = {}
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self.project = Project(folder, directory)
        try:
            self.sources = Sources(self.project)
            self.pixels = PixelSession(self.project, self.sources, self.send, self._show_painted)
        except BaseException:
            self.project.close()
            raise
        self.images = ImageSession(self.project, self.sources, self.send)
        kinds = {kind: partial(job, self.pixels) for kind, job in pixel_jobs.JOBS.items()}
        kinds |= {kind: partial(job, self.images) for kind, job in image_jobs.JOBS.items()}
        self.jobs = Jobs(self._send_job, kinds)

    def close(self) -> None:
        """End all work, and close the project; everything was saved before."""
        self.jobs.close()
        self.pixels.close()
        self.project.close()

    # ------------------------------------------------------------ pages

    def connect(self, outbox: Outbox) -> int:
        """Add a page, and return its number."""
        with self._lock:
            number = next(self._numbers)
            self._outboxes[number] = outbox
            return number

    def disconnect(self, number: int) -> None:
        """Remove a page."""
        with self._lock:
            self._outboxes.pop(number, None)
        self.pixels.hide(number)

    def outbox(self, number: int) -> Outbox:
        """Return what is sent to a page."""
        return self._outboxes[number]

    def send(self, event: dict[str, Any]) -> None:
        """Send an event to all pages, from any thread."""
        with self._lock:
            outboxes = list(self._outboxes.values())
        for outbox in outboxes:
            outbox.say(event)

    def send_state(self) -> None:
        """Tell all pages what there is."""
        self.send({"event": "state", **self.state()})

    def _send_job(self, event: dict[str, Any]) -> None:
        self.send(event)
        if event["state"] == "done":  # a job may have added classes
            self.send_state()

    # ------------------------------------------------------------ what there is

    def state(self) -> dict[str, Any]:
        """Return what a page shows besides pixels."""
        can_undo, can_redo = self.project.can_undo_and_redo()
        settings = {key: value for key, value in self.project.settings().items() if key != SCORE_HISTORY}
        return {
            "folder": self.project.folder.name or str(self.project.folder),
            "project": str(self.project.directory),
            "images": self._describe_images(),
            "classes": {
                mode: [found.as_json() for found in self.project.classes(mode)] for mode in ("pixels", "images")
            },
            "settings": settings,
            "can_undo": can_undo,
            "can_redo": can_redo,
            "version": self.pixels.version,
            "is_live": self.pixels.is_live,
            "mode_hint": self._guess_mode(),
        }

    def _describe_images(self) -> list[dict[str, Any]]:
        labels = self.project.image_labels()
        labelled = [image for image, _ in self.pixels.labelled_pages()]
        final: dict[int, list[int]] = {}
        for image, page in self.pixels.final_pages():
            final.setdefault(image, []).append(page)
        return [
            {
                "id": source.id,
                "name": source.name,
                "pages": source.n_pages,
                "height": source.height,
                "width": source.width,
                "channels": source.n_channels,
                "n_labelled_pages": labelled.count(source.id) if labelled else 0,
                "label": labels.get(source.id),
                "is_final": final.get(source.id, []),
                "error": source.error,
            }
            for source in self.sources.images()
        ]

    def _guess_mode(self) -> str:
        """Whole images if those are labelled and pixels are not, or if there are very many small ones."""
        if self.pixels.labelled_pages():
            return "pixels"
        found = self.sources.images()
        n_small = sum(0 < max(source.height, source.width) <= MAX_GRID_SIDE for source in found)
        return "images" if self.project.classes("images") or n_small >= MIN_GRID else "pixels"

    # ------------------------------------------------------------ what was painted

    def _show_painted(self, step: Step, origin: int | None) -> None:
        """Tell all pages what has changed, and send the changed tiles."""
        can_undo, can_redo = self.project.can_undo_and_redo()
        for key, box in touched(step):
            n_pages = sum(image == key.image for image, _ in self.pixels.labelled_pages())
            self.send({
                "event": "painted", **key._asdict(), **box._asdict(), "action": step.seq, "origin": origin,
                "can_undo": can_undo, "can_redo": can_redo, "n_labelled_pages": n_pages,
            })  # fmt: skip
            self._show_tiles(key, box)

    def _show_tiles(self, key: PageKey, box: Box) -> None:
        from invariance.studio.rasters import TILE_SIDE

        places = [
            (row, col)
            for row in range(box.top // TILE_SIDE, -(-box.bottom // TILE_SIDE))
            for col in range(box.left // TILE_SIDE, -(-box.right // TILE_SIDE))
        ]
        with self._lock:
            outboxes = list(self._outboxes.values())
        for outbox in outboxes:
            outbox.show_labels(key, places)
