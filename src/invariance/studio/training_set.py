"""What a pixel model of the studio learned from, as ordinary folders, and the command that learns from them again."""

import csv
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from invariance._core.files import atomic_path
from invariance.studio.exports import (
    command_line,
    digest,
    exports_folder,
    link_file,
    mask_suffix,
    unique_stems,
    write_pages,
)


def keep_training_set(session: Any) -> Path:
    """Write `images/` (links) and `labels/` of all painted images to a folder named after the labels.

    Returns
    -------
    folder : Path
        In `exports/`; the same labels give the same folder, which is written once.
    """
    painted = painted_images(session)
    if not painted:
        raise ValueError("nothing is painted yet. Paint strokes of two classes first.")
    masks = {image.id: list(label_pages(session, image)) for image in painted}
    content = (part for image in painted for part in (image.name.encode(), *(m.tobytes() for m in masks[image.id])))
    folder = exports_folder(session.project.directory) / f"training-{digest(content)}"
    if folder.is_dir():
        return folder
    unfinished = folder.with_name(f".{folder.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    for name in ("images", "labels"):
        (unfinished / name).mkdir(parents=True)
    stems = unique_stems(image.name for image in painted)
    for image in painted:
        path, stem = Path(image.path), stems[image.name]
        link_file(path, unfinished / "images" / f"{stem}{path.suffix}")
        target = unfinished / "labels" / f"{stem}{mask_suffix(path, image.n_pages)}"
        write_pages(target, session.sources.layout(image.id), masks[image.id])
    write_classes(session, unfinished / "classes.csv")
    unfinished.rename(folder)
    return folder


def training_command(session: Any, folder: Path) -> str:
    """Return the command that learns from such a folder what the studio learned."""
    return command_line(
        "invariance", "fit-pixels", folder / "images", folder / "labels", "-o", "model.inv", "--unlabelled", "0",
        "--invariant-to", session.transformations_text(), "--seed", str(session.seed),
    )  # fmt: skip


def painted_images(session: Any) -> list[Any]:
    """Return the images with labels, in their order."""
    numbers = {image for image, _ in session.labelled_pages()}
    return [image for image in session.sources.images() if image.id in numbers]


def label_pages(session: Any, image: Any) -> Iterator[np.ndarray]:
    """Yield the labels (h, w) of all pages of an image, 0 where nothing is painted."""
    for page in range(image.n_pages):
        yield session.labels_of(image.id, page, "labels").astype(np.uint8, copy=False)


def write_classes(session: Any, path: Path) -> None:
    """Write a table of the numbers, names and colours of the classes."""
    with atomic_path(path) as neighbour, open(neighbour, "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(("number", "name", "colour"))
        table.writerows((one.number, one.name, one.colour) for one in session.project.classes("pixels"))
