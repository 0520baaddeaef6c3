"""Which kernels to weigh at all: the best few by cross-validation.

Where samples are few, every kernel tells the training samples apart, and learned weights can lean on kernels that are
worth nothing. So kernels are first ranked by how well each does alone on samples held out, and then as many of the best
are taken as do best together, with weights learned without the samples held out.
"""

from functools import partial

import numpy as np

from invariance.tradeoff.held_out import count_errors, make_folds
from invariance.tradeoff.solver import Machine, Terms, fit_machine, learn_machine

N_FOLDS, MAX_SELECTED = 4, 5
ENOUGH = 1e-2  # relative gap of weights that are only to be compared


def select_kernels(
    Ks: np.ndarray, codes: np.ndarray, scheme: str, C: float, terms: Terms, candidates: np.ndarray
) -> np.ndarray:
    """The numbers of the kernels to weigh, the best first, among `candidates`; of equal choices the smaller one."""
    folds = make_folds(codes, N_FOLDS, "weights='selected'")

    def count(chosen: np.ndarray) -> int:
        part = terms._replace(sigma=terms.sigma[chosen], A=terms.A[:, chosen])
        return count_errors(Ks[chosen], codes, scheme, folds, partial(_learn, C, part))

    alone = [count(np.array([candidate])) for candidate in candidates]
    ranked = np.asarray(candidates)[np.argsort(alone, kind="stable")]
    together = [min(alone)] + [count(ranked[:n]) for n in range(2, min(len(ranked), MAX_SELECTED) + 1)]
    return ranked[: 1 + int(np.argmin(together))]


def _learn(C: float, terms: Terms, place: int, Ks: np.ndarray, y: np.ndarray) -> Machine:
    """A machine to compare; a single kernel needs no weight."""
    if len(Ks) == 1:
        return fit_machine(Ks, y, C, np.ones(1))
    return learn_machine(Ks, y, C, terms, ENOUGH)
