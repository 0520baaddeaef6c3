"""Laws of every estimator."""

import io
import pickle
import zipfile

import numpy as np
import pytest
import skops.io
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from invariance.datasets import make_glyphs, make_membranes
from invariance.models import ModelError, load, save
from invariance.models._container import PAYLOAD, write_container
from invariance.models._persistence import _describe_model
from tests.laws.catalogue import ESTIMATORS, EXPECTED_FAILURES, IMAGE_ESTIMATORS, PIXEL_ESTIMATORS, name_of

every_image_estimator = pytest.mark.parametrize("estimator", IMAGE_ESTIMATORS + PIXEL_ESTIMATORS, ids=name_of)


@pytest.fixture(scope="module")
def glyphs():
    data = make_glyphs(20, size=16, random_state=0)
    order = np.random.default_rng(0).permutation(len(data.labels))
    return data.images[order], np.array(data.class_names)[data.labels[order]]


@pytest.fixture(scope="module")
def membranes():
    """Images, and masks of which the right edge is not labelled."""
    data = make_membranes(2, (48, 56), cell_size=20, random_state=0)
    masks = data.masks.astype(int)
    masks[:, :, 40:] = 9
    return data.images, masks


@pytest.fixture
def task(estimator, glyphs, membranes):
    """Images and what is to be learned of them: a label each, or a mask each."""
    return membranes if estimator in PIXEL_ESTIMATORS else glyphs


def answer(model, images):
    """What a model says of images, as precisely as it says it."""
    return model.predict_proba(images) if hasattr(model, "predict_proba") else model.transform(images)


def ensemble_of(model):
    """The jungles of a model: it itself, or what a segmenter describes pixels by."""
    return getattr(model, "features_", model)


def arrays_of(part):
    """All arrays of a fitted model, in a fixed order."""
    if isinstance(part, np.ndarray):
        yield part
    elif isinstance(part, list | tuple):
        for item in part:
            yield from arrays_of(item)
    elif isinstance(part, dict):
        for name in sorted(part, key=str):
            yield from arrays_of(part[name])
    elif hasattr(part, "__dict__"):
        yield from arrays_of(vars(part))


def expected_failures(estimator):
    return EXPECTED_FAILURES.get(type(estimator).__name__, {})


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@every_image_estimator
def test_the_same_seed_gives_the_same_model_for_every_number_of_jobs(estimator, task):
    images, labels = task
    models = []
    for n_jobs in (1, 2, 3) if "n_jobs" in estimator.get_params() else (1, 1):
        model = clone(estimator)
        if n_jobs > 1:
            model.set_params(n_jobs=n_jobs)
        with threadpool_limits(limits=2):
            models.append(model.fit(images, labels))
    first = list(arrays_of(models[0]))
    assert len(first) > 8
    for other in models[1:]:
        for ours, theirs in zip(first, arrays_of(other), strict=True):
            np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_array_equal(answer(other, images), answer(models[0], images))


@every_image_estimator
def test_another_seed_gives_another_model(estimator, task):
    """The law above can fail."""
    images, labels = task
    one, other = clone(estimator).fit(images, labels), clone(estimator).set_params(random_state=1).fit(images, labels)
    assert not np.array_equal(ensemble_of(one).filters_, ensemble_of(other).filters_)


@every_image_estimator
def test_fitting_again_gives_the_same_model(estimator, task):
    images, labels = task
    model = clone(estimator).fit(images, labels)
    before = answer(model, images)
    np.testing.assert_array_equal(answer(model.fit(images, labels), images), before)


@every_image_estimator
def test_a_generator_is_a_seed_as_well(estimator, task):
    images, labels = task
    fits = [
        ensemble_of(clone(estimator).set_params(random_state=np.random.default_rng(7)).fit(images, labels)).filters_
        for _ in range(2)
    ]
    np.testing.assert_array_equal(*fits)


@every_image_estimator
def test_a_saved_model_answers_the_same(estimator, task, tmp_path):
    images, labels = task
    model = clone(estimator).fit(images, labels)
    loaded = load(save(model, tmp_path / "model.zip"))
    assert type(loaded) is type(model)
    assert repr(loaded) == repr(model)
    np.testing.assert_array_equal(answer(loaded, images), answer(model, images))
    np.testing.assert_array_equal(loaded.classes_, model.classes_)
    np.testing.assert_array_equal(ensemble_of(loaded).filters_, ensemble_of(model).filters_)


@every_image_estimator
def test_a_pickled_model_answers_the_same(estimator, task):
    """joblib sends models to other processes this way."""
    images, labels = task
    model = clone(estimator).fit(images, labels)
    np.testing.assert_array_equal(answer(pickle.loads(pickle.dumps(model)), images), answer(model, images))


FORGERIES = {
    "a child outside": {"left": 10_000},
    "a child before its parent": {"right": 0},
    "a filter that does not exist": {"feature": 10_000},
    "a negative filter": {"feature": -7},
    "a transformation that does not exist": {"members": 10_000},
    "a negative transformation": {"members": -1},
}


@pytest.mark.parametrize("changes", FORGERIES.values(), ids=FORGERIES.keys())
@every_image_estimator
def test_a_forged_graph_is_refused(estimator, changes, task, tmp_path):
    """Compiled loops follow stored numbers without looking; a file whose checksum is right may still hold any."""
    images, labels = task
    model = clone(estimator).fit(images, labels)
    dags = ensemble_of(model).dags_
    dag = dags[-1]
    for name, value in changes.items():
        forged = getattr(dag, name).copy()
        forged[: 1 if name != "members" else None] = value
        dag = dag._replace(**{name: forged})
    dags[-1] = dag
    path = tmp_path / "forged.zip"
    with pytest.raises(ModelError):
        save(model, path)
    assert not path.exists()
    write_container(path, _describe_model(model), skops.io.dumps(model))
    with pytest.raises(ModelError, match="forged.zip"):
        load(path)


def test_the_forged_files_are_whole_but_for_the_forgery(glyphs, tmp_path):
    """The law above refuses the numbers, not the way in which its files are written."""
    images, labels = glyphs
    model = clone(IMAGE_ESTIMATORS[0]).fit(images, labels)
    path = tmp_path / "model.zip"
    write_container(path, _describe_model(model), skops.io.dumps(model))
    np.testing.assert_array_equal(answer(load(path), images), answer(model, images))
    with zipfile.ZipFile(path) as archive:
        assert zipfile.ZipFile(io.BytesIO(archive.read(PAYLOAD))).testzip() is None


@every_image_estimator
def test_parameters_are_kept_as_given(estimator, task):
    images, labels = task
    model = clone(estimator)
    before = model.get_params()
    assert before.keys() == estimator.get_params().keys()
    model.fit(images, labels)
    after = model.get_params()
    assert all(after[name] is before[name] for name in before)
    assert repr(clone(model)) == repr(estimator)
    with pytest.raises(NotFittedError):
        check_is_fitted(clone(model))
    rebuilt = type(model)(**model.get_params(deep=False))
    np.testing.assert_array_equal(answer(rebuilt.fit(images, labels), images), answer(model, images))
