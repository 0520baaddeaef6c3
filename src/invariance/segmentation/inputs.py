"""Validation of the input of a segmenter: images of any sizes, grey or colour, single or in stacks, with masks."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from invariance._core.checks import check_count
from invariance.segmentation.sampling import count_labels
from invariance.segmentation.standard import StandardImage, prepare_image
from invariance.transformations import TransformationSet

# Gradients need two pixels per side.
MIN_SIDE = 2
# More values in the masks are hardly classes: masks saved as JPEG have about fifty, numbered objects hundreds.
MAX_CLASSES = 32


class Labelled(NamedTuple):
    """Images and masks, checked.

    Attributes
    ----------
    images : list of n StandardImage
        Images (h, w, c) of any sizes, each with at least one labelled pixel.
    masks : list of n integer ndarrays of shape (h, w)
        Their masks.
    classes : ndarray of shape (n_classes,)
        The values of labelled pixels.
    counts : ndarray of shape (n, n_classes)
        Number of labelled pixels of each class in each image.
    n_channels : int
        Number of channels of every image.
    """

    images: list[StandardImage]
    masks: list[np.ndarray]
    classes: np.ndarray
    counts: np.ndarray
    n_channels: int


def pair_up(
    images: Any,
    masks: Any,
    unlabelled: Any,
    standardize: bool,
    phi: TransformationSet | None = None,
    scale: str = "dtype",
    max_classes: int = MAX_CLASSES,
) -> Labelled:
    """Pair the images and masks given to `fit`; raise ValueError naming what does not fit together."""
    pairs = [pair for index, *both in _enumerate_pairs(images, masks) for pair in _split_stack(index, *both)]
    n_channels = [_count_channels(image) for image, _ in pairs]
    for index, number in enumerate(n_channels):
        if number != n_channels[0]:
            raise ValueError(
                f"images must have the same number of channels; got {n_channels[0]} and, at number {index}, {number}. "
                f"Convert one of them."
            )
    classes = find_classes([mask for _, mask in pairs], unlabelled)
    check_class_count(classes, max_classes)
    if len(classes) == 0:
        raise ValueError(
            f"no pixel is labelled: all pixels of the masks are {unlabelled!r}, the unlabelled value. Label some."
        )
    if len(classes) == 1:
        raise ValueError(
            f"the masks must contain at least two classes; got {classes[0]!s} only. Label pixels of another class."
        )
    kept = [(image, mask) for image, mask in pairs if unlabelled is None or (mask != unlabelled).any()]
    kept_masks = [mask for _, mask in kept]
    standard = [prepare_image(image, standardize, phi, scale) for image, _ in kept]
    return Labelled(standard, kept_masks, classes, count_labels(kept_masks, classes), n_channels[0])


def find_classes(masks: Sequence[np.ndarray], unlabelled: Any) -> np.ndarray:
    """Return the sorted values of the labelled pixels of masks."""
    values = np.unique(np.concatenate([np.unique(mask) for mask in masks]))
    return values if unlabelled is None else values[values != unlabelled]


def check_class_count(classes: np.ndarray, max_classes: int, name: str = "the masks") -> None:
    """Refuse more classes than are plausible, saying how many there are and what they probably are."""
    if len(classes) <= check_count("max_classes", max_classes, at_least=2):
        return
    shown = ", ".join(map(str, classes[:4].tolist()))
    steps = np.diff(classes.astype(object))
    if (steps == 1).all():
        likely = "They are probably numbers of objects: give all objects of a class the same value."
    else:
        likely = (
            "They are probably greys: are images and masks swapped? If not, the mask was stored lossily or resized: "
            "export masks as PNG or TIFF, without smoothing."
        )
    raise ValueError(
        f"{name} hold {len(classes)} classes ({shown}, ..., {classes[-1]}); at most {max_classes} are expected. "
        f"{likely} If all are classes, set max_classes={len(classes)} (--max-classes)."
    )


def check_image(image: Any, n_channels: int) -> Any:
    """Check that an image is (h, w) or (h, w, c), with the channels that the model was trained on."""
    image = image if hasattr(image, "shape") else np.asarray(image)
    if len(image.shape) not in (2, 3):
        raise ValueError(f"an image must be (h, w) or (h, w, c); got an array of shape {tuple(image.shape)}.")
    _check_size(image)
    if _count_channels(image) != n_channels:
        raise ValueError(
            f"the image has {_count_channels(image)} channels, but the model was trained on {n_channels}. "
            f"Convert it, or train on such images."
        )
    return image


def is_stack(X: Any, n_channels: int) -> bool:
    """Tell whether X has one axis more than an image with that many channels; grey images may have a channel axis."""
    shape = X.shape if hasattr(X, "shape") else np.shape(X)
    if n_channels == 1 and len(shape) == 3 and shape[2] in (3, 4):
        raise ValueError(
            f"an array of shape {tuple(shape)} looks like a colour image, but the model was trained on grey images. "
            f"Convert it to grey; pass a stack of images 3 or 4 pixels wide as a list."
        )
    has_channel_axis = n_channels > 1 or shape[-1:] == (1,)
    if len(shape) != (4 if has_channel_axis else 3):
        return False
    if shape[0] == 0:
        raise ValueError(f"a stack must contain at least one image; got an array of shape {tuple(shape)}.")
    return True


def _enumerate_pairs(images, masks):
    """Yield (index, image or stack, mask or masks) of every entry."""
    is_array = hasattr(images, "shape")
    if is_array and (len(images.shape) == 2 or np.ndim(masks) == 2):
        images, masks = [images], [masks]
    if len(images) != len(masks):
        raise ValueError(f"X and y must have the same length, one mask per image; got {len(images)} and {len(masks)}.")
    if len(images) == 0:
        raise ValueError("X must contain at least one image; got none.")
    for index in range(len(images)):
        yield index, images[index], np.asarray(masks[index])


def _split_stack(index: int, image: Any, mask: np.ndarray):
    """Yield the pairs (image, mask) of one entry: one, or one per page of a stack."""
    image = image if hasattr(image, "shape") else np.asarray(image)
    shape = tuple(image.shape)
    if mask.dtype == bool:
        mask = mask.astype(np.uint8)
    if mask.dtype.kind not in "iu":
        raise ValueError(f"mask {index} must have an integer dtype; got {mask.dtype}. Round or convert it.")
    if mask.ndim not in (2, 3) or shape[: mask.ndim] != mask.shape or len(shape) - mask.ndim not in (0, 1):
        raise ValueError(
            f"mask {index} has shape {mask.shape}, but its image has {shape}. A mask must be as large as its image."
        )
    if mask.ndim == 3:
        for page in range(len(mask)):
            yield from _split_stack(index, image[page], mask[page])
        return
    _check_size(image)
    yield image, mask


def _count_channels(image: Any) -> int:
    return 1 if len(image.shape) == 2 else image.shape[2]


def _check_size(image: Any) -> None:
    if _count_channels(image) == 0:
        raise ValueError(f"an image must have at least one channel; got an array of shape {tuple(image.shape)}.")
    if min(image.shape[:2]) < MIN_SIDE:
        height, width = image.shape[:2]
        raise ValueError(f"an image must have at least {MIN_SIDE} pixels per side; got {height} x {width}. Remove it.")
