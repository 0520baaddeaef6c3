"""Resizing images to a common shape by a stated rule, and converting colour to grey."""

from collections.abc import Sequence

import numpy as np

from invariance._core.checks import check_choice, check_count
from invariance.images.intensities import as_float32
from invariance.images.transparency import without_alpha

RULES = ("crop", "pad", "stretch")
# Pixels per side to which images are resized where whole images are compared: the size of the cropped Yale faces, and
# a little more than that of MNIST's digits.
SIDE = 32
_LUMA = np.array([0.299, 0.587, 0.114], dtype=np.float32)  # Rec. 601, as in Pillow and OpenCV


def resize(image: np.ndarray, shape: tuple[int, int], rule: str = "crop") -> np.ndarray:
    """Resize an image; axes that shrink are averaged over areas, axes that grow are interpolated linearly.

    Parameters
    ----------
    image : ndarray of shape (h, w) or (h, w, c)
    shape : tuple of two int
        New height and width.
    rule : {"crop", "pad", "stretch"}, default="crop"
        "crop" scales the image until it covers the shape and keeps the centre. "pad" scales it until it fits, centres
        it and fills the border with the nearest edge pixel, because black bars would be edges that a classifier
        learns. "stretch" scales each axis by itself and loses the proportions.

    Returns
    -------
    resized : ndarray of shape (height, width) or (height, width, c), float32
    """
    image = _check_image(image)
    height, width = check_shape(shape)
    check_choice("rule", rule, RULES)
    scales = height / image.shape[0], width / image.shape[1]
    if rule == "crop":
        # Cut first, then scale: the same image, without ever building a scaled image larger than the result.
        kept = [_whole(side / max(scales), limit) for side, limit in zip((height, width), image.shape, strict=False)]
        top, left = (image.shape[0] - kept[0]) // 2, (image.shape[1] - kept[1]) // 2
        return stretch(image[top : top + kept[0], left : left + kept[1]], height, width)
    if rule == "pad":
        fitted = stretch(
            image, _whole(image.shape[0] * min(scales), height), _whole(image.shape[1] * min(scales), width)
        )
        rows, columns = height - fitted.shape[0], width - fitted.shape[1]
        border = [(rows // 2, rows - rows // 2), (columns // 2, columns - columns // 2)]
        return np.pad(fitted, border + [(0, 0)] * (image.ndim - 2), mode="edge")
    return stretch(image, height, width)


def resize_all(images: Sequence[np.ndarray], shape: tuple[int, int], rule: str = "crop") -> np.ndarray:
    """Resize images of any sizes to one array.

    Parameters
    ----------
    images : sequence of ndarrays of shape (h, w) or (h, w, c)
        All must have the same number of channels.
    shape : tuple of two int
        New height and width.
    rule : {"crop", "pad", "stretch"}, default="crop"
        See `resize`.

    Returns
    -------
    resized : ndarray of shape (n, height, width) or (n, height, width, c), float32
    """
    if len(images) == 0:
        raise ValueError("images is empty; resize_all needs at least one image.")
    first = np.shape(images[0])[2:]
    for index, image in enumerate(images):
        if np.shape(image)[2:] != first:
            raise ValueError(
                f"images[{index}] is {np.shape(image)}, but images[0] is {np.shape(images[0])}: their channels differ. "
                f"Convert them first, for example with to_grey."
            )
    return np.stack([resize(image, shape, rule) for image in images])


def shrink(image: np.ndarray, max_side: int | None) -> np.ndarray:
    """Shrink an image to a largest side; its proportions are kept, and smaller images are returned as they are.

    Parameters
    ----------
    image : ndarray of shape (h, w) or (h, w, c)
    max_side : int or None
        The largest length of the longer side in pixels; None for no limit.

    Returns
    -------
    shrunk : ndarray
        float32, or uint8 if the image is.
    """
    height, width = image.shape[:2]
    if max_side is None or max(height, width) <= max_side:
        return image
    scale = check_count("max_side", max_side) / max(height, width)
    new_height, new_width = max(1, round(height * scale)), max(1, round(width * scale))
    if image.dtype == np.uint8:
        return stretch(np.ascontiguousarray(image), new_height, new_width)
    return resize(image, (new_height, new_width), "stretch")


def to_grey(image: np.ndarray) -> np.ndarray:
    """Convert an image to grey.

    Parameters
    ----------
    image : ndarray of shape (h, w) or (h, w, c)
        With 1 to 4 channels; RGB is weighted as in Rec. 601. With alpha (c = 2 or 4) it is laid over white first.

    Returns
    -------
    grey : ndarray of shape (h, w), float32
    """
    image = _check_image(image)
    if image.ndim == 2:
        return image
    if image.shape[2] > 4:
        raise ValueError(f"image must have 1 to 4 channels to become grey; got {image.shape[2]}. Select some first.")
    image = without_alpha(image)
    return image[..., 0] if image.shape[2] < 3 else image @ _LUMA


def stretch(image: np.ndarray, height: int, width: int) -> np.ndarray:
    """Scale each axis of an image, float32 or uint8; OpenCV averages areas only if no axis grows, hence two steps."""
    import cv2

    channels = image.shape[2:]
    shrunk = min(height, image.shape[0]), min(width, image.shape[1])
    if shrunk != image.shape[:2]:
        image = cv2.resize(image, shrunk[::-1], interpolation=cv2.INTER_AREA)
    if shrunk != (height, width):
        image = cv2.resize(image, (width, height), interpolation=cv2.INTER_LINEAR)
    return np.ascontiguousarray(image).reshape(height, width, *channels)  # OpenCV drops a single channel


def check_shape(shape: tuple[int, int]) -> tuple[int, int]:
    """Return a pair (height, width) of whole numbers, or raise an error."""
    if not isinstance(shape, Sequence) or isinstance(shape, str) or len(shape) != 2:
        raise ValueError(f"shape must be a pair (height, width); got {shape!r}.")
    return check_count("shape[0]", shape[0]), check_count("shape[1]", shape[1])


def _check_image(image: np.ndarray) -> np.ndarray:
    """Return an image (h, w) or (h, w, c) as float32, or raise an error."""
    image = as_float32(image)
    if image.ndim not in (2, 3) or image.size == 0:
        raise ValueError(f"image must be (h, w) or (h, w, c) with at least one pixel; got shape {image.shape}.")
    return image


def _whole(length: float, limit: int) -> int:
    """Round a length to whole pixels from 1 to `limit`."""
    return min(max(round(length), 1), limit)
