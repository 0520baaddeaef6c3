"""`compare` and `advise` on worker processes give what they give in one process, bit for bit."""

import numpy as np
import pytest

from invariance.datasets import make_glyphs
from invariance.methods import advise, compare

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def drawings():
    data = make_glyphs(4, rotation=0, shift=0, random_state=0)
    return list(data.images), np.array(data.class_names)[data.labels]


def test_folds_and_methods_are_spread(client, drawings):
    settings = {"invariances": ["reflections"], "methods": ["tangent"], "budget": 3600, "max_images": 20}
    here, there = compare(*drawings, **settings), compare(*drawings, **settings, client=client)
    found, expected = (
        {(one.method, one.invariance): one.trial for one in comparison.contestants} for comparison in (there, here)
    )
    assert len(found) == 6  # with three baselines and the pretrained network
    assert found.keys() == expected.keys()
    for name, trial in expected.items():
        np.testing.assert_array_equal(found[name].probabilities, trial.probabilities)
        np.testing.assert_array_equal(found[name].is_judged, trial.is_judged)
        assert found[name].fit_seconds > 0
    assert there.untried == here.untried == {}


def test_what_cannot_be_fitted_is_listed_as_untried(client, drawings):
    images, labels = drawings
    small = [image[:12, :12] for image in images]
    settings = {"invariances": [], "methods": ["objects"], "budget": 3600}
    here, there = compare(small, labels, **settings), compare(small, labels, **settings, client=client)
    assert there.untried == here.untried
    assert "pixels per side" in there.untried["objects"]


def test_no_time_means_nothing_tried(client, drawings):
    comparison = compare(*drawings, methods=["tangent"], budget=0, client=client)
    assert comparison.contestants == []
    assert "tangent" in comparison.untried


def test_candidates_are_spread(client, drawings):
    here, there = (advise(*drawings, budget=3600, client=one) for one in (None, client))
    assert there.text == here.text
    assert there.untried == here.untried == {}
    assert [finding.parts for finding in there.findings] == [finding.parts for finding in here.findings]
    for found, expected in zip(
        (*there.findings, *there.combinations), (*here.findings, *here.combinations), strict=True
    ):
        np.testing.assert_array_equal(found.losses, expected.losses)
        assert found.p == expected.p
