"""Figures and images as parts of an HTML page: `data:` addresses, so that the page needs no other file."""

import base64
import io
from html import escape

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

from invariance.images import as_float32, shrink
from invariance.report.figures import drawing

# Images of at most this many pixels per side are stored without loss, and each pixel is shown as a square.
MAX_SQUARES = 64
PIXEL_RATIO = 2  # stored pixels per pixel of the page, for high-resolution screens
JPEG_QUALITY = 85


def svg_address(figure: Figure) -> str:
    """Return a figure as the `data:` address of an SVG image; it has no date, so that it is always the same."""
    buffer = io.BytesIO()
    with drawing():
        figure.savefig(buffer, format="svg", metadata={"Date": None}, facecolor="white")
    return _address("svg+xml", buffer)


def image_item(image: np.ndarray, title: str, frame: str | None, side: int) -> str:
    """Return an image (h, w) or (h, w, c) as a list item with its title and the colour of its frame."""
    shown = shrink(as_grey_or_rgb(as_float32(image)), PIXEL_RATIO * side)
    pixels = np.rint(255 * np.clip(shown, 0, 1)).astype(np.uint8)
    style = f' style="border-color: {frame}"' if frame else ""
    kind = ' class="coarse"' if max(pixels.shape) <= MAX_SQUARES else ""
    text = "".join(f"<span>{escape(line)}</span>" for line in title.split("\n") if line)
    return f'<li><img src="{_image_address(pixels)}" alt="{escape(" ".join(title.split()))}"{kind}{style}>{text}</li>'


def as_grey_or_rgb(image: np.ndarray) -> np.ndarray:
    """Return an image as (h, w) or (h, w, 3): RGB without alpha, or the mean over any other number of channels."""
    if image.ndim == 2:
        return image
    return image[..., :3] if image.shape[2] in (3, 4) else image.mean(axis=2)


def _image_address(pixels: np.ndarray) -> str:
    """Pixels uint8 as a `data:` address: PNG for small images, JPEG for large ones."""
    kind, settings = ("png", {}) if max(pixels.shape) <= MAX_SQUARES else ("jpeg", {"quality": JPEG_QUALITY})
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, kind, **settings)
    return _address(kind, buffer)


def _address(kind: str, buffer: io.BytesIO) -> str:
    return f"data:image/{kind};base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
