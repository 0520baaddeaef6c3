"""What the weight of a kernel costs, by the errors it makes alone on samples held out: sigma="cv".

Where samples are few, every kernel tells the training samples apart, and learned weights can lean on kernels that are
worth nothing. So the costs σ of [Varma07] eq. (1), which are there to say what is known beforehand, grow with the
errors of cross-validation, one added so that none is 0. The power was chosen on draws of faces and digits that no
published figure uses; one half and one quarter do nearly as well. A kernel that learns from the labels is learned anew
without the samples held out, for some of the folds.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from invariance.tradeoff.held_out import Fold, count_errors, count_wrong, make_folds, scores_of
from invariance.tradeoff.solver import Machine, fit_machine

N_FOLDS, POWER = 5, 1 / 3
N_ANEW = 2  # folds for which a kernel is learned anew, as that takes a while


def held_out_costs(Ks: np.ndarray, codes: np.ndarray, scheme: str, C: float, parts: Sequence | None, X: Any):
    """Costs (k,) of the kernels, 1 for the one with the fewest errors. `parts` of images X made them, or None did."""
    folds, fit = make_folds(codes, N_FOLDS, "sigma='cv'"), partial(_fit_alone, C)
    errors: list[float] = []
    for k in range(len(Ks)):
        if parts is not None and getattr(parts[k], "labelled", False):
            some = folds[:N_ANEW]
            n_wrong = sum(_count_anew(parts[k], X, codes, scheme, fold, fit) for fold in some)
            errors.append(n_wrong * len(codes) / sum(len(held) for _, held in some))
        else:
            errors.append(count_errors(Ks[[k]], codes, scheme, folds, fit))
    counts = 1.0 + np.array(errors)
    return (counts / counts.min()) ** POWER


def _count_anew(part: Any, X: Any, codes: np.ndarray, scheme: str, fold: Fold, fit) -> int:
    """How many samples of a fold a base kernel that has not seen them gets wrong."""
    training, held = fold
    anew = clone(part)
    inside = anew.fit_gram(_take(X, training), codes[training])
    scores = scores_of(inside[None], anew.rows(_take(X, held))[None], codes[training], scheme, fit)
    return count_wrong(scores, codes[held])


def _fit_alone(C: float, place: int, K: np.ndarray, y: np.ndarray) -> Machine:
    return fit_machine(K, y, C, np.ones(1))


def _take(X: Any, rows: np.ndarray) -> Any:
    return X[rows] if isinstance(X, np.ndarray) else [X[row] for row in rows]
