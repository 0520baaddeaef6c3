"""The value of white that a TIFF states, where it is less than its dtype could hold: 12 bits of a camera stored in 16.

Stated by OME-XML (`SignificantBits`), by Micro-Manager (`BitDepth`) or by the tags MaxSampleValue and SMaxSampleValue.
Some writers store the largest value of the image in these tags, so they count only if they are 2**b - 1. The display
range of ImageJ is a setting of the viewer and says nothing about white.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np

if TYPE_CHECKING:
    import tifffile

_MAXIMUM_TAGS = (281, 341)  # MaxSampleValue, SMaxSampleValue
_MIN_BITS = 2  # of grey; a mask of 0 and 1 is no camera


def stated_white(file: "tifffile.TiffFile", series: "tifffile.TiffPageSeries") -> int | None:
    """Return the stated value of white, or None if there is none below that of the dtype.

    Metadata that cannot be read are left out, because the pixels are still good.
    """
    dtype = np.dtype(series.dtype)
    if dtype.kind != "u" or dtype.itemsize > 2:
        return None
    try:
        stated = list(_stated_bits(file, series.keyframe))
    except Exception:  # damaged metadata can make a parser raise nearly anything
        return None
    return next((2**bits - 1 for bits in stated if _MIN_BITS <= bits < 8 * dtype.itemsize), None)


def _stated_bits(file: "tifffile.TiffFile", page: "tifffile.TiffPage") -> Iterator[int]:
    """Yield the numbers of bits that are stated anywhere."""
    if file.is_ome:
        yield _whole_number(_ome_significant_bits(file.ome_metadata or ""))
    if file.is_micromanager:
        summary = (file.micromanager_metadata or {}).get("Summary")
        yield _whole_number(summary.get("BitDepth") if isinstance(summary, dict) else None)
    for tag in _MAXIMUM_TAGS:
        stated = page.tags.valueof(tag)
        largest = _whole_number(max(stated) if isinstance(stated, tuple) and stated else stated)
        if largest & (largest + 1) == 0:
            yield largest.bit_length()


def _ome_significant_bits(xml: str) -> str | None:
    """Read the attribute of the first image."""
    try:
        pixels = ElementTree.fromstring(xml).find("{*}Image/{*}Pixels")
    except ElementTree.ParseError:
        return None
    return None if pixels is None else pixels.get("SignificantBits")


def _whole_number(value: Any) -> int:
    """Return a positive whole number, also as text; 0 for anything else."""
    try:
        return max(0, int(value))
    except (TypeError, ValueError, OverflowError):
        return 0
