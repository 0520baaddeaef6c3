"""Weights of pairs of classes: which descriptor they fall on, and what is summed and compared of them."""

import os

import numpy as np
import pytest

from experiments import pair_weights, reproductions
from experiments.catalogue import EXPERIMENTS
from experiments.uiuc_textures import TABLE

needs_data = pytest.mark.skipif("INVARIANCE_DATA" not in os.environ, reason="INVARIANCE_DATA is not set")


def rows_of(found, title):
    """The rows of a table."""
    return {outcome.method for table in found.tables if table.title == title for outcome in table.outcomes}


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
            assert {claim.first, claim.second} <= rows_of(found, claim.table)


@needs_data
def test_shares_of_a_pair_of_objects_sum_to_all():
    found = reproductions.object_weights(1, 0, True)
    assert [table.title for table in found.tables] == [
        *(f"{first} or {second}, share of the weights in %" for first, second in pair_weights.OBJECTS),
        "share of shape in the weights in %",
    ]
    *of_pairs, of_shape = found.tables
    for table, row in zip(of_pairs, of_shape.outcomes, strict=True):
        assert sum(row.mean for row in table.outcomes) == pytest.approx(100)
        assert table.title.startswith(f"{row.method}, ")
        assert np.array_equal(row.figures, {row.method: row.figures for row in table.outcomes}["shape"])
    for claim in EXPERIMENTS["object_weights"].claims:
        assert {claim.first, claim.second} <= rows_of(found, claim.table)


def test_a_weight_of_zero_in_the_paper_is_no_target():
    pairs = {**pair_weights.TEXTURES, **pair_weights.FLOWERS, **pair_weights.OBJECTS}
    for papers in pairs.values():
        assert 0 not in papers.values()
    rows = pair_weights._rows(("shape", "colour"), [np.array([0.0, 100.0])], {"colour": 100.0}, 1.0)
    assert [row.paper for row in rows] == [None, 100.0]


def test_papers_shares_of_textures_and_flowers_sum_to_all():
    for papers in (*pair_weights.TEXTURES.values(), *pair_weights.FLOWERS.values()):
        assert sum(papers.values()) == pytest.approx(100)
