"""Samples held out: what machines learned without them make of them. For costing, searching and calibrating."""

from collections.abc import Callable, Sequence

import numpy as np
from sklearn.model_selection import StratifiedKFold

from invariance.tradeoff.solver import Machine
from invariance.tradeoff.tasks import Task, class_scores, make_tasks

Fold = tuple[np.ndarray, np.ndarray]
FitPart = Callable[[int, np.ndarray, np.ndarray], Machine]  # of a task's place, its matrices (k, n, n), its targets


def make_folds(codes: np.ndarray, n_folds: int, what: str) -> list[Fold]:
    """Training and held-out samples, as many times; fewer where a class has fewer samples."""
    n_folds = min(n_folds, int(np.bincount(codes).min()))
    if n_folds < 2:
        raise ValueError(f"{what} needs at least two images of every class, some of them to be held out.")
    return list(StratifiedKFold(n_folds, shuffle=True, random_state=0).split(codes, codes))


def held_out_scores(Ks: np.ndarray, codes: np.ndarray, scheme: str, fold: Fold, fit: FitPart) -> np.ndarray:
    """Scores (m, K) of the samples held out of a fold, or decisions (m, 1) of two classes."""
    training, held = fold
    inside = np.ascontiguousarray(Ks[:, training[:, None], training])
    return scores_of(inside, Ks[:, held[:, None], training], codes[training], scheme, fit)


def scores_of(inside: np.ndarray, rows: np.ndarray, codes: np.ndarray, scheme: str, fit: FitPart) -> np.ndarray:
    """Scores (m, K) of samples (k, m, n) by machines fitted to others (k, n, n), or decisions (m, 1) of two classes."""
    tasks, n_classes = make_tasks(codes, scheme), int(codes.max()) + 1
    machines = [fit(place, part_of(inside, task), task.targets) for place, task in enumerate(tasks)]
    decisions = decide(machines, tasks, rows)
    return decisions if n_classes == 2 else class_scores(decisions, tasks, n_classes)


def count_errors(Ks: np.ndarray, codes: np.ndarray, scheme: str, folds: Sequence[Fold], fit: FitPart) -> int:
    """How many samples are classified wrong while they are held out."""
    return sum(count_wrong(held_out_scores(Ks, codes, scheme, fold, fit), codes[fold[1]]) for fold in folds)


def count_wrong(scores: np.ndarray, codes: np.ndarray) -> int:
    """How many samples their scores (m, K) or decisions (m, 1) classify wrong."""
    predicted = (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)
    return int(np.count_nonzero(predicted != codes))


def decide(machines: Sequence[Machine], tasks: Sequence[Task], Ks: np.ndarray) -> np.ndarray:
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
