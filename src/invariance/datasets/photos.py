"""Real data sets of photographs of many sizes, read from disk one at a time: UIUC, flowers, Caltech 101, GRAZ-02."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from invariance.datasets._dataset import Dataset, ImageFiles
from invariance.datasets._sources import SOURCES, locate

FLOWERS = (
    "daffodil", "snowdrop", "lilyvalley", "bluebell", "crocus", "iris", "tigerlily", "tulip", "fritillary", "sunflower",
    "daisy", "coltsfoot", "dandelion", "cowslip", "buttercup", "windflower", "pansy",
)  # fmt: skip
FLOWERS_PER_CLASS = 80
FLOWER_SPLITS = {"train": "trn", "validation": "val", "test": "tst"}


def load_uiuc_textures(classes: Sequence[str] | None = None) -> Dataset:
    """Load 25 grey textures, 40 photographs each, under changes of viewpoint.

    Parameters
    ----------
    classes : sequence of str, default=None
        Names of the class folders to load, in this order; None loads all.

    Returns
    -------
    Dataset
        Grey images, with labels.
    """
    return _load_class_folders("uiuc_textures", locate("uiuc_textures"), classes)


def load_caltech101(classes: Sequence[str] | None = None, download: bool = False) -> Dataset:
    """Load photographs of 101 categories of objects.

    Parameters
    ----------
    classes : sequence of str, default=None
        Names of the class folders to load, in this order. None loads all but "BACKGROUND_Google", which is not a
        category.
    download : bool, default=False
        Whether to download the data set if it is missing.

    Returns
    -------
    Dataset
        Images of many sizes, with labels.
    """
    folder = locate("caltech101", download)
    if classes is None:
        classes = [name for name in _class_folders(folder) if name != "BACKGROUND_Google"]
    return _load_class_folders("caltech101", folder, classes)


def load_graz02(classes: Sequence[str] | None = None) -> Dataset:
    """Load photographs of bikes, cars and persons.

    Parameters
    ----------
    classes : sequence of str, default=None
        Names of the class folders to load, in this order; None loads all.

    Returns
    -------
    Dataset
        Images of many sizes, with labels.
    """
    return _load_class_folders("graz02", locate("graz02"), classes)


def load_flowers17(download: bool = False) -> Dataset:
    """Load photographs of 17 kinds of flowers, 80 each, with the three official splits.

    Parameters
    ----------
    download : bool, default=False
        Whether to download the data set if it is missing.

    Returns
    -------
    Dataset
        Images of many sizes, with labels. The splits are "train1", "validation1", "test1" and so on to 3, of 680, 340
        and 340 images.
    """
    from scipy.io import loadmat

    folder = locate("flowers17", download)
    n_images = len(FLOWERS) * FLOWERS_PER_CLASS
    paths = tuple(folder / "jpg" / f"image_{i:04d}.jpg" for i in range(1, n_images + 1))
    missing = [path for path in paths if not path.exists()]
    if missing:
        raise ValueError(f"'{folder}' lacks {len(missing)} of its {n_images} images, e.g. '{missing[0].name}'.")
    official = loadmat(folder / "datasplits.mat")
    return Dataset(
        "flowers17",
        ImageFiles(paths),
        np.arange(n_images) // FLOWERS_PER_CLASS,
        class_names=FLOWERS,
        paths=paths,
        splits={
            f"{name}{i}": official[f"{key}{i}"].ravel().astype(np.int64) - 1
            for i in (1, 2, 3)
            for name, key in FLOWER_SPLITS.items()
        },
        description=SOURCES["flowers17"].description,
    )


def _class_folders(folder: Path) -> list[str]:
    return sorted(child.name for child in folder.iterdir() if child.is_dir() and not child.name.startswith("."))


def _load_class_folders(name: str, folder: Path, classes: Sequence[str] | None) -> Dataset:
    """A data set with one folder per class; labels count the classes in the given order, else alphabetically."""
    from invariance.images import image_paths

    known = _class_folders(folder)
    chosen = tuple(known if classes is None else classes)
    for wanted in chosen:
        if wanted not in known:
            raise ValueError(f"classes must name folders of '{folder}': {', '.join(known)}; got {wanted!r}.")
    files = [image_paths(folder / child) for child in chosen]
    for child, of_class in zip(chosen, files, strict=True):
        if not of_class:
            raise ValueError(f"'{folder / child}' contains no images. Get the data set again, or leave the class out.")
    paths = tuple(Path(path) for of_class in files for path in of_class)
    return Dataset(
        name,
        ImageFiles(paths),
        np.repeat(np.arange(len(chosen)), [len(of_class) for of_class in files]),
        class_names=chosen,
        paths=paths,
        description=SOURCES[name].description,
    )
