"""Weights of pairs of classes: which descriptor they fall on, and what is summed and compared of them."""

import os

import numpy as np
import pytest

from experiments import pair_weights, reproductions
from experiments.catalogue import EXPERIMENTS
from experiments.uiuc_textures import TABLE
from experiments.verdicts import judge_claim

needs_data = pytest.mark.skipif("INVARIANCE_DATA" not in os.environ, reason="INVARIANCE_DATA is not set")


def test_the_weight_of_a_pair_falls_on_the_distance_that_tells_it_apart():
    rng = np.random.default_rng(0)
    names = np.repeat(["a", "b", "c"], 10)
    # The first distance tells a from the others, the second b.
    values = np.stack([(names == "a") + 0.1 * rng.random(30), (names == "b") + 0.1 * rng.random(30)])
    stack = (values[:, :, None] - values[:, None]) ** 2
    np.testing.assert_allclose(pair_weights.pair_shares(stack, names, ("a", "c")), [100, 0], atol=1)
    np.testing.assert_allclose(pair_weights.pair_shares(stack, names, ("b", "c")), [0, 100], atol=1)


def test_every_descriptor_of_textures_has_one_level_of_invariance():
    groups = pair_weights.level_groups(TABLE)
    assert sorted(place for group in groups for place in group) == list(range(len(TABLE)))
    assert [len(group) for group in groups] == [2, 3, 1, 1, 1]
    shares = np.arange(8.0)
    np.testing.assert_array_equal(pair_weights.sum_by(groups, shares), [1, 9, 5, 6, 7])


def test_shares_in_common_are_overlaps_of_related_pairs_and_of_all_others():
    first, second = np.array([1.0, 0, 0]), np.array([0, 0.5, 0.5])
    shares = {"bluebell": first, "crocus": first, "sunflower": second, "daisy": second[::-1]}
    # Sunflower and daisy have 0.5 in common, and daisy 0.5 with either of the blue ones.
    assert pair_weights.in_common(shares) == (75.0, 25.0)


@needs_data
@pytest.mark.data
def test_claims_are_made_about_rows_that_are_there():
    for name in ("texture_weights", "flower_weights"):
        experiment = EXPERIMENTS[name]
        found = experiment.run(1, 0, True)
        for claim in experiment.claims:
            assert judge_claim(claim, found.tables) == ("not run", "it takes two runs that share their data")


@needs_data
def test_papers_shares_of_a_pair_sum_to_all():
    found = reproductions.object_weights(1, 0, True)
    assert [table.title for table in found.tables] == [
        f"{first} or {second}, share of the weights in %" for first, second in pair_weights.OBJECTS
    ]
    for table in found.tables:
        assert sum(row.mean for row in table.outcomes) == pytest.approx(100)
    for papers in (*pair_weights.TEXTURES.values(), *pair_weights.FLOWERS.values()):
        assert sum(papers.values()) == pytest.approx(100)
