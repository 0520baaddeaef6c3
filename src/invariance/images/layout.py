"""What a result keeps of its image: how the pages are arranged, and the size of a pixel."""

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

    Attributes
    ----------
    axes : str, default=""
        The axes that pages are counted along, slowest first, in the letters of tifffile: "TZ" for pages over time and
        depth, "" for a single page.
    lengths : tuple of int, default=()
        The length of each axis: (5, 12) for 60 pages.
    kind : {"plain", "imagej", "ome"}, default="plain"
        The kind of metadata that a TIFF has.
    resolution : tuple of two fractions, default=None
        Pixels per `resolution_unit` along x and y from the TIFF tags, each as (numerator, denominator).
    resolution_unit : int, default=2
        1 for none, 2 for inch, 3 for centimetre.
    details : tuple of (str, value), default=()
        Further metadata by its name in ImageJ or OME: physical sizes, units, spacing, interval.
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
        """Keep the scale for the `n_pages` that a decoder found which does not know the axes."""
        if n_pages == self.n_pages:
            return self
        return self._replace(axes="I" if n_pages > 1 else "", lengths=(n_pages,) if n_pages > 1 else (), kind="plain")


def read_layout(file: "tifffile.TiffFile", series: "tifffile.TiffPageSeries") -> Layout:
    """Read the layout of an open TIFF; metadata that cannot be read is left out, because the pixels are still good."""
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
    """Read both resolutions as fractions; None if they are void, since many writers store 0 / 1 or 1 / 0."""
    x, y = (page.tags.valueof(tag) for tag in (_X_RESOLUTION, _Y_RESOLUTION))
    if not all(isinstance(value, tuple) and len(value) == 2 and min(value) > 0 for value in (x, y)):
        return None
    return (y, x) if orientation_of(page) in _TRANSPOSED else (x, y)


def _resolution_unit(page: "tifffile.TiffPage") -> int:
    """Read the unit of the resolution; an unknown one counts as none."""
    unit = page.tags.valueof(_RESOLUTION_UNIT, default=_INCH)
    return int(unit) if unit in _UNITS else _NO_UNIT


def _imagej_details(file: "tifffile.TiffFile") -> list[tuple[str, Any]]:
    """Read the scale that ImageJ states."""
    metadata = file.imagej_metadata or {}
    # Descriptions are written in ASCII; ImageJ takes "um" for micrometres.
    found = [(key, str(metadata[key]).translate(_MICRO)) for key in _IMAGEJ_KEYS if key in metadata]
    return [(key, value) for key, value in found if value.isascii()]


def _ome_details(file: "tifffile.TiffFile") -> list[tuple[str, Any]]:
    """Read the scale that OME-XML states."""
    try:
        pixels = ElementTree.fromstring(file.ome_metadata or "").find("{*}Image/{*}Pixels")
    except ElementTree.ParseError:
        return []
    return [] if pixels is None else [(key, pixels.attrib[key]) for key in _OME_KEYS if key in pixels.attrib]
