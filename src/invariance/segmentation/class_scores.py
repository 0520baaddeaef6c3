"""Scores of label maps of any number of classes, from the numbers of pixels of every true and predicted class."""

import math
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike


class ClassScores(NamedTuple):
    """Scores of one class; None where they are not defined, because no pixel is of the class or predicted as it.

    Attributes
    ----------
    label : int
        The value of the class in the masks.
    n_pixels, n_predicted : int
        Number of pixels of the class, and predicted as the class.
    recall, precision : float or None
        Share of these that are both.
    f : float or None
        Harmonic mean of recall and precision, Dice's coefficient.
    iou : float or None
        Intersection of true and predicted pixels over their union, Jaccard's index.
    """

    label: int
    n_pixels: int
    n_predicted: int
    recall: float | None
    precision: float | None
    f: float | None
    iou: float | None


class LabelScores:
    """Scores of predicted labels, of one image or of several that are added.

    Parameters
    ----------
    classes : array-like of shape (n_classes,)
        The values of the classes in masks, sorted.
    confusion : array-like of shape (n_classes, n_classes), int
        Number of pixels by true class (row) and predicted class (column).
    """

    def __init__(self, classes: ArrayLike, confusion: ArrayLike):
        self.classes, self.confusion = np.asarray(classes), np.asarray(confusion)

    def __repr__(self) -> str:
        return f"<LabelScores: accuracy {self.accuracy:.1%} of {self.n_pixels:,} pixels, mean IoU {self.mean_iou:.1%}>"

    def __add__(self, other: "LabelScores") -> "LabelScores":
        return LabelScores(self.classes, self.confusion + other.confusion)

    @property
    def n_pixels(self) -> int:
        """Number of labelled pixels."""
        return int(self.confusion.sum())

    @property
    def accuracy(self) -> float:
        """Share of the labelled pixels whose class is predicted; NaN if there is none."""
        return float(self.confusion.trace()) / self.n_pixels if self.n_pixels else math.nan

    @property
    def balanced_accuracy(self) -> float:
        """Mean recall of the classes that have labelled pixels; NaN if there is none."""
        return _mean([scores.recall for scores in self.by_class if scores.recall is not None])

    @property
    def mean_iou(self) -> float:
        """Mean intersection over union of the classes that have labelled pixels; NaN if there is none."""
        return _mean([scores.iou for scores in self.by_class if scores.n_pixels and scores.iou is not None])

    @cached_property
    def by_class(self) -> list[ClassScores]:
        """The scores of every class."""
        return [
            ClassScores(
                label,
                n_true,
                n_predicted,
                _ratio(n_both, n_true),
                _ratio(n_both, n_predicted),
                _ratio(2 * n_both, n_true + n_predicted),
                _ratio(n_both, n_true + n_predicted - n_both),
            )
            for label, n_true, n_predicted, n_both in zip(
                self.classes.tolist(),
                self.confusion.sum(axis=1).tolist(),
                self.confusion.sum(axis=0).tolist(),
                self.confusion.diagonal().tolist(),
                strict=True,
            )
        ]


def label_scores(predicted: ArrayLike, truth: ArrayLike, classes: ArrayLike, unlabelled: Any = None) -> LabelScores:
    """Compare predicted labels with true ones.

    Parameters
    ----------
    predicted, truth : array-like of the same shape, int
        Labels of pixels.
    classes : array-like of shape (n_classes,)
        All values of labels; the scores are in their sorted order.
    unlabelled : int or None, default=None
        The value of pixels in `truth` that do not count; None counts all.

    Returns
    -------
    scores : LabelScores
    """
    found, true, values = np.asarray(predicted), np.asarray(truth), np.unique(classes)
    if found.shape != true.shape:
        raise ValueError(f"predicted must have the shape {true.shape} of truth; got {found.shape}.")
    counted = np.ones(true.shape, bool) if unlabelled is None else true != unlabelled
    for name, labels in (("predicted", found), ("truth", true)):
        unknown = np.setdiff1d(labels[counted], values)
        if len(unknown):
            raise ValueError(
                f"{name} has labels {_listed(unknown)}, which are not among the classes {_listed(values)}. "
                f"Name one of them as unlabelled, or correct the labels."
            )
    codes = np.searchsorted(values, true[counted]) * len(values) + np.searchsorted(values, found[counted])
    confusion = np.bincount(codes, minlength=len(values) ** 2).reshape(len(values), len(values))
    return LabelScores(values, confusion)


def _mean(values: list[float]) -> float:
    return float(np.mean(values)) if values else math.nan


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _listed(values: np.ndarray) -> str:
    return ", ".join(map(str, values[:8].tolist())) + (", ..." if len(values) > 8 else "")
