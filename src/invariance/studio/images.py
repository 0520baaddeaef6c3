"""The second mode: labels of whole images, a trained model, its mistakes and its doubt.

`ImageSession` holds the labels and the newest predictions; the long jobs are in `image_jobs.py`.
"""

import threading
from collections.abc import Callable, Mapping
from math import isqrt
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import numpy as np

from invariance.images import shrink
from invariance.methods import get_methods
from invariance.methods.method import Treatment
from invariance.methods.preparation import MAX_SIDE
from invariance.transformations import TransformationSet
from invariance.transformations.parsing import parse_transformations

MAX_BYTES = 1_000_000_000  # of all images in memory; thousands of them are shrunk further
BYTES_PER_PIXEL = 3 * 4
MIN_SIDE = 32


class Prediction(NamedTuple):
    """What is known of the class of an image.

    Attributes
    ----------
    image : int
    probabilities : tuple of float
        In the order of `Trained.numbers`.
    is_held_out : bool
        Whether the image is labelled, and the model that predicted it was not fitted to it.
    """

    image: int
    probabilities: tuple[float, ...]
    is_held_out: bool

    @property
    def doubt(self) -> float:
        """1 - (largest - second largest probability)."""
        top, second = sorted(self.probabilities, reverse=True)[:2]
        return 1 - (top - second)


class Trained(NamedTuple):
    """A fitted classifier and its predictions.

    Attributes
    ----------
    classifier : ImageClassifier
        Its classes are `names`.
    numbers : tuple of int
        Class numbers, in the order of the classes of the classifier.
    names : tuple of str
    predictions : dict of int to Prediction
    labels : dict of int to int
        The labels that it was fitted to.
    accuracy : float or None
        Share of correct held-out predictions; None if no image could be held out.
    n_judged : int
    reason : str
        Why this method.
    invariant_to : str or None
    skipped : dict of int to str
        Images that could not be read, with the reason.
    """

    classifier: Any
    numbers: tuple[int, ...]
    names: tuple[str, ...]
    predictions: dict[int, Prediction]
    labels: dict[int, int]
    accuracy: float | None
    n_judged: int
    reason: str
    invariant_to: str | None
    skipped: dict[int, str]

    def number_of(self, prediction: Prediction) -> int:
        """Return the predicted class number."""
        return self.numbers[int(np.argmax(prediction.probabilities))]

    def as_event(self) -> dict[str, Any]:
        """Return the event that tells the page."""
        items = []
        for one in self.predictions.values():
            number = self.number_of(one)
            items.append({
                "image": one.image,
                "predicted": number,
                "probabilities": [round(value, 4) for value in one.probabilities],
                "held_out": number if one.is_held_out else None,
                "doubt": round(one.doubt, 4),
            })  # fmt: skip
        return {
            "event": "image.predictions",
            "items": items,
            "numbers": list(self.numbers),
            "accuracy": self.accuracy,
            "n_judged": self.n_judged,
            "method": self.classifier.method_name,
            "plan": [part.as_json() for part in self.classifier.plan().parts],
            "invariant_to": self.invariant_to,
            "reason": self.reason,
            "n_skipped": len(self.skipped),
        }


class ImageSession:
    """The labels of whole images and what was learned from them; all methods may be called from any thread.

    Parameters
    ----------
    project : Project
    sources : Sources
    send : callable
        Called with every event.
    """

    def __init__(self, project: Any, sources: Any, send: Callable[[dict[str, Any]], None]):
        self.project, self.sources, self.send = project, sources, send
        self.trained: Trained | None = None
        self._kept: dict[int, np.ndarray] = {}
        self._kept_side = 0
        self._lock = threading.Lock()

    # ------------------------------------------------------------ labels

    def label(self, images: list[int], number: int) -> int:
        """Give images a class, 0 for none; return the number of the action, which is committed.

        Parameters
        ----------
        images : list of int
        number : int

        Returns
        -------
        action : int
        """
        known = {image.id for image in self.sources.images()}
        unknown = [image for image in images if image not in known]
        if unknown or not images:
            raise ValueError(f"there is no image {unknown[0]}." if unknown else "no image is chosen. Click one first.")
        if number != 0 and number not in {one.number for one in self.project.classes("images")}:
            raise ValueError(f"there is no class {number}. Add it first.")
        return self._change({image: number for image in images})

    def accept(self, images: list[int], min_certainty: float | None = None) -> int:
        """Make predicted classes the labels of images; return the number of the action.

        Parameters
        ----------
        images : list of int
            Empty for all images without a label.
        min_certainty : float or None, default=None
            Only predictions with at least this probability.

        Returns
        -------
        action : int
        """
        trained = self.trained
        if trained is None:
            raise ValueError("nothing is predicted yet. Train first.")
        labelled, chosen = self.project.image_labels(), set(images)
        low = 0.0 if min_certainty is None else float(min_certainty)
        existing = {one.number for one in self.project.classes("images")}
        accepted = {}
        for image, prediction in trained.predictions.items():
            is_wanted = image in chosen if chosen else image not in labelled
            number = trained.number_of(prediction)
            if is_wanted and max(prediction.probabilities) >= low and number in existing:
                accepted[image] = number
        if not accepted:
            raise ValueError("no image is left whose prediction is so certain. Lower the certainty, or label by hand.")
        return self._change(accepted)

    def refresh(self) -> None:
        """Tell the page all labels."""
        labels = {str(image): number for image, number in self.project.image_labels().items() if number}
        can_undo, can_redo = self.project.can_undo_and_redo()
        self.send({"event": "image.labels", "labels": labels, "can_undo": can_undo, "can_redo": can_redo})

    def _change(self, labels: Mapping[int, int]) -> int:
        action = self.project.label_images(dict(labels))
        self.refresh()
        return action

    # ------------------------------------------------------------ what was learned

    def predictions(self) -> dict[str, Any] | None:
        """Return the newest event with predictions, None before any training."""
        return None if self.trained is None else self.trained.as_event()

    def keep(self, trained: Trained) -> None:
        """Keep what was learned, and tell the page."""
        self.trained = trained
        self.send(trained.as_event())

    def plans(self, invariant_to: str | None = None) -> list[dict[str, Any]]:
        """Say what every method does with every part of Φ.

        Parameters
        ----------
        invariant_to : str or None, default=None
            Φ as for `--invariant-to`; None for the default of every method.

        Returns
        -------
        plans : list of dict
        """
        phi = parse_phi(invariant_to)
        plans = []
        for method in get_methods():
            parts = method.plan(phi).parts
            plans.append({
                "method": method.name,
                "summary": method.summary,
                "purpose": method.purpose,
                "parts": [part.as_json() for part in parts],
                "is_refused": any(part.treatment == Treatment.REFUSED for part in parts),
            })  # fmt: skip
        return plans

    # ------------------------------------------------------------ pixels

    def read(self, image: int) -> np.ndarray:
        """Return an image as methods see it, at most 320 pixels per side; of a stack, the page in its middle."""
        side = self._side()
        with self._lock:
            if side != self._kept_side:
                self._kept, self._kept_side = {}, side
            if image in self._kept:
                return self._kept[image]
        page = next(one.n_pages for one in self.sources.images() if one.id == image) // 2
        shrunk = np.ascontiguousarray(shrink(self.sources.read_page(image, page), side))
        with self._lock:
            self._kept[image] = shrunk
        return shrunk

    def _side(self) -> int:
        n_images = max(1, len(self.sources.images()))
        return max(MIN_SIDE, min(MAX_SIDE, isqrt(MAX_BYTES // (n_images * BYTES_PER_PIXEL))))

    @property
    def max_side(self) -> int:
        """Pixels of the longer side to which images are shrunk."""
        return self._side()


def parse_phi(text: str | None) -> TransformationSet | None:
    """Return Φ as commands read it, None for the default of a method."""
    return None if text is None or not text.strip() else parse_transformations(text, "edge")


def find_class_folders(names: Mapping[int, str]) -> dict[str, list[int]]:
    """Return the images of every sub-folder, if the sub-folders can be classes: two of them at least.

    Parameters
    ----------
    names : mapping of int to str
        Paths of images under the opened folder, with "/".

    Returns
    -------
    folders : dict of str to list of int
        The folders below the first one that branches: `leaves/oak/1.png` and `leaves/elm/2.png` are "oak" and "elm".
    """
    inside = {image: PurePosixPath(name).parts[:-1] for image, name in names.items()}
    inside = {image: parts for image, parts in inside.items() if parts}
    while inside:
        groups: dict[str, list[int]] = {}
        for image, parts in inside.items():
            groups.setdefault(parts[0], []).append(image)
        if len(groups) > 1:
            return groups
        inside = {image: parts[1:] for image, parts in inside.items() if len(parts) > 1}
    return {}
