"""Many classes as two-class tasks, every pair of classes or every class against the rest; and back to classes."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from invariance._core import loaded
from invariance.tradeoff.solver import Machine

REST = -1  # the negative class of a task of one class against the rest


class Task(NamedTuple):
    """The samples (m,) that a machine is learned from, their labels -1 or +1 (m,), and the codes of its two classes."""

    samples: np.ndarray
    targets: np.ndarray
    positive: int
    negative: int

    def check_loaded(self) -> None:
        """Raise ValueError if the numbers of the samples, read from a file, are none."""
        loaded.check_values(
            self,
            samples=loaded.array((None,), np.int64, 0),
            targets=loaded.array((len(self.samples),), np.float64, -1, 1),
            positive=loaded.whole(0, 10**6),
            negative=loaded.whole(REST, 10**6),
        )


def make_tasks(codes: np.ndarray, scheme: str) -> list[Task]:
    """The tasks of class codes (n,): "ovo" for pairs, "ova" for one class against the rest; two classes are one."""
    n_classes = int(codes.max()) + 1
    if scheme == "ova" and n_classes > 2:
        everyone = np.arange(len(codes))
        return [Task(everyone, np.where(codes == code, 1.0, -1.0), code, REST) for code in range(n_classes)]
    tasks = []
    for first in range(n_classes):
        for second in range(first + 1, n_classes):
            samples = np.flatnonzero((codes == first) | (codes == second))
            tasks.append(Task(samples, np.where(codes[samples] == second, 1.0, -1.0), second, first))
    return tasks


def grams_of(Ks: np.ndarray, task: Task) -> np.ndarray:
    """The Gram matrices (k, m, m) of the samples of a task; not copied if the task has all samples."""
    if len(task.samples) == Ks.shape[1]:
        return Ks
    return np.ascontiguousarray(Ks[:, task.samples[:, None], task.samples])


def decide(machines: Sequence[Machine], tasks: Sequence[Task], Ks: np.ndarray) -> np.ndarray:
    """Decisions (m, tasks) for kernel values (k, m, n), by one matrix product per kernel."""
    n_kernels, m, n = Ks.shape
    decisions = np.tile([machine.offset for machine in machines], (m, 1)).astype(np.float64)
    for k in range(n_kernels):
        columns = np.zeros((n, len(machines)))
        for place, (machine, task) in enumerate(zip(machines, tasks, strict=True)):
            columns[task.samples, place] = machine.weights[k] * machine.coefficients
        decisions += Ks[k] @ columns
    return decisions


def class_scores(decisions: np.ndarray, tasks: Sequence[Task], n_classes: int) -> np.ndarray:
    """Scores (m, n_classes) from decisions (m, tasks): votes of the pairs, or decisions of one against the rest.

    Ties between votes are broken by the sum of the decisions, squeezed to less than half a vote. Two classes have one
    task, whose decisions (m, 1) are returned as they are.
    """
    if n_classes == 2 or tasks[0].negative == REST:
        return decisions
    votes, sums = np.zeros((2, len(decisions), n_classes))
    for decision, task in zip(decisions.T, tasks, strict=True):
        votes[:, task.positive] += decision > 0
        votes[:, task.negative] += decision <= 0
        sums[:, task.positive] += decision
        sums[:, task.negative] -= decision
    return votes + sums / (3 * (np.abs(sums) + 1))


def predict_codes(scores: np.ndarray) -> np.ndarray:
    """Class codes (m,) for scores (m, n_classes), or for decisions (m, 1) of two classes."""
    return (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)
