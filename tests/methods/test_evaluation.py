"""The evaluation of a classifier on labelled images."""

import numpy as np
import pytest

from invariance.methods.evaluation import Evaluation, evaluate, measure_reliability


class Brightness:
    """Predicts "light" with the mean of an image as its probability."""

    classes_ = np.array(["dark", "light"])

    def predict_proba(self, images):
        means = np.array([np.mean(image) for image in images])
        return np.stack([1 - means, means], axis=1)


def flat(*values):
    return [np.full((6, 6), value, np.float32) for value in values]


def made_evaluation(codes, predicted, n_classes):
    probabilities = np.full((len(codes), n_classes), 0.1 / (n_classes - 1))
    probabilities[np.arange(len(codes)), predicted] = 0.9
    return Evaluation(flat(*np.zeros(len(codes))), np.array(codes), probabilities, np.arange(n_classes), 2.0)


def test_predictions_are_counted():
    evaluation = evaluate(Brightness(), flat(0.1, 0.2, 0.7, 0.9), ["dark", "light", "light", "light"])
    np.testing.assert_array_equal(evaluation.predicted, [0, 0, 1, 1])
    np.testing.assert_array_equal(evaluation.is_right, [True, False, True, True])
    assert evaluation.accuracy == 0.75
    np.testing.assert_array_equal(evaluation.confusion, [[1, 0], [1, 2]])
    assert evaluation.seconds > 0
    assert evaluation.image_seconds == evaluation.seconds / 4


def test_the_interval_is_wilsons():
    evaluation = made_evaluation([0] * 10, [0] * 8 + [1] * 2, 2)
    np.testing.assert_allclose(evaluation.interval, (0.4901625, 0.9433178), atol=1e-6)


def test_unknown_classes_are_named():
    with pytest.raises(ValueError, match=r"not trained on 'grey' and 1 other classes; it knows 'dark', 'light'"):
        evaluate(Brightness(), flat(0, 0, 1), ["light", "pink", "grey"])


def test_labels_must_be_as_many_as_images():
    with pytest.raises(ValueError, match="one for each of 2 images"):
        evaluate(Brightness(), flat(0, 1), ["dark"])
    with pytest.raises(ValueError, match="0 images"):
        evaluate(Brightness(), [], [])


def test_reliability_of_calibrated_and_overconfident_predictions():
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.3, 1, 20_000)
    calibrated = measure_reliability(confidence, rng.random(20_000) < confidence)
    assert calibrated.error < 0.02
    assert calibrated.counts.sum() == 20_000
    assert np.isnan(calibrated.accuracy[:3]).all()
    overconfident = measure_reliability(np.ones(10), np.arange(10) < 5)
    assert overconfident.error == 0.5
    assert overconfident.counts[-1] == 10
