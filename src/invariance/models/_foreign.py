"""What predictions of scikit-learn's estimators read, and must find: its compiled code checks nothing of a model.

libsvm follows `support_` and `_n_support`, boosted trees their children, k-means and nearest neighbours the shapes of
their arrays. The attributes are those of the versions that pyproject.toml allows; tests forge every one of them.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from invariance._core.loaded import (
    FLAG,
    N_VALUES,
    TEXT,
    able,
    array,
    check_values,
    instance,
    is_fitted,
    labels,
    list_of,
    number,
    one_of,
    optional,
    whole,
)

MAX_THREADS = 1024
NODE = np.dtype([
    ("value", "<f8"), ("count", "<u4"), ("feature_idx", "<i8"), ("num_threshold", "<f8"), ("missing_go_to_left", "u1"),
    ("left", "<u4"), ("right", "<u4"), ("gain", "<f8"), ("depth", "<u4"), ("is_leaf", "u1"), ("bin_threshold", "u1"),
    ("is_categorical", "u1"), ("bitset_idx", "<u4"),
])  # fmt: skip


def check_foreign(estimator: Any) -> None:
    """Raise ValueError if an object of scikit-learn holds what its predictions cannot use."""
    check = CHECKS.get(type(estimator).__name__)
    if check is None:
        raise ValueError(f"a {type(estimator).__name__} cannot be checked.")
    if hasattr(estimator, "_parameter_constraints"):
        estimator._validate_params()
    check(estimator)


def _nothing(part: Any) -> None:
    """What predictions do not read, or what is checked with its owner."""


def _check_support_vectors(machine: Any) -> None:
    """Libsvm walks the support vectors of class after class, each class as many as `_n_support` says."""
    if not is_fitted(machine, "support_", "support_vectors_", "_n_support", "_dual_coef_", "_intercept_", "shape_fit_"):
        return
    is_classifier = type(machine).__name__ != "OneClassSVM"
    check_values(machine, n_features_in_=N_VALUES, shape_fit_=list_of(whole(1), 2), _sparse=one_of(False))
    n_samples, n_features = machine.shape_fit_
    if machine.n_features_in_ != n_features and not callable(machine.kernel):
        raise ValueError(f"a machine of {n_features} features must have n_features_in_ = {n_features}.")
    check_values(machine, support_=array((None,), np.int32, 0, n_samples - 1, contiguous=True))
    n_support = len(machine.support_)
    n_classes = 2
    if is_classifier:
        check_values(machine, classes_=labels())
        n_classes = len(machine.classes_)
        check_values(machine, _n_support=array((n_classes,), np.int32, 0, n_support), class_weight_=array((n_classes,)))
        if machine._n_support.sum(dtype=np.int64) != n_support or n_classes < 2:
            raise ValueError(f"the support vectors of the classes must be {n_support} together.")
        if (n_classes == 2) != (machine._dual_coef_ is not machine.dual_coef_ and len(machine.intercept_) == 1):
            raise ValueError("a machine must have one intercept for two classes.")
    else:
        check_values(machine, _n_support=array((2,), np.int32, -(2**31), 2**31 - 1), offset_=array((1,)))
    n_pairs = n_classes * (n_classes - 1) // 2
    coefficients, intercepts = array((n_classes - 1, n_support), np.float64), array((n_pairs,), np.float64)
    check_values(
        machine,
        dual_coef_=coefficients,
        _dual_coef_=coefficients,
        intercept_=intercepts,
        _intercept_=intercepts,
        _gamma=number(0),
        _effective_probability=one_of(False),
        _probA=array((0,), np.float64),
        _probB=array((0,), np.float64),
    )
    if callable(machine.kernel):
        check_values(machine, **{"_BaseLibSVM__Xfit": array((n_samples, n_features), np.float64)})
    elif machine.kernel == "precomputed":
        if n_samples != n_features:
            raise ValueError("a machine of precomputed kernels must be fitted to a square matrix.")
    else:
        check_values(machine, support_vectors_=array((n_support, n_features), np.float64, contiguous=True))


def _check_boosting(boosting: Any) -> None:
    """A sample walks from child to child until a leaf."""
    if not is_fitted(boosting, "_predictors", "_baseline_prediction", "classes_", "n_features_in_", "_loss"):
        return
    check_values(boosting, classes_=labels(), n_features_in_=N_VALUES)
    n_classes = len(boosting.classes_)
    n_scores = 1 if n_classes == 2 else n_classes
    tree = able("predict")
    check_values(
        boosting,
        n_trees_per_iteration_=one_of(n_scores),
        _baseline_prediction=array((1, n_scores), np.float64),
        _predictors=list_of(list_of(tree, n_scores)),
        _bin_mapper=able("transform"),
        is_categorical_=one_of(None),
        _preprocessor=one_of(None),
        _loss=able("predict_proba"),
    )
    check_values(
        boosting._bin_mapper,
        is_categorical_=array((boosting.n_features_in_,), np.uint8, 0, 0),
        n_threads=whole(1, MAX_THREADS),
    )
    is_binary = type(boosting._loss).__name__ == "HalfBinomialLoss"
    if is_binary != (n_scores == 1):
        raise ValueError("the loss of boosted trees must be that of their classes.")
    link = able("inverse")
    check_values(boosting._loss, link=link, n_classes=one_of(n_classes))
    if type(boosting._loss.link).__name__ != ("LogitLink" if is_binary else "MultinomialLogit"):
        raise ValueError("the link of boosted trees must be that of their loss.")
    for trees in boosting._predictors:
        for predictor in trees:
            _check_tree(predictor, boosting.n_features_in_)


def _check_tree(predictor: Any, n_features: int) -> None:
    """Children come after their parent and inside the array, so that walking the tree stays inside and ends."""
    bits = array((0, 8), np.uint32)
    check_values(predictor, nodes=instance(np.ndarray), binned_left_cat_bitsets=bits, raw_left_cat_bitsets=bits)
    nodes = predictor.nodes
    if nodes.dtype != NODE or nodes.ndim != 1 or len(nodes) == 0:
        raise ValueError("a tree must be an array of nodes.")
    here = np.flatnonzero(nodes["is_leaf"] == 0)
    inner = nodes[here]
    children = np.stack([inner["left"], inner["right"]])
    if not np.all((children > here) & (children < len(nodes))):
        raise ValueError("a tree has a child outside its nodes")
    if len(np.unique(children)) != children.size:
        raise ValueError("a tree has a node with two parents")
    if not np.all((inner["feature_idx"] >= 0) & (inner["feature_idx"] < n_features)):
        raise ValueError("a tree splits by a feature that does not exist")
    if nodes["is_categorical"].any():
        raise ValueError("a tree splits by categories, which models of images do not")
    if not np.all(np.abs(nodes["value"]) <= 1e6):  # scores of classes; also false for NaN
        raise ValueError("a tree has a leaf without a value")


def _check_kmeans(kmeans: Any) -> None:
    if is_fitted(kmeans, "cluster_centers_", "n_features_in_", "_n_threads"):
        check_values(kmeans, n_features_in_=N_VALUES, _n_threads=whole(1, MAX_THREADS))
        centers = array((None, kmeans.n_features_in_), contiguous=True)
        check_values(kmeans, cluster_centers_=centers)
        if kmeans.cluster_centers_.dtype not in (np.float32, np.float64) or len(kmeans.cluster_centers_) == 0:
            raise ValueError("the centres of k-means must be floats, and at least one.")


def _check_neighbours(neighbours: Any) -> None:
    """Compiled votes count the class `_y` of every neighbour."""
    if not is_fitted(neighbours, "_fit_X", "_y", "classes_", "n_features_in_", "_fit_method", "n_samples_fit_"):
        return
    check_values(
        neighbours,
        classes_=labels(),
        n_features_in_=N_VALUES,
        _fit_method=one_of("brute"),
        _tree=one_of(None),
        outputs_2d_=one_of(False),
        effective_metric_=TEXT,
        effective_metric_params_=instance(dict),
    )
    check_values(neighbours, _fit_X=array((None, neighbours.n_features_in_), np.float64, contiguous=True))
    n = len(neighbours._fit_X)
    check_values(
        neighbours,
        n_samples_fit_=one_of(n),
        _y=array((n,), np.int64, 0, len(neighbours.classes_) - 1),
        n_neighbors=whole(1, n),
    )


def _check_linear(machine: Any) -> None:
    fitted = ("coef_", "intercept_", "n_features_in_")
    if not is_fitted(machine, *fitted):
        return
    check_values(machine, classes_=labels(), n_features_in_=N_VALUES)
    n = 1 if len(machine.classes_) == 2 else len(machine.classes_)
    check_values(machine, coef_=array((n, machine.n_features_in_)), intercept_=array((n,)))
    if type(machine).__name__ == "LinearDiscriminantAnalysis":
        check_values(machine, _max_components=whole(0, machine.n_features_in_ + n))
    if "xbar_" in vars(machine):
        check_values(machine, xbar_=array((machine.n_features_in_,)), scalings_=array((machine.n_features_in_, None)))


def _check_bayes(classifier: Any) -> None:
    if is_fitted(classifier, "theta_", "var_", "class_prior_", "classes_", "n_features_in_"):
        check_values(classifier, classes_=labels(), n_features_in_=N_VALUES)
        shape = len(classifier.classes_), classifier.n_features_in_
        check_values(
            classifier,
            theta_=array(shape),
            var_=array(shape, low=1e-30),
            class_prior_=array(shape[:1], low=1e-30, high=1),
        )


def _check_centroids(classifier: Any) -> None:
    if is_fitted(classifier, "centroids_", "classes_", "n_features_in_", "class_prior_"):
        check_values(classifier, classes_=labels(), n_features_in_=N_VALUES)
        n = len(classifier.classes_)
        check_values(
            classifier,
            centroids_=array((n, classifier.n_features_in_), contiguous=True),
            class_prior_=array((n,), low=1e-30, high=1),
            within_class_std_dev_=array((classifier.n_features_in_,), low=0),
        )


def _check_scaler(scaler: Any) -> None:
    if not hasattr(scaler, "n_features_in_"):
        return
    check_values(scaler, n_features_in_=N_VALUES)
    n = scaler.n_features_in_
    for name in ("mean_", "scale_", "min_"):
        if vars(scaler).get(name) is not None:
            check_values(scaler, **{name: array((n,), low=1e-30 if name == "scale_" else -1e15)})
    wanted = {
        "StandardScaler": [
            name for name, used in (("mean_", "with_mean"), ("scale_", "with_std")) if getattr(scaler, used, 0)
        ],
        "MinMaxScaler": ["min_", "scale_"],
        "MaxAbsScaler": ["scale_"],
    }.get(type(scaler).__name__, [])
    for name in wanted:
        check_values(scaler, **{name: instance(np.ndarray)})


def _check_decomposition(decomposition: Any) -> None:
    if not is_fitted(decomposition, "components_", "n_features_in_"):
        return
    check_values(decomposition, n_features_in_=N_VALUES)
    check_values(decomposition, components_=array((None, decomposition.n_features_in_)))
    n = len(decomposition.components_)
    if type(decomposition).__name__ == "PCA":
        check_values(
            decomposition,
            mean_=array((decomposition.n_features_in_,)),
            explained_variance_=array((n,), low=0),
            n_components_=one_of(n),
        )
    elif type(decomposition).__name__ == "Nystroem":
        check_values(decomposition, normalization_=array((n, n)), component_indices_=array((n,), low=0))


def _check_sampler(sampler: Any) -> None:
    if is_fitted(sampler, "random_weights_", "random_offset_", "n_features_in_"):
        check_values(sampler, n_features_in_=N_VALUES, random_offset_=array((None,)))
        n = len(sampler.random_offset_)
        check_values(sampler, random_weights_=array((sampler.n_features_in_, n)), n_components=one_of(n))


def _check_labels(encoder: Any) -> None:
    if hasattr(encoder, "classes_"):
        check_values(encoder, classes_=labels())


def _check_binarizer(encoder: Any) -> None:
    if hasattr(encoder, "classes_"):
        check_values(encoder, classes_=labels(), y_type_=one_of("binary", "multiclass"), sparse_input_=FLAG)


def _check_several(classifier: Any) -> None:
    """One machine per class, or per pair of classes."""
    if "estimators_" not in vars(classifier):
        return
    is_pairs = type(classifier).__name__ == "OneVsOneClassifier"
    if is_pairs:
        check_values(classifier, classes_=labels(), pairwise_indices_=one_of(None))
    else:
        check_values(classifier, label_binarizer_=able("inverse_transform"))
        check_values(classifier.label_binarizer_, classes_=labels())
    n = len(classifier.classes_)
    n_machines = n * (n - 1) // 2 if is_pairs else (1 if n == 2 else n)
    check_values(classifier, estimators_=list_of(able("predict"), n_machines))


def _check_calibrated(classifier: Any) -> None:
    if not is_fitted(classifier, "calibrated_classifiers_", "classes_"):
        return
    check_values(classifier, classes_=labels(), calibrated_classifiers_=list_of(able("predict_proba"), at_least=1))
    n = len(classifier.classes_)
    for calibrated in classifier.calibrated_classifiers_:
        check_values(
            calibrated,
            estimator=able("predict"),
            calibrators=list_of(able("predict"), 1 if n == 2 else n),
            classes=labels(n),
            method=one_of("sigmoid"),
        )
        check_values(calibrated.estimator, classes_=labels(n))


def _check_sigmoid(sigmoid: Any) -> None:
    if is_fitted(sigmoid, "a_", "b_"):
        check_values(sigmoid, a_=number(), b_=number())


def _check_pipeline(pipeline: Any) -> None:
    check_values(pipeline, memory=one_of(None), verbose=FLAG)
    for step in pipeline.steps:
        if not isinstance(step, tuple) or len(step) != 2 or not isinstance(step[0], str):
            raise ValueError("a step of a pipeline must be a name and an estimator.")
    *before, (_, last) = pipeline.steps
    if not all(part in (None, "passthrough") or able("transform").holds(part) for _, part in before):
        raise ValueError("all steps of a pipeline but the last must transform.")
    if not (able("predict").holds(last) or able("transform").holds(last)):
        raise ValueError("the last step of a pipeline must predict or transform.")


def _check_union(union: Any) -> None:
    check_values(union, n_jobs=optional(whole(-MAX_THREADS, MAX_THREADS)))
    for step in union.transformer_list:
        if (
            not isinstance(step, tuple)
            or len(step) != 2
            or not isinstance(step[0], str)
            or not able("transform").holds(step[1])
        ):
            raise ValueError("a part of a union must be a name and a transformer.")


CHECKS: dict[str, Callable[[Any], None]] = {
    "CalibratedClassifierCV": _check_calibrated,
    "FeatureUnion": _check_union,
    "GaussianNB": _check_bayes,
    "HalfBinomialLoss": _nothing,
    "HalfMultinomialLoss": _nothing,
    "HistGradientBoostingClassifier": _check_boosting,
    "Interval": _nothing,
    "KMeans": _check_kmeans,
    "KNeighborsClassifier": _check_neighbours,
    "LabelBinarizer": _check_binarizer,
    "LabelEncoder": _check_labels,
    "LinearDiscriminantAnalysis": _check_linear,
    "LinearSVC": _check_linear,
    "LogisticRegression": _check_linear,
    "LogitLink": _nothing,
    "MaxAbsScaler": _check_scaler,
    "MinMaxScaler": _check_scaler,
    "MiniBatchKMeans": _check_kmeans,
    "MultinomialLogit": _nothing,
    "NearestCentroid": _check_centroids,
    "Normalizer": _check_scaler,
    "NuSVC": _check_support_vectors,
    "Nystroem": _check_decomposition,
    "OneClassSVM": _check_support_vectors,
    "OneVsOneClassifier": _check_several,
    "OneVsRestClassifier": _check_several,
    "PCA": _check_decomposition,
    "Pipeline": _check_pipeline,
    "RBFSampler": _check_sampler,
    "RidgeClassifier": _check_linear,
    "SGDClassifier": _check_linear,
    "SVC": _check_support_vectors,
    "StandardScaler": _check_scaler,
    "TreePredictor": _nothing,
    "TruncatedSVD": _check_decomposition,
    "_BinMapper": _nothing,
    "_CalibratedClassifier": _nothing,
    "_SigmoidCalibration": _check_sigmoid,
}
