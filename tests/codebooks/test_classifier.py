import numpy as np
import pytest
from sklearn.metrics import log_loss, roc_curve
from sklearn.model_selection import GridSearchCV

from invariance.codebooks import (
    BagKernel,
    BagOfFeatures,
    ClusteringForest,
    CodebookClassifier,
    KMeansCodebook,
    RandomWindows,
    equal_error_rate,
)
from invariance.models import load, save


def draw_images(n_each, seed):
    """Noise, with a checkerboard somewhere in the images of the second class."""
    rng = np.random.default_rng(seed)
    images, labels = [], np.repeat([3, 8], n_each)
    for label in labels:
        image = rng.random((48, 60)).astype(np.float32)
        if label == 8:
            top, left = rng.integers(0, 24), rng.integers(0, 36)
            image[top : top + 24, left : left + 24] = np.indices((24, 24)).sum(axis=0) // 3 % 2
        images.append(image)
    return images, labels


@pytest.fixture(scope="module")
def fitted():
    bag = BagOfFeatures(ClusteringForest(3, n_leaves=50), sampler=RandomWindows(300, 60, max_scale=0.5))
    return CodebookClassifier(bag, random_state=0).fit(*draw_images(20, 0))


def test_it_learns(fitted):
    images, labels = draw_images(20, 1)
    assert fitted.score(images, labels) > 0.8
    assert equal_error_rate(labels == 8, fitted.decision_function(images)) > 0.8


def draw_three_classes(n_each, seed):
    """Dark noise, noise, and noise with a checkerboard."""
    images, labels = draw_images(2 * n_each, seed)
    images, labels = images[: 3 * n_each], labels[: 3 * n_each].copy()
    for i in range(n_each):
        images[i], labels[i] = 0.2 * images[i], 5
    return images, labels


@pytest.mark.parametrize("voting", [False, True])
def test_three_classes(voting):
    bag = BagOfFeatures(ClusteringForest(5), sampler=RandomWindows(100, 60, max_scale=0.5))
    model = CodebookClassifier(bag, voting=voting, random_state=0).fit(*draw_three_classes(8, 2))
    images, labels = draw_three_classes(8, 3)
    assert model.decision_function(images).shape == (24, 3)
    assert model.classes_.tolist() == [3, 5, 8]
    assert model.score(images, labels) > 0.75  # chance is 0.33
    assert np.all(model.predict(images[:8]) == 5)


def test_a_saved_classifier_decides_the_same(fitted, tmp_path):
    images, _ = draw_images(5, 3)
    again = load(save(fitted, tmp_path / "words.inv"))
    np.testing.assert_array_equal(again.decision_function(images), fitted.decision_function(images))


def test_words_of_a_class_fire_where_it_is(fitted):
    image = np.random.default_rng(4).random((48, 60)).astype(np.float32)
    image[10:34, 30:54] = np.indices((24, 24)).sum(axis=0) // 3 % 2
    strength = fitted.word_map(image, 8, n_windows=4000)
    assert strength.shape == image.shape
    assert np.nanmean(strength[14:30, 34:50]) > np.nanmean(strength[:, :20]) + 0.1
    both = fitted.word_map(image, 3, n_windows=4000) + strength
    np.testing.assert_allclose(both[np.isfinite(both)], 1, atol=1e-5)


def test_the_windows_of_a_word_have_that_word(fitted):
    images, _ = draw_images(2, 5)
    vectors, windows = fitted.bag_.extract(images[2], 200)
    words = fitted.bag_.codebook_.transform(vectors)
    word = int(words[0, 1])
    found = fitted.word_windows(images, word, n_windows=200)
    np.testing.assert_array_equal(found[2], windows[words[:, 1] == word])
    assert len(found) == len(images)


def test_the_equal_error_rate_lies_where_both_errors_are_equal():
    rng = np.random.default_rng(0)
    truth = rng.random(400) < 0.3
    scores = truth + rng.standard_normal(400)
    false_alarms, hits, _ = roc_curve(truth, scores, drop_intermediate=False)
    nearest = np.argmin(np.abs(false_alarms - (1 - hits)))
    assert equal_error_rate(truth, scores) == pytest.approx(hits[nearest], abs=0.01)
    assert equal_error_rate(truth, truth.astype(float)) == 1
    assert equal_error_rate(truth, -truth.astype(float)) == 0
    assert equal_error_rate(truth, np.zeros(400)) == pytest.approx(0.5)


@pytest.mark.parametrize("kind", ["chi2", "intersection"])
def test_the_kernel_is_positive_definite(kind):
    bags = np.random.default_rng(0).dirichlet(np.ones(30), 20)
    kernel = BagKernel(kind)
    K = kernel(bags)
    np.testing.assert_array_equal(K, kernel(bags, bags))
    np.testing.assert_allclose(np.diag(K), kernel.diag(bags))
    np.testing.assert_allclose(K, K.T)
    assert np.linalg.eigvalsh(K).min() > -1e-10
    expected = [
        [
            np.minimum(x, y).sum() if kind == "intersection" else np.exp(-np.sum((x - y) ** 2 / (x + y)))
            for y in bags[:4]
        ]
        for x in bags[:3]
    ]
    np.testing.assert_allclose(kernel(bags[:3], bags[:4]), expected)


def test_mistakes_are_named(fitted):
    image = np.zeros((30, 30))
    with pytest.raises(ValueError, match="label must be one of"):
        fitted.word_map(image, 99)
    with pytest.raises(ValueError, match="word must be at most"):
        fitted.word_windows([image], 10**6)
    with pytest.raises(ValueError, match="C must be"):
        CodebookClassifier(C=-1).fit(*draw_images(2, 0))
    with pytest.raises(ValueError, match="bag must be a BagOfFeatures; got 'rotations:24'"):
        CodebookClassifier("rotations:24").fit(*draw_images(2, 0))
    with pytest.raises(ValueError, match="not negative"):
        BagKernel()(-np.ones((2, 3)))
    with pytest.raises(ValueError, match="kind must be"):
        BagKernel("rbf")(np.ones((2, 3)))
    with pytest.raises(ValueError, match="same number of words"):
        BagKernel()(np.ones((2, 3)), np.ones((2, 4)))


def test_probabilities_agree_with_the_classes_and_are_better_than_chance():
    bag = BagOfFeatures(ClusteringForest(3, n_leaves=50), sampler=RandomWindows(300, 60, max_scale=0.5))
    model = CodebookClassifier(bag, probability=True, random_state=0).fit(*draw_images(20, 0))
    images, labels = draw_images(20, 1)
    probabilities = model.predict_proba(images)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(images))
    assert log_loss(labels, probabilities) < 0.6  # chance has 0.69
    assert not hasattr(CodebookClassifier(), "predict_proba")
    with pytest.raises(ValueError, match="probability=True needs at least two images of every class"):
        CodebookClassifier(bag, probability=True).fit(*[part[19:22] for part in draw_images(20, 0)])


# --- direct voting, and trials chosen on held-out images ---


def test_votes_are_the_mean_class_shares_over_windows_and_trees(tmp_path):
    bag = BagOfFeatures(ClusteringForest(3), sampler=RandomWindows(100, 60, max_scale=0.5), levels=2)
    model = CodebookClassifier(bag, voting=True, random_state=0).fit(*draw_images(20, 0))
    images, labels = draw_images(20, 1)
    probabilities = model.predict_proba(images)
    assert not hasattr(model, "svm_")
    forest = model.bag_.codebook_
    for image, ours in zip(images[::7], probabilities[::7], strict=True):
        by_window = [
            np.mean([forest.posteriors_[word] for word in words], axis=0)
            for words in forest.transform(model.bag_.extract(image)[0])
        ]
        np.testing.assert_allclose(ours, np.mean(by_window, axis=0))
    scores = model.decision_function(images)
    np.testing.assert_allclose(scores, probabilities[:, 1] - probabilities[:, 0])
    np.testing.assert_array_equal(model.predict(images), model.classes_[probabilities.argmax(axis=1)])
    assert equal_error_rate(labels == 8, scores) > 0.8
    again = load(save(model, tmp_path / "votes.inv"))
    np.testing.assert_array_equal(again.predict_proba(images), probabilities)


def test_the_background_of_masks_does_not_vote():
    images, labels = draw_images(4, 0)
    masks = [None] * 4 + [image == np.round(image) for image in images[4:]]
    bag = BagOfFeatures(ClusteringForest(2), sampler=RandomWindows(50, 40, max_scale=0.4))
    model = CodebookClassifier(bag, voting=True, random_state=0).fit(images, labels, masks)
    assert model.bag_.codebook_.classes_.tolist() == [3, 8, 9]
    probabilities = model.predict_proba(images)
    assert probabilities.shape == (8, 2)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)


def test_words_without_classes_cannot_vote():
    class Unlabelled(KMeansCodebook):
        def fit(self, X, y=None):
            return super().fit(X)

    bag = BagOfFeatures(Unlabelled(5), sampler=RandomWindows(20, 20))
    with pytest.raises(ValueError, match="voting=True needs a codebook that knows the classes"):
        CodebookClassifier(bag, voting=True, random_state=0).fit(*draw_images(3, 0))


def test_the_number_of_trials_can_be_chosen_by_validation():
    """[Moosmann06] sec. 4 chooses T_max on a validation set: a grid search over a parameter of the forest."""
    images, labels = draw_images(12, 0)
    bag = BagOfFeatures(ClusteringForest(2, n_leaves=40), sampler=RandomWindows(100, 40, max_scale=0.5))
    grid = {"bag__codebook__max_trials": [1, 40]}
    search = GridSearchCV(CodebookClassifier(bag, random_state=0), grid, cv=3).fit(images, labels)
    chosen = search.best_params_["bag__codebook__max_trials"]
    assert search.best_estimator_.bag_.codebook_.max_trials == chosen
    assert search.cv_results_["mean_test_score"].max() > 0.7
