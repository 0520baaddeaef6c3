"""How well strokes are predicted by models that have not seen them: per class, with the confusion matrix."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from invariance._core.checks import check_choice
from invariance.segmentation.sampling import MIN_IMAGES
from invariance.segmentation.stroke_rows import Rows

# Number of parts, each of which is predicted by a model fitted on the others.
N_PARTS = 4
# Never predicted, always learned from.
ALWAYS_LEARNED = -1


class LiveScores(NamedTuple):
    """Held-out scores of the instant model.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        The labels.
    f, precision, recall : ndarray of shape (n_classes,)
        Scores of every class from 0 to 1; NaN for the classes in `unscored`.
    confusion : ndarray of shape (n_classes, n_classes), int
        Number of held-out pixels by true class (rows) and predicted class (columns).
    n_groups : ndarray of shape (n_classes,), int
        Number of strokes of every class, or of images with such strokes.
    by : {"stroke", "image"}
        What was held out as a whole.
    unscored : dict of int to str
        Why a class has no score, and what to do, by label.
    """

    classes: np.ndarray
    f: np.ndarray
    precision: np.ndarray
    recall: np.ndarray
    confusion: np.ndarray
    n_groups: np.ndarray
    by: str
    unscored: dict[int, str]


def score_rows(rows: Rows, by: str, make_classifier: Callable[[], Any], seed: int) -> LiveScores:
    """Predict strokes or images by models fitted without them.

    Neighbouring pixels are alike, so pixels of one stroke are never divided. A class with a single stroke stays in all
    models and gets no score.

    Parameters
    ----------
    rows : Rows
        The samples.
    by : {"auto", "stroke", "image"}
        What is held out as a whole; "auto" means images if there are at least four, else strokes.
    make_classifier : callable
        Makes an unfitted classifier.
    seed : int
        Seed of the division.

    Returns
    -------
    scores : LiveScores
        The scores.
    """
    if check_choice("by", by, ("auto", "stroke", "image")) == "auto":
        by = "image" if len(np.unique(rows.images)) >= MIN_IMAGES else "stroke"
    groups = rows.images if by == "image" else rows.strokes
    classes, codes = np.unique(rows.labels, return_inverse=True)
    n_groups = np.array([len(np.unique(groups[codes == code])) for code in range(len(classes))])
    parts = _divide(groups, codes, n_groups, np.random.default_rng(seed))
    confusion = np.zeros((len(classes), len(classes)), np.int64)
    for part in range(N_PARTS):
        held_out = np.flatnonzero(parts == part)
        learned = np.flatnonzero(parts != part)
        held_out = held_out[np.isin(codes[held_out], codes[learned])]
        if len(held_out):
            known, known_codes = np.unique(codes[learned], return_inverse=True)
            classifier = make_classifier().fit(rows.features[learned], known_codes)
            predicted = known[classifier.predict_proba(rows.features[held_out]).argmax(axis=1)]
            np.add.at(confusion, (codes[held_out], predicted), 1)
    is_scored = confusion.sum(axis=1) > 0
    right = np.where(is_scored, np.diag(confusion), np.nan)
    with np.errstate(invalid="ignore"):
        recall = right / confusion.sum(axis=1)
        precision = np.where(is_scored & (confusion.sum(axis=0) == 0), 0, right / confusion.sum(axis=0))
        f = 2 * right / (confusion.sum(axis=0) + confusion.sum(axis=1))
    thing = "image with strokes" if by == "image" else "stroke"
    unscored = {
        int(classes[code]): f"class {classes[code]} has a single {thing}; paint another one to get its score."
        for code in np.flatnonzero(~is_scored)
    }
    return LiveScores(classes, f, precision, recall, confusion, n_groups, by, unscored)


def _divide(groups: np.ndarray, codes: np.ndarray, n_groups: np.ndarray, rng) -> np.ndarray:
    """Assign every row to a part (n,): whole groups, those of every class spread over the parts."""
    parts = np.full(len(groups), ALWAYS_LEARNED)
    part_of: dict[int, int] = {}
    # The rarest class first, so that an image that has several classes is placed where the rarest needs it.
    for code in np.argsort(n_groups, kind="stable"):
        if n_groups[code] < 2:
            continue
        own = rng.permutation(np.unique(groups[codes == code])).tolist()
        counts = np.bincount([part_of[group] for group in own if group in part_of], minlength=N_PARTS)
        for group in own:
            if group not in part_of:
                part_of[group] = int(counts.argmin())
                counts[part_of[group]] += 1
        rows = np.flatnonzero(codes == code)
        parts[rows] = [part_of[group] for group in groups[rows].tolist()]
    return parts
