"""Masks of other programs (ilastik, Fiji, napari, QuPath) as labels: a file or a folder under the opened folder."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from invariance.images import ImageError, image_paths, read_mask_stack
from invariance.studio.jobs import Cancelled, Cancelling, Progress

MAX_NUMBER = 32  # of a class of pixels
# What programs append to the name of an image when they export its labels.
ENDINGS = (
    "_simple segmentation", "_labels", "_label", "_mask", "_masks", "_segmentation", "_seg", "_cp_masks", "_gt",
    "_scribbles", "_annotations",
)  # fmt: skip


class Found(NamedTuple):
    """A mask file and the image that it belongs to."""

    path: Path
    image: Any


def import_masks(session: Any, fields: dict[str, Any], progress: Progress, cancelled: Cancelling) -> dict[str, Any]:
    """Label pages as the pages of mask files say; every page is one action that can be undone.

    `path` names a file or a folder under the opened folder; `image`, if given, is the image that a single file belongs
    to; otherwise names are compared. `layer` is "labels" (default) or "final". Pixels with 0 stay as they are.
    """
    layer = fields.get("layer", "labels")
    if layer not in ("labels", "final"):
        raise ValueError(f"layer must be 'labels' or 'final'; got {layer!r}.")
    place = find_place(session.project.folder, str(fields.get("path", "")))
    found, unmatched = match_masks(place, session, fields.get("image"))
    if not found:
        raise ValueError(
            f"no mask in '{place.name}' has the name of an image, as mask 'a.png' for image 'a.jpg'. Rename the masks."
        )
    progress(0.0, "Reading masks")
    numbers = number_values(value for mask in found for value in _values(mask, cancelled))
    _add_classes(session, set(numbers.values()))
    table = np.zeros(max(numbers, default=0) + 1, np.uint8)
    for value, number in numbers.items():
        table[value] = number
    n_pages = 0
    for done, mask in enumerate(found):
        progress(done / len(found), f"Importing {mask.path.name}")
        for page, labels in enumerate(_read(mask)):
            if cancelled():
                raise Cancelled
            if labels.any():
                session.paint_mask(mask.image.id, page, table[labels], layer)
                n_pages += 1
    return {"path": None, "command": None, "text": _say(n_pages, found, unmatched, numbers)}


def find_place(folder: Path, text: str) -> Path:
    """Return a file or folder under the opened folder; a path that leaves it is refused."""
    if not text.strip():
        raise ValueError("path must name a mask file or a folder of masks under the opened folder; got nothing.")
    root = folder.resolve()
    place = (root / Path(text.strip()).expanduser()).resolve()
    if not place.is_relative_to(root):
        raise ValueError(f"'{text}' is not under the opened folder '{folder}'. Copy the masks into it.")
    if not place.exists():
        raise ValueError(f"'{text}' does not exist in '{folder}'. Check the name.")
    return place


def match_masks(place: Path, session: Any, image: int | None = None) -> tuple[list[Found], list[Path]]:
    """Return the masks of a file or folder with their images, and the files that belong to none."""
    files = image_paths(place, recursive=True) if place.is_dir() else [place]
    masks = {path.resolve() for path in files}
    images = [one for one in session.sources.images() if Path(one.path).resolve() not in masks or one.id == image]
    if image is not None and place.is_file():
        chosen = [one for one in images if one.id == image]
        if not chosen:
            raise ValueError(f"there is no image {image}. Open the studio again.")
        return [Found(place, chosen[0])], []
    by_name: dict[str, list[Any]] = {}
    for one in images:
        for name in {_plain(Path(one.name).stem), _plain("-".join(Path(one.name).with_suffix("").parts))}:
            by_name.setdefault(name, []).append(one)
    pairs = [(path, by_name.get(_plain(path.name.split(".")[0] if _is_ome(path) else path.stem), [])) for path in files]
    found = [Found(path, fitting[0]) for path, fitting in pairs if len(fitting) == 1]
    return found, [path for path, fitting in pairs if len(fitting) != 1]


def number_values(values: Iterator[int]) -> dict[int, int]:
    """Return the class number of every value: itself if all are class numbers, else its rank (0 and 255: 255 is 1)."""
    present = sorted(set(values) - {0})
    if present and (present[0] < 0 or len(present) > MAX_NUMBER):
        what = f"the value {present[0]}" if present[0] < 0 else f"{len(present)} different values"
        raise ValueError(
            f"the masks hold {what}, but classes are numbered 1 to {MAX_NUMBER}. Masks of objects, with one value per "
            f"object, must become masks of classes first."
        )
    if not present:
        raise ValueError("the masks hold nothing but 0, which means unlabelled. Export them again.")
    is_numbered = present[-1] <= MAX_NUMBER
    return {value: value if is_numbered else rank for rank, value in enumerate(present, 1)}


def _values(mask: Found, cancelled: Cancelling) -> set[int]:
    if cancelled():
        raise Cancelled
    return set(np.unique(_read(mask)).tolist())


def _read(mask: Found) -> np.ndarray:
    """Read the pages (n, h, w) of a mask that fits its image."""
    pages, image = read_mask_stack(mask.path), mask.image
    if pages.shape != (image.n_pages, image.height, image.width):
        raise ImageError(
            f"mask '{mask.path.name}' has {_size(*pages.shape)}, but its image '{image.name}' has "
            f"{_size(image.n_pages, image.height, image.width)}. Export it at the size of the image."
        )
    return pages


def _size(n_pages: int, height: int, width: int) -> str:
    return f"{n_pages} page{'' if n_pages == 1 else 's'} of {height} x {width} pixels"


def _add_classes(session: Any, numbers: set[int]) -> None:
    """Add classes until all numbers exist."""
    for _ in range(MAX_NUMBER):
        missing = numbers - {one.number for one in session.project.classes("pixels")}
        if not missing:
            return
        session.project.add_class("pixels")
    raise ValueError(f"class {min(missing)} of the masks does not exist and cannot be added. Remove a class first.")


def _plain(name: str) -> str:
    """Return a name without what programs append to it."""
    name = name.lower().replace("-", "_")
    return next((name.removesuffix(ending) for ending in ENDINGS if name.endswith(ending)), name)


def _is_ome(path: Path) -> bool:
    return path.name.lower().endswith((".ome.tif", ".ome.tiff"))


def _say(n_pages: int, found: list[Found], unmatched: list[Path], numbers: dict[int, int]) -> str:
    said = f"{n_pages} pages of {len(found)} images labelled; undo takes back one page at a time."
    changed = [f"{value} became class {number}" for value, number in numbers.items() if value != number]
    if changed:
        said += f" Values: {', '.join(changed)}."
    if unmatched:
        said += f" {len(unmatched)} files belong to no image, the first '{unmatched[0].name}'."
    return said
