"""Pairs of classes and classes against the rest, and the way back to classes; and the grid of the search."""

import numpy as np
import pytest

from invariance.tradeoff.held_out import MAX_CANDIDATES, N_PARTS, search_weights, simplex_grid
from invariance.tradeoff.tasks import class_scores, make_tasks
from tests.tradeoff.toys import draw_task

CODES = np.array([2, 0, 1, 1, 0, 2, 2])


def test_every_pair_of_classes_is_a_task_of_their_samples():
    tasks = make_tasks(CODES, "ovo")
    assert [(task.negative, task.positive) for task in tasks] == [(0, 1), (0, 2), (1, 2)]
    for task in tasks:
        assert task.samples.tolist() == np.flatnonzero(np.isin(CODES, [task.negative, task.positive])).tolist()
        assert np.array_equal(task.targets, np.where(CODES[task.samples] == task.positive, 1.0, -1.0))


def test_every_class_against_the_others_is_a_task_of_all_samples():
    tasks = make_tasks(CODES, "ova")
    assert [(task.negative, task.positive) for task in tasks] == [(-1, 0), (-1, 1), (-1, 2)]
    for task in tasks:
        assert task.samples.tolist() == list(range(7))
        assert np.array_equal(task.targets > 0, task.positive == CODES)


@pytest.mark.parametrize("scheme", ["ovo", "ova"])
def test_two_classes_are_one_task(scheme):
    (task,) = make_tasks(np.array([1, 0, 1]), scheme)
    assert (task.negative, task.positive) == (0, 1)
    assert task.targets.tolist() == [1, -1, 1]


def test_scores_of_pairs_are_votes_and_ties_go_to_the_larger_sum():
    tasks = make_tasks(CODES, "ovo")
    decisions = np.array([
        [5.0, 0.1, -9.0],  # 1 beats 0, 2 beats 0, 1 beats 2
        [1.0, -1.0, 3.0],  # all have one vote; 2 wins by much
        [1e9, -1e9, 1.0],  # all have one vote, and no sum is worth half a vote
    ])  # fmt: skip
    scores = class_scores(decisions, tasks, 3)
    votes = np.array([[0, 2, 1], [1, 1, 1], [1, 1, 1]])
    assert np.abs(scores - votes).max() < 0.5
    assert scores[:2].argmax(axis=1).tolist() == [1, 2]


def test_a_decision_of_nought_is_for_the_first_class():
    scores = class_scores(np.zeros((1, 3)), make_tasks(CODES, "ovo"), 3)
    assert scores.tolist() == [[2, 1, 0]]


def test_scores_of_one_against_all_are_the_decisions():
    decisions = np.arange(6.0).reshape(2, 3)
    assert np.array_equal(class_scores(decisions, make_tasks(CODES, "ova"), 3), decisions)


@pytest.mark.parametrize("n_kernels", [1, 2, 3, 5, 8])
def test_the_grid_covers_the_simplex(n_kernels):
    grid = simplex_grid(n_kernels)
    np.testing.assert_allclose(grid.sum(axis=1), 1)
    assert grid.min() >= 0
    assert len(np.unique(grid.round(9), axis=0)) == len(grid) <= MAX_CANDIDATES + n_kernels + 1
    for wanted in [*np.eye(n_kernels), np.full(n_kernels, 1 / n_kernels)]:
        assert np.abs(grid - wanted).max(axis=1).min() < 1e-12
    assert np.array_equal(grid, simplex_grid(n_kernels))
    if n_kernels == 3:
        assert len(grid) == (N_PARTS + 1) * (N_PARTS + 2) / 2


def test_the_search_finds_the_kernel_that_knows_and_prefers_even_weights():
    distances, y = draw_task(n_per_class=8, n_noise=1, seed=1)
    codes = np.unique(y, return_inverse=True)[1]
    Ks = np.exp(-distances / distances.mean(axis=(1, 2), keepdims=True))
    found = search_weights(Ks, codes, "ovo", 10.0)
    assert found.sum() == pytest.approx(1)
    assert found[0] > 0.5
    assert search_weights(Ks[[0, 0]], codes, "ova", 10.0).tolist() == [0.5, 0.5]


def test_the_search_needs_two_of_every_class():
    with pytest.raises(ValueError, match="weights='search' needs at least two images of every class"):
        search_weights(np.eye(3)[None], np.array([0, 0, 1]), "ovo", 1.0)
