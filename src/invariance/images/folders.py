"""Folders of images: one sub-folder per class, or images beside a folder of their masks."""

import itertools
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from invariance._core.checks import check_choice
from invariance._core.progress import track
from invariance.images.decoding import FORMAT_NAMES
from invariance.images.kept import KeptImages
from invariance.images.listing import Listing, check_folder, image_paths, iterate_images, list_images
from invariance.images.pages import ImageError
from invariance.images.reading import read_compact, read_mask_stack, read_stack
from invariance.images.resizing import resize, shrink


class ClassFolder(NamedTuple):
    """The images of a folder with one sub-folder per class.

    Attributes
    ----------
    images : sequence of ndarrays of shape (h, w) or (h, w, c), uint8 or float32
        As `read_compact` reads them; more than a gigabyte of them lies in a temporary file.
    labels : ndarray of shape (n,)
        The names of their sub-folders.
    paths : list of Path
    skipped : list of (Path, str)
        Images and folders that cannot be read, images of unsupported formats, and images outside the class folders,
        with the reason.
    """

    images: KeptImages
    labels: np.ndarray
    paths: list[Path]
    skipped: list[tuple[Path, str]]


class MaskedImages(NamedTuple):
    """Images with their masks.

    Attributes
    ----------
    images : list of ndarrays of shape (h, w) or (h, w, c), float32
    masks : list of ndarrays of shape (h, w), integer
    paths : list of Path
        The file that each image comes from.
    skipped : sequence of (Path, str), default=()
        Images of unsupported formats and sub-folders that were not read, with the reason.
    """

    images: list[np.ndarray]
    masks: list[np.ndarray]
    paths: list[Path]
    skipped: Sequence[tuple[Path, str]] = ()


def read_class_folder(
    folder: str | os.PathLike,
    *,
    shape: tuple[int, int] | None = None,
    rule: str = "crop",
    max_side: int | None = None,
    on_error: str = "raise",
    min_classes: int = 2,
) -> ClassFolder:
    """Read a folder with one sub-folder per class, sorted by class and file name.

    Images in sub-folders of a class folder belong to the class. Hidden files and files that are not images are
    ignored.

    Parameters
    ----------
    folder : str or path-like
        With images `<class>/<image>` or, deeper, `<class>/<any>/<image>`.
    shape : tuple of two int, default=None
        Height and width to which all images are resized.
    rule : {"crop", "pad", "stretch"}, default="crop"
        How images are resized to `shape`, see `resize`.
    max_side : int, default=None
        Without `shape`, images with a longer side are shrunk to it; their proportions are kept.
    on_error : {"raise", "skip"}, default="raise"
        What to do with an image or sub-folder that cannot be read, an image of an unsupported format, or one outside
        the class folders. "skip" lists it in `skipped`; a class without any readable image is an error in both cases.
    min_classes : int, default=2
        Fewer classes are an error.

    Returns
    -------
    data : ClassFolder
    """
    paths: list[Path] = []
    counts, left_out = list_class_folder(folder, paths.extend, on_error=on_error, min_classes=min_classes)
    labelled = list(zip(paths, np.repeat(list(counts), list(counts.values())), strict=True))
    result = ClassFolder(KeptImages(), np.array([]), [], left_out)
    labels = []
    for path, label in track(labelled, "reading images"):
        try:
            image = read_compact(path)
        except ImageError as error:
            if on_error == "raise":
                raise
            result.skipped.append((path, str(error)))
            continue
        result.images.append(shrink(image, max_side) if shape is None else resize(image, shape, rule))
        result.paths.append(path)
        labels.append(label)
    check_none_empty(folder, sorted(counts.keys() - set(labels)))
    return result._replace(labels=np.array(labels))


def read_mask_folder(images_folder: str | os.PathLike, masks_folder: str | os.PathLike) -> MaskedImages:
    """Read the images of one folder and their masks from another.

    Parameters
    ----------
    images_folder, masks_folder : str or path-like
        The mask of an image has the same stem: `cells/7.jpg`, `masks/7.png`. Masks without an image are ignored.

    Returns
    -------
    data : MaskedImages
        The pages of a stack count as images. Masks keep their integers.
    """
    listing = list_images(images_folder)
    images = _by_stem(images_folder, listing)
    masks = _by_stem(masks_folder, list_images(masks_folder))
    for stem, path in images.items():
        if stem not in masks:
            raise ImageError(f"image '{path}' has no mask '{stem}.*' in '{masks_folder}'. Add one, or move the image.")
    result = MaskedImages([], [], [], listing.left_out)
    for stem, path in track(images.items(), "reading images and masks", total=len(images)):
        stack = read_masked_stack(path, masks[stem])
        result.images.extend(stack.images)
        result.masks.extend(stack.masks)
        result.paths.extend(stack.paths)
    return result


def read_masked_stack(image_path: str | os.PathLike, mask_path: str | os.PathLike) -> MaskedImages:
    """Read the pages of one image file, and as their masks the pages of another file.

    Parameters
    ----------
    image_path, mask_path : str or path-like

    Returns
    -------
    data : MaskedImages
    """
    image, mask = read_stack(image_path), read_mask_stack(mask_path)
    if len(mask) != len(image):
        raise ImageError(
            f"mask '{mask_path}' has {len(mask)} pages, but its image '{image_path}' has {len(image)}. "
            f"Mark a page that has no labels with the unlabelled value."
        )
    if mask.shape != image.shape[:3]:
        raise ImageError(
            f"mask '{mask_path}' is {_size(mask)}, but its image '{image_path}' is {_size(image)}. "
            f"A mask has one label for every pixel of its image: export it at that size."
        )
    return MaskedImages(list(image), list(mask), [Path(image_path)] * len(image))


def list_class_folder(
    folder: str | os.PathLike,
    add: Callable[[Iterable[Path]], Any],
    *,
    on_error: str = "raise",
    min_classes: int = 2,
) -> tuple[dict[str, int], list[tuple[Path, str]]]:
    """List the files of a folder as `read_class_folder` reads them, without reading any.

    Parameters
    ----------
    folder : str or path-like
    add : callable (iterable of Path)
        Called once per class with its files, one class after another, such as the method of a list that extends it.
    on_error, min_classes
        As for `read_class_folder`.

    Returns
    -------
    counts : dict of str to int
        Number of files of each class.
    left_out : list of (Path, str)
        Entries that are not images of a class, with the reason.
    """
    folder = check_folder(folder)
    check_choice("on_error", on_error, ("raise", "skip"))
    cure = "Make one sub-folder per class and put its images there."
    classes = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    if not classes:
        state = "has no sub-folders" if any(folder.iterdir()) else "is empty"
        raise ImageError(f"folder '{folder}' {state}. {cure}")
    left_out = [(path, f"image '{path}' lies in no class folder. Move it into one.") for path in image_paths(folder)]
    counts: dict[str, int] = {}
    for path in classes:
        unread: list[tuple[Path, str]] = []
        counting = itertools.count()
        # `zip` draws a number for every file, and none after the last.
        add(file for file, _ in zip(iterate_images(path, unread, recursive=True), counting, strict=False))
        counts[path.name] = next(counting)
        if not counts[path.name]:
            why = f" that are read: {min(unread)[1]}" if unread else "."
            raise ImageError(f"class folder '{path}' holds no images{why} Add some, or remove the folder.")
        left_out += sorted(unread)
    if len(counts) < min_classes:
        only = classes[0].name
        raise ImageError(f"folder '{folder}' holds one class only, '{only}'; learning needs at least two. {cure}")
    if left_out and on_error == "raise":
        raise ImageError(left_out[0][1])
    return counts, left_out


def check_none_empty(folder: str | os.PathLike, classes: Sequence[str]) -> None:
    """Raise an error if there is a class of which no image could be read."""
    if classes:
        raise ImageError(f"class folder '{Path(folder) / classes[0]}' holds no readable image. Repair it or remove it.")


def _by_stem(folder: str | os.PathLike, listing: Listing) -> dict[str, Path]:
    """Map the stems of the image files of a folder to their paths."""
    stems: dict[str, Path] = {}
    for path in listing.paths:
        if path.stem in stems:
            raise ImageError(f"'{stems[path.stem]}' and '{path}' share a stem, so pairs are not clear. Rename one.")
        stems[path.stem] = path
    if not stems:
        raise ImageError(f"folder '{folder}' holds no images. Put {FORMAT_NAMES} files there.")
    return stems


def _size(stack: np.ndarray) -> str:
    """Write the size of the pages of a stack."""
    return f"{stack.shape[1]} x {stack.shape[2]}"
