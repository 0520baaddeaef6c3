"""The painted labels as ordinary files: one mask per image in `labels/`, written a moment after painting."""

import logging
import threading
import time
from pathlib import Path

from invariance.images import Layout, page_writer
from invariance.studio.folder import Source
from invariance.studio.painting import Painting
from invariance.studio.project import Project
from invariance.studio.sources import Sources

SECONDS_AFTER = 2.0  # the last stroke
SHARE_OF_TIME = 20  # large stacks: writing takes at most one part in so many
logger = logging.getLogger(__name__)


class MaskFiles:
    """Writes masks in a thread, and all that are due when it is closed.

    Parameters
    ----------
    project : Project
    sources : Sources
    painting : Painting
    """

    def __init__(self, project: Project, sources: Sources, painting: Painting):
        self._folder, self._sources, self._painting = project.directory / "labels", sources, painting
        self._paths = mask_paths(sources.images())
        self._due: set[int] = set()
        self._changed = threading.Condition()
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="studio-masks", daemon=True)
        self._thread.start()

    def path_of(self, image: int) -> Path:
        """Return the file of the labels of an image."""
        return self._folder / self._paths[image]

    def mark(self, image: int) -> None:
        """The labels of an image have changed."""
        with self._changed:
            self._due.add(image)
            self._changed.notify_all()

    def close(self) -> None:
        """Write what is due, and end the thread."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        self._thread.join()

    def _run(self) -> None:
        pause = SECONDS_AFTER
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._due or self._is_closed)
                self._changed.wait_for(lambda: self._is_closed, pause)
                due, self._due = sorted(self._due), set()
                is_last = self._is_closed
            started = time.monotonic()
            for image in due:
                self._write(image)
            pause = max(SECONDS_AFTER, SHARE_OF_TIME * (time.monotonic() - started))
            if is_last:
                return

    def _write(self, image: int) -> None:
        try:
            source = self._sources.find(image)
            path = self.path_of(image)
            path.parent.mkdir(parents=True, exist_ok=True)
            layout = self._sources.layout(image) if source.n_pages > 1 else Layout()
            with page_writer(path, layout) as write:
                for page in range(source.n_pages):
                    write(self._painting.labels_of(image, page, "labels"))
        except (OSError, ValueError):  # the strokes themselves are safe; the next stroke tries again
            logger.warning("the labels of image %s could not be written as a file", image, exc_info=True)


def mask_paths(images: list[Source]) -> dict[int, Path]:
    """Return the path of every mask in its folder: the stem of the image, or its whole name if others have the stem."""
    wanted = {image.id: Path(image.name).with_suffix(".png" if image.n_pages == 1 else ".tif") for image in images}
    stems: dict[Path, list[int]] = {}
    for image in images:
        stems.setdefault(Path(image.name).with_suffix(""), []).append(image.id)
    for image in images:
        if len(stems[Path(image.name).with_suffix("")]) > 1:
            wanted[image.id] = Path(f"{image.name}{wanted[image.id].suffix}")
    return wanted
