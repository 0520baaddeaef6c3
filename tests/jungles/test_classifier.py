"""The classifiers as people use them."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.callback import ProgressBar
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from invariance.jungles import InvariantFeatures, JungleClassifier, TreeClassifier, ensemble
from invariance.jungles.dag import leaf_probabilities
from invariance.transformations import Custom, Gamma, IlluminationCorrections, Reflections, Rotations, Shifts
from tests.jungles.toys import QUICK

FINAL_ESTIMATORS = ["vote", "linear", "discriminant", "boosting", GaussianNB()]


def name_of(final_estimator):
    return final_estimator if isinstance(final_estimator, str) else type(final_estimator).__name__


def test_invariance_pays(glyphs):
    """Eight drawings per class, turned at random: knowing that turns do not matter is worth most of the error."""
    (images, labels), (test_images, test_labels) = glyphs
    for seed in range(3):
        settings = {"n_jungles": 5, "max_depth": 6, "max_steps": 20, "rank": 48, "random_state": seed}
        scores = [
            JungleClassifier(phi, **settings).fit(images[:48], labels[:48]).score(test_images, test_labels)
            for phi in (None, Rotations(8))
        ]
        assert scores[1] > 0.9
        assert scores[1] > scores[0] + 0.2


@pytest.mark.parametrize("final_estimator", FINAL_ESTIMATORS, ids=name_of)
def test_final_estimators(glyphs, final_estimator):
    (images, labels), (test_images, test_labels) = glyphs
    names = np.array(["arrow", "cross", "fork", "hook", "triangle", "zigzag"])
    model = JungleClassifier(Rotations(4), **QUICK, final_estimator=final_estimator).fit(images, names[labels])
    probabilities = model.predict_proba(test_images)
    assert probabilities.shape == (len(test_labels), 6)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-5)
    assert probabilities.min() >= 0
    np.testing.assert_array_equal(model.predict(test_images), model.classes_[probabilities.argmax(axis=1)])
    assert model.score(test_images, names[test_labels]) > 0.75
    assert (model.final_estimator_ is None) == (final_estimator == "vote")


def test_the_given_final_estimator_is_cloned(glyphs):
    (images, labels), _ = glyphs
    final_estimator = GaussianNB()
    JungleClassifier(**QUICK, final_estimator=final_estimator).fit(images, labels)
    with pytest.raises(NotFittedError):
        final_estimator.predict(np.ones((1, 4)))


@pytest.mark.parametrize("final_estimator", [*FINAL_ESTIMATORS, LogisticRegression()], ids=name_of)
def test_final_estimators_use_sample_weights(final_estimator):
    """Labels that no image can tell: what is left to learn is how heavy the classes are."""
    rng = np.random.default_rng(0)
    images, labels = rng.random((120, 6, 6)), rng.integers(0, 2, 120)
    settings = QUICK | {"max_depth": 2, "validation_fraction": 0.0}
    model = JungleClassifier(**settings, final_estimator=final_estimator).fit(
        images, labels, sample_weight=np.where(labels == 1, 50, 1)
    )
    assert model.predict_proba(images)[:, 1].mean() > 0.7


@pytest.mark.parametrize("final_estimator", FINAL_ESTIMATORS, ids=name_of)
def test_images_that_are_all_alike_get_the_shares_of_the_classes(final_estimator):
    """No filter can be learned, and still there is an answer."""
    labels = np.repeat([0, 1], [15, 5])
    model = JungleClassifier(**QUICK, final_estimator=final_estimator).fit(np.ones((20, 5, 5)), labels)
    np.testing.assert_allclose(model.predict_proba(np.ones((3, 5, 5))), np.tile([0.75, 0.25], (3, 1)), atol=1e-6)
    assert model.predict(np.ones((1, 5, 5))) == [0]


def test_the_vote_is_the_mean_of_the_leaves(glyphs):
    (images, labels), (test_images, _) = glyphs
    model = JungleClassifier(Rotations(4), **QUICK).fit(images, labels)
    leaves = model.apply(test_images)
    votes = [leaf_probabilities(dag)[leaves[:, i]] for i, dag in enumerate(model.dags_)]
    np.testing.assert_allclose(model.predict_proba(test_images), np.mean(votes, axis=0))


@pytest.mark.parametrize("phi", [None, Rotations(4), Shifts(1) * IlluminationCorrections()], ids=repr)
def test_apply_is_the_end_of_the_decision_path(glyphs, phi):
    (images, labels), (test_images, _) = glyphs
    model = JungleClassifier(phi, **QUICK, max_members=0.5).fit(images, labels)
    leaves = model.apply(test_images)
    indicator, starts = model.decision_path(test_images)
    assert leaves.shape == (len(test_images), 2)
    assert indicator.shape == (len(test_images), starts[-1])
    assert starts.tolist() == [0, model.dags_[0].n_nodes, model.dags_[0].n_nodes + model.dags_[1].n_nodes]
    for jungle, dag in enumerate(model.dags_):
        visited = indicator[:, starts[jungle] : starts[jungle + 1]].toarray().astype(bool)
        assert visited[:, 0].all()
        last = visited.shape[1] - 1 - visited[:, ::-1].argmax(axis=1)
        np.testing.assert_array_equal(last, leaves[:, jungle])
        assert dag.is_leaf[last].all()
        # One node a layer at most, and none twice.
        assert visited.sum(axis=1).max() <= dag.layer.max() + 1


def test_blocks_do_not_change_the_answer(glyphs, monkeypatch):
    (images, labels), (test_images, _) = glyphs
    model = JungleClassifier(Rotations(4), **QUICK).fit(images, labels)
    whole = model.predict_proba(test_images), model.apply(test_images), model.decision_path(test_images)[0].toarray()
    monkeypatch.setattr(ensemble, "BLOCK_BYTES", 20_000)
    assert len(list(model._orbit_blocks(test_images))) > 10
    np.testing.assert_allclose(model.predict_proba(test_images), whole[0])
    np.testing.assert_array_equal(model.apply(test_images), whole[1])
    np.testing.assert_array_equal(model.decision_path(test_images)[0].toarray(), whole[2])


@pytest.mark.parametrize("phi", [Rotations(4), Rotations(4) * Gamma(3)])
def test_filters_under_all_members_may_be_kept_or_not(glyphs, monkeypatch, phi):
    (images, labels), (test_images, _) = glyphs
    model = JungleClassifier(phi, **QUICK, max_members=0.7, final_estimator="linear").fit(images, labels)
    kept = model.predict_proba(test_images)
    monkeypatch.setattr(ensemble, "MAX_KEPT_BYTES", 0)
    restored = pickle.loads(pickle.dumps(model))
    assert vars(restored).keys() == vars(model).keys()
    np.testing.assert_array_equal(restored.predict_proba(test_images), kept)
    assert not hasattr(restored, "_kept_filters")


def test_a_second_fit_forgets_the_first(glyphs):
    (images, labels), (test_images, _) = glyphs
    model = JungleClassifier(Rotations(4), **QUICK, final_estimator="linear")
    again = model.fit(images, labels).fit(images[::-2], labels[::-2]).predict_proba(test_images)
    new = clone(model).fit(images[::-2], labels[::-2])
    np.testing.assert_array_equal(again, new.predict_proba(test_images))


@pytest.mark.parametrize(
    "phi",
    [
        IlluminationCorrections(),
        Gamma(3),
        Rotations(4) * Reflections(),
        Shifts(1) | Rotations(4),
        Shifts(1) * IlluminationCorrections(),
        Rotations(4) * Gamma(3),
        Shifts(1).closure(),
        Custom([np.flipud]),
    ],
    ids=lambda phi: type(phi).__name__ if isinstance(phi, Custom) else repr(phi),
)
def test_every_kind_of_set(glyphs, phi):
    (images, labels), (test_images, test_labels) = glyphs
    model = JungleClassifier(phi, **QUICK).fit(images, labels)
    assert len(model.reduced_.matrices) == len(phi.operators((16, 16)).alterations)
    assert model.score(test_images, test_labels) > 0.7  # from 0.8 to 1; chance is 0.17


def test_colour_images(glyphs):
    """The colour tells two classes of one shape apart, and a filter has channels."""
    (images, labels), (test_images, test_labels) = glyphs

    def paint(drawings, codes):
        colours = np.where((codes % 2)[:, None], [1.0, 0.2, 0.2], [0.2, 0.2, 1.0])
        return drawings[..., None] * colours[:, None, None, :]

    rng = np.random.default_rng(0)
    colours, test_colours = rng.integers(0, 2, len(labels)), rng.integers(0, 2, len(test_labels))
    model = JungleClassifier(Rotations(4), **QUICK).fit(paint(images, colours), colours)
    assert model.score(paint(test_images, test_colours), test_colours) > 0.9
    assert model.filters_.shape[1:] == (16, 16, 3)
    with pytest.raises(ValueError, match=r"shape \(16, 16\).*\(16, 16, 3\)"):
        model.predict(test_images)


def test_the_forms_of_images_are_the_same_images(glyphs):
    (images, labels), (test_images, _) = glyphs
    expected = JungleClassifier(Rotations(4), **QUICK).fit(images, labels).predict_proba(test_images)
    flat = JungleClassifier(Rotations(4), **QUICK, image_shape=(16, 16)).fit(images.reshape(-1, 256), labels)
    np.testing.assert_array_equal(flat.predict_proba(test_images.reshape(-1, 256)), expected)
    as_list = JungleClassifier(Rotations(4), **QUICK).fit(list(images), labels.tolist())
    np.testing.assert_array_equal(as_list.predict_proba(list(test_images)), expected)
    one_channel = JungleClassifier(Rotations(4), **QUICK).fit(images[..., None], labels)
    np.testing.assert_array_equal(one_channel.predict_proba(test_images[..., None]), expected)


def test_filters_are_images_that_give_the_responses(glyphs):
    (images, labels), (test_images, _) = glyphs
    phi = Rotations(4)
    model = InvariantFeatures(phi, **QUICK | {"rank": 256}).fit(images, labels)
    orbit = phi.operators((16, 16)).apply(test_images)
    responses = np.einsum("nthw,khw->nkt", orbit, model.filters_).max(axis=2)
    np.testing.assert_allclose(model.transform(test_images), responses, atol=1e-4 * responses.std())
    assert len(model.filters_) == sum(len(dag.filters) for dag in model.dags_)


WRONG = [
    ("n_jungles", 0),
    ("n_jungles", 2.5),
    ("final_estimator", "forest"),
    ("final_estimator", LinearSVC()),
    ("max_depth", 0),
    ("max_width", 1),
    ("max_width", "wide"),
    ("threshold", "median"),
    ("targets", "triples"),
    ("smoothness", -1),
    ("smoothness", float("nan")),
    ("rank", 0),
    ("rank", "full"),
    ("max_samples", 1.5),
    ("max_members", -0.1),
    ("validation_fraction", 1.0),
    ("patience", 0),
    ("min_samples_leaf", 0),
    ("n_init", 0),
    ("max_steps", 0),
    ("class_weight", "heavy"),
    ("image_shape", (16,)),
    ("transformations", "rotations"),
    ("transformations", Rotations),
]


@pytest.mark.parametrize(("name", "value"), WRONG, ids=lambda value: getattr(value, "__name__", None) or str(value))
def test_a_wrong_parameter_is_named_with_its_value(glyphs, name, value):
    (images, labels), _ = glyphs
    with pytest.raises(ValueError, match=name) as caught:
        JungleClassifier(**QUICK | {name: value}).fit(images[:40], labels[:40])
    message = str(caught.value)
    assert repr(value) in message
    assert "\n" not in message


def test_wrong_extremes_are_named_with_their_value(glyphs):
    (images, labels), _ = glyphs
    with pytest.raises(ValueError, match="extremes must be .*'middle'"):
        InvariantFeatures(**QUICK, extremes="middle").fit(images, labels)


@pytest.mark.parametrize(
    "weights", [np.zeros(180), np.r_[-1, np.ones(179)], np.ones(7)], ids=["none", "negative", "few"]
)
def test_wrong_weights_are_refused(glyphs, weights):
    (images, labels), _ = glyphs
    with pytest.raises(ValueError, match="(?i)sample.weight"):
        JungleClassifier(**QUICK).fit(images, labels, sample_weight=weights)


def test_one_class_is_refused(glyphs):
    (images, labels), _ = glyphs
    with pytest.raises(ValueError, match="two classes"):
        JungleClassifier(**QUICK).fit(images, np.zeros(len(labels)))


@pytest.mark.parametrize("method", ["predict", "predict_proba", "apply", "decision_path"])
def test_nothing_is_told_before_fitting(glyphs, method):
    (images, _), _ = glyphs
    with pytest.raises(NotFittedError):
        getattr(JungleClassifier(), method)(images)


class Recorder:
    """A callback that writes down what it is told."""

    def __init__(self):
        self.events = []

    def setup(self, estimator, context):
        self.events.append(("setup", context.task_name, context.max_subtasks))

    def on_fit_task_begin(self, estimator, context, **details):
        self.events.append(("begin", context.task_name, context.task_id))

    def on_fit_task_end(self, estimator, context, **details):
        self.events.append(("end", context.task_name, context.task_id))

    def teardown(self, estimator, context):
        self.events.append(("teardown", context.task_name, context.max_subtasks))


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("kind", [JungleClassifier, InvariantFeatures])
def test_a_callback_sees_one_task_a_jungle(glyphs, kind, n_jobs):
    (images, labels), _ = glyphs
    recorder = Recorder()
    model = kind(**QUICK | {"n_jungles": 3}, n_jobs=n_jobs).set_callbacks(recorder)
    model.fit(images, labels)
    jungles = [(event, "jungle", number) for number in range(3) for event in ("begin", "end")]
    root = [("begin", "fit", 0), *jungles, ("end", "fit", 0)]
    assert recorder.events == [("setup", "fit", 3), *root, ("teardown", "fit", 3)]


def test_callbacks_do_not_change_the_model(glyphs, capsys):
    (images, labels), _ = glyphs
    plain = TreeClassifier(max_depth=3, random_state=0).fit(images, labels)
    watched = TreeClassifier(max_depth=3, random_state=0).set_callbacks(ProgressBar())
    np.testing.assert_array_equal(watched.fit(images, labels).predict(images), plain.predict(images))
    captured = capsys.readouterr()
    assert "TreeClassifier" in captured.out + captured.err
