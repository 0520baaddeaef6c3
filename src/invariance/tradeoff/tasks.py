"""Many classes as two-class tasks: every pair of classes, or every class against the others; and back."""

from typing import NamedTuple

import numpy as np


class Task(NamedTuple):
    """Which samples (m,) a machine learns from, their labels -1 or +1, and its two classes; -1 means all others."""

    samples: np.ndarray
    targets: np.ndarray
    positive: int
    negative: int


def make_tasks(codes: np.ndarray, scheme: str) -> list[Task]:
    """The tasks of class codes (n,): "ovo" for pairs, "ova" for one class against all. Two classes are one task."""
    n_classes = int(codes.max()) + 1
    if scheme == "ova" and n_classes > 2:
        everyone = np.arange(len(codes))
        return [Task(everyone, np.where(codes == code, 1.0, -1.0), code, -1) for code in range(n_classes)]
    tasks = []
    for first in range(n_classes):
        for second in range(first + 1, n_classes):
            samples = np.flatnonzero((codes == first) | (codes == second))
            tasks.append(Task(samples, np.where(codes[samples] == second, 1.0, -1.0), second, first))
    return tasks


def class_scores(decisions: np.ndarray, tasks: list[Task], n_classes: int) -> np.ndarray:
    """Scores (m, n_classes) from the decisions (m, tasks): votes of the pairs, or the decisions of one against all.

    Ties between votes are broken by the sum of the decisions, squeezed to less than half a vote.
    """
    if tasks[0].negative < 0:
        return decisions
    votes, sums = np.zeros((2, len(decisions), n_classes))
    for decision, task in zip(decisions.T, tasks, strict=True):
        votes[:, task.positive] += decision > 0
        votes[:, task.negative] += decision <= 0
        sums[:, task.positive] += decision
        sums[:, task.negative] -= decision
    return votes + sums / (3 * (np.abs(sums) + 1))
