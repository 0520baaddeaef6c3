"""Writing images page by page: the old file stays until the new one is complete."""

import math
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

import numpy as np

from invariance._core.files import atomic_path, naming_full_disk
from invariance.images.layout import Layout

_SUFFIXES = (".png", ".tif", ".tiff")
_PNG_DTYPES = ("uint8", "uint16")
# The dtypes that each kind of metadata can describe, along axes T, Z and C; others are written as a plain TIFF.
_DTYPES = {
    "imagej": ("uint8", "uint16", "float32"),
    "ome": ("uint8", "uint16", "uint32", "int8", "int16", "int32", "float32", "float64"),
}
_MAX_CLASSIC_BYTES = 2**32 - 2**25  # offsets of 32 bits reach no further


@contextmanager
def page_writer(path: str | os.PathLike, layout: Layout | None = None) -> Iterator[Callable[[np.ndarray], None]]:
    """Open an image file for writing; the file appears when the block ends without an error.

    Parameters
    ----------
    path : str or path-like
        A .tif keeps the axes and the scale of `layout`, with the metadata of ImageJ or OME if it says so. Pages of
        three channels and dtype uint8 are RGB; other channels become an axis "C" before the rows. A .png holds one
        page of 8 or 16 bits.
    layout : Layout, default=None
        How the pages are arranged; None for a single page.

    Yields
    ------
    write : callable
        Appends a page (h, w) or (h, w, c). All pages have the same shape and dtype; True is written as 1. Their
        number is that of the layout.

    Examples
    --------
    >>> with page_writer("mask.png") as write:  # doctest: +SKIP
    ...     write(mask)
    """
    path = Path(path)
    layout = Layout() if layout is None else layout
    is_png = path.suffix.lower() == ".png"
    if path.suffix.lower() not in _SUFFIXES:
        raise ValueError(f"cannot write '{path}': its name must end in {' or '.join(_SUFFIXES)}.")
    if is_png and layout.n_pages != 1:
        raise ValueError(f"cannot write '{path}': PNG holds one page; got {layout.n_pages}. Write a .tif.")
    forms: list[tuple[tuple[int, ...], np.dtype]] = []  # of the pages written so far

    with atomic_path(path) as neighbour, open(neighbour, "r+b") as file:

        def write(page: np.ndarray) -> None:
            page = page.astype(np.uint8 if page.dtype == bool else page.dtype.newbyteorder("="), copy=False)
            forms.append((page.shape, page.dtype))
            if len(forms) > layout.n_pages:
                raise ValueError(f"cannot write '{path}': its layout has {layout.n_pages} pages; got one more.")
            if forms[-1] != forms[0]:
                raise ValueError(f"cannot write '{path}': page {len(forms) - 1} is {forms[-1]}, the first {forms[0]}.")
            # Several files may be open; the error of a full disk names this one.
            with naming_full_disk(path, neighbour, None if is_png else layout.n_pages * page.nbytes):
                if is_png:
                    _write_png(path, file, page)
                else:
                    if len(forms) == 1:
                        _begin_tiff(file, layout, page)
                    file.write(np.ascontiguousarray(_in_planes(page)).data)

        yield write
        if len(forms) != layout.n_pages:
            raise ValueError(f"cannot write '{path}': its layout has {layout.n_pages} pages; got {len(forms)}.")


def _write_png(path: Path, file: IO[bytes], page: np.ndarray) -> None:
    """Write the one page of a PNG."""
    from PIL import Image

    if page.dtype.name not in _PNG_DTYPES:
        raise ValueError(
            f"cannot write '{path}': PNG holds {' or '.join(_PNG_DTYPES)}; got {page.dtype}. Write a .tif."
        )
    Image.fromarray(page).save(file, format="PNG")


def _begin_tiff(file: IO[bytes], layout: Layout, page: np.ndarray) -> None:
    """Write all of a TIFF except its pixels, and move to where these go: page after page, uncompressed."""
    import tifffile

    axes = layout.axes + ("YXS" if _is_rgb(page) else "CYX"[-page.ndim :])
    shape = (*layout.lengths, *_in_planes(page).shape)
    kind = layout.kind if _can_describe(layout.kind, axes, page.dtype) else "plain"
    is_large = math.prod(shape) * page.itemsize > _MAX_CLASSIC_BYTES
    with warnings.catch_warnings():
        # Beyond 4 GB the format of ImageJ describes the first page only; all further pages follow it.
        warnings.filterwarnings("ignore", ".*truncating ImageJ file")
        with tifffile.TiffWriter(
            file, bigtiff=is_large and kind != "imagej", imagej=kind == "imagej", ome=kind == "ome"
        ) as writer:
            place = writer.write(
                None,
                shape=shape,
                dtype=page.dtype,
                photometric="rgb" if _is_rgb(page) else "minisblack",
                resolution=layout.resolution,
                resolutionunit=None if layout.resolution is None else layout.resolution_unit,
                metadata={"axes": axes, **(dict(layout.details) if kind == layout.kind else {})},
                returnoffset=True,
            )
    offset, _ = cast(tuple[int, int], place)  # known, because nothing is compressed
    file.seek(offset)


def _can_describe(kind: str, axes: str, dtype: np.dtype) -> bool:
    """Whether this kind of metadata can describe such pages."""
    return (
        kind in _DTYPES and dtype.name in _DTYPES[kind] and set(axes) <= set("TZCYXS") and len(set(axes)) == len(axes)
    )


def _is_rgb(page: np.ndarray) -> bool:
    """Whether the channels of a page are the samples of a colour."""
    return page.ndim == 3 and page.shape[2] == 3 and page.dtype == np.uint8


def _in_planes(page: np.ndarray) -> np.ndarray:
    """Move channels before rows, unless they are the samples of a colour."""
    return page if page.ndim == 2 or _is_rgb(page) else np.moveaxis(page, 2, 0)
