"""Decoding with Pillow, and with OpenCV where Pillow would reduce colour of 16 bits or float to 8 bits."""

from pathlib import Path

import numpy as np

from invariance.images.intensities import white_of
from invariance.images.memory import check_memory
from invariance.images.pages import ORIENTATION_TAG, Pages, check_page_count, stack_pages


def decode_pillow(path: Path, kind: str, one_page: bool, stored: bool, bits: int = 8, colour: bool = False) -> Pages:
    """Decode a file with Pillow, or with OpenCV for colour of more than 8 bits.

    Parameters
    ----------
    path : Path
    kind : str
        The format, as Pillow names it; no other is tried.
    one_page : bool
        Whether several pages are an error.
    stored : bool
        Whether palette indices, and greys of fewer than 8 bits, are kept.
    bits : int, default=8
        Bits per value, as the header states.
    colour : bool, default=False
        Whether the header states more than grey without opacity.

    Returns
    -------
    pages : Pages
    """
    from PIL import Image

    with Image.open(path, formats=(kind,)) as image:
        # The further "pages" of a phone's MPO are previews or depth maps of the same photograph.
        n_pages = 1 if image.format == "MPO" else getattr(image, "n_frames", 1)
        check_page_count(path, n_pages, one_page)
        _check_memory(path, image, bits)
        frames = []
        for page in range(n_pages):
            image.seek(page)
            frames.append(_plain(image, stored, bits, alone=n_pages == 1))
        orientation = _orientation(image)
        key = image.info.get("transparency")
    modes = {frame.mode for frame in frames}
    if colour and bits == 16:
        del frames
        values = decode_opencv(path)
        values = values[..., ::3] if modes == {"LA"} else values  # OpenCV reads grey + alpha as RGBA
    else:
        if len(modes) > 1:  # a GIF's first frame is grey or has a palette, the others can be in colour
            common = "RGBA" if modes & {"LA", "RGBA"} else "RGB"
            frames = [frame.convert(common) for frame in frames]
        values = stack_pages(path, [np.asarray(frame) for frame in frames])
    if kind == "PNG" and values.dtype == np.int32:  # older versions of Pillow widen 16-bit grey
        values = values.astype(np.uint16)
    if stored:
        values = narrow(values, bits) if modes == {"L"} else values
        return Pages(values, white_of(values.dtype)).turned(orientation)
    if values.dtype == np.uint16 and isinstance(key, int | tuple):
        values = _with_opacity(values, key)
    has_alpha = values.ndim == 4 and values.shape[-1] in (2, 4)
    return Pages(values, white_of(values.dtype), "straight" if has_alpha else None).turned(orientation)


def narrow(values: np.ndarray, bits: int) -> np.ndarray:
    """Return greys of 2 or 4 bits, which Pillow widens to 8, as they are stored."""
    return values // (255 // (2**bits - 1)) if bits in (2, 4) else values


def _check_memory(path: Path, image, bits: int) -> None:
    """Estimate the memory of an open Pillow image."""
    has_alpha = image.has_transparency_data
    n_channels = 4 if image.mode in ("P", "PA") or has_alpha else len(image.getbands())
    is_deep = bits == 16 or image.mode.startswith("I;16")
    dtype = np.dtype({"I": np.int32, "F": np.float32}.get(image.mode, np.uint16 if is_deep else np.uint8))
    check_memory(path, (image.height, image.width), n_channels, dtype, has_alpha)


def _with_opacity(values: np.ndarray, key: int | tuple[int, ...]) -> np.ndarray:
    """Add the opacity to values of 16 bits, of which one is stated to be transparent; Pillow does so for 8 bits."""
    colours = values.reshape(*values.shape[:3], -1)
    if colours.shape[-1] not in (1, 3):
        return values
    opaque = (colours != np.asarray(key)).any(axis=-1, keepdims=True)
    return np.concatenate([colours, np.where(opaque, np.iinfo(values.dtype).max, 0).astype(values.dtype)], axis=-1)


def decode_opencv(path: Path) -> np.ndarray:
    """Decode all pages (pages, h, w[, c]) with OpenCV at their full depth, channels in the order RGB or RGBA."""
    import cv2

    readable, pages = cv2.imdecodemulti(np.fromfile(path, np.uint8), cv2.IMREAD_UNCHANGED)
    if not readable or not pages:
        raise ValueError("OpenCV cannot decode it")
    values = stack_pages(path, list(pages))
    return values[..., [2, 1, 0, *range(3, values.shape[-1])]] if values.ndim == 4 else values


def _plain(frame, stored: bool, bits: int, alone: bool):
    """Return a Pillow frame in a mode that numpy reads as grey, grey + alpha, RGB or RGBA; a copy, unless `alone`."""
    frame.load()
    mode = frame.mode
    is_grey_palette = mode == "P" and _is_grey(frame.getpalette())
    if not stored and frame.has_transparency_data and mode not in ("LA", "RGBA") and not mode.startswith("I"):
        if mode == "L" and bits in (2, 4):  # widened to 8 bits, but not the value that is transparent
            frame.info["transparency"] *= 255 // (2**bits - 1)
        opacity = frame.convert("RGBA")
        return opacity.convert("LA") if is_grey_palette or mode in ("1", "L", "La") else opacity
    if mode in ("1", "L", "LA", "RGB", "RGBA", "I", "F") or mode.startswith("I;16") or (stored and mode == "P"):
        return frame if alone else frame.copy()
    return frame.convert("L" if is_grey_palette else "RGB")


def _is_grey(palette: list[int]) -> bool:
    """Whether all colours of a palette are grey: a GIF has a palette even if the image is grey."""
    return palette[::3] == palette[1::3] == palette[2::3]


def _orientation(image) -> int:
    """Read the orientation tag of an open Pillow image; 1 is upright."""
    try:
        return image.getexif().get(ORIENTATION_TAG, 1)
    except Exception:  # broken EXIF is common, and no reason to lose the image
        return 1
