"""A folder of pictures, one sub-folder a class, read so that it fits into memory."""

import os
from math import isqrt
from pathlib import Path
from typing import NamedTuple

import numpy as np

from invariance.images import image_paths, read_class_folder
from invariance.methods.pictures import LONGEST

MEMORY = 2_000_000_000  # bytes that all pictures together may take
BYTES_A_PIXEL = 3 * 4


class PictureFolder(NamedTuple):
    """Pictures, labels (n,), their files, what was skipped as (file, reason), and the longest side they may have."""

    pictures: list[np.ndarray]
    labels: np.ndarray
    paths: list[Path]
    skipped: list[tuple[Path, str]]
    longest: int


def read_pictures(folder: str | os.PathLike, strict: bool = False, least_classes: int = 2) -> PictureFolder:
    """Read `folder/<class>/<picture>`; unreadable ones are an error if `strict`, and listed in `skipped` if not.

    Longer sides are cut down to 320 pixels, or to fewer where there are thousands of pictures, so that all together
    stay below two gigabytes.
    """
    n_files = max(1, len(image_paths(folder, recursive=True)))
    longest = min(LONGEST, isqrt(MEMORY // (n_files * BYTES_A_PIXEL)))
    rule = "raise" if strict else "skip"
    found = read_class_folder(folder, longest=longest, on_error=rule, least_classes=least_classes)
    return PictureFolder(found.images, found.labels, found.paths, found.skipped, longest)
