"""Scores of label maps, beside those of scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, confusion_matrix, jaccard_score, precision_recall_fscore_support

from invariance.segmentation import label_scores

CLASSES = np.array([0, 7, 255])


@pytest.fixture
def labels():
    rng = np.random.default_rng(0)
    truth = rng.choice(CLASSES, (20, 30), p=[0.6, 0.3, 0.1])
    return np.where(rng.random(truth.shape) < 0.8, truth, rng.choice(CLASSES, truth.shape)), truth


def test_scores_are_those_of_scikit_learn(labels):
    predicted, truth = labels
    scores, flat = label_scores(*labels, CLASSES), (truth.ravel(), predicted.ravel())
    np.testing.assert_array_equal(scores.confusion, confusion_matrix(*flat, labels=CLASSES))
    precision, recall, f, counts = precision_recall_fscore_support(*flat, labels=CLASSES)
    by_class = scores.by_class
    assert [found.label for found in by_class] == CLASSES.tolist()
    assert [found.n_pixels for found in by_class] == counts.tolist()
    np.testing.assert_allclose([found[3:6] for found in by_class], np.transpose([recall, precision, f]))
    iou = jaccard_score(*flat, labels=CLASSES, average=None)
    np.testing.assert_allclose([found.iou for found in by_class], iou)
    assert scores.accuracy == pytest.approx((predicted == truth).mean())
    assert scores.balanced_accuracy == pytest.approx(balanced_accuracy_score(*flat))
    assert scores.mean_iou == pytest.approx(iou.mean())


def test_scores_of_images_add_up(labels):
    predicted, truth = labels
    parts = [label_scores(predicted[rows], truth[rows], CLASSES) for rows in (slice(0, 5), slice(5, 20))]
    both, whole = parts[0] + parts[1], label_scores(predicted, truth, CLASSES)
    np.testing.assert_array_equal(both.confusion, whole.confusion)
    assert both.by_class == whole.by_class


def test_unlabelled_pixels_do_not_count(labels):
    predicted, truth = labels
    scores = label_scores(predicted, truth, CLASSES, unlabelled=0)
    assert scores.n_pixels == (truth != 0).sum()
    assert scores.accuracy == pytest.approx((predicted == truth)[truth != 0].mean())
    assert scores.by_class[0].recall is None
    hidden = np.where(truth == 0, 99, truth)
    np.testing.assert_array_equal(label_scores(predicted, hidden, CLASSES, 99).confusion, scores.confusion)


def test_the_order_of_classes_does_not_matter(labels):
    np.testing.assert_array_equal(
        label_scores(*labels, CLASSES[::-1]).confusion, label_scores(*labels, CLASSES).confusion
    )


def test_what_is_not_defined_is_none():
    absent = label_scores([7, 7], [7, 7], CLASSES).by_class[0]
    assert absent == (0, 0, 0, None, None, None, None)
    nothing = label_scores([7, 7], [0, 0], CLASSES, unlabelled=0)
    assert nothing.n_pixels == 0
    assert np.isnan([nothing.accuracy, nothing.balanced_accuracy, nothing.mean_iou]).all()


@pytest.mark.parametrize(
    ("predicted", "truth", "message"),
    [([0, 7], [0, 8], "truth has labels 8"), ([1, 7], [0, 7], "predicted has labels 1"), ([0], [0, 7], "shape")],
)
def test_other_labels_and_shapes_are_refused(predicted, truth, message):
    with pytest.raises(ValueError, match=message):
        label_scores(predicted, truth, CLASSES)
