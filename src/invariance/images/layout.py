"""What a result keeps of its image: how the pages are arranged, and what a pixel measures."""

import math
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree

from invariance.images.tiff import orientation_of, page_axes

if TYPE_CHECKING:
    import tifffile

_X_RESOLUTION, _Y_RESOLUTION, _RESOLUTION_UNIT = 282, 283, 296  # TIFF tags
_UNITS = _NO_UNIT, _INCH, _CENTIMETRE = 1, 2, 3  # a file that does not say means inches
_MICRO = str.maketrans("µμ", "uu")  # the sign and the Greek letter
_TRANSPOSED = (5, 6, 7, 8)  # orientations in which rows are stored as columns
_IMAGEJ_KEYS = (
    "unit", "yunit", "zunit", "tunit", "spacing", "finterval", "fps", "xorigin", "yorigin", "zorigin"
)  # fmt: skip
_OME_KEYS = (
    "PhysicalSizeX", "PhysicalSizeXUnit", "PhysicalSizeY", "PhysicalSizeYUnit", "PhysicalSizeZ", "PhysicalSizeZUnit",
    "TimeIncrement", "TimeIncrementUnit",
)  # fmt: skip


class Layout(NamedTuple):
    """The arrangement and scale of the pages of a file.

    `axes` are tifffile's letters of what the pages count, slowest first, with their `lengths`: "TZ" and (5, 12) for 60
    pages, "" and () for a single one. `kind` is "imagej", "ome" or "plain": the metadata that a TIFF has. `resolution`
    is that of the TIFF tags, pixels per `resolution_unit` (1 none, 2 inch, 3 centimetre) along x and y, each as a
    fraction. `details` are what ImageJ or OME say on top, by their own names: physical sizes, units, spacing, interval.
    """

    axes: str = ""
    lengths: tuple[int, ...] = ()
    kind: str = "plain"
    resolution: tuple[tuple[int, int], tuple[int, int]] | None = None
    resolution_unit: int = _INCH
    details: tuple[tuple[str, Any], ...] = ()

    @property
    def n_pages(self) -> int:
        """The number of pages."""
        return math.prod(self.lengths)

    def of_pages(self, n_pages: int) -> "Layout":
        """The same scale for pages that a decoder without knowledge of axes found, if they are not as many as said."""
        if n_pages == self.n_pages:
            return self
        return self._replace(axes="I" if n_pages > 1 else "", lengths=(n_pages,) if n_pages > 1 else (), kind="plain")


def read_layout(file: "tifffile.TiffFile", series: "tifffile.TiffPageSeries") -> Layout:
    """The layout of the image of an open TIFF; what cannot be read is left out, because the pixels are still good."""
    counted = page_axes(series.axes)
    kind = series.kind if series.kind in ("imagej", "ome") else "plain"
    return Layout(
        axes="".join(series.axes[axis] for axis in counted),
        lengths=tuple(series.shape[axis] for axis in counted),
        kind=kind,
        resolution=_resolution(series.keyframe),
        resolution_unit=_resolution_unit(series.keyframe),
        details=tuple(_imagej_details(file) if kind == "imagej" else _ome_details(file) if kind == "ome" else ()),
    )


def _resolution(page: "tifffile.TiffPage") -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Both resolutions as fractions, if they mean anything: many writers store 0 / 1 or 1 / 0."""
    x, y = (page.tags.valueof(tag) for tag in (_X_RESOLUTION, _Y_RESOLUTION))
    if not all(isinstance(value, tuple) and len(value) == 2 and min(value) > 0 for value in (x, y)):
        return None
    return (y, x) if orientation_of(page) in _TRANSPOSED else (x, y)


def _resolution_unit(page: "tifffile.TiffPage") -> int:
    unit = page.tags.valueof(_RESOLUTION_UNIT, default=_INCH)
    return int(unit) if unit in _UNITS else _NO_UNIT


def _imagej_details(file: "tifffile.TiffFile") -> list[tuple[str, Any]]:
    metadata = file.imagej_metadata or {}
    # Descriptions are written in ASCII; ImageJ takes "um" for micrometres.
    found = [(key, str(metadata[key]).translate(_MICRO)) for key in _IMAGEJ_KEYS if key in metadata]
    return [(key, value) for key, value in found if value.isascii()]


def _ome_details(file: "tifffile.TiffFile") -> list[tuple[str, Any]]:
    try:
        pixels = ElementTree.fromstring(file.ome_metadata or "").find("{*}Image/{*}Pixels")
    except ElementTree.ParseError:
        return []
    return [] if pixels is None else [(key, pixels.attrib[key]) for key in _OME_KEYS if key in pixels.attrib]
