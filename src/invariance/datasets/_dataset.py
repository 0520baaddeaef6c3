"""What every loader returns: images with labels or masks; images on disk are read on access."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

N_SHOWN, SHOWN_SIDE = 12, 64  # images in a notebook, and their height in pixels


class ImageFiles(Sequence):
    """Images on disk, read on every access and not kept, so that a large data set needs no memory.

    `files[i]` is one float32 image (h, w) or (h, w, c) in [0, 1]; a slice or an index array gives `ImageFiles` again.

    Parameters
    ----------
    paths : sequence of Path
        The files.
    """

    def __init__(self, paths: Sequence[Path]):
        self.paths = tuple(paths)

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return ImageFiles(self.paths[index])
        if np.ndim(index) == 1:
            return ImageFiles([self.paths[i] for i in np.arange(len(self))[index]])
        from invariance.images import read_image

        return read_image(self.paths[index])

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"ImageFiles({len(self)} images)"


class BoxMasks(Sequence):
    """Masks of the objects of images, made from their bounding boxes on every access and not kept.

    `masks[i]` is an array (h, w) of bool, True inside the boxes, or None for an image without one.

    Parameters
    ----------
    images : sequence of ndarray of shape (h, w) or (h, w, c)
        The images, whose sizes are needed.
    boxes : sequence of ndarray of shape (n_objects, 4)
        Top, left, bottom and right of the objects of every image; bottom and right are outside.
    """

    def __init__(self, images: Sequence[np.ndarray] | np.ndarray, boxes: Sequence[np.ndarray]):
        self.images = images
        self.boxes = boxes

    def __len__(self) -> int:
        return len(self.boxes)

    def __getitem__(self, index):
        if len(self.boxes[index]) == 0:
            return None
        mask = np.zeros(self.images[index].shape[:2], bool)
        for top, left, bottom, right in self.boxes[index]:
            mask[max(top, 0) : bottom, max(left, 0) : right] = True
        return mask


@dataclass(frozen=True)
class Dataset:
    """Images with one label each (classification) or one mask each (segmentation).

    Attributes
    ----------
    name : str
        Name of the data set.
    images : ndarray of shape (n, h, w) or (n, h, w, c), or ImageFiles
        The images, uint8 as on disk or float32 in [0, 1]; `ImageFiles` for photographs.
    labels : ndarray of shape (n,), int64, or None
        Indices into `class_names`; None for segmentation.
    masks : ndarray of shape (n, h, w), bool, or None
        True on the pixels of `class_names[1]`; None for classification.
    class_names : tuple of str
        Names of the classes.
    paths : tuple of Path
        The file of each image, where each image has its own file.
    splits : mapping of str to ndarray
        Row indices of official splits, or of photographic conditions.
    boxes : tuple of ndarray of shape (n_objects, 5), int64
        Class, top, left, bottom and right of the objects of every image, where they are known; bottom and right are
        outside.
    description : str
        Source, terms of use, and differences from the original.
    """

    name: str
    images: np.ndarray | ImageFiles
    labels: np.ndarray | None = None
    masks: np.ndarray | None = None
    class_names: tuple[str, ...] = ()
    paths: tuple[Path, ...] = ()
    splits: Mapping[str, np.ndarray] = field(default_factory=dict)
    description: str = ""
    boxes: tuple[np.ndarray, ...] = ()

    def __len__(self) -> int:
        return len(self.images)

    def __repr__(self) -> str:
        kind = f"{len(self.class_names)} classes" if self.masks is None else "masks"
        return f"Dataset({self.name!r}: {len(self)} images, {kind})"

    def _repr_html_(self) -> str:
        """Show some images in a notebook, evenly drawn, with their classes."""
        from html import escape

        rows = np.unique(np.linspace(0, len(self) - 1, min(len(self), N_SHOWN)).astype(int))
        names = ["" if self.labels is None else self.class_names[self.labels[row]] for row in rows]
        items = "".join(
            f'<figure style="display: inline-block; margin: 4px">{_thumbnail(self.images[row])}'
            f"<figcaption>{escape(name)}</figcaption></figure>"
            for row, name in zip(rows, names, strict=True)
        )
        return f"<p>{escape(repr(self))}</p><div>{items}</div><p>{escape(self.description)}</p>"

    def take(self, which: str | slice | Sequence[int] | np.ndarray) -> "Dataset":
        """Select images.

        Parameters
        ----------
        which : str, slice or array-like of int
            The name of a split, or rows.

        Returns
        -------
        Dataset
            The selected images, without splits.
        """
        if isinstance(which, str):
            if which not in self.splits:
                known = ", ".join(map(repr, self.splits)) or "none"
                raise ValueError(f"the splits of {self.name} are: {known}; got {which!r}.")
            which = self.splits[which]
        rows = np.arange(len(self))[which]
        return replace(
            self,
            images=self.images[rows],
            labels=None if self.labels is None else self.labels[rows],
            masks=None if self.masks is None else self.masks[rows],
            paths=tuple(self.paths[row] for row in rows) if self.paths else (),
            splits={},
            boxes=tuple(self.boxes[row] for row in rows) if self.boxes else (),
        )

    def box_masks(self) -> BoxMasks:
        """Make masks of the objects of each image's own class from their boxes, to train on objects alone.

        Returns
        -------
        BoxMasks
            A sequence of arrays (h, w) of bool, or None for images without a box of their class, for
            `CodebookClassifier.fit(images, y, masks=...)`.
        """
        if not self.boxes or self.labels is None:
            raise ValueError(f"{self.name} has no bounding boxes, so that there are no masks of its objects.")
        labelled = zip(self.boxes, self.labels, strict=True)
        return BoxMasks(self.images, [boxes[boxes[:, 0] == label, 1:] for boxes, label in labelled])


def _thumbnail(image: np.ndarray) -> str:
    """An image (h, w) or (h, w, c) as an HTML element that needs no file."""
    import base64

    import cv2

    values = np.asarray(image)
    pixels = np.rint(255 * values.clip(0, 1)).astype(np.uint8) if values.dtype.kind == "f" else values.astype(np.uint8)
    coloured = pixels[..., 2::-1] if pixels.ndim == 3 and pixels.shape[2] >= 3 else pixels  # OpenCV writes BGR
    encoded = base64.b64encode(cv2.imencode(".png", np.ascontiguousarray(coloured))[1].tobytes()).decode()
    return f'<img src="data:image/png;base64,{encoded}" height="{SHOWN_SIDE}" style="image-rendering: pixelated">'
