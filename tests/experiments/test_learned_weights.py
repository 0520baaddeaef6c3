import os
from itertools import combinations

import numpy as np
import pytest
from sklearn.datasets import load_digits

from experiments import learned_weights
from experiments.learned_weights import KERNELS, DistanceWeigher, draw_digits, measure
from invariance.tradeoff import TradeoffClassifier
from tests.experiments.fitted import are_equal, watch_fits

needs_data = pytest.mark.skipif("INVARIANCE_DATA" not in os.environ, reason="INVARIANCE_DATA is not set")


@pytest.fixture(scope="module")
def digits() -> tuple[np.ndarray, np.ndarray]:
    """Small digits in a black frame, so that none is cut off when it is turned."""
    data = load_digits()
    return np.pad(data.images / 16, ((0, 0), (3, 3), (3, 3))).astype(np.float32), data.target


@pytest.fixture(scope="module")
def weighed(digits):
    return learned_weights.weigh(*digits, n_each=12, sizes=(2, 10), n_draws=2)


@pytest.fixture(scope="module")
def tables(digits):
    return learned_weights.compare_priors(*digits, n_draws=2, n_each=15)


def test_as_many_digits_of_every_class_are_drawn_and_turned_ones_are_the_same_digits(digits):
    drawn, labels = draw_digits(*digits, n_each=4, seed=1)
    assert np.array_equal(labels, np.repeat(np.arange(10), 4))
    upright, turned = drawn["upright"].mean(axis=(1, 2)), drawn["rotated"].mean(axis=(1, 2))
    assert turned == pytest.approx(upright, rel=0.1)
    assert np.abs(drawn["rotated"] - drawn["upright"]).mean(axis=(1, 2)).min() > 0
    assert not np.array_equal(drawn["upright"], draw_digits(*digits, n_each=4, seed=2)[0]["upright"])


@pytest.mark.parametrize(("angle", "ignored"), [(0, 4), (40, 3), (180, 1)])
def test_each_kernel_ignores_more_turning_than_the_one_before(digits, angle, ignored):
    image = digits[0][6]  # a six
    turned = learned_weights.rotate(image, angle, order=1)
    shares = [kernel.squared([image], [turned])[0, 0] / np.sum(image**2) for kernel in KERNELS.values()]
    assert max(shares[len(shares) - ignored :]) < 0.05
    assert min(shares[: len(shares) - ignored], default=1) > 0.1


def test_kernels_are_definite_and_made_by_the_digits_of_the_fit_alone(digits):
    drawn, labels = draw_digits(*digits, n_each=10, seed=0)
    distances = measure(drawn["rotated"])
    some = np.flatnonzero(labels < 3)
    weigher = DistanceWeigher().fit(distances[:, some[:, None], some], labels[some])
    for (gamma, repair), squared in zip(weigher.parts_, distances, strict=True):
        K = np.exp(-gamma * squared[np.ix_(some, some)])
        assert gamma * squared[np.ix_(some, some)].sum() / (30 * 29) == pytest.approx(1)
        assert np.linalg.eigvalsh(repair.transform(K)).min() > -1e-9
    assert np.mean(weigher.predict(distances[:, some[:, None], some]) == labels[some]) == 1


def test_turned_digits_want_more_invariance_than_upright_ones(weighed):
    by_size, shares, again = weighed
    assert by_size["upright"].shape == (2, 45, 4)
    assert again.shape == shares.shape == (45, 4)
    upright, turned = (by_size[kind][1].mean(axis=0)[-1] for kind in ("upright", "rotated"))
    assert turned > upright + 0.2


def test_a_prior_of_other_turned_digits_helps_where_there_are_few_and_a_wrong_one_harms_upright_digits(tables):
    assert set(tables) == {(kind, n_few) for kind in ("upright", "rotated") for n_few in (2, 3, 5)}
    turned, upright = ({row.method: row.mean for row in tables[kind, 2]} for kind in ("rotated", "upright"))
    assert turned["learned, prior"] > turned["learned"] + 5
    assert upright["learned, wrong prior"] < upright["learned"] - 3


def test_test_digits_change_nothing_that_is_fitted(digits, monkeypatch):
    fitted = watch_fits(monkeypatch, {TradeoffClassifier: "weights_"})
    right = learned_weights.compare_priors(*digits, n_draws=1, n_each=12)
    first = list(fitted)
    fitted.clear()

    def draw_poisoned(images, labels, n_each, seed):
        drawn, labels = draw_digits(images, labels, n_each, seed)
        # Of the classes 5 to 9, the first five digits are for training and the others for testing.
        is_test = (labels >= 5) & (np.arange(len(labels)) % n_each >= 5)
        for turned in drawn.values():
            turned[is_test] = np.random.default_rng(0).random(turned[is_test].shape)
        return drawn, labels

    monkeypatch.setattr(learned_weights, "draw_digits", draw_poisoned)
    wrong = learned_weights.compare_priors(*digits, n_draws=1, n_each=12)
    assert len(first) > 20
    assert are_equal(first, fitted)
    for key in right:
        assert wrong[key][0].mean < right[key][0].mean - 10


def test_overlaps_are_shares_in_common_with_the_same_task_and_with_all_tasks():
    shares, others = np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([[0.8, 0.2], [0.0, 1.0]])
    same, any_two = learned_weights.overlaps(shares, others)
    assert same == pytest.approx([80, 50])
    assert any_two == pytest.approx([40, 60])


@pytest.mark.data
@needs_data
def test_six_or_nine_must_know_up_from_down_unless_digits_are_turned_and_a_prior_says_so():
    (by_size, shares, again), tables = learned_weights.run(n_draws=4)
    pairs = list(combinations(range(10), 2))
    assert by_size["upright"][1:, pairs.index((6, 9)), -1].max() < 0.05
    assert by_size["rotated"][-1, pairs.index((6, 9)), -1] > 0.7
    assert by_size["upright"][:, pairs.index((1, 7)), -1].min() > 0.4
    same, any_two = learned_weights.overlaps(shares, again)
    assert same.mean() > any_two.mean() + 10
    for n_few, least in ((2, 6), (3, 4)):
        means = {row.method: row.mean for row in tables["rotated", n_few]}
        assert means["learned, prior"] > means["learned"] + least
