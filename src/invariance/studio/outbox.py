"""What is to be sent to one page: texts in their order, and the newest of every tile.

A page that reads slowly never grows memory: tiles that were not sent are replaced by newer ones of the same place or
dropped when the view moves on, and a page with too many unread texts is given up.
"""

import asyncio
import json
import struct
import threading
from collections import OrderedDict, deque
from typing import Any, NamedTuple

from invariance.studio.rasters import PageKey, Rasters

MAX_TEXTS = 10_000
MAX_TEXT_BYTES = 64 * 2**20


class Place(NamedTuple):
    """Where a prediction is shown."""

    image: int
    page: int
    step: int
    top: int
    left: int


class Outbox:
    """Messages to one page; any thread may add, one task takes.

    Parameters
    ----------
    rasters : Rasters
        Where label tiles are read, at the moment when they are sent.
    loop : asyncio.AbstractEventLoop
        The loop of the task.
    """

    def __init__(self, rasters: Rasters, loop: asyncio.AbstractEventLoop):
        self._rasters, self._loop = rasters, loop
        self._texts: deque[str] = deque()
        self._n_bytes = 0
        self._labels: OrderedDict[tuple[PageKey, int, int], None] = OrderedDict()
        self._predictions: OrderedDict[Place, bytes] = OrderedDict()
        self._lock = threading.Lock()
        self._has_some = asyncio.Event()
        self.is_full = False

    def say(self, message: dict[str, Any]) -> None:
        """Send a text message after those before it."""
        text = json.dumps(message, separators=(",", ":"))
        with self._lock:
            self._n_bytes += len(text)
            self.is_full |= len(self._texts) >= MAX_TEXTS or self._n_bytes > MAX_TEXT_BYTES
            if not self.is_full:
                self._texts.append(text)
        self._wake()

    def show_labels(self, key: PageKey, places: list[tuple[int, int]]) -> None:
        """Send label tiles, each once."""
        with self._lock:
            self._labels.update(((key, *place), None) for place in places)
        self._wake()

    def show_prediction(self, place: Place, header: dict[str, Any], payload: bytes) -> None:
        """Send a predicted tile, instead of an older one of the same place."""
        frame = pack_frame(header, payload)
        with self._lock:
            self._predictions[place] = frame
        self._wake()

    def keep_predictions(self, places: set[Place]) -> None:
        """Drop the predicted tiles that are not among these places."""
        with self._lock:
            for place in [place for place in self._predictions if place not in places]:
                del self._predictions[place]

    async def take(self) -> str | bytes:
        """Return the next message: texts first, then labels, then predictions."""
        while True:
            with self._lock:
                self._has_some.clear()
                if self.is_full:
                    raise BufferError("the page reads too slowly")
                if self._texts:
                    text = self._texts.popleft()
                    self._n_bytes -= len(text)
                    return text
                if self._labels:
                    (key, row, col), _ = self._labels.popitem(last=False)
                    header = {"kind": "labels", **key._asdict(), "row": row, "col": col}
                    return pack_frame(header, self._rasters.tile(key, row, col).tobytes())
                if self._predictions:
                    return self._predictions.popitem(last=False)[1]
            await self._has_some.wait()

    def _wake(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._has_some.set)
        except RuntimeError:  # the loop is closed: nobody reads any more
            self.is_full = True


def pack_frame(header: dict[str, Any], payload: bytes) -> bytes:
    """Make a binary message: the length of the header as uint32, the header as JSON, the payload."""
    text = json.dumps(header, separators=(",", ":")).encode()
    return b"".join([struct.pack("<I", len(text)), text, payload])
