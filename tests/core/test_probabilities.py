import numpy as np
import pytest
from scipy.special import softmax

from invariance._core.probabilities import learn_sharpness, scores_to_probabilities


def draw(n, n_classes, sharpness, seed=0):
    """Scores, and labels drawn with the probabilities that the sharpness gives."""
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal((n, n_classes))
    chances = softmax(sharpness * scores, axis=1).cumsum(axis=1)
    return scores, (rng.random((n, 1)) > chances).sum(axis=1)


@pytest.mark.parametrize("sharpness", [0.3, 1.0, 5.0])
@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_the_factor_is_found_again(sharpness, n_classes):
    scores, codes = draw(4000, n_classes, sharpness)
    assert learn_sharpness(scores, codes) == pytest.approx(sharpness, rel=0.15)


def test_decisions_of_two_classes_are_scores_of_both():
    scores, codes = draw(500, 2, 2.0)
    decisions = scores[:, 1] - scores[:, 0]
    assert learn_sharpness(decisions, codes) == pytest.approx(learn_sharpness(scores, codes))
    np.testing.assert_allclose(scores_to_probabilities(decisions, 2.0), scores_to_probabilities(scores, 2.0))


def test_the_most_probable_class_is_that_of_the_highest_score():
    scores, _ = draw(100, 4, 1.0)
    probabilities = scores_to_probabilities(scores, 3.0)
    np.testing.assert_array_equal(probabilities.argmax(axis=1), scores.argmax(axis=1))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)


def test_perfect_and_useless_scores_have_finite_factors():
    codes = np.repeat([0, 1, 2], 5)
    assert learn_sharpness(np.eye(3)[codes], codes) < 500
    assert learn_sharpness(-1e6 * np.eye(3)[codes], codes) == pytest.approx(1e-3, rel=0.1)
