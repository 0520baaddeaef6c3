"""The thread that learns from strokes and predicts what the pages show, visible tiles first.

A newer stroke or view makes it start over after the tile that it is at. Scores come after all tiles, and a refined
model, once it is ready, is shown in place of the instant one.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from invariance.segmentation import LiveTile
from invariance.studio.live_engine import LiveEngine
from invariance.studio.outbox import Outbox, Place

MIN_CLASSES = 2
POLL_SECONDS = 0.1  # between two looks whether the refined model is ready
logger = logging.getLogger(__name__)


class Superseded(Exception):
    """Something newer is to be done."""


class Shown(NamedTuple):
    """What a page shows.

    Attributes
    ----------
    view : tuple
        Image, page, top, left, bottom, right and step.
    outbox : Outbox
    sent : dict
        Version and stage of the tiles that it was sent.
    """

    view: tuple[int, int, int, int, int, int, int]
    outbox: Outbox
    sent: dict[Place, tuple[int, str]]


NOTHING = (-1, "")


class Errand:
    """A run of the worker through all that is to be done, in a thread of its own.

    Parameters
    ----------
    serial : int
        Number of what was asked for last when it began.
    do : callable
        Called with the errand.

    Attributes
    ----------
    is_leisurely : bool
        Whether it does what takes long, so that newer things need not wait for it.
    is_over : bool
    """

    def __init__(self, serial: int, do: Callable[["Errand"], None]):
        self.serial, self.is_leisurely, self.is_over = serial, False, False
        self.thread = threading.Thread(target=do, args=(self,), name="studio-errand", daemon=True)


class Worker:
    """Updates the engine and sends tiles, in a thread of its own.

    Parameters
    ----------
    engine : LiveEngine
    send : callable
        Sends an event to all pages.
    score : callable
        Computes and sends scores, given the number of the last action; it calls its second argument often, which
        raises an exception to end it.
    """

    def __init__(
        self,
        engine: LiveEngine,
        send: Callable[[dict[str, Any]], None],
        score: Callable[[int, Callable[[], None]], None],
    ):
        self._engine, self._send, self._score = engine, send, score
        self._shown: dict[int, Shown] = {}
        self._changed = threading.Condition()
        self._serial, self._done = 0, -1  # of what was asked for last, and of what was done
        self._wants_update = True  # of what was painted before
        self._stroke_ended: float | None = None  # None before the first of this session
        self._is_live = True
        self._is_closed = False
        self._has_model = False
        self._scored: int | None = None
        self._action = 0
        self._errands: set[Errand] = set()
        self._stage: str | None = None
        self.status: dict[str, Any] | None = None  # as it was sent last, for pages that are opened later
        self._thread = threading.Thread(target=self._run, name="studio-pixels", daemon=True)
        self._thread.start()

    # ------------------------------------------------------------ what is asked for

    def painted(self) -> None:
        """The strokes have changed."""
        with self._changed:
            self._wants_update |= self._is_live
            self._ask(is_stroke=True)

    def update(self) -> None:
        """Learn from all strokes once, live or not."""
        with self._changed:
            self._wants_update = True
            self._ask(is_stroke=True)

    def set_live(self, is_live: bool) -> None:
        """Whether every stroke is learned from at once."""
        with self._changed:
            self._is_live = is_live
            if is_live:
                self._wants_update = True
                self._ask(is_stroke=True)

    @property
    def is_live(self) -> bool:
        """Whether every stroke is learned from at once."""
        return self._is_live

    def show(self, connection: int, view: tuple[int, int, int, int, int, int, int], outbox: Outbox) -> None:
        """A page looks elsewhere: the kept tiles are sent at once, others when they are predicted."""
        old = self._shown.get(connection)
        sent = {}
        if old is not None:  # the page still has the tiles that stay visible
            sent = {place: kept for place, kept in list(old.sent.items()) if _is_visible(place, view)}
            sent = {place: kept for place, kept in sent.items() if _is_visible(place, old.view)}
        shown = Shown(view, outbox, sent)
        self._recall(shown)
        with self._changed:
            self._shown.pop(connection, None)
            self._shown[connection] = shown  # the last one is the most recent
            self._ask()

    def hide(self, connection: int) -> None:
        """A page was closed."""
        with self._changed:
            self._shown.pop(connection, None)

    def close(self) -> None:
        """End the thread."""
        with self._changed:
            self._is_closed = True
            self._ask()
        self._thread.join()

    def _ask(self, is_stroke: bool = False) -> None:
        self._serial += 1
        if is_stroke:
            self._stroke_ended = time.monotonic()
        self._changed.notify_all()

    # ------------------------------------------------------------ the thread

    def _run(self) -> None:
        while not self._is_closed:
            self._await(self._start())
        for errand in list(self._errands):
            errand.thread.join()

    def _await(self, errand: "Errand") -> None:
        """Wait for the end of an errand, unless it takes long and is no longer wanted: then it ends by itself."""
        with self._changed:
            self._changed.wait_for(lambda: errand.is_over or (errand.is_leisurely and self._serial != errand.serial))

    def _start(self) -> "Errand":
        """Wait for something to do, and begin to do it."""
        with self._changed:
            while self._serial == self._done and not self._is_refined_ready():
                self._changed.wait(POLL_SECONDS if self._is_waiting() else None)
            errand = Errand(self._serial, self._do)
            self._done = self._serial
            self._errands = {other for other in self._errands if not other.is_over} | {errand}
        errand.thread.start()
        return errand

    def _do(self, errand: "Errand") -> None:
        try:
            self._work(errand)
        except Superseded:
            pass
        except Exception as error:  # the studio goes on whatever happens to a model
            if not self._is_closed:
                logger.debug("the worker failed", exc_info=True)
                self._tell(False, str(error))
        finally:
            with self._changed:
                errand.is_over = True
                self._changed.notify_all()

    def _work(self, errand: "Errand") -> None:
        with self._changed:
            wants_update, self._wants_update = self._wants_update, False
            started = self._stroke_ended
        if wants_update:
            self._update()
        if not self._has_model:
            return
        stage = self._engine.live.stage
        if stage == "refined":
            self._slow_down(errand)
        self._predict(errand)
        self._stage = stage  # whatever the tiles were predicted by: views of slides stay with the instant model
        self._tell(False, "", time.monotonic() - started if wants_update and started is not None else None)
        self._slow_down(errand)
        version = self._engine.version
        if self._scored != version:
            self._score(self._action, lambda: self._check(errand))
            self._scored = version

    def _slow_down(self, errand: "Errand") -> None:
        """From here on nobody waits for the end of an errand."""
        with self._changed:
            errand.is_leisurely = True
            self._changed.notify_all()

    def _update(self) -> None:
        self._action = self._engine.follow()
        self._stage, self._has_model = None, False
        if self._engine.n_classes < MIN_CLASSES:
            self._tell(False, "Paint strokes of two classes." if self._engine.live.n_strokes else "")
            return
        self._tell(True, "Learning")
        self._engine.live.update()
        self._has_model = True

    def _predict(self, errand: "Errand") -> None:
        with self._changed:
            views = list(self._shown.values())[::-1]
        for shown in views:
            try:
                view = self._engine.view_of(*shown.view)
                for tile in self._engine.live.predict(view):
                    self._send_tile(shown, tile)
                    self._check(errand)
            except ValueError as error:  # of this page alone: it has other channels, or cannot be read
                self._tell(False, str(error))

    def _check(self, errand: "Errand") -> None:
        if self._serial != errand.serial or self._is_closed:
            raise Superseded

    # ------------------------------------------------------------ tiles

    def _recall(self, shown: Shown) -> None:
        index = self._engine.find_index(*shown.view[:2])
        visible = {place for place in shown.sent if _is_visible(place, shown.view)}
        shown.outbox.keep_predictions(visible)
        if index is not None:
            view = self._engine.view_of(*shown.view)
            for tile in self._engine.live.recall(view):
                self._send_tile(shown, tile)

    def _send_tile(self, shown: Shown, tile: LiveTile) -> None:
        image, page = shown.view[:2]
        place = Place(image, page, tile.step, tile.tile.top, tile.tile.left)
        version = self._engine.base + tile.version
        with self._changed:
            if shown.sent.get(place, NOTHING) >= (version, tile.stage):
                return  # it was sent, or a newer one: "instant" is before "refined"
            shown.sent[place] = (version, tile.stage)
        rows, cols, _ = tile.probabilities.shape
        header = {
            "kind": "prediction", **place._asdict(), "bottom": tile.tile.bottom, "right": tile.tile.right,
            "rows": rows, "cols": cols, "numbers": tile.classes.tolist(), "version": version, "stage": tile.stage,
            "is_stale": version != self._engine.version,
        }  # fmt: skip
        shown.outbox.show_prediction(place, header, to_bytes(tile.probabilities))

    # ------------------------------------------------------------ the refined model

    def _is_waiting(self) -> bool:
        return self._has_model and self._stage != "refined"

    def _is_refined_ready(self) -> bool:
        return self._is_waiting() and self._engine.live.stage == "refined"

    def _tell(self, is_busy: bool, text: str, seconds: float | None = None) -> None:
        self.status = {
            "event": "status", "busy": is_busy, "text": text, "stage": self._stage if self._has_model else None,
            "version": self._engine.version, "seconds": seconds,
        }  # fmt: skip
        self._send(self.status)


def to_bytes(probabilities: np.ndarray) -> bytes:
    """Return probabilities (h, w, K) as planes of uint8, 255 for certain."""
    return np.ascontiguousarray((probabilities * 255 + 0.5).astype(np.uint8).transpose(2, 0, 1)).tobytes()


def _is_visible(place: Place, view: tuple[int, int, int, int, int, int, int]) -> bool:
    image, page, top, left, bottom, right, step = view
    side = 256 * step
    return (
        (place.image, place.page, place.step) == (image, page, step)
        and place.top < bottom
        and place.left < right
        and place.top + side > top
        and place.left + side > left
    )
