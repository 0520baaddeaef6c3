"""The engine behind the pixel mode, kept in step with the painted strokes.

Engines depend on strokes alone: pages are added when they are painted or looked at, in any order, which does not
change a model. What does not matter is chosen by switches; another choice is another engine with the same strokes.
"""

import threading
from collections.abc import Sequence

from invariance.segmentation import LiveSegmenter, View
from invariance.studio.painting import Painting, Step
from invariance.studio.sources import Sources
from invariance.transformations import Identity
from invariance.transformations.parsing import parse_transformations

SEED = 0
# What a switch means, as for `--invariant-to`: candidates of `advise-pixels`.
MEANINGS = {
    "rotations": "rotations:16",
    "reflections": "reflections",
    "scales": "scales:3:1.3",
    "light": "illumination:32",
}
DEFAULT_SWITCHES = ("rotations",)
MAX_BYTES = 2**29  # of kept features and predictions


def switches_text(switches: Sequence[str]) -> str | None:
    """Return what does not matter as for `--invariant-to`; None if everything matters."""
    return ",".join(MEANINGS[name] for name in MEANINGS if name in switches) or None


class LiveEngine:
    """A `LiveSegmenter` of the strokes of a painting. One thread calls `follow`; any may call the rest.

    Parameters
    ----------
    sources : Sources
    painting : Painting
    switches : sequence of str
        What does not matter.

    Attributes
    ----------
    base : int
        Added to the versions of the engine, so that those of a later engine are larger.
    """

    def __init__(self, sources: Sources, painting: Painting, switches: Sequence[str]):
        self._sources, self._painting = sources, painting
        self._lock = threading.RLock()
        self._applied: list[Step] = []
        self._indices: dict[tuple[int, int], int] = {}
        self._pages: list[tuple[int, int]] = []
        self.base = 0
        self._switches = tuple(switches)
        self._live = self._make()

    @property
    def live(self) -> LiveSegmenter:
        """The engine; another one after `choose`."""
        return self._live

    @property
    def version(self) -> int:
        """The version of the strokes that it follows; it only grows."""
        return self.base + self._live.version

    @property
    def n_channels(self) -> int | None:
        """Number of channels of the painted pages; None if nothing is painted."""
        return self._sources.find(*self._pages[0]).n_channels if self._pages else None

    @property
    def n_classes(self) -> int:
        """Number of classes of the strokes that it follows."""
        return len({stroke.label for step in self._applied for stroke in step.strokes} - {0})

    def choose(self, switches: Sequence[str]) -> bool:
        """Change what does not matter; return whether that is another engine, which `follow` must bring up to date."""
        with self._lock:
            if tuple(switches) == self._switches:
                return False
            self._switches = tuple(switches)
            self._restart()
            return True

    def follow(self) -> int:
        """Give the engine the strokes of this moment; return the number of the last action that it knows."""
        with self._lock:
            wanted = self._painting.steps()
            pairs = zip(self._applied, wanted, strict=False)
            n_common = next((n for n, (ours, theirs) in enumerate(pairs) if ours is not theirs), None)
            if n_common is None:
                n_common = min(len(self._applied), len(wanted))
            if self._has_other_channels(wanted):
                self._restart()
                n_common = 0
            for step in reversed(self._applied[n_common:]):
                for _ in step.strokes:
                    self._live.undo()
            del self._applied[n_common:]
            for step in wanted[n_common:]:
                for stroke in step.strokes:
                    index = self.index_of(stroke.image, stroke.page)
                    if stroke.label:
                        self._live.add_stroke(index, stroke.rows, stroke.cols, stroke.label)
                    else:
                        self._live.erase(index, stroke.rows, stroke.cols)
                self._applied.append(step)
            return self._applied[-1].seq if self._applied else 0

    def find_index(self, image: int, page: int) -> int | None:
        """Return the index of a page in the engine, None if it was not added."""
        return self._indices.get((image, page))

    def index_of(self, image: int, page: int) -> int:
        """Return the index of a page in the engine, adding it if needed."""
        with self._lock:
            if (image, page) not in self._indices:
                self._indices[image, page] = self._live.add_image(self._sources.lazy_page(image, page))
                self._pages.append((image, page))
            return self._indices[image, page]

    def page_of(self, index: int) -> tuple[int, int]:
        """Return image and page of an index."""
        return self._pages[index]

    def view_of(self, image: int, page: int, top: int, left: int, bottom: int, right: int, step: int) -> View:
        """Return a view for the engine."""
        return View(self.index_of(image, page), top, left, bottom, right, step)

    def close(self) -> None:
        """End the work of the engine."""
        self._live.close()

    def _has_other_channels(self, wanted: list[Step]) -> bool:
        first = next((step.strokes[0] for step in wanted if step.strokes), None)
        return first is not None and self._sources.find(first.image).n_channels != (
            self.n_channels or self._sources.find(first.image).n_channels
        )

    def _restart(self) -> None:
        self.base += self._live.version + 1
        self._live.close()
        self._applied, self._indices, self._pages = [], {}, []
        self._live = self._make()

    def _make(self) -> LiveSegmenter:
        text = switches_text(self._switches)
        phi = Identity() if text is None else parse_transformations(text)
        return LiveSegmenter(phi, max_bytes=MAX_BYTES, n_jobs=-1, random_state=SEED)
