"""Real data sets of photographs of objects with bounding boxes, read one at a time: VOC 2005 and the INRIA horses."""

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from invariance.datasets._dataset import Dataset, ImageFiles
from invariance.datasets._sources import SOURCES, DatasetMissing, locate

# The labels of objects that count as a class, as in `VOCinit.m` of the development kit.
VOC_CLASSES = {
    "motorbikes": ("PASmotorbike", "PASmotorbikeSide"),
    "bicycles": ("PASbicycle", "PASbicycleSide"),
    "people": ("PASperson", "PASpersonSitting", "PASpersonStanding", "PASpersonWalking"),
    "cars": ("PAScar", "PAScarFrontal", "PAScarRear", "PAScarSide"),
}
# The second test set is an archive of its own.
VOC_SUBSETS = {"train": "VOC2005_1", "val": "VOC2005_1", "test1": "VOC2005_1", "test2": "VOC2005_2"}
VOC_IMAGE = re.compile(r'^Image filename\s*:\s*"([^"]+)"', re.MULTILINE)
VOC_BOX = re.compile(
    r'^Bounding box for object \d+ "([^"]+)"[^:]*:\s*\((\d+),\s*(\d+)\)\s*-\s*\((\d+),\s*(\d+)\)', re.MULTILINE
)
HORSES = ("no horse", "horse")
HORSE_FOLDERS = ("neg", "pos")


class Annotation(NamedTuple):
    """An image and its objects, boxes (n, 5) of class, top, left, bottom and right."""

    path: Path
    boxes: np.ndarray


def load_voc2005() -> Dataset:
    """Load the photographs of the PASCAL visual object classes challenge 2005.

    Returns
    -------
    Dataset
        Images of many sizes. The label of an image is the first class whose image set lists it; images may show
        several classes, and the splits "motorbikes", "bicycles", "people" and "cars" hold the rows that show each.
        The splits "train", "val", "test1" and, if the second archive is there, "test2" are those of the challenge.
        Boxes are those of the objects of the four classes.
    """
    folder = locate("voc2005")
    annotations: dict[str, Annotation] = {}
    labels: dict[str, int] = {}
    subsets: dict[str, list[str]] = {}
    for subset, archive in VOC_SUBSETS.items():
        if (folder / archive).exists():
            for label, name in enumerate(VOC_CLASSES):
                for listed in _read_image_set(folder, name, subset):
                    if listed not in annotations:
                        annotations[listed] = _read_annotation(folder, listed)
                        labels[listed] = label
                    subsets.setdefault(subset, []).append(listed)
    rows = {listed: row for row, listed in enumerate(annotations)}
    shown = [{int(label) for label in annotation.boxes[:, 0]} for annotation in annotations.values()]
    splits = {subset: np.unique([rows[listed] for listed in names]) for subset, names in subsets.items()}
    for label, name in enumerate(VOC_CLASSES):
        splits[name] = np.flatnonzero([label in classes for classes in shown])
    paths = tuple(annotation.path for annotation in annotations.values())
    return Dataset(
        "voc2005",
        ImageFiles(paths),
        np.array([*labels.values()], np.int64),
        class_names=tuple(VOC_CLASSES),
        paths=paths,
        splits=splits,
        boxes=tuple(annotation.boxes for annotation in annotations.values()),
        description=SOURCES["voc2005"].description,
    )


def load_inria_horses() -> Dataset:
    """Load photographs with and without horses.

    Returns
    -------
    Dataset
        Images of many sizes with labels, 1 for horses, and the boxes of the horses.
    """
    from invariance.images import image_paths

    folder = locate("inria_horses")
    files = [[Path(path) for path in image_paths(folder / name)] for name in HORSE_FOLDERS]
    for name, of_class in zip(HORSE_FOLDERS, files, strict=True):
        if not of_class:
            raise ValueError(f"'{folder / name}' contains no images. Get the data set again.")
    paths = tuple(path for of_class in files for path in of_class)
    labels = np.repeat([0, 1], [len(of_class) for of_class in files])
    return Dataset(
        "inria_horses",
        ImageFiles(paths),
        labels,
        class_names=HORSES,
        paths=paths,
        boxes=tuple(
            _read_horses(path) if label else np.empty((0, 5), np.int64)
            for path, label in zip(paths, labels, strict=True)
        ),
        description=SOURCES["inria_horses"].description,
    )


def _read_image_set(folder: Path, name: str, subset: str) -> list[str]:
    """The annotation files of one class and subset, relative to the folder of the data set."""
    file = folder / "imgsets" / f"imgset_VOC{name}_{subset}.txt"
    if not file.exists():
        raise DatasetMissing(f"'{file}' is missing. Get the folder imgsets of the VOC 2005 development kit again.")
    return file.read_text(encoding="latin-1").split()


def _read_annotation(folder: Path, listed: str) -> Annotation:
    """An annotation file of the PASCAL format 1.00, whose top left pixel is (1, 1)."""
    file = folder / listed
    if not file.exists():
        raise DatasetMissing(
            f"'{file}' is missing, though an image set lists it. Unpack the archives of VOC 2005 again."
        )
    text = file.read_text(encoding="latin-1")
    image = VOC_IMAGE.search(text)
    if image is None:
        raise ValueError(f"'{file}' is not an annotation of the PASCAL format: it names no image.")
    classes = {name: label for label, names in enumerate(VOC_CLASSES.values()) for name in names}
    boxes = [
        (classes[name], int(ymin) - 1, int(xmin) - 1, int(ymax), int(xmax))
        for name, xmin, ymin, xmax, ymax in VOC_BOX.findall(text)
        if name in classes
    ]
    return Annotation(folder / image.group(1), np.array(boxes, np.int64).reshape(-1, 5))


def _read_horses(path: Path) -> np.ndarray:
    """The boxes (n, 5) beside an image: a line per horse, of left, top, right and bottom."""
    names = (f"{path.stem}_entires.groundtruth", f"{path.name}_entires.groundtruth")
    found = [path.with_name(name) for name in names if path.with_name(name).exists()]
    if not found:
        raise DatasetMissing(f"'{path.with_name(names[0])}' is missing. Get the INRIA horses again.")
    numbers = np.array(found[0].read_text().split(), float).reshape(-1, 4)
    left, top, right, bottom = np.rint(numbers).astype(np.int64).T
    return np.column_stack([np.ones_like(left), top, left, bottom, right])
