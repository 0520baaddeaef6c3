"""The classifier: stacks of matrices or images, learned or given weights, pairs or one against all."""

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

from invariance.jungles import InvariantFeatures
from invariance.models import load, save
from invariance.tangents import TangentDistance
from invariance.tradeoff import FeatureKernel, ImageKernel, TradeoffClassifier
from invariance.transformations import Identity, Shifts
from tests.tangents.toys import draw_strokes
from tests.tradeoff.test_kernels import Products, RowSums
from tests.tradeoff.toys import draw_task

DISTANCES, LABELS = draw_task()
GAMMAS = 30 * 29 / DISTANCES.sum(axis=(1, 2))
GRAMS = np.exp(-GAMMAS[:, None, None] * DISTANCES)
TWO = np.flatnonzero(LABELS != "cat")


def only(stack, rows, cols):
    return stack[:, rows[:, None], cols]


@pytest.fixture(scope="module")
def learned():
    return TradeoffClassifier("distances", C=10.0).fit(DISTANCES, LABELS)


def test_weights_are_named_and_the_gaps_are_closed(learned):
    assert learned.weights_.shape == (3, 4)
    assert learned.task_names_ == ["ant or bee", "ant or cat", "bee or cat"]
    assert learned.kernel_names_ == ["kernel 1", "kernel 2", "kernel 3", "kernel 4"]
    assert learned.weights_.min() >= 0
    assert np.all((learned.gaps_ >= 0) & (learned.gaps_ <= 1e-3))
    np.testing.assert_allclose(learned.shares_.sum(axis=1), 1)
    assert np.all(learned.shares_.argmax(axis=1) == 0)
    assert learned.classes_.tolist() == ["ant", "bee", "cat"]


def test_distances_become_kernels_by_their_mean(learned):
    np.testing.assert_allclose(learned.gammas_, GAMMAS)
    grams = np.exp(-learned.gammas_[:, None, None] * DISTANCES)
    of_grams = TradeoffClassifier("precomputed", C=10.0).fit(grams, LABELS)
    np.testing.assert_allclose(of_grams.weights_, learned.weights_)
    some = np.array([4, 0, 17])
    np.testing.assert_allclose(
        of_grams.decision_function(grams[:, some]), learned.decision_function(DISTANCES[:, some])
    )
    assert np.array_equal(learned.predict(DISTANCES), LABELS)


@pytest.mark.parametrize("scheme", ["ovo", "ova"])
def test_given_weights_are_sklearns_machine_on_the_sum(scheme):
    weights = [1.0, 0.5, 0.0, 0.1]
    classifier = TradeoffClassifier("precomputed", scheme, weights, C=5.0).fit(GRAMS, LABELS)
    K = np.tensordot(weights, GRAMS, axes=1)
    for task, machine in zip(classifier.tasks_, classifier.machines_, strict=True):
        svc = SVC(C=5.0, kernel="precomputed", tol=1e-6).fit(K[np.ix_(task.samples, task.samples)], task.targets)
        mine = K[:, task.samples] @ machine.coefficients + machine.offset
        np.testing.assert_allclose(mine, svc.decision_function(K[:, task.samples]), atol=5e-3)
    assert np.array_equal(classifier.weights_, np.tile(weights, (3, 1)))
    assert np.isnan(classifier.gaps_).all()
    scores = classifier.decision_function(GRAMS)
    assert scores.shape == (30, 3)
    assert np.array_equal(classifier.predict(GRAMS), classifier.classes_[scores.argmax(axis=1)])


def test_one_against_rest_has_one_task_per_class():
    classifier = TradeoffClassifier("precomputed", "ova", C=10.0).fit(GRAMS, LABELS)
    assert classifier.task_names_ == ["ant or rest", "bee or rest", "cat or rest"]
    assert np.mean(classifier.predict(GRAMS) == LABELS) > 0.9
    machine = classifier.machines_[1]
    by_hand = np.tensordot(machine.weights, GRAMS, axes=1) @ machine.coefficients + machine.offset
    np.testing.assert_allclose(classifier.decision_function(GRAMS)[:, 1], by_hand)


def test_equal_weights_are_the_mean():
    equal = TradeoffClassifier("precomputed", weights="equal", C=3.0).fit(GRAMS, LABELS)
    mean = TradeoffClassifier("precomputed", weights=[1.0], C=3.0).fit(GRAMS.mean(axis=0)[None], LABELS)
    assert np.all(equal.weights_ == 0.25)
    rows = GRAMS[:, :7]
    np.testing.assert_allclose(
        equal.decision_function(rows), mean.decision_function(rows.mean(axis=0)[None]), atol=1e-3
    )


def test_searched_weights_are_the_same_for_all_pairs_and_find_the_kernel_that_knows():
    classifier = TradeoffClassifier("precomputed", weights="search", C=10.0).fit(GRAMS[:2], LABELS)
    assert np.all(classifier.weights_ == classifier.weights_[0])
    assert classifier.weights_[0, 0] > 0.5


@pytest.mark.parametrize("scheme", ["ovo", "ova"])
def test_two_classes_have_one_decision(scheme):
    grams, labels = only(GRAMS, TWO, TWO), LABELS[TWO]
    classifier = TradeoffClassifier("precomputed", scheme, C=10.0).fit(grams, labels)
    decisions = classifier.decision_function(grams)
    assert decisions.shape == (20,)
    assert classifier.task_names_ == ["ant or bee"]
    assert np.array_equal(classifier.predict(grams), np.where(decisions > 0, "bee", "ant"))
    assert np.array_equal(classifier.predict(grams), labels)


def test_learned_weights_beat_equal_ones_among_noise():
    distances, labels = draw_task(n_per_class=13, n_noise=5, seed=5)
    training, test = np.arange(24), np.arange(24, 39)
    inside, across = only(distances, training, training), only(distances, test, training)
    scores = {
        weights: np.mean(
            TradeoffClassifier("distances", weights=weights).fit(inside, labels[:24]).predict(across) == labels[24:]
        )
        for weights in ("learned", "equal")
    }
    assert scores["learned"] >= scores["equal"] + 0.1


def test_options_reach_the_solver():
    sparse = TradeoffClassifier("precomputed", C=10.0).fit(GRAMS, LABELS).shares_
    even = TradeoffClassifier("precomputed", C=10.0, norm=3.0).fit(GRAMS, LABELS).shares_
    ridged = TradeoffClassifier("precomputed", C=10.0, ridge=5.0).fit(GRAMS, LABELS).shares_
    dear = TradeoffClassifier("precomputed", C=10.0, sigma=[5.0, 1, 1, 1]).fit(GRAMS, LABELS).shares_
    assert even.min() > sparse.min()
    assert np.sum(ridged**2) < np.sum(sparse**2)
    assert np.all(dear[:, 0] < sparse[:, 0])
    A, p = [[0, 0, 0, 1], [0, 1, -1, 0]], [2.0, 0.5]
    held = TradeoffClassifier("precomputed", C=10.0, constraints=(A, p), tolerance=1e-5).fit(GRAMS, LABELS)
    assert np.all(held.weights_ @ np.transpose(A) >= np.array(p) - 1e-9)
    assert held.gaps_.max() <= 1e-5
    assert held.weights_[:, 3].min() == pytest.approx(2.0)


@pytest.mark.parametrize("scheme", ["ovo", "ova"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_of_the_classes_and_sum_to_one(scheme, n_classes):
    kept = TWO if n_classes == 2 else np.arange(30)
    grams, labels = only(GRAMS, kept, kept), LABELS[kept]
    classifier = TradeoffClassifier("precomputed", scheme, C=10.0, probability=True).fit(grams, labels)
    probabilities = classifier.predict_proba(grams[:, ::3])
    assert probabilities.shape == (len(kept[::3]), n_classes)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert probabilities.min() >= 0
    assert np.mean(classifier.classes_[probabilities.argmax(axis=1)] == labels[::3]) > 0.8


def test_probabilities_are_there_only_if_asked_for(learned):
    assert not hasattr(learned, "predict_proba")
    few = [*np.flatnonzero(LABELS == "ant")[:5], np.flatnonzero(LABELS == "bee")[0]]
    with pytest.raises(ValueError, match="probability=True needs at least two images of every class"):
        TradeoffClassifier("precomputed", probability=True).fit(only(GRAMS, np.array(few), few), LABELS[few])


@pytest.mark.parametrize("scheme", ["ovo", "ova"])
def test_jobs_change_nothing(scheme):
    one, two = (
        TradeoffClassifier("precomputed", scheme, C=10.0, n_jobs=n_jobs, probability=True).fit(GRAMS, LABELS)
        for n_jobs in (1, 2)
    )
    assert np.array_equal(one.weights_, two.weights_)
    assert np.array_equal(one.decision_function(GRAMS), two.decision_function(GRAMS))
    assert np.array_equal(one.predict_proba(GRAMS), two.predict_proba(GRAMS))


def test_labels_may_be_anything_and_the_order_of_samples_does_not_matter(learned):
    numbers = TradeoffClassifier("distances", C=10.0).fit(DISTANCES, np.where(LABELS == "ant", -7, 40))
    assert set(numbers.predict(DISTANCES)) == {-7, 40}
    order = np.random.default_rng(0).permutation(30)
    mixed = TradeoffClassifier("distances", C=10.0, tolerance=1e-7).fit(only(DISTANCES, order, order), LABELS[order])
    sorted_ = TradeoffClassifier("distances", C=10.0, tolerance=1e-7).fit(DISTANCES, LABELS)
    np.testing.assert_allclose(mixed.weights_, sorted_.weights_, atol=5e-3)


@pytest.fixture(scope="module")
def of_images():
    images, labels = draw_strokes(10)
    kernels = [
        TangentDistance(Shifts(1), n_jobs=1),
        FeatureKernel(RowSums(), "euclidean", side=8, name="rows"),
        RowSums(),
        Products(),
    ]
    return TradeoffClassifier(kernels, C=10.0, probability=True).fit(images, labels), kernels


def test_kernels_of_images_are_fitted_in_copies(of_images):
    classifier, kernels = of_images
    assert classifier.kernel_names_[1:] == ["rows", "RowSums()", "Products()"]
    assert classifier.kernel_names_[0].startswith("TangentDistance")
    assert not hasattr(kernels[0], "sigma_")
    assert not hasattr(kernels[1], "features_")
    images, labels = draw_strokes(10)
    others, truth = draw_strokes(10, seed=1)
    assert np.mean(classifier.predict(others) == truth) > 0.8
    grams = np.stack([part.fit_gram(images) for part in classifier.base_kernels_])
    by_hand = TradeoffClassifier("precomputed", C=10.0).fit(grams, labels)
    np.testing.assert_allclose(by_hand.weights_, classifier.weights_)
    rows = np.stack([part.rows(others) for part in classifier.base_kernels_])
    np.testing.assert_allclose(by_hand.decision_function(rows), classifier.decision_function(others))
    assert classifier.predict_proba(others[:2]).shape == (2, 2)


def test_kernels_without_weight_are_not_computed(monkeypatch):
    images, labels = draw_strokes(6)
    others, _ = draw_strokes(3, seed=1)
    kernels = [FeatureKernel(RowSums(), "euclidean"), ImageKernel(TangentDistance(Identity(), n_jobs=1))]
    classifier = TradeoffClassifier(kernels, weights=[1.0, 0.0], C=10.0).fit(images, labels)
    alone = TradeoffClassifier(kernels[:1], weights=[1.0], C=10.0).fit(images, labels)
    monkeypatch.delattr(ImageKernel, "rows")
    np.testing.assert_array_equal(classifier.decision_function(others), alone.decision_function(others))


@pytest.mark.parametrize("n_images", [1, 3])
def test_jobs_change_nothing_of_images(of_images, n_images):
    classifier, _ = of_images
    others, _ = draw_strokes(3, seed=1)
    one = classifier.decision_function(others[:n_images])
    with parallel_config(backend="threading", n_jobs=2):
        np.testing.assert_array_equal(classifier.decision_function(others[:n_images]), one)


def test_the_cost_of_a_base_kernel_multiplies_sigma():
    images, labels = draw_strokes(6)
    dear = [ImageKernel(TangentDistance(Identity(), n_jobs=1), cost=4.0), FeatureKernel(RowSums(), "euclidean")]
    cheap = [ImageKernel(TangentDistance(Identity(), n_jobs=1)), FeatureKernel(RowSums(), "euclidean", cost=1.0)]
    by_cost = TradeoffClassifier(dear, C=10.0, sigma=[0.5, 2.0], norm=2.0).fit(images, labels)
    by_sigma = TradeoffClassifier(cheap, C=10.0, sigma=[2.0, 2.0], norm=2.0).fit(images, labels)
    assert np.array_equal(by_cost.weights_, by_sigma.weights_)
    without = TradeoffClassifier(cheap, C=10.0, sigma=[0.5, 2.0], norm=2.0).fit(images, labels)
    assert by_cost.shares_[0, 0] < without.shares_[0, 0]


def test_names_may_be_given():
    names = ["good", "a", "b", "c"]
    assert TradeoffClassifier("distances", kernel_names=names).fit(DISTANCES, LABELS).kernel_names_ == names
    images, labels = draw_strokes(4)
    classifier = TradeoffClassifier([Products(), RowSums()], kernel_names=("one", "two")).fit(images, labels)
    assert classifier.kernel_names_ == ["one", "two"]


def test_all_methods_of_the_library_are_weighed(monkeypatch):
    asked = []

    def few_kernels(transformations, random_state, n_jobs):
        asked.append((transformations, random_state, n_jobs))
        return [FeatureKernel(RowSums(), name="rows")]

    monkeypatch.setattr("invariance.tradeoff.classifier.default_kernels", few_kernels)
    images, labels = draw_strokes(4)
    phi = Shifts(1)
    classifier = TradeoffClassifier(transformations=phi, random_state=3, n_jobs=1).fit(images, labels)
    assert asked == [(phi, 3, 1)]
    assert classifier.kernel_names_ == ["rows"]


def test_a_saved_classifier_decides_the_same(of_images, learned, tmp_path):
    save(learned, tmp_path / "stack.zip")
    loaded = load(tmp_path / "stack.zip")
    assert np.array_equal(loaded.decision_function(DISTANCES), learned.decision_function(DISTANCES))
    assert np.array_equal(loaded.shares_, learned.shares_)
    assert loaded.task_names_ == learned.task_names_
    images, labels = draw_strokes(6)
    kernels = [TangentDistance(Shifts(1)), TangentDistance(Identity())]
    classifier = TradeoffClassifier(kernels, C=10.0, probability=True).fit(images, labels)
    save(classifier, tmp_path / "images.zip")
    loaded = load(tmp_path / "images.zip")
    assert np.array_equal(loaded.decision_function(images), classifier.decision_function(images))
    assert np.array_equal(loaded.predict_proba(images), classifier.predict_proba(images))
    save(of_images[0], tmp_path / "own.zip", trusted=[RowSums, Products])
    loaded = load(tmp_path / "own.zip", trusted=[RowSums, Products])
    assert np.array_equal(loaded.decision_function(images), of_images[0].decision_function(images))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scheme": "all"}, "scheme must be one of 'ovo', 'ova'; got 'all'"),
        ({"kernels": "rbf"}, "kernels must be one of 'all', 'precomputed', 'distances'; got 'rbf'"),
        ({"kernels": ["rbf"]}, "kernels must hold base kernels, kernels with diag, or transformers; got 'rbf'"),
        ({"weights": "best"}, "weights must be one of 'learned', 'equal', 'search'; got 'best'"),
        ({"weights": [1, 2]}, r"weights must be 4 numbers that are not negative; got \[1, 2\]"),
        ({"weights": [1, 2, 3, -4]}, r"weights must be 4 numbers that are not negative; got \[1, 2, 3, -4\]"),
        ({"C": 0}, "C must be a number from 1e-12 to inf; got 0"),
        ({"C": "1"}, "C must be a number from 1e-12 to inf; got '1'"),
        ({"tolerance": 0}, "tolerance must be a number from 1e-12 to 1; got 0"),
        ({"sigma": -1.5}, r"sigma must be one positive number, or 4, one per kernel; got -1.5"),
        ({"sigma": [1, 0, 1, 1]}, r"sigma must be one positive number, or 4, one per kernel; got \[1.0, 0.0"),
        ({"norm": 0.5}, "norm must be a number from 1 to 100; got 0.5"),
        ({"ridge": -1}, "ridge must be a number from 0 to inf; got -1"),
        ({"constraints": ([[1, 1]], [1])}, r"constraints must be A \(r, 4\) and p \(r,\); got \(1, 2\) and \(1,\)"),
        ({"constraints": (np.ones((1, 4)), [1, 2])}, r"constraints must be A .* got \(1, 4\) and \(2,\)"),
        ({"constraints": (np.ones((1, 4)), [1]), "norm": 2}, "constraints need norm=1 and ridge=0; got norm=2"),
        ({"constraints": (np.ones((1, 4)), [1]), "ridge": 3}, "constraints need norm=1 and .* and ridge=3"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        TradeoffClassifier(**{"kernels": "distances", **options}).fit(DISTANCES, LABELS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param({"sigma": [1, 2]}, "sigma"),
        pytest.param({"kernels": []}, "kernels"),
        pytest.param({"kernel_names": ["one"]}, "kernel_names"),
        pytest.param({"constraints": (-np.ones((1, 4)), [1])}, "constraints"),
        pytest.param({"constraints": (np.ones((1, 4)), [np.nan])}, "constraints"),
    ],
)
def test_more_wrong_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        TradeoffClassifier(**{"kernels": "distances", **options}).fit(DISTANCES, LABELS)


def test_wrong_stacks_are_named(learned):
    with pytest.raises(ValueError, match=r"square matrices; got shape \(4, 5, 30\)"):
        TradeoffClassifier("precomputed").fit(GRAMS[:, :5], LABELS)
    with pytest.raises(ValueError, match=r"must be \(k, m, n\) of finite numbers; got shape \(30, 30\)"):
        TradeoffClassifier("precomputed").fit(GRAMS[0], LABELS)
    with pytest.raises(ValueError, match="finite numbers"):
        TradeoffClassifier("precomputed").fit(np.where(GRAMS < 0.5, np.nan, GRAMS), LABELS)
    with pytest.raises(ValueError, match=r"needs a stack \(4, m, 30\) .*; got \(2, 30, 30\)"):
        learned.predict(DISTANCES[:2])
    with pytest.raises(ValueError, match=r"needs a stack \(4, m, 30\) .*; got \(4, 30, 5\)"):
        learned.predict(DISTANCES[:, :, :5])
    with pytest.raises(ValueError, match="got 30 images and 29 labels"):
        TradeoffClassifier("precomputed").fit(GRAMS, LABELS[:29])
    with pytest.raises(ValueError, match="at least two classes; got one class only, ant"):
        TradeoffClassifier("precomputed").fit(GRAMS, ["ant"] * 30)
    with pytest.raises(NotFittedError):
        TradeoffClassifier("precomputed").predict(GRAMS)


def test_flat_rows_are_images_of_the_stated_shape(of_images):
    classifier, kernels = of_images
    images, labels = draw_strokes(10)
    rows = images.reshape(20, -1)
    flat = TradeoffClassifier(kernels, C=10.0, image_shape=(11, 11)).fit(rows, labels)
    assert flat.n_features_in_ == 121
    np.testing.assert_array_equal(flat.decision_function(rows), classifier.decision_function(images))
    with pytest.raises(ValueError, match="121 features"):
        flat.predict(rows[:, :100])
    with pytest.raises(ValueError, match=r"image_shape \(5, 5\) needs 25 values per row of X; got 121"):
        TradeoffClassifier(kernels, image_shape=(5, 5)).fit(rows, labels)
    with pytest.raises(ValueError, match="image_shape"):
        TradeoffClassifier("all").fit(rows, labels)


def test_images_that_are_not_finite_are_refused(of_images):
    images = draw_strokes(2)[0]
    images[0, 3, 3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        of_images[0].predict(images)


def test_training_labels_are_kept_as_codes(learned):
    assert np.array_equal(learned.classes_[learned.codes_], LABELS)


def test_kernels_that_err_on_samples_held_out_cost_more():
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], 12)
    good = codes[:, None] + 0.3 * rng.standard_normal((36, 2))
    noise = rng.standard_normal((4, 36, 6))
    stack = np.stack([np.square(view[:, None] - view[None]).sum(axis=-1) for view in (noise[0], good, *noise[1:])])
    model = TradeoffClassifier("distances", sigma="cv", C=10.0).fit(stack, codes)
    assert model.costs_[1] == 1
    assert (np.delete(model.costs_, 1) > 1.5).all()
    plain = TradeoffClassifier("distances", C=10.0).fit(stack, codes)
    assert model.shares_[:, 1].mean() > plain.shares_[:, 1].mean() + 0.05
    with pytest.raises(ValueError, match="sigma must be one of 'cv'; got 'errors'"):
        TradeoffClassifier("distances", sigma="errors").fit(stack, codes)


class Memory(TransformerMixin, BaseEstimator):
    """Knows the labels of the images that it has seen, and nothing of others."""

    def fit(self, X, y):
        self.known_ = {image.tobytes(): label for image, label in zip(X, y, strict=True)}
        return self

    def transform(self, X):
        return np.array([[self.known_.get(image.tobytes(), -1), 1] for image in X], float)


def test_a_kernel_that_learns_from_the_labels_is_judged_on_images_it_has_not_seen():
    codes = np.repeat([0, 1, 2], 8)
    images = np.random.default_rng(0).random((24, 4, 4)) + codes[:, None, None] / 2
    pixels = FeatureKernel(FunctionTransformer(lambda X: X.reshape(len(X), -1)), "euclidean", labelled=False)
    model = TradeoffClassifier([FeatureKernel(Memory(), "euclidean"), pixels], sigma="cv").fit(images, codes)
    assert model.costs_[1] == 1
    assert model.costs_[0] > 1.5


DEGENERATE = {
    "constant": np.repeat(np.linspace(0, 1, 6), 64).reshape(6, 8, 8),
    "identical": np.tile(np.linspace(0, 1, 64).reshape(8, 8), (6, 1, 1)),
    "black": np.zeros((6, 8, 8)),
    "two of noise per class": np.random.default_rng(0).random((4, 8, 8)),
}


@pytest.mark.filterwarnings("ignore:all 6 training images are the same")
@pytest.mark.parametrize("images", DEGENERATE.values(), ids=DEGENERATE)
def test_images_in_which_jungles_find_nothing_are_classified_all_the_same(images):
    jungles = InvariantFeatures(Shifts(1), n_jungles=2, max_depth=2, max_steps=5, random_state=0)
    kernels = [FeatureKernel(jungles, "euclidean"), ImageKernel(TangentDistance(Identity()))]
    model = TradeoffClassifier(kernels, "ova", sigma="cv", probability=True)
    labels = np.repeat(["ant", "bee"], len(images) // 2)
    probabilities = model.fit(images.astype(np.float32), labels).predict_proba(images.astype(np.float32))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)


def test_images_that_are_all_the_same_are_warned_of():
    model = TradeoffClassifier([ImageKernel(TangentDistance(Identity()))])
    with pytest.warns(UserWarning, match="all 6 training images are the same"):
        model.fit(DEGENERATE["identical"].astype(np.float32), np.repeat([0, 1], 3))
