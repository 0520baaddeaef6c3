"""Images that were read and are kept: the first in memory, further ones in a temporary file."""

import tempfile
import threading
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

MAX_BYTES_IN_MEMORY = 1_000_000_000


class KeptImages(Sequence[np.ndarray]):
    """A sequence of images of any sizes and dtypes, to which images can be appended.

    Parameters
    ----------
    max_bytes : int, default=1_000_000_000
        That the images in memory may take. What comes later is in a temporary file, which ends with the object; its
        images are read again whenever they are asked for.
    """

    def __init__(self, max_bytes: int = MAX_BYTES_IN_MEMORY):
        self._left = max_bytes
        self._images: list[np.ndarray | _Place] = []
        self._file: Any = None
        self._reading = threading.Lock()

    def append(self, image: np.ndarray) -> None:
        """Add an image (h, w) or (h, w, c)."""
        if image.nbytes <= self._left:
            self._left -= image.nbytes
            self._images.append(np.ascontiguousarray(image))
            return
        self._left = 0
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="invariance-")  # noqa: SIM115 - closed with this object
        self._images.append(_Place(self._file.seek(0, 2), image.shape, image.dtype))
        self._file.write(image.tobytes())

    def __len__(self) -> int:
        return len(self._images)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[number] for number in range(len(self))[index]]
        found = self._images[index]
        return self._read(found) if isinstance(found, _Place) else found

    def _read(self, place: "_Place") -> np.ndarray:
        image = np.empty(place.shape, place.dtype)
        with self._reading:
            self._file.seek(place.offset)
            self._file.readinto(image)
        return image


class _Place(NamedTuple):
    """Where in the file an image begins, and what it is."""

    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype


class ChosenImages(Sequence[np.ndarray]):
    """Some images of a sequence, by their rows in it; none is copied.

    Parameters
    ----------
    images : sequence of ndarray
    rows : iterable of int
    """

    def __init__(self, images: Sequence[np.ndarray], rows: Iterable[int]):
        self._images = images
        self._rows = [int(row) for row in rows]

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return ChosenImages(self._images, self._rows[index])
        return self._images[self._rows[index]]
