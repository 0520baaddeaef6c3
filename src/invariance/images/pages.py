"""The pages of an image file: pixel values as stored, what value is white, which way is up."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from invariance.images.errors import ImageError

ORIENTATION_TAG = 274  # the same number in EXIF and in TIFF
# orientation -> (transpose, then flip rows, then flip columns)
_TURNS = {2: (0, 0, 1), 3: (0, 1, 1), 4: (0, 1, 0), 5: (1, 0, 0), 6: (1, 0, 1), 7: (1, 1, 1), 8: (1, 1, 0)}


class Pages(NamedTuple):
    """`values` (pages, h, w) or (pages, h, w, c) before any scaling, and the value of `white` if one is agreed."""

    values: np.ndarray
    white: int | None

    def turned(self, orientation: int) -> "Pages":
        """Upright pages, from pages whose tag says how the camera was held."""
        transpose, flip_rows, flip_columns = _TURNS.get(orientation, (0, 0, 0))
        values = self.values.swapaxes(1, 2) if transpose else self.values
        return self._replace(values=values[:, :: -1 if flip_rows else 1, :: -1 if flip_columns else 1])


def stack_pages(path: Path, pages: list[np.ndarray]) -> np.ndarray:
    """One array of equally large pages."""
    for page in pages:
        if page.shape != pages[0].shape:
            raise unequal_pages(path, pages[0].shape, page.shape)
    return np.stack(pages)


def check_page_count(path: Path, n_pages: int, one_page: bool) -> None:
    """Refuse many pages where one is wanted, before they are decoded."""
    if one_page and n_pages > 1:
        raise ImageError(
            f"image '{path}' has {n_pages} pages, but one was expected. "
            f"Read it with read_stack, or with read_mask_stack if it holds labels."
        )


def unequal_pages(path: Path, first: tuple[int, ...], other: tuple[int, ...]) -> ImageError:
    """The error for a file whose pages make no array."""
    return ImageError(f"image '{path}' has pages of different shapes, {first} and {other}. Split it into files.")


def zero_size(path: Path, height: int, width: int) -> ImageError:
    """The error for an image without pixels."""
    return ImageError(f"image '{path}' has no pixels: its size is {height} x {width}. Export it again.")


def oversized(path: Path) -> ImageError:
    """The error for a decompression bomb."""
    return ImageError(
        f"image '{path}' would unpack to more pixels than is safe (a decompression bomb?). "
        f"If you trust it, raise PIL.Image.MAX_IMAGE_PIXELS."
    )
