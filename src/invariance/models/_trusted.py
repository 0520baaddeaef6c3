"""The written list of what a model file may contain; whatever it does not name is refused.

skops looks classes up by name and may call them with arguments from the file. So the list holds only classes that do
nothing but keep what they are given: no functions, no partials, no operators, nothing that opens a file.
"""

import dataclasses
import importlib
import io
import json
import zipfile
from collections.abc import Collection, Iterator
from typing import Any

# Floors of the library whose classes make up models. Others open files or run commands.
MODEL_FLOORS = (
    "transformations", "trees", "descriptors", "jungles", "codebooks", "hierarchies", "tangents", "tradeoff",
    "segmentation", "methods",
)  # fmt: skip

# What skops may do to build a node. Functions are refused unless the caller passed them; methods, partials and
# operators always.
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

WRITTEN = PYTHON | NUMPY | SCIPY | SKLEARN


def full_name(thing: Any) -> str:
    """The name by which skops stores a class or function."""
    return f"{thing.__module__}.{thing.__name__}"


def refused_names(payload: bytes, vouched: Collection[Any] = ()) -> list[str]:
    """Names in the payload that are neither trusted nor among the classes and functions the caller vouches for.

    Reads the payload's schema as plain text; nothing is imported but modules of the library itself.
    """
    own = {full_name(thing) for thing in vouched}
    refused = set()
    for node in _nodes(_schema(payload)):
        name = f"{node.get('__module__')}.{node.get('__class__')}"
        loader = node.get("__loader__")
        trusted = name in own or (loader != "FunctionNode" and (name in WRITTEN or is_library_class(name)))
        if loader not in LOADERS or not trusted:
            refused.add(name)
    return sorted(refused)


def trusted_names(payload: bytes) -> list[str]:
    """All names in the payload, to hand to skops once `refused_names` has found nothing."""
    return sorted({f"{node['__module__']}.{node['__class__']}" for node in _nodes(_schema(payload))})


def is_library_class(name: str) -> bool:
    """Whether `name` is a class that one of the library's model floors defines to hold things.

    That is an estimator (whose `__init__` only assigns), a NamedTuple or a dataclass. A new one needs no registering.
    """
    module_name, _, class_name = name.rpartition(".")
    package, _, rest = module_name.partition(".")
    if package != "invariance" or rest.split(".")[0] not in MODEL_FLOORS:
        return False
    try:
        thing = getattr(importlib.import_module(module_name), class_name, None)
    except ImportError:
        return False
    return isinstance(thing, type) and thing.__module__ == module_name and _only_holds(thing)


def _only_holds(kind: type) -> bool:
    from sklearn.base import BaseEstimator

    is_named_tuple = kind.__bases__ == (tuple,) and hasattr(kind, "_fields")
    return issubclass(kind, BaseEstimator) or is_named_tuple or dataclasses.is_dataclass(kind)


def _schema(payload: bytes) -> Any:
    with zipfile.ZipFile(io.BytesIO(payload)) as archive:
        return json.loads(archive.read("schema.json"))


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Every dict of the schema that skops could take for a node, wherever it hides."""
    waiting = [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting.extend(value.values())
            if "__loader__" in value or "__class__" in value:
                yield value
        elif isinstance(value, list):
            waiting.extend(value)
