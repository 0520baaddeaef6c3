"""Laws of every public estimator that fits: seeds, threads, files, parameters."""

import io
import pickle
import zipfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import skops.io
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_info, threadpool_limits

from invariance.models import ModelError, load, save
from invariance.models._container import PAYLOAD, write_container
from invariance.models._persistence import _describe_model
from tests.laws.catalogue import IMAGE_ESTIMATORS, is_kernel, name_of


def takes(estimator, parameter):
    return parameter in estimator.get_params(deep=False)


every_estimator = pytest.mark.parametrize("estimator", IMAGE_ESTIMATORS, ids=name_of)
every_threaded_estimator = pytest.mark.parametrize(
    "estimator", [estimator for estimator in IMAGE_ESTIMATORS if takes(estimator, "n_jobs")], ids=name_of
)
every_seeded_estimator = pytest.mark.parametrize(
    "estimator", [estimator for estimator in IMAGE_ESTIMATORS if takes(estimator, "random_state")], ids=name_of
)
# Estimators whose graphs compiled loops follow without looking.
every_graph = pytest.mark.parametrize(
    "estimator", [estimator for estimator in IMAGE_ESTIMATORS if takes(estimator, "max_depth")], ids=name_of
)

# Estimators with a seed that does not change anything with these settings, and why.
SEED_HAS_NO_EFFECT = {
    "ImageClassifier": "its method, tangent, draws nothing",
    "TradeoffClassifier": "it only seeds the kernels of kernels='all'",
}


def answer(model, X):
    """The most detailed prediction of a model."""
    for name in ("predict_proba", "decision_function", "score_samples", "transform", "rows"):
        if hasattr(model, name):
            return getattr(model, name)(X)
    if is_kernel(type(model)):
        return model(X)
    raise AssertionError(f"{type(model).__name__} has no prediction, no features and no kernel")


def ensemble_of(model):
    """The jungles of a model: itself, or the features by which a segmenter describes pixels."""
    return getattr(model, "features_", model)


def arrays_of(part):
    """Yield all arrays of a fitted model in a fixed order."""
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


def fit(estimator, task, **parameters):
    """Fit a copy on two threads of BLAS, which must not matter either."""
    with threadpool_limits(limits=2):
        return clone(estimator).set_params(**parameters).fit(*task)


_fitted: dict[int, bytes] = {}


@pytest.fixture
def model(estimator, task):
    """The fitted estimator, fitted once and copied for every law, so that a law may change it."""
    if id(estimator) not in _fitted:
        _fitted[id(estimator)] = pickle.dumps(fit(estimator, task))
    return pickle.loads(_fitted[id(estimator)])


def assert_same_model(ours, theirs, X):
    """The answers of both models and all their arrays agree bit for bit; what is computed once is there by then."""
    np.testing.assert_array_equal(answer(ours, X), answer(theirs, X))
    for our, their in zip(arrays_of(ours), arrays_of(theirs), strict=True):
        np.testing.assert_array_equal(our, their)


@every_estimator
def test_the_same_seed_gives_the_same_model(estimator, task, model):
    assert np.size(answer(model, task[0])) > 0
    assert_same_model(fit(estimator, task), model, task[0])


@every_threaded_estimator
def test_the_number_of_jobs_does_not_change_the_model(estimator, task, model):
    for n_jobs in (2, 3):
        parallel = fit(estimator, task, n_jobs=n_jobs)
        assert_same_model(parallel, model, task[0])


@every_estimator
def test_models_fitted_at_once_are_those_fitted_alone(estimator, task, model):
    with threadpool_limits(2, user_api="blas"), ThreadPoolExecutor(3) as pool:
        fits = [pool.submit(clone(estimator).fit, *task) for _ in range(3)]
        together = [future.result() for future in fits]
        assert {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"} == {2}
    for one in together:
        assert_same_model(one, model, task[0])


@every_seeded_estimator
def test_another_seed_gives_another_model(estimator, task, model):
    """The laws above can fail."""
    if type(estimator).__name__ in SEED_HAS_NO_EFFECT:
        assert_same_model(fit(estimator, task, random_state=1), model, task[0])
    else:
        with pytest.raises(AssertionError):
            assert_same_model(fit(estimator, task, random_state=1), model, task[0])


class Careless(BaseEstimator):
    """Breaks the laws: it draws without a seed, and what it learns depends on the number of jobs."""

    def __init__(self, n_jobs=1, random_state=None):
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X, y=None):
        self.draw_ = np.random.default_rng(self.random_state).random(3)
        self.jobs_ = np.array([self.n_jobs])
        return self

    def transform(self, X):
        return np.tile(self.draw_, (len(X), 1))


def test_the_laws_see_a_careless_estimator(tasks):
    task = tasks["images"]
    careful = fit(Careless(random_state=0), task)
    assert_same_model(fit(Careless(random_state=0), task), careful, task[0])
    with pytest.raises(AssertionError):
        assert_same_model(fit(Careless(), task), fit(Careless(), task), task[0])
    with pytest.raises(AssertionError):
        assert_same_model(fit(Careless(random_state=0, n_jobs=2), task), careful, task[0])


@every_estimator
def test_fitting_again_gives_the_same_model(estimator, task, model):
    before = answer(model, task[0])
    np.testing.assert_array_equal(answer(model.fit(*task), task[0]), before)


@every_seeded_estimator
def test_a_generator_is_a_seed_as_well(estimator, task):
    first, second = (fit(estimator, task, random_state=np.random.default_rng(7)) for _ in range(2))
    np.testing.assert_array_equal(answer(first, task[0]), answer(second, task[0]))


@every_estimator
def test_a_saved_model_answers_the_same(estimator, task, model, tmp_path):
    loaded = load(save(model, tmp_path / "model.zip"))
    assert type(loaded) is type(model)
    assert repr(loaded) == repr(model)
    assert_same_model(loaded, model, task[0])


@every_estimator
def test_a_pickled_model_answers_the_same(estimator, task, model):
    """joblib sends models to other processes this way."""
    assert_same_model(pickle.loads(pickle.dumps(model)), model, task[0])


FORGERIES = {
    "a child outside": {"left": 10_000},
    "a child before its parent": {"right": 0},
    "a filter that does not exist": {"feature": 10_000},
    "a negative filter": {"feature": -7},
    "a transformation that does not exist": {"members": 10_000},
    "a negative transformation": {"members": -1},
}


@pytest.mark.parametrize("changes", FORGERIES.values(), ids=FORGERIES.keys())
@every_graph
def test_a_forged_graph_is_refused(estimator, changes, model, tmp_path):
    """Compiled loops follow stored numbers without looking; a file whose checksum is right may still hold any."""
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


@every_graph
def test_the_forged_files_are_whole_but_for_the_forgery(estimator, task, model, tmp_path):
    """The law above refuses the numbers, not the way in which its files are written."""
    path = tmp_path / "model.zip"
    write_container(path, _describe_model(model), skops.io.dumps(model))
    np.testing.assert_array_equal(answer(load(path), task[0]), answer(model, task[0]))
    with zipfile.ZipFile(path) as archive:
        assert zipfile.ZipFile(io.BytesIO(archive.read(PAYLOAD))).testzip() is None


@every_estimator
def test_parameters_are_kept_as_given(estimator, task):
    model = clone(estimator)
    before = model.get_params()
    assert before.keys() == estimator.get_params().keys()
    model.fit(*task)
    after = model.get_params()
    assert all(after[name] is before[name] for name in before)
    assert repr(clone(model)) == repr(estimator)


@every_estimator
def test_a_clone_is_not_fitted_unless_it_is_a_kernel(estimator, model):
    """Kernels keep what they learned: `SVC(kernel=k)` clones its kernel in every cross-validation."""
    if is_kernel(type(model)) or not get_tags(model).requires_fit:
        check_is_fitted(clone(model))
    else:
        with pytest.raises(NotFittedError):
            check_is_fitted(clone(model))
