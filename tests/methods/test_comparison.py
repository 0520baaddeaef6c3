"""Methods are compared on the same images, the better one comes first, and what was left out is said."""

import numpy as np
import pytest
from sklearn.base import clone

from invariance.datasets import make_glyphs
from invariance.methods import Trial, get_method, method_names
from invariance.methods.comparison import PEERS, Contestant, compare, rank_contestants
from invariance.transformations import Rotations, Scales, Shifts


def trial_of(is_right, is_judged=None, seconds=1.0):
    is_right = np.asarray(is_right, bool)
    is_judged = np.ones(len(is_right), bool) if is_judged is None else is_judged
    return Trial("name", None, np.zeros((len(is_right), 2)), is_right & is_judged, is_judged, 1.0, seconds)


@pytest.fixture(scope="module")
def drawings():
    data = make_glyphs(3, rotation=0, shift=0, random_state=0)
    return data.images, np.array(data.class_names)[data.labels]


@pytest.fixture(scope="module")
def comparison(drawings):
    return compare(*drawings, invariances=["reflections"], methods=["tangent"], n_jobs=1)


def test_a_method_competes_with_and_without_invariance_and_with_peers(comparison):
    entered = {(contestant.method, contestant.invariance) for contestant in comparison.contestants}
    peers = {(peer, None) for peer in PEERS}
    assert entered == {("tangent", None), ("tangent", "reflections"), ("encoder", None), *peers}
    assert comparison.winner.method == "tangent"
    assert comparison.untried == {}
    assert comparison.n_compared == 18
    assert all(contestant.trial.is_judged.all() for contestant in comparison.contestants)


def test_the_best_comes_first_and_is_among_the_best(comparison):
    shares = [contestant.trial.accuracy for contestant in comparison.contestants]
    assert shares == sorted(shares, reverse=True)  # all were judged by the same images
    assert comparison.contestants[0].is_among_the_best


def test_clearly_worse_is_distinguished_from_possibly_as_good():
    right = np.arange(60) % 10 > 0
    nearly = right.copy()
    nearly[1] = False
    ranked = rank_contestants(
        [
            Contestant("bad", None, trial_of(np.arange(60) % 2 > 0)),
            Contestant("nearly", None, trial_of(nearly)),
            Contestant("slow", None, trial_of(right, seconds=2.0)),
            Contestant("best", None, trial_of(right)),
        ]
    )
    assert [contestant.method for contestant in ranked] == ["best", "slow", "nearly", "bad"]
    assert [contestant.is_among_the_best for contestant in ranked] == [True, True, True, False]


def test_one_of_which_fewer_images_were_judged_is_compared_on_these():
    right, half = np.arange(40) % 4 > 0, np.arange(40) < 20
    ranked = rank_contestants(
        [Contestant("all", None, trial_of(right)), Contestant("half", None, trial_of(half, half))]
    )
    assert [contestant.method for contestant in ranked] == ["half", "all"]
    assert ranked[1].p == pytest.approx(2 * 0.5**5)


def test_luck_with_few_images_puts_nobody_first_and_nobody_is_worse_for_being_better():
    right, few = np.arange(40) % 8 > 0, np.arange(40) < 2
    ranked = rank_contestants([Contestant("few", None, trial_of(few, few)), Contestant("all", None, trial_of(right))])
    assert [contestant.method for contestant in ranked] == ["all", "few"]
    assert ranked[1].is_among_the_best


def test_no_time_means_nothing_tried_and_all_listed(drawings):
    comparison = compare(*drawings, budget=0)
    assert comparison.contestants == []
    assert comparison.winner is None
    assert {name.split(" ignoring ")[0] for name in comparison.untried} == {*method_names(), *PEERS}


@pytest.mark.parametrize(
    ("method", "phi", "is_known"),
    [
        ("texture", Rotations(8), True),
        ("texture", Rotations(5, limit=15), False),
        ("texture", Scales(), False),
        ("texture", Shifts(1), False),
        ("jungle", Rotations(8), False),
        ("codebook", Rotations(8), False),
        ("codebook", Shifts(1), True),
        ("objects", Shifts(1), False),
    ],
)
def test_what_would_only_repeat_the_default_is_recognized(method, phi, is_known):
    plan = get_method(method).plan
    assert plan(phi).amounts_to(plan()) is is_known


def test_an_unknown_method_is_refused(drawings):
    with pytest.raises(ValueError, match="'jungel'"):
        compare(*drawings, methods=["jungel"])


@pytest.mark.parametrize("peer", PEERS)
def test_peers_learn_from_images_of_any_sizes(peer):
    stripes = np.eye(5).repeat(8, axis=0).repeat(5, axis=1)
    dark, bright = [np.zeros((20, 30))] * 3, [np.stack([1 - stripes / 2] * 3, axis=2)] * 3
    fitted = clone(PEERS[peer]).fit([*dark, *bright], ["dark"] * 3 + ["bright"] * 3)
    assert fitted.predict([dark[0], bright[0]]).tolist() == ["dark", "bright"]
    assert fitted.predict_proba([dark[0]]).tolist() == [[0.0, 1.0]]
