"""The images of a folder by id and page, decoded once, with the lower resolutions that the page shows.

Kept pages and resolutions take at most 1 GiB, or what the largest page and its resolutions take if that is more.
"""

import threading
from collections import OrderedDict
from typing import Any

import cv2
import numpy as np

from invariance.images import ImageError, Layout, LazyStack
from invariance.segmentation.live.tile_store import TileStore
from invariance.studio.folder import Source, check_inside, find_images
from invariance.studio.pages import open_pages
from invariance.studio.project import Project

TILE_SIDE = 512
MAX_BYTES = 2**30
MAX_OPEN_STACKS = 4  # files with several pages, of which some decoders keep all in memory
MAX_LEVEL = 16
PNG_SETTINGS = (cv2.IMWRITE_PNG_COMPRESSION, 1)  # five times as fast as the default, tiles a quarter larger


class Sources:
    """The images of a folder; it is thread-safe.

    Parameters
    ----------
    project : Project
        Gives the images their ids.
    max_bytes : int, default=2**30
        Maximum number of bytes of decoded pages and their lower resolutions.
    """

    def __init__(self, project: Project, max_bytes: int = MAX_BYTES):
        self._project, self._folder = project, project.folder
        self._stacks: OrderedDict[int, LazyStack] = OrderedDict()
        self._lock = threading.Lock()
        self._images = {image.id: image for image in find_images(project)}
        largest = max((4 * int(np.prod(image.shape)) for image in self._images.values()), default=0)
        self._store = TileStore(max(max_bytes, 3 * largest // 2))

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept."""
        return self._store.nbytes

    def images(self) -> list[Source]:
        """Return all images, also those that cannot be read."""
        return list(self._images.values())

    def find(self, image: int, page: int = 0) -> Source:
        """Return an image by its id; raise ValueError if it, or its page, does not exist or cannot be read."""
        found = self._images.get(image)
        if found is None:
            raise ValueError(f"there is no image {image}. Reload the page.")
        if found.error is not None:
            raise ImageError(found.error)
        if not 0 <= page < found.n_pages:
            raise ValueError(f"image '{found.name}' has {found.n_pages} pages; there is no page {page}.")
        return found

    def read_page(self, image: int, page: int) -> np.ndarray:
        """Return a page as float32 in [0, 1], (h, w) or (h, w, c); read-only."""
        source = self.find(image, page)
        return self._store.get((image, page, 0), lambda: self._decode(source, page))

    def layout(self, image: int) -> Layout:
        """Return how the pages of an image are arranged, and the size of a pixel."""
        return self._stack_of(self.find(image)).layout

    def lazy_page(self, image: int, page: int) -> "LazyPage":
        """Return a page that is decoded when a part of it is read, and again if it was dropped since."""
        return LazyPage(self, image, page)

    def level(self, image: int, page: int, level: int) -> np.ndarray:
        """Return a page of which a pixel is the mean of a square of 2^level pixels; fewer at the far borders."""
        if level == 0:
            return self.read_page(image, page)
        self.find(image, page)
        return self._store.get((image, page, level), lambda: halve(self.level(image, page, level - 1)))

    # ------------------------------------------------------------ what the page shows

    def tile(
        self, image: int, page: int, level: int, row: int, col: int, channel: int | None, low: float, high: float
    ) -> bytes | None:
        """Return a tile as PNG; None if there is none.

        Parameters
        ----------
        image, page : int
        level : int
            A pixel is the mean of 2^level pixels per side.
        row, col : int
            Of the tile.
        channel : int or None
            None shows the first three as colour.
        low, high : float
            The intensities shown as black and white.

        Returns
        -------
        png : bytes or None
        """
        source = self.find(image, page)
        side = TILE_SIDE << level
        if level > MAX_LEVEL or row * side >= source.height or col * side >= source.width:
            return None
        if channel is not None and channel >= source.n_channels:
            return None
        top, left = row * TILE_SIDE, col * TILE_SIDE
        part = self.level(image, page, level)[top : top + TILE_SIDE, left : left + TILE_SIDE]
        return _encode(part, channel, low, high)

    def thumbnail(self, image: int, side: int) -> bytes:
        """Return the first page as PNG, at most `side` pixels wide and high."""
        source = self.find(image)
        level = max(0, (max(source.height, source.width) // side).bit_length() - 1)
        # Levels of single use would drop what is kept for painting, so that they are not kept.
        page = self._store.find((image, 0, level))
        if page is None:
            page = self._store.find((image, 0, 0))
            page = self._decode(source, 0) if page is None else page
            for _ in range(level):
                page = halve(page)
        scale = side / max(page.shape[:2])
        if scale < 1:
            size = max(1, round(page.shape[1] * scale)), max(1, round(page.shape[0] * scale))
            page = cv2.resize(page[..., :3] if page.ndim == 3 else page, size, interpolation=cv2.INTER_AREA)
        return _encode(page, None, 0.0, 1.0)

    # ------------------------------------------------------------ inside

    def _decode(self, source: Source, page: int) -> np.ndarray:
        try:
            pixels = np.ascontiguousarray(self._stack_of(source)[page], np.float32)
            if pixels.shape != source.shape:
                raise ImageError(f"image '{source.name}' has changed since the studio was started. Start it again.")
        except ImageError as error:
            self._images[source.id] = source._replace(error=str(error))  # from now on it is listed with it
            raise
        return pixels

    def _stack_of(self, source: Source) -> LazyStack:
        with self._lock:
            if source.id in self._stacks:
                self._stacks.move_to_end(source.id)
                return self._stacks[source.id]
        check_inside(source.path, self._folder)  # it may have become a link since it was listed
        try:
            stack = open_pages(source.path)
        except OSError as error:
            raise ImageError(f"image '{source.name}' cannot be read ({error.strerror}).") from error
        if source.n_pages > 1:
            with self._lock:
                self._stacks[source.id] = stack
                while len(self._stacks) > MAX_OPEN_STACKS:
                    self._stacks.popitem(last=False)
        return stack


class LazyPage:
    """A page as an array that is read in parts.

    Parameters
    ----------
    sources : Sources
    image, page : int
    """

    dtype = np.dtype(np.float32)

    def __init__(self, sources: Sources, image: int, page: int):
        self._sources, self._image, self._page = sources, image, page
        self.shape = sources.find(image, page).shape

    def __getitem__(self, place: Any) -> np.ndarray:
        return self._sources.read_page(self._image, self._page)[place]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self._sources.read_page(self._image, self._page), dtype)


def halve(page: np.ndarray) -> np.ndarray:
    """Return the means of squares of 2 x 2 pixels; an odd last row or column counts twice."""
    padded = cv2.copyMakeBorder(page, 0, page.shape[0] % 2, 0, page.shape[1] % 2, cv2.BORDER_REPLICATE)
    if page.ndim == 3 and page.shape[2] > 4:  # more channels than OpenCV resizes at once
        return padded.reshape(padded.shape[0] // 2, 2, padded.shape[1] // 2, 2, -1).mean(axis=(1, 3), dtype=np.float32)
    half = cv2.resize(padded, (padded.shape[1] // 2, padded.shape[0] // 2), interpolation=cv2.INTER_AREA)
    return half.reshape(padded.shape[0] // 2, padded.shape[1] // 2, *page.shape[2:])


def _encode(part: np.ndarray, channel: int | None, low: float, high: float) -> bytes:
    """Encode a part of a page as PNG: grey, or the first three channels as colour."""
    if part.ndim == 3 and channel is not None:
        part = part[..., channel]
    elif part.ndim == 3:
        part = part[..., 2::-1] if part.shape[2] >= 3 else np.dstack([np.zeros_like(part[..., 0]), part[..., ::-1]])
    scale = 255 / max(high - low, 1e-6)
    shown = cv2.convertScaleAbs(np.clip((part - np.float32(low)) * np.float32(scale), 0, 255))
    return cv2.imencode(".png", shown, PNG_SETTINGS)[1].tobytes()
