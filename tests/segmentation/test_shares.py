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
def test_a_constant_error_of_predictions_does_not_matter(n_classes):
    """Predictions that are off by the same amount everywhere, and labels in which class 0 is twice as frequent."""
    rng = np.random.default_rng(0)
    truth = rng.integers(n_classes, size=(60, 80))
    labelled = rng.random(truth.shape) < np.where(truth == 0, 0.2, 0.1)
    maps = 0.6 * np.eye(n_classes, dtype=np.float32)[truth] + np.float32(0.4) * np.eye(n_classes, dtype=np.float32)[0]
    labels = np.bincount(truth[labelled]) / labelled.sum()
    found = count(truth, labelled, maps)
    expected = 0.6 * np.bincount(truth[~labelled]) / np.sum(~labelled) + 0.4 * labels
    np.testing.assert_allclose(found, expected, atol=1e-6)
    true = np.bincount(truth.ravel()) / truth.size
    assert np.abs(found - true).sum() < 0.6 * np.abs(labels - true).sum()


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
