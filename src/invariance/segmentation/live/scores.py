"""How well strokes are predicted by models that have not seen them: per class, with the confusion matrix."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from invariance._core.checks import check_choice
from invariance.segmentation.live.stroke_rows import Rows

# Number of parts, each of which is predicted by a model fitted on the others.
N_PARTS = 4
# With so many images, whole images are held out by default.
MIN_IMAGES = 4
# Strokes with pixels in the same square of this side are beside each other.
CELL_SIDE = 16
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
        Number of strokes of every class, those that touch counted once, or of images with such strokes.
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


def score_rows(rows: Rows, by: str, make_classifier: Callable[[int, int], Any], seed: int) -> LiveScores:
    """Predict strokes or images by models fitted without them.

    Neighbouring pixels are alike, so pixels of one stroke, and strokes that touch, are held out together. A class with
    a single stroke stays in all models and gets no score.

    Parameters
    ----------
    rows : Rows
        The samples.
    by : {"auto", "stroke", "image"}
        What is held out as a whole; "auto" means images if there are at least four, else strokes.
    make_classifier : callable
        Makes an unfitted classifier for a number of samples and of strokes.
    seed : int
        Seed of the division.

    Returns
    -------
    scores : LiveScores
        The scores.
    """
    if check_choice("by", by, ("auto", "stroke", "image")) == "auto":
        by = "image" if len(np.unique(rows.images)) >= MIN_IMAGES else "stroke"
    classes, codes = np.unique(rows.labels, return_inverse=True)
    groups = _in_order(rows.images) if by == "image" else _unite_neighbours(rows, codes)
    n_groups = _count_groups(groups, codes)
    parts = _divide(groups, codes, n_groups, np.random.default_rng(seed))
    confusion = np.zeros((len(classes), len(classes)), np.int64)
    for part in range(N_PARTS):
        held_out = np.flatnonzero(parts == part)
        learned = np.flatnonzero(parts != part)
        held_out = held_out[np.isin(codes[held_out], codes[learned])]
        if len(held_out):
            known, known_codes = np.unique(codes[learned], return_inverse=True)
            classifier = make_classifier(len(learned), len(np.unique(rows.strokes[learned])))
            classifier.fit(rows.features[learned], known_codes)
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


def _in_order(images: np.ndarray) -> np.ndarray:
    """Number images (n,) in the order in which they were painted first, whatever their indices are."""
    _, first, images = np.unique(images, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[images]


def _count_groups(groups: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Count the groups in which every class occurs."""
    return np.array([len(np.unique(groups[codes == code])) for code in range(codes.max() + 1)])


def _unite_neighbours(rows: Rows, codes: np.ndarray) -> np.ndarray:
    """Give strokes beside each other the same group (n,), unless a class would be left with a single one by that.

    Wide filters see nearly the same around two strokes that touch. If they are of two classes and one is held out, it
    is taken for the other, and the score is far too low.
    """
    strokes = np.unique(rows.strokes, return_inverse=True)[1]
    cells = np.concatenate([rows.images[:, None], rows.places // CELL_SIDE], axis=1)
    cell = np.unique(cells, axis=0, return_inverse=True)[1].ravel()
    n_strokes = strokes.max() + 1
    side = n_strokes + cell.max() + 1
    touched = sparse.coo_array((np.ones(len(cell)), (strokes, n_strokes + cell)), shape=(side, side))
    united = csgraph.connected_components(touched, directed=False)[1][strokes]
    is_lost = (_count_groups(united, codes) < 2) & (_count_groups(strokes, codes) >= 2)
    return strokes if is_lost.any() else united


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
