"""An image of a report that is no figure: its own pixels, in the smallest file that shows them well."""

import base64
import io
from html import escape

import numpy as np
from PIL import Image

from invariance.images import as_float32, shrink

# Up to this many pixels per side every one of them is shown, as a square.
FEW_PIXELS = 64
JPEG_QUALITY = 85


def tile(image: np.ndarray, title: str, frame: str | None, side: int) -> str:
    """An image (h, w) or (h, w, c) as an item of a list, with its title, framed in a colour if one is given."""
    shown = shrink(_as_grey_or_rgb(as_float32(image)), 2 * side)  # twice, for screens with fine pixels
    pixels = np.rint(255 * np.clip(shown, 0, 1)).astype(np.uint8)
    style = f' style="border-color: {frame}"' if frame else ""
    kind = ' class="coarse"' if max(pixels.shape) <= FEW_PIXELS else ""
    text = "".join(f"<span>{escape(line)}</span>" for line in title.split("\n") if line)
    return f'<li><img src="{_address(pixels)}" alt="{escape(" ".join(title.split()))}"{kind}{style}>{text}</li>'


def _as_grey_or_rgb(image: np.ndarray) -> np.ndarray:
    """An image as (h, w) or (h, w, 3): without its alpha, and of other channels than colours their mean."""
    if image.ndim == 2:
        return image
    return image[..., :3] if image.shape[2] in (3, 4) else image.mean(axis=2)


def _address(pixels: np.ndarray) -> str:
    """Pixels uint8 as a `data:` address: PNG of few, JPEG of many."""
    kind, settings = ("png", {}) if max(pixels.shape) <= FEW_PIXELS else ("jpeg", {"quality": JPEG_QUALITY})
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, kind, **settings)
    return f"data:image/{kind};base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
