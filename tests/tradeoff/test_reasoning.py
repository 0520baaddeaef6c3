"""What the weights say: about the size of the training set, about tasks that are alike, and about the next task."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from invariance.tradeoff import TradeoffClassifier, class_shares, prior_from, task_similarity, weights_by_size
from tests.tradeoff.toys import draw_task

DISTANCES, LABELS = draw_task(n_per_class=8, n_noise=2)


@pytest.fixture(scope="module")
def classifier():
    return TradeoffClassifier("distances", C=10.0).fit(DISTANCES, LABELS)


class Counting(BaseEstimator):
    """Its shares are how many samples of every class it was given, and the mean of what it was given."""

    def fit(self, stack, y):
        assert stack.shape == (3, len(y), len(y))
        self.shares_ = np.array([[*(np.mean(y == name) * len(y) for name in np.unique(LABELS)), stack.mean()]])
        return self


def test_weights_by_size_are_means_over_draws_of_so_many_a_class():
    shares = weights_by_size(Counting(), DISTANCES, LABELS, [1, 3, 8], n_draws=3)
    assert shares.shape == (3, 1, 4)
    np.testing.assert_allclose(shares[:, 0, :3], [[1] * 3, [3] * 3, [8] * 3])
    assert shares[2, 0, 3] == pytest.approx(DISTANCES.mean())
    assert np.array_equal(shares, weights_by_size(Counting(), DISTANCES, LABELS, [1, 3, 8], n_draws=3))
    other = weights_by_size(Counting(), DISTANCES, LABELS, [1, 3, 8], n_draws=3, random_state=1)
    assert other[0, 0, 3] != shares[0, 0, 3]


def test_weights_by_size_are_shares_of_every_task():
    shares = weights_by_size(TradeoffClassifier("distances", C=10.0), DISTANCES, LABELS, [2, 8], n_draws=2)
    assert shares.shape == (2, 3, 3)
    np.testing.assert_allclose(shares.sum(axis=2), 1)


def test_all_images_are_one_training_set(classifier):
    shares = weights_by_size(TradeoffClassifier("distances", C=10.0), DISTANCES, LABELS, [8], n_draws=1)
    np.testing.assert_allclose(shares[0], classifier.shares_)


def test_sizes_that_are_not_there_are_named():
    with pytest.raises(ValueError, match="sizes must be at most 8; got 9"):
        weights_by_size(TradeoffClassifier("distances"), DISTANCES, LABELS, [2, 9])
    with pytest.raises(ValueError, match="n_draws must be a whole number of at least 1; got 0"):
        weights_by_size(TradeoffClassifier("distances"), DISTANCES, LABELS, [2], n_draws=0)


def test_similarity_is_the_overlap_of_shares(classifier):
    similarity = task_similarity(classifier)
    np.testing.assert_allclose(np.diag(similarity), 1)
    assert np.array_equal(similarity, similarity.T)
    for i, mine in enumerate(classifier.shares_):
        for j, other in enumerate(classifier.shares_):
            assert similarity[i, j] == pytest.approx(1 - np.abs(mine - other).sum() / 2)


def test_the_shares_of_a_class_are_those_of_its_pairs(classifier):
    shares = class_shares(classifier)
    by_pair = dict(zip(classifier.task_names_, classifier.shares_, strict=True))
    np.testing.assert_allclose(shares[1], (by_pair["ant or bee"] + by_pair["bee or cat"]) / 2)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    against_all = TradeoffClassifier("distances", "ova", C=10.0).fit(DISTANCES, LABELS)
    np.testing.assert_allclose(class_shares(against_all), against_all.shares_)


def test_a_prior_makes_what_mattered_cheaper_and_carries_over(classifier):
    sigma = prior_from(classifier, 3.0)
    assert sigma.mean() == pytest.approx(1)
    assert np.array_equal(np.argsort(sigma), np.argsort(-classifier.shares_.mean(axis=0)))
    np.testing.assert_allclose(prior_from(classifier, 0), 1)
    assert prior_from(classifier, 10.0)[0] < sigma[0]
    other, labels = draw_task(n_per_class=3, n_noise=2, seed=4)
    without = TradeoffClassifier("distances").fit(other, labels).shares_
    carried = TradeoffClassifier("distances", sigma=sigma).fit(other, labels).shares_
    assert carried[:, 0].mean() > without[:, 0].mean()


def test_mistakes_are_named(classifier):
    with pytest.raises(ValueError, match="strength must be a number from 0 to inf; got -1"):
        prior_from(classifier, -1)
    for function in (task_similarity, class_shares, prior_from):
        with pytest.raises(NotFittedError):
            function(TradeoffClassifier("distances"))
