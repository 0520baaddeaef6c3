"""Merging leaves: the clustering of [Laptev15] sec. 3.3.2, and what a jungle relies on."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from invariance.jungles.merging import FORBIDDEN, leaf_distances, merge_leaves
from tests import reference


@st.composite
def layers(draw, alike=False):
    """(histograms, parents, max_width) as growth produces them: at most M leaves, some of which are split in two."""
    max_width = draw(st.integers(2, 6))
    n_before = draw(st.integers(1, max_width))
    n_split = draw(st.integers(1, n_before))
    parents = np.array([-1] * (n_before - n_split) + [node for node in range(n_split) for _ in "lr"])
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_classes = draw(st.integers(2, 4))
    if alike:
        histograms = rng.integers(0, 2, (len(parents), n_classes)).astype(float)
        histograms[0, 0] += 1
    else:
        histograms = rng.exponential(10, (len(parents), n_classes))
    return histograms, parents, max_width


def as_clusters(numbers):
    return sorted(tuple(np.flatnonzero(numbers == cluster).tolist()) for cluster in np.unique(numbers))


@settings(max_examples=100, deadline=None, derandomize=True)
@given(layers())
def test_merging_equals_joining_the_two_closest_again_and_again(layer):
    assert as_clusters(merge_leaves(*layer)) == reference.merge_leaves(*layer)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(layers(alike=True))
def test_many_alike_leaves_keep_the_rules(layer):
    """Leaves with the same histogram are at distance zero, and many distances are equal."""
    histograms, parents, max_width = layer
    numbers = merge_leaves(histograms, parents, max_width)
    assert len(np.unique(numbers)) <= max_width
    for parent in set(parents[parents >= 0].tolist()):
        one, other = numbers[parents == parent]
        assert one != other


@settings(max_examples=50, deadline=None, derandomize=True)
@given(layers())
def test_clusters_are_numbered_by_their_first_leaf(layer):
    numbers = merge_leaves(*layer)
    firsts = [np.flatnonzero(numbers == cluster)[0] for cluster in range(numbers.max() + 1)]
    assert firsts == sorted(firsts)


def test_equal_distances_do_not_merge_more_leaves_than_needed():
    histograms = np.array([[2.0, 1.0], [9.0, 0.0], [0.0, 9.0], [9.0, 0.0], [0.0, 9.0]])
    parents = np.array([-1, 0, 0, 1, 1])
    assert len(np.unique(merge_leaves(histograms, parents, 4))) == 4


def test_distances_are_the_symmetric_divergence_of_smoothed_histograms():
    histograms = np.array([[8.0, 0.0, 1.0], [0.0, 5.0, 5.0], [3.0, 3.0, 0.0], [0.0, 0.0, 4.0]])
    parents = np.array([-1, 7, 7, -1])
    distances = leaf_distances(histograms, parents)
    shares = histograms.sum(axis=0) / histograms.sum()
    for i in range(4):
        for j in range(4):
            expected = reference.leaf_distance(histograms[i], histograms[j], shares)
            if {i, j} == {1, 2}:
                expected = FORBIDDEN
            assert distances[i, j] == pytest.approx(expected, abs=1e-12)


def test_no_histograms_are_as_far_apart_as_siblings():
    distances = leaf_distances(np.array([[1e12, 0.0], [0.0, 1e12], [1.0, 0.0]]), np.array([-1, -1, -1]))
    assert math.isfinite(distances.max())
    assert distances.max() < FORBIDDEN / 1000
