"""Which types a model file may contain, and how each is built; all others are refused.

A class is looked up by name and built by the loader that the file names: one loader fills attributes, another calls the
class with arguments from the file. What is harmless with one loader need not be with another; numpy.ndarray,
called with bytes of the file, is an array of pointers. So pairs of loader and class are trusted, and only those that
`save` writes. Those of Python, numpy and scikit-learn are listed here; a test saves an example of each. A class of the
library is trusted if it is an estimator, a NamedTuple or a dataclass that checks itself with `check_loaded`.
"""

import dataclasses
import importlib
from collections.abc import Collection, Sequence
from typing import Any

SKLEARN = frozenset(
    f"sklearn.{name}"
    for name in (
        "_loss.link.Interval",
        "_loss.link.LogitLink",
        "_loss.link.MultinomialLogit",
        "_loss.loss.HalfBinomialLoss",
        "_loss.loss.HalfMultinomialLoss",
        "calibration.CalibratedClassifierCV",
        "calibration._CalibratedClassifier",
        "calibration._SigmoidCalibration",
        "cluster._kmeans.KMeans",
        "cluster._kmeans.MiniBatchKMeans",
        "decomposition._pca.PCA",
        "decomposition._truncated_svd.TruncatedSVD",
        "discriminant_analysis.LinearDiscriminantAnalysis",
        "ensemble._hist_gradient_boosting.binning._BinMapper",
        "ensemble._hist_gradient_boosting.gradient_boosting.HistGradientBoostingClassifier",
        "ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "kernel_approximation.Nystroem",
        "kernel_approximation.RBFSampler",
        "linear_model._logistic.LogisticRegression",
        "linear_model._ridge.RidgeClassifier",
        "linear_model._stochastic_gradient.SGDClassifier",
        "multiclass.OneVsOneClassifier",
        "multiclass.OneVsRestClassifier",
        "naive_bayes.GaussianNB",
        "neighbors._classification.KNeighborsClassifier",
        "neighbors._nearest_centroid.NearestCentroid",
        "pipeline.FeatureUnion",
        "pipeline.Pipeline",
        "preprocessing._data.MaxAbsScaler",
        "preprocessing._data.MinMaxScaler",
        "preprocessing._data.Normalizer",
        "preprocessing._data.StandardScaler",
        "preprocessing._label.LabelBinarizer",
        "preprocessing._label.LabelEncoder",
        "svm._classes.LinearSVC",
        "svm._classes.NuSVC",
        "svm._classes.OneClassSVM",
        "svm._classes.SVC",
    )
)

# The classes that each loader may build.
PAIRS: dict[str, frozenset[str]] = {
    "JsonNode": frozenset({"builtins.str"}),  # None, bool, int, float and str, all under this name
    "ListNode": frozenset({"builtins.list"}),
    "TupleNode": frozenset({"builtins.tuple"}),
    "DictNode": frozenset({"builtins.dict"}),
    "TypeNode": frozenset({"builtins.str", "builtins.int", "numpy.int64", "numpy.str_"}),  # of the keys of dicts
    "NdArrayNode": frozenset({
        "numpy.ndarray", "numpy.bool", "numpy.int32", "numpy.int64", "numpy.uint64", "numpy.float32", "numpy.float64",
        "numpy.str_",
    }),
    "RandomGeneratorNode": frozenset({"numpy.random._generator.Generator"}),
    "RandomStateNode": frozenset({"numpy.random.mtrand.RandomState"}),
    "LossNode": frozenset({
        "sklearn._loss._loss.CyHalfBinomialLoss",
        "sklearn._loss._loss.CyHalfMultinomialLoss",
        "sklearn.linear_model._sgd_fast.Hinge",
    }),
    "ObjectNode": SKLEARN,
}  # fmt: skip

# The packages of the library with classes that models are made of. Others open files or run commands.
MODEL_ROOMS = frozenset({
    "codebooks", "descriptors", "encoders", "hierarchies", "jungles", "methods", "segmentation", "tangents", "tradeoff",
    "transformations", "trees",
})  # fmt: skip

LISTED = frozenset().union(*PAIRS.values())
# How a class or function that the caller trusts may be built, unless it is one of those above.
LOADERS_OF_CALLER = frozenset({
    "ObjectNode", "ConstructorFromReduceNode", "TupleNode", "ListNode", "DictNode", "SetNode", "TypeNode",
    "FunctionNode",
})  # fmt: skip
PLAIN = set('"-0123456789tfnNI')  # with which a text, a number, true, false, null, NaN or Infinity begins in JSON
PROTOCOL = 2  # of skops; its older ones have other loaders under the same names


def full_name(thing: Any) -> str:
    """The name by which skops stores a class or function."""
    return f"{thing.__module__}.{thing.__name__}"


def refused_names(nodes: Sequence[dict[str, Any]], trusted_by_caller: Collection[Any] = ()) -> list[str]:
    """Names in the nodes of a schema that are not trusted with their loader, nor trusted by the caller.

    Nothing is imported but modules of the library itself.
    """
    own = {full_name(thing) for thing in trusted_by_caller} - LISTED
    pairs = {(node.get("__loader__"), f"{node.get('__module__')}.{node.get('__class__')}") for node in nodes}
    return sorted({name for loader, name in pairs if not _is_trusted(loader, name, own)})


def check_nodes(nodes: Sequence[dict[str, Any]]) -> None:
    """Raise ValueError if a node is not of the form that `save` writes.

    Numbers and texts are not lists in disguise, arrays hold no objects, and keys of dicts are made by simple types.
    """
    for node in nodes:
        loader, content = node["__loader__"], node.get("content")
        if node.get("protocol", PROTOCOL) < PROTOCOL:
            raise ValueError(f"protocol {node['protocol']} of skops is too old; train the model again")
        if loader == "JsonNode" and not (isinstance(content, str) and content[:1] in PLAIN):
            raise ValueError("a number or text is none")
        if loader == "NdArrayNode" and node.get("type") != "numpy":
            raise ValueError("an array holds objects, which no model needs; texts are stored as arrays of texts")
        if loader == "DictNode":
            kinds = node["key_types"]["content"]
            names = {(kind["__loader__"], f"{kind['__module__']}.{kind['__class__']}") for kind in kinds}
            if len(kinds) != len(node["content"]) or not names <= {("TypeNode", name) for name in PAIRS["TypeNode"]}:
                raise ValueError("the keys of a dict are not texts or numbers")


def _is_trusted(loader: Any, name: str, own: set[str]) -> bool:
    if name in PAIRS.get(loader, ()):
        return True
    if name in own:
        return loader in LOADERS_OF_CALLER
    return loader in ("ObjectNode", "TupleNode") and loader == library_loader(name)


def library_loader(name: str) -> str | None:
    """The loader of a class of the library that may be part of a model; None if there is no such class.

    Such a class only holds values and checks them with `check_loaded`: an estimator (whose `__init__` only assigns), a
    dataclass or a NamedTuple. New ones need not be registered.
    """
    module_name, _, class_name = name.rpartition(".")
    package, _, rest = module_name.partition(".")
    if package != "invariance" or rest.split(".")[0] not in MODEL_ROOMS:
        return None
    try:
        kind = getattr(importlib.import_module(module_name), class_name, None)
    except ImportError:
        return None
    if not isinstance(kind, type) or kind.__module__ != module_name or not hasattr(kind, "check_loaded"):
        return None
    from sklearn.base import BaseEstimator

    if kind.__bases__ == (tuple,) and hasattr(kind, "_fields"):
        return "TupleNode"
    return "ObjectNode" if issubclass(kind, BaseEstimator) or dataclasses.is_dataclass(kind) else None
