"""Which types a model file may contain; all others are refused.

skops looks classes up by name and may call them with arguments from the file. So only classes are trusted that do
nothing but keep their arguments: no functions, no partials, no operators, nothing that opens a file. Those of Python,
numpy, scipy and scikit-learn are listed here; those of the library are found in it.
"""

import dataclasses
import importlib
import io
import json
import pkgutil
import zipfile
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from typing import Any

# How skops may build a node. Functions are refused unless the caller passed them; methods, partials and operators
# always.
LOADERS = frozenset({
    "JsonNode", "ListNode", "TupleNode", "SetNode", "DictNode", "DefaultDictNode", "BytesNode", "SliceNode", "TypeNode",
    "ObjectNode", "ConstructorFromReduceNode", "NdArrayNode", "DTypeNode", "RandomStateNode", "RandomGeneratorNode",
    "SparseMatrixNode", "LossNode", "FunctionNode",
})  # fmt: skip

PYTHON = frozenset(
    f"builtins.{name}"
    for name in ("bool", "bytes", "dict", "float", "int", "list", "set", "slice", "str", "tuple", "NoneType")
) | {"collections.OrderedDict", "collections.defaultdict"}

NUMPY = frozenset({
    "numpy.ndarray", "numpy.dtype", "numpy.bool", "numpy.str_", "numpy.bytes_",
    "numpy.int8", "numpy.int16", "numpy.int32", "numpy.int64",
    "numpy.uint8", "numpy.uint16", "numpy.uint32", "numpy.uint64",
    "numpy.float16", "numpy.float32", "numpy.float64", "numpy.complex64", "numpy.complex128",
    "numpy.random._generator.Generator", "numpy.random.mtrand.RandomState",
})  # fmt: skip

SCIPY = frozenset(
    f"scipy.sparse._{kind}.{kind}_{form}" for kind in ("csr", "csc", "coo") for form in ("matrix", "array")
)

SKLEARN = frozenset(
    f"sklearn.{name}"
    for name in (
        "_loss._loss.CyHalfBinomialLoss",
        "_loss._loss.CyHalfMultinomialLoss",
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
        "ensemble._hist_gradient_boosting.predictor.TreePredictor",  # its indices are checked, see _integrity
        "kernel_approximation.Nystroem",
        "kernel_approximation.RBFSampler",
        "linear_model._logistic.LogisticRegression",
        "linear_model._ridge.RidgeClassifier",
        "linear_model._sgd_fast.Hinge",
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
        "preprocessing._encoders.OneHotEncoder",
        "preprocessing._encoders.OrdinalEncoder",
        "preprocessing._label.LabelBinarizer",
        "preprocessing._label.LabelEncoder",
        "svm._classes.LinearSVC",
        "svm._classes.OneClassSVM",
        "svm._classes.NuSVC",
        "svm._classes.SVC",
        "utils._bunch.Bunch",
    )
)

LISTED = PYTHON | NUMPY | SCIPY | SKLEARN


def full_name(thing: Any) -> str:
    """The name by which skops stores a class or function."""
    return f"{thing.__module__}.{thing.__name__}"


def refused_names(payload: bytes, trusted_by_caller: Collection[Any] = ()) -> list[str]:
    """Names in the payload that are neither trusted nor among the classes and functions that the caller trusts.

    Reads the payload's schema as plain text; nothing is imported but modules of the library itself.
    """
    own = {full_name(thing) for thing in trusted_by_caller}
    refused = set()
    for node in _nodes(_schema(payload)):
        name = f"{node.get('__module__')}.{node.get('__class__')}"
        loader = node.get("__loader__")
        trusted = name in own or (loader != "FunctionNode" and (name in LISTED or is_library_class(name)))
        if loader not in LOADERS or not trusted:
            refused.add(name)
    return sorted(refused)


def trusted_names(payload: bytes) -> list[str]:
    """All names in the payload, to pass to skops once `refused_names` has found nothing."""
    return sorted({f"{node['__module__']}.{node['__class__']}" for node in _nodes(_schema(payload))})


def is_library_class(name: str) -> bool:
    """Whether `name` is a class of the library that only holds values, defined in a room whose classes make up models.

    Such a class is an estimator (whose `__init__` only assigns), a NamedTuple or a dataclass. New ones, and new rooms,
    need not be registered.
    """
    module_name, _, class_name = name.rpartition(".")
    package, _, rest = module_name.partition(".")
    if package != "invariance" or not is_model_room(rest.split(".")[0]):
        return False
    try:
        thing = getattr(importlib.import_module(module_name), class_name, None)
    except ImportError:
        return False
    return isinstance(thing, type) and thing.__module__ == module_name and _only_holds(thing)


@cache
def is_model_room(room: str) -> bool:
    """Whether a public package of the library has a public class that models are made of.

    That is an estimator, or a record that checks itself with `check_loaded`. Other packages open files or run commands.
    """
    if room.startswith("_") or room not in _packages():
        return False
    from sklearn.base import BaseEstimator

    public = importlib.import_module(f"invariance.{room}")
    kinds = (getattr(public, name) for name in getattr(public, "__all__", ()))
    return any(
        isinstance(kind, type) and (issubclass(kind, BaseEstimator) or hasattr(kind, "check_loaded")) for kind in kinds
    )


def _packages() -> set[str]:
    """Names of the packages of the library; modules such as `__main__` are not among them."""
    library = Path(__file__).parents[1]
    return {module.name for module in pkgutil.iter_modules([str(library)]) if module.ispkg}


def _only_holds(kind: type) -> bool:
    """Whether a class is an estimator, a NamedTuple or a dataclass."""
    from sklearn.base import BaseEstimator

    is_named_tuple = kind.__bases__ == (tuple,) and hasattr(kind, "_fields")
    return issubclass(kind, BaseEstimator) or is_named_tuple or dataclasses.is_dataclass(kind)


def _schema(payload: bytes) -> Any:
    with zipfile.ZipFile(io.BytesIO(payload)) as archive:
        return json.loads(archive.read("schema.json"))


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Every dict of the schema that skops could take for a node, at any depth."""
    waiting = [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting.extend(value.values())
            if "__loader__" in value or "__class__" in value:
                yield value
        elif isinstance(value, list):
            waiting.extend(value)
