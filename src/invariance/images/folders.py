"""Folders of images: one sub-folder a class, or images beside a folder of their masks."""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from invariance._core.checks import check_choice
from invariance._core.progress import track
from invariance.images.errors import ImageError
from invariance.images.reading import check_folder, image_paths, read_image, read_mask_stack, read_stack
from invariance.images.resizing import resize, shrink


class ClassFolder(NamedTuple):
    """Images with the names of their sub-folders as `labels` (n,); `skipped` lists (path, what was wrong with it)."""

    images: list[np.ndarray]
    labels: np.ndarray
    paths: list[Path]
    skipped: list[tuple[Path, str]]


class MaskedImages(NamedTuple):
    """Images (h, w) or (h, w, c), each with its integer mask (h, w) and the file it comes from."""

    images: list[np.ndarray]
    masks: list[np.ndarray]
    paths: list[Path]


def read_class_folder(
    folder: str | os.PathLike,
    *,
    shape: tuple[int, int] | None = None,
    rule: str = "crop",
    max_side: int | None = None,
    on_error: str = "raise",
    min_classes: int = 2,
) -> ClassFolder:
    """Read `folder/<class>/<image>`, sorted by class and name, each image resized to `shape` by `rule` if given.

    Without `shape`, images with a longer side than `max_side` are made smaller, their proportions kept.
    Hidden files, files that are not images, and images outside a class folder are left alone. `on_error="skip"` lists
    unusable images in `skipped` and reads on; an empty class, or fewer classes than `min_classes`, is an
    error all the same.
    """
    folder = check_folder(folder)
    check_choice("on_error", on_error, ("raise", "skip"))
    labelled = [(path, name) for name, paths in _class_files(folder, min_classes).items() for path in paths]
    result = ClassFolder([], np.array([]), [], [])
    labels = []
    for path, label in track(labelled, "reading images"):
        try:
            image = read_image(path)
        except ImageError as error:
            if on_error == "raise":
                raise
            result.skipped.append((path, str(error)))
            continue
        result.images.append(shrink(image, max_side) if shape is None else resize(image, shape, rule))
        result.paths.append(path)
        labels.append(label)
    for empty in sorted({label for _, label in labelled} - set(labels)):
        raise ImageError(f"class folder '{folder / empty}' holds no readable image. Repair it or remove it.")
    return result._replace(labels=np.array(labels))


def read_mask_folder(images_folder: str | os.PathLike, masks_folder: str | os.PathLike) -> MaskedImages:
    """Read the images of one folder and, of the other, the mask with the same stem: `cells/7.jpg`, `masks/7.png`.

    Masks keep their own integers. A mask without an image is left alone. The pages of a stack count as images.
    """
    images = _by_stem(images_folder)
    masks = _by_stem(masks_folder)
    for stem, path in images.items():
        if stem not in masks:
            raise ImageError(f"image '{path}' has no mask '{stem}.*' in '{masks_folder}'. Add one, or move the image.")
    result = MaskedImages([], [], [])
    for stem, path in track(images.items(), "reading images and masks", total=len(images)):
        stack = read_masked_stack(path, masks[stem])
        result.images.extend(stack.images)
        result.masks.extend(stack.masks)
        result.paths.extend(stack.paths)
    return result


def read_masked_stack(image_path: str | os.PathLike, mask_path: str | os.PathLike) -> MaskedImages:
    """Read the pages of one image file, each with its page of one mask file."""
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


def _class_files(folder: Path, min_classes: int) -> dict[str, list[Path]]:
    """Image files by class; every class has some."""
    cure = "Make one sub-folder a class and put its images there."
    classes = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    if not classes:
        state = "has no sub-folders" if any(folder.iterdir()) else "is empty"
        raise ImageError(f"folder '{folder}' {state}. {cure}")
    files = {path.name: image_paths(path) for path in classes}
    for name, paths in files.items():
        if not paths:
            raise ImageError(f"class folder '{folder / name}' holds no images. Add some, or remove the folder.")
    if len(files) < min_classes:
        only = classes[0].name
        raise ImageError(f"folder '{folder}' holds one class only, '{only}'; learning needs at least two. {cure}")
    return files


def _by_stem(folder: str | os.PathLike) -> dict[str, Path]:
    stems: dict[str, Path] = {}
    for path in image_paths(folder):
        if path.stem in stems:
            raise ImageError(f"'{stems[path.stem]}' and '{path}' share a stem, so pairs are not clear. Rename one.")
        stems[path.stem] = path
    if not stems:
        raise ImageError(f"folder '{folder}' holds no images. Put PNG, JPEG, TIFF, GIF, BMP or WebP files there.")
    return stems


def _size(stack: np.ndarray) -> str:
    return f"{stack.shape[1]} x {stack.shape[2]}"
