"""Samples held out: what machines learned without them make of them. For selecting, searching and calibrating."""

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
    inside, tasks = np.ascontiguousarray(Ks[:, training[:, None], training]), make_tasks(codes[training], scheme)
    machines = [fit(place, part_of(inside, task), task.targets) for place, task in enumerate(tasks)]
    decisions = decide(machines, tasks, Ks[:, held[:, None], training])
    n_classes = int(codes.max()) + 1
    return decisions if n_classes == 2 else class_scores(decisions, tasks, n_classes)


def count_errors(Ks: np.ndarray, codes: np.ndarray, scheme: str, folds: Sequence[Fold], fit: FitPart) -> int:
    """How many samples are classified wrong while they are held out."""
    n_wrong = 0
    for fold in folds:
        scores = held_out_scores(Ks, codes, scheme, fold, fit)
        predicted = (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)
        n_wrong += int(np.count_nonzero(predicted != codes[fold[1]]))
    return n_wrong


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
