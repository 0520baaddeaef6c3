"""Decoding with Pillow, and with OpenCV where Pillow would reduce colour of 16 bits or float to 8 bits."""

from pathlib import Path

import numpy as np

from invariance.images.intensities import white_of
from invariance.images.pages import ORIENTATION_TAG, Pages, check_page_count, stack_pages


def decode_pillow(path: Path, kind: str, one_page: bool, stored: bool, deep_colour: bool = False) -> Pages:
    """Decode a file with Pillow.

    Parameters
    ----------
    path : Path
    kind : str
        The format, as Pillow names it; no other is tried.
    one_page : bool
        Whether several pages are an error.
    stored : bool
        Whether palette indices are kept.
    deep_colour : bool, default=False
        Whether the values come from OpenCV, for colour of more than 8 bits.

    Returns
    -------
    pages : Pages
    """
    from PIL import Image

    with Image.open(path, formats=(kind,)) as image:
        # The further "pages" of a phone's MPO are previews or depth maps of the same photograph.
        n_pages = 1 if image.format == "MPO" else getattr(image, "n_frames", 1)
        check_page_count(path, n_pages, one_page)
        frames = []
        for page in range(n_pages):
            image.seek(page)
            frames.append(_plain(image, stored))
        orientation = _orientation(image)
    modes = {frame.mode for frame in frames}
    if deep_colour:
        values = decode_opencv(path)
        values = values[..., ::3] if modes == {"LA"} else values  # OpenCV reads grey + alpha as RGBA
    else:
        if len(modes) > 1:  # a GIF's first frame is grey or has a palette, the others can be in colour
            common = "RGBA" if modes & {"LA", "RGBA"} else "RGB"
            frames = [frame.convert(common) for frame in frames]
        values = stack_pages(path, [np.asarray(frame) for frame in frames])
    if kind == "PNG" and values.dtype == np.int32:  # older versions of Pillow widen 16-bit grey
        values = values.astype(np.uint16)
    return Pages(values, white_of(values.dtype)).turned(orientation)


def decode_opencv(path: Path) -> np.ndarray:
    """Decode all pages (pages, h, w[, c]) with OpenCV at their full depth, channels in the order RGB or RGBA."""
    import cv2

    readable, pages = cv2.imdecodemulti(np.fromfile(path, np.uint8), cv2.IMREAD_UNCHANGED)
    if not readable or not pages:
        raise ValueError("OpenCV cannot decode it")
    values = stack_pages(path, list(pages))
    return values[..., [2, 1, 0, *range(3, values.shape[-1])]] if values.ndim == 4 else values


def _plain(frame, stored: bool):
    """Copy a Pillow frame in a mode that numpy reads as grey, grey + alpha, RGB or RGBA."""
    mode = frame.mode
    if mode in ("1", "L", "LA", "RGB", "RGBA", "I", "F") or mode.startswith("I;16") or (stored and mode == "P"):
        return frame.copy()
    if frame.has_transparency_data:
        return frame.convert("RGBA")
    return frame.convert("L" if mode == "P" and _is_grey(frame.getpalette()) else "RGB")


def _is_grey(palette: list[int]) -> bool:
    """Whether all colours of a palette are grey: a GIF has a palette even if the image is grey."""
    return palette[::3] == palette[1::3] == palette[2::3]


def _orientation(image) -> int:
    """Read the orientation tag of an open Pillow image; 1 is upright."""
    try:
        return image.getexif().get(ORIENTATION_TAG, 1)
    except Exception:  # broken EXIF is common, and no reason to lose the image
        return 1
