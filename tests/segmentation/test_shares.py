"""The shares of the classes in images of which a part is labelled."""

import numpy as np
import pytest

from invariance.segmentation.shares import RATIO_BOUNDS, ClassShares


def count(truth, labelled, maps, n_strokes=10**9):
    """The estimate from one image (h, w) of class codes, where it is labelled by strokes, and maps (h, w, K)."""
    shares = ClassShares(maps.shape[2])
    rows, cols = np.nonzero(labelled)
    shares.add(maps, ~labelled, rows, cols, truth[labelled])
    return shares.estimate(n_strokes)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_labels_drawn_by_class_and_predictions_that_mix_classes_do_not_bias_the_estimate(n_classes):
    """Class 0 is labelled five times as often as the others, and 0.4 of every prediction is given to it wrongly."""
    rng = np.random.default_rng(0)
    truth = rng.integers(n_classes, size=(60, 80))
    labelled = rng.random(truth.shape) < np.where(truth == 0, 0.25, 0.05)
    one_hot = np.eye(n_classes, dtype=np.float32)
    maps = np.float32(0.6) * one_hot[truth] + np.float32(0.4) * one_hot[0]
    expected = np.bincount(truth[~labelled]) / np.sum(~labelled)
    assert np.abs(np.bincount(truth[labelled]) / labelled.sum() - expected).max() > 0.3
    np.testing.assert_allclose(count(truth, labelled, maps), expected, atol=1e-3)


def test_predictions_that_know_nothing_leave_a_valid_estimate():
    truth = np.indices((20, 20))[1] // 10
    labelled = np.full(truth.shape, False)
    labelled[:, 4:14] = True
    found = count(truth, labelled, np.full((20, 20, 2), 0.5, np.float32))
    assert found.sum() == pytest.approx(1)
    assert (found > 0).all()


def test_of_images_that_are_labelled_everywhere_nothing_is_estimated():
    truth = np.indices((4, 6))[1] // 3
    assert count(truth, np.full(truth.shape, True), np.full((4, 6, 2), 0.5, np.float32)) is None


def test_pixels_without_a_prediction_do_not_count():
    truth = np.indices((4, 6))[1] // 3
    maps = np.eye(2, dtype=np.float32)[truth]
    maps[:2] = 0
    labelled = np.full(truth.shape, False)
    labelled[3, 2:4] = True
    np.testing.assert_allclose(count(truth, labelled, maps), [0.5, 0.5])


def test_the_ratio_to_the_labelled_share_is_bounded():
    truth = np.zeros((20, 20), int)
    truth[0, 0] = 1
    labelled = np.full(truth.shape, False)
    labelled[0, :2] = True
    found = count(truth, labelled, np.eye(2, dtype=np.float32)[truth])
    low, high = RATIO_BOUNDS
    assert found.sum() == pytest.approx(1)
    assert low / high <= found[1] / 0.5 < 1


def test_labelled_shares_are_kept_where_strokes_may_show_them_by_chance():
    truth = np.indices((20, 20))[1] // 10
    labelled = np.full(truth.shape, False)
    labelled[:, 4:14] = True  # 0.6 and 0.4 of the labels
    maps = np.eye(2, dtype=np.float32)[truth]
    np.testing.assert_allclose(count(truth, labelled, maps, n_strokes=1), [0.6, 0.4], atol=1e-6)
    found = [count(truth, labelled, maps, n_strokes)[0] for n_strokes in (1, 100, 400, 10**9)]
    assert found == sorted(found, reverse=True)
    assert found[-1] == pytest.approx(0.4, abs=1e-6)  # of the pixels that are not labelled
    assert 0.4 < found[2] < 0.6
