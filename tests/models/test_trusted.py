"""A file may name exactly the pairs of loader and class that `save` writes, and no loader builds another class."""

import importlib
import inspect
import io
import json
import pkgutil
import zipfile

import numpy as np
import pytest
import skops.io
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import invariance
from invariance.hierarchies import DerivedKernel, Layer, NeuralResponse
from invariance.models import ModelError, _foreign, _trusted, load, save
from tests.laws.catalogue import ALL_SETS, SPECIFICATIONS
from tests.models.forging import Opened, forge_pointers, make_estimators, make_methods
from tests.models.savable import foreign_estimators


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("whole")


def pairs_of(schema):
    """The pairs (loader, class) of a schema, found without the code under test."""
    if isinstance(schema, dict):
        own = (
            {(schema["__loader__"], f"{schema['__module__']}.{schema['__class__']}")}
            if "__loader__" in schema
            else set()
        )
        return own.union(*map(pairs_of, schema.values()))
    return set().union(*map(pairs_of, schema)) if isinstance(schema, list) else set()


def schema_of(model):
    with zipfile.ZipFile(io.BytesIO(skops.io.dumps(model))) as archive:
        return json.loads(archive.read("schema.json"))


def small_responses():
    """Hierarchies with the kinds of kernels and embeddings that the catalogue of the laws has not."""
    images = np.random.default_rng(0).random((6, 8, 8))
    for settings in (
        {"kernel": "gaussian"},
        {"embedding": "pca", "embedding_components": 2},
        {"embedding": "kpca", "embedding_components": 2},
    ):
        yield NeuralResponse([Layer(3, 4)], random_state=0, **settings).fit(images)
    yield DerivedKernel()


@pytest.fixture(scope="module")
def saved_pairs(folder):
    """The pairs that `save` writes for everything that can be saved."""
    pairs = set()
    for path in (make_methods(folder) | make_estimators(folder)).values():
        pairs |= pairs_of(Opened(path).schema)
    scaler = StandardScaler(copy=np.bool_(True)).fit(np.eye(3))
    scalars = [np.int32(1), np.int64(1), np.uint64(1), np.float32(1), np.float64(1), np.str_("a")]
    numpy_keys = SVC(class_weight={np.int64(0): 1.0, np.str_("1"): 1.0})
    others = [*foreign_estimators().values(), *small_responses(), *SPECIFICATIONS, *scalars, numpy_keys, scaler]
    custom = [phi for phi in ALL_SETS if "Custom" not in repr(phi)]  # functions are not saved
    for model in (*others, *custom):
        pairs |= pairs_of(schema_of(model))
    return pairs


def library_classes():
    """The classes of the library that may be in a file."""
    for module in pkgutil.walk_packages(invariance.__path__, "invariance."):
        if module.name.split(".")[1] in ("cli", "studio", "report") or module.name.endswith("__main__"):
            continue
        try:
            found = vars(importlib.import_module(module.name)).items()
        except ImportError:  # an extra that is not installed
            continue
        for name, kind in found:
            if isinstance(kind, type) and kind.__module__ == module.name:
                yield f"{module.name}.{name}", kind


def test_the_list_is_what_save_writes(saved_pairs):
    """Neither too small, so that a model cannot be saved, nor larger than needed."""
    listed = {(loader, name) for loader, names in _trusted.PAIRS.items() for name in names}
    foreign = {pair for pair in saved_pairs if not pair[1].startswith("invariance.")}
    assert foreign - listed == set()
    assert listed - foreign == set()


def test_classes_of_the_library_that_may_be_in_a_file_are_those_that_save_writes(saved_pairs):
    own = {pair for pair in saved_pairs if pair[1].startswith("invariance.")}
    assert {(_trusted.library_loader(name), name) for _, name in own} == own
    allowed = {
        name: kind for name, kind in library_classes() if _trusted.library_loader(name) and not inspect.isabstract(kind)
    }
    bases = {base for kind in allowed.values() for base in kind.__mro__[1:]}
    unused = {name for name, kind in allowed.items() if kind not in bases} - {name for _, name in own}
    assert unused == {"invariance.transformations.sets.Custom"}  # it holds functions, which need trusted=[...]


def test_every_foreign_class_has_a_check():
    names = {name.rpartition(".")[2] for name in _trusted.PAIRS["ObjectNode"]}
    assert names == set(_foreign.CHECKS)


@pytest.fixture
def path(tmp_path):
    return save(SVC().fit(np.eye(4), [0, 0, 1, 1]), tmp_path / "model.inv")


def refusal(path):
    with pytest.raises(ModelError) as caught:
        load(path)
    return str(caught.value)


def test_pointers_of_a_file_are_not_followed(path):
    opened = Opened(path)
    forge_pointers(opened, np.random.default_rng(0))
    opened.write(path)
    assert "numpy.ndarray" in refusal(path)


LOADERS = sorted({loader for loader, _ in skops.io._audit.NODE_TYPE_MAPPING})


@pytest.mark.parametrize("loader", LOADERS)
def test_no_class_is_built_by_the_loader_of_another(loader):
    for right, names in _trusted.PAIRS.items():
        for name in sorted(names - _trusted.PAIRS.get(loader, frozenset())):
            assert right != loader
            module, _, kind = name.rpartition(".")
            nodes = [{"__loader__": loader, "__module__": module, "__class__": kind}]
            assert _trusted.refused_names(nodes) == [name]
            thing = getattr(importlib.import_module(module), kind)
            assert _trusted.refused_names(nodes, [thing]) == [name], "even if the caller trusts it"


def test_keys_of_dicts_are_made_by_simple_types_only(path):
    opened = Opened(path)
    kinds = opened.schema["content"]["key_types"]["content"]
    kinds[0] = {**opened.schema["content"]["content"]["C"], "__id__": 5}
    opened.write(path)
    assert "keys of a dict" in refusal(path)


@pytest.mark.parametrize("text", ["[1, 2]", '{"a": 1}', " [1]", ""])
def test_a_number_is_not_a_list_in_disguise(text, path):
    opened = Opened(path)
    opened.schema["content"]["content"]["C"].update(content=text, __id__=5)
    opened.write(path)
    assert "a number or text is none" in refusal(path)


def test_an_attribute_does_not_replace_a_method(path):
    opened = Opened(path)
    attributes = opened.schema["content"]
    attributes["content"]["predict"] = {**attributes["content"]["C"], "__id__": 5}
    attributes["key_types"]["content"].append({**attributes["key_types"]["content"][0], "__id__": 6})
    opened.write(path)
    assert "the name of its method predict" in refusal(path)


@pytest.mark.parametrize("kind", ["legacy", "philox"])
def test_a_forged_place_in_the_table_of_a_generator_is_refused(kind, tmp_path):
    generator = np.random.RandomState(0) if kind == "legacy" else np.random.Generator(np.random.Philox(0))
    model = KNeighborsClassifier(1, algorithm="brute").fit(np.eye(3), [0, 1, 1])
    model.generator_ = generator
    path = save(model, tmp_path / "model.inv")
    opened = Opened(path)
    name = "pos" if kind == "legacy" else "buffer_pos"
    node = next(node["content"][name] for node in opened.nodes() if name in (node.get("content") or ()))
    node.update(content="1000000", __id__=5)
    opened.write(path)
    assert refusal(path)
