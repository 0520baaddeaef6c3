"""A folder of images, one sub-folder a class, read so that it fits into memory."""

import os
from math import isqrt
from pathlib import Path
from typing import NamedTuple

import numpy as np

from invariance.images import image_paths, read_class_folder
from invariance.methods.facts import MAX_SIDE

MEMORY = 2_000_000_000  # bytes that all images together may take
BYTES_A_PIXEL = 3 * 4


class ImageFolder(NamedTuple):
    """Images, labels (n,), their files, what was skipped as (file, reason), and the max_side side they may have."""

    images: list[np.ndarray]
    labels: np.ndarray
    paths: list[Path]
    skipped: list[tuple[Path, str]]
    max_side: int


def read_images(folder: str | os.PathLike, strict: bool = False, min_classes: int = 2) -> ImageFolder:
    """Read `folder/<class>/<image>`; unreadable ones are an error if `strict`, and listed in `skipped` if not.

    Longer sides are cut down to 320 pixels, or to fewer where there are thousands of images, so that all together
    stay below two gigabytes.
    """
    n_files = max(1, len(image_paths(folder, recursive=True)))
    max_side = min(MAX_SIDE, isqrt(MEMORY // (n_files * BYTES_A_PIXEL)))
    rule = "raise" if strict else "skip"
    found = read_class_folder(folder, max_side=max_side, on_error=rule, min_classes=min_classes)
    return ImageFolder(found.images, found.labels, found.paths, found.skipped, max_side)
