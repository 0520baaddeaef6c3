"""Which kernels to weigh at all: the best few by cross-validation.

Where samples are few, every kernel tells the training samples apart, and learned weights can lean on kernels that are
worth nothing. So kernels are first ranked by how well each does alone on samples held out, and then as many of the best
are taken as do best together, with weights learned without the samples held out.
"""

import numpy as np
from sklearn.model_selection import StratifiedKFold

from invariance.tradeoff.solver import Machine, Terms, fit_machine, learn_machine
from invariance.tradeoff.tasks import Task, class_scores, make_tasks

N_FOLDS, MAX_SELECTED = 4, 5
INNER_TOLERANCE = 1e-3
ENOUGH = 1e-2  # relative gap of weights that are only to be compared


def select_kernels(
    Ks: np.ndarray, codes: np.ndarray, scheme: str, C: float, terms: Terms, candidates: np.ndarray
) -> np.ndarray:
    """The numbers of the kernels to weigh, the best first, among `candidates`; of equal choices the smaller one."""
    n_folds = min(N_FOLDS, int(np.bincount(codes).min()))
    if n_folds < 2:
        raise ValueError("weights='selected' needs at least two images of every class to be validated.")
    folds = list(StratifiedKFold(n_folds, shuffle=True, random_state=0).split(codes, codes))

    def count_errors(chosen: np.ndarray) -> int:
        part = terms._replace(sigma=terms.sigma[chosen], A=terms.A[:, chosen])
        return sum(_count_errors(Ks[chosen], codes, scheme, C, part, ENOUGH, *fold) for fold in folds)

    alone = [count_errors(np.array([candidate])) for candidate in candidates]
    ranked = np.asarray(candidates)[np.argsort(alone, kind="stable")]
    together = [min(alone)] + [count_errors(ranked[:n]) for n in range(2, min(len(ranked), MAX_SELECTED) + 1)]
    return ranked[: 1 + int(np.argmin(together))]


def decide(machines: list[Machine], tasks: list[Task], Ks: np.ndarray) -> np.ndarray:
    """Decisions (m, tasks) for kernel values (k, m, n): one matrix product a kernel."""
    n_kernels, m, n = Ks.shape
    decisions = np.tile([machine.offset for machine in machines], (m, 1)).astype(np.float64)
    for k in range(n_kernels):
        columns = np.zeros((n, len(machines)))
        for place, (machine, task) in enumerate(zip(machines, tasks, strict=True)):
            columns[task.samples, place] = machine.weights[k] * machine.coefficients
        decisions += Ks[k] @ columns
    return decisions


def part_of(Ks: np.ndarray, task: Task) -> np.ndarray:
    """The matrices of a task's samples; all samples are not copied."""
    if len(task.samples) == Ks.shape[1]:
        return Ks
    return np.ascontiguousarray(Ks[:, task.samples[:, None], task.samples])


def _learn(Ks, y, C, terms, tolerance) -> Machine:
    """A single kernel needs no weight."""
    if len(Ks) == 1:
        return fit_machine(Ks, y, C, np.ones(1), INNER_TOLERANCE)
    return learn_machine(Ks, y, C, terms, tolerance)


def _count_errors(Ks, codes, scheme, C, terms, tolerance, training, held) -> int:
    inside = np.ascontiguousarray(Ks[:, training[:, None], training])
    tasks = make_tasks(codes[training], scheme)
    machines = [_learn(part_of(inside, task), task.targets, C, terms, tolerance) for task in tasks]
    decisions = decide(machines, tasks, Ks[:, held[:, None], training])
    n_classes = int(codes.max()) + 1
    if n_classes == 2:
        return int(np.count_nonzero((decisions[:, 0] > 0) != (codes[held] == 1)))
    return int(np.count_nonzero(class_scores(decisions, tasks, n_classes).argmax(axis=1) != codes[held]))
