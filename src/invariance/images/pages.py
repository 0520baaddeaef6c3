"""The pages of an image file (values as stored, the value of white, which way is up), and the errors they can have."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

ORIENTATION_TAG = 274  # the same number in EXIF and in TIFF
# orientation -> (transpose, then flip rows, then flip columns)
_TURNS = {2: (0, 0, 1), 3: (0, 1, 1), 4: (0, 1, 0), 5: (1, 0, 0), 6: (1, 0, 1), 7: (1, 1, 1), 8: (1, 1, 0)}


class ImageError(ValueError):
    """An image file or folder that cannot be used; one line names it, the defect and the cure."""


class Pages(NamedTuple):
    """Pages as they are stored, before any scaling.

    Attributes
    ----------
    values : ndarray of shape (pages, h, w) or (pages, h, w, c)
    white : int or None
        The value that means white; None if the file format does not define it.
    alpha : {"straight", "premultiplied"} or None, default=None
        Whether the last channel is the opacity, and whether the colours have been multiplied by it; None without.
    """

    values: np.ndarray
    white: int | None
    alpha: str | None = None

    @property
    def colours(self) -> np.ndarray:
        """The values without opacity; a single channel loses its axis."""
        if self.alpha is None:
            return self.values
        return self.values[..., 0] if self.values.shape[-1] == 2 else self.values[..., :-1]

    def turned(self, orientation: int) -> "Pages":
        """Turn pages upright, given the orientation tag that says how the camera was held."""
        transpose, flip_rows, flip_columns = _TURNS.get(orientation, (0, 0, 0))
        values = self.values.swapaxes(1, 2) if transpose else self.values
        return self._replace(values=values[:, :: -1 if flip_rows else 1, :: -1 if flip_columns else 1])


def stack_pages(path: Path, pages: list[np.ndarray]) -> np.ndarray:
    """Stack equally large pages; pages of different shapes are an error."""
    for page in pages:
        if page.shape != pages[0].shape:
            raise unequal_pages(path, pages[0].shape, page.shape)
    return pages[0][None] if len(pages) == 1 else np.stack(pages)


def check_page_count(path: Path, n_pages: int, one_page: bool) -> None:
    """Refuse several pages where one is wanted, before they are decoded."""
    if one_page and n_pages > 1:
        raise ImageError(
            f"image '{path}' has {n_pages} pages, but one was expected. "
            f"Read it with read_stack, or with read_mask_stack if it holds labels."
        )


def unequal_pages(path: Path, first: tuple[int, ...], other: tuple[int, ...]) -> ImageError:
    """Return the error for a file whose pages have different shapes."""
    return ImageError(f"image '{path}' has pages of different shapes, {first} and {other}. Split it into files.")


def zero_size(path: Path, height: int, width: int) -> ImageError:
    """Return the error for an image without pixels."""
    return ImageError(f"image '{path}' has no pixels: its size is {height} x {width}. Export it again.")


def oversized(path: Path) -> ImageError:
    """Return the error for a decompression bomb."""
    return ImageError(
        f"image '{path}' would unpack to more pixels than is safe (a decompression bomb?). "
        f"If you trust it, raise PIL.Image.MAX_IMAGE_PIXELS."
    )


def out_of_memory(path: Path) -> ImageError:
    """Return the error for an image that is larger than the memory that is left."""
    return ImageError(f"image '{path}' needs more memory than there is. Shrink it or cut it into parts.")
