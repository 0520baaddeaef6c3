"""The instant model: extremely randomized trees on the filter bank, fitted to rows that are kept between strokes."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from invariance.segmentation.inputs import MAX_CLASSES, check_class_count
from invariance.segmentation.live.stroke_rows import Rows, StrokeRows
from invariance.segmentation.live.strokes import Painted

# Number of pixels classified at once, so that their masks stay in the cache of the processor.
MAX_COLUMNS = 16_384


def find_labels(painted: list[Painted]) -> np.ndarray:
    """Return the sorted labels of strokes; raise ValueError if there are too few or too many classes to learn from."""
    classes = np.unique([part.stroke.label for part in painted]).astype(np.int64)
    if len(classes) == 0:
        raise ValueError("no pixel is labelled: there is no stroke, or all are erased. Paint strokes of two classes.")
    if len(classes) == 1:
        raise ValueError(f"all strokes have the label {classes[0]}. Paint a stroke of another class.")
    check_class_count(classes, MAX_CLASSES, "the strokes")
    return classes


class InstantModel:
    """Trees fitted to the strokes of one moment, at every resolution that is asked for.

    Parameters
    ----------
    version : int
        The revision of the strokes.
    painted : list of Painted
        The strokes.
    rows_at : callable
        Returns the kept rows of a resolution, from its step.
    make_classifier : callable
        Makes an unfitted classifier with `fit` and `predict_columns`, for a number of samples and of strokes.
    n_jobs : int or None
        Number of tiles described at a time.
    """

    stage = "instant"

    def __init__(
        self,
        version: int,
        painted: list[Painted],
        rows_at: Callable[[int], StrokeRows],
        make_classifier: Callable[[int, int], Any],
        n_jobs: int | None,
    ):
        self.version, self.painted = version, painted
        self.classes = find_labels(painted)
        self._rows_at, self._make_classifier, self._n_jobs = rows_at, make_classifier, n_jobs
        self._classifiers: dict[int, Any] = {}
        self._lock = threading.Lock()  # one resolution is fitted once

    def rows(self, step: int = 1) -> Rows:
        """Return the samples that it learns from."""
        return self._rows_at(step).collect(self.painted, self._n_jobs)

    def fit(self, step: int = 1) -> Any:
        """Return the classifier of a resolution, fitted at the first call."""
        with self._lock:
            if step not in self._classifiers:
                rows = self.rows(step)
                codes = np.searchsorted(self.classes, rows.labels)
                classifier = self._make_classifier(len(codes), len(self.painted))
                self._classifiers[step] = classifier.fit(rows.features, codes)
            return self._classifiers[step]

    def predict(self, features: np.ndarray, step: int = 1) -> np.ndarray:
        """Predict probabilities (h, w, K) float32 from the features (F, h, w) of a tile."""
        classifier = self.fit(step)
        columns = features.reshape(len(features), -1)
        starts = range(0, columns.shape[1], MAX_COLUMNS)
        parts = [classifier.predict_columns(columns[:, start : start + MAX_COLUMNS]) for start in starts]
        return np.concatenate(parts).reshape(*features.shape[1:], -1)
