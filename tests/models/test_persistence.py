"""A saved model predicts the same; a file that is damaged, foreign or hostile is refused in one line."""

import dataclasses
import functools
import importlib
import io
import json
import os
import pkgutil
import sys
import types
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from invariance.methods import ImageClassifier
from invariance.models import ModelError, _container, _trusted, describe, load, save

X, y = load_iris(return_X_y=True)


class Routes(NamedTuple):
    """A flat graph: where to go next, and what is answered there."""

    children: np.ndarray
    answers: np.ndarray

    def check_loaded(self):
        if not np.all((self.children >= 0) & (self.children < len(self.answers))):
            raise ValueError("children lead outside the graph")


@dataclasses.dataclass(frozen=True)
class Growth:
    depth: int
    prior: np.ndarray

    def check_loaded(self):
        if self.depth < 0:
            raise ValueError("depth is negative")


@dataclasses.dataclass(frozen=True, slots=True)
class Slotted:
    name: str
    weight: float

    def check_loaded(self):
        if not isinstance(self.name, str):
            raise ValueError("name is no text")


class Router(ClassifierMixin, BaseEstimator):
    """A small estimator that holds whatever the library's models hold."""

    def __init__(self, kind="plain"):
        self.kind = kind

    def fit(self, X, y):
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.image_shape_ = (2, 2)
        self.dags_ = [Routes(np.array([1, 0]), np.bincount(codes)), Routes(np.array([0]), np.array([2.5]))]
        self.growth_ = {"best": Growth(3, np.ones(2, np.float32)), 7: Slotted("s", 0.5)}
        self.names_ = np.array(["one", "twenty"], dtype=object)
        self.rng_ = np.random.default_rng(3)
        self.mean_ = X.mean(axis=0)
        return self

    def check_loaded(self):
        if not isinstance(self.kind, str):
            raise ValueError("kind is no text")

    def predict(self, X):
        return self.classes_[((X - self.mean_ > 0).sum(axis=1)) % len(self.classes_)]


OURS = (Routes, Growth, Slotted, Router)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.zip"


@pytest.fixture
def saved(path):
    return save(make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y), path)


def rewrite(path, edit_metadata=None, edit_payload=None, forge=True):
    """Edit the parts of a model file; a forger makes the checksum right again."""
    with zipfile.ZipFile(path) as archive:
        metadata, payload = json.loads(archive.read(_container.METADATA)), archive.read(_container.PAYLOAD)
    payload = edit_payload(payload) if edit_payload else payload
    if forge:
        metadata["sha256"] = _container.hashlib.sha256(payload).hexdigest()
    if edit_metadata:
        edit_metadata(metadata)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(_container.METADATA, json.dumps(metadata))
        archive.writestr(_container.PAYLOAD, payload)


def edit_schema(edit):
    """An edit of the payload's schema.json."""

    def edit_payload(payload):
        out = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(payload)) as source, zipfile.ZipFile(out, "w") as target:
            for name in source.namelist():
                content = source.read(name)
                if name == "schema.json":
                    schema = json.loads(content)
                    content = json.dumps(edit(schema) or schema)
                target.writestr(name, content)
        return out.getvalue()

    return edit_payload


def edit_array(find, edit):
    """An edit of the first stored array that `find` accepts."""

    def edit_payload(payload):
        out, done = io.BytesIO(), False
        with zipfile.ZipFile(io.BytesIO(payload)) as source, zipfile.ZipFile(out, "w") as target:
            for name in source.namelist():
                content = source.read(name)
                if name.endswith(".npy") and not done:
                    array = np.load(io.BytesIO(content))
                    if find(array):
                        edit(array)
                        buffer, done = io.BytesIO(), True
                        np.save(buffer, array)
                        content = buffer.getvalue()
                target.writestr(name, content)
        assert done
        return out.getvalue()

    return edit_payload


def refusal(call, *arguments, **options) -> str:
    with pytest.raises(ModelError) as caught:
        call(*arguments, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(max_iter=1000),
        HistGradientBoostingClassifier(max_iter=5),
        SVC(),
        make_pipeline(StandardScaler(), SVC(kernel="poly")),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_loaded_model_predicts_the_same(model, path):
    save(model.fit(X, y), path)
    np.testing.assert_array_equal(load(path).predict(X), model.predict(X))
    score = "decision_function"
    np.testing.assert_array_equal(getattr(load(path), score)(X), getattr(model, score)(X))


def test_everything_a_model_may_hold_comes_back(path):
    model = Router("rich").fit(X, y)
    save(model, path, trusted=OURS)
    again = load(path, trusted=OURS)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.get_params() == {"kind": "rich"}
    assert type(again.dags_[0]) is Routes
    np.testing.assert_array_equal(again.dags_[0].answers, model.dags_[0].answers)
    assert type(again.growth_["best"]) is Growth
    with pytest.raises(dataclasses.FrozenInstanceError):
        again.growth_["best"].depth = 4
    assert again.growth_["best"].prior.dtype == np.float32
    assert again.growth_[7] == Slotted("s", 0.5)
    assert again.names_.tolist() == ["one", "twenty"]
    assert again.names_.dtype.kind == "U"  # a file holds no array of objects
    assert again.image_shape_ == (2, 2)
    assert again.rng_.random() == np.random.default_rng(3).random()


def test_the_description_needs_no_model(path):
    save(Router("x").fit(X, np.array(["a", "b", "c"])[y]), path, trusted=OURS)
    about = describe(path)
    assert about["format"] == _container.FORMAT
    assert about["method"] == "Router"
    assert about["parameters"] == {"kind": "'x'"}
    assert about["classes"] == ["a", "b", "c"]
    assert about["trained_on"] == {"image_shape": [2, 2]}
    assert len(about["sha256"]) == 64
    assert "library" in about


def test_no_pickle_inside(saved):
    with zipfile.ZipFile(saved) as archive, zipfile.ZipFile(archive.open(_container.PAYLOAD)) as inner:
        assert {os.path.splitext(name)[1] for name in inner.namelist()} <= {".npy", ".json"}


def test_classes_of_the_library_need_no_registering(path, monkeypatch):
    module = types.ModuleType("invariance.jungles.fake")
    for kind in (Router, Routes, Growth, Slotted):
        monkeypatch.setattr(kind, "__module__", module.__name__)
        setattr(module, kind.__name__, kind)
    module.open_file = open
    module.Opener = type("Opener", (), {"__module__": module.__name__, "check_loaded": lambda self: None})
    module.Unchecked = type("Unchecked", (BaseEstimator,), {"__module__": module.__name__})
    monkeypatch.setitem(sys.modules, module.__name__, module)
    model = Router().fit(X, y)
    save(model, path)
    np.testing.assert_array_equal(load(path).predict(X), model.predict(X))
    assert not _trusted.library_loader("invariance.jungles.fake.open_file")
    assert not _trusted.library_loader("invariance.jungles.fake.Opener")  # neither estimator nor record
    assert not _trusted.library_loader("invariance.jungles.fake.Unchecked")
    assert _trusted.library_loader("invariance.jungles.fake.Router") == "ObjectNode"
    assert _trusted.library_loader("invariance.jungles.fake.Growth") == "ObjectNode"
    assert _trusted.library_loader("invariance.jungles.fake.Routes") == "TupleNode"
    assert not _trusted.library_loader("invariance.jungles.fake.absent")
    assert not _trusted.library_loader("invariance.jungles.absent.Router")
    assert not _trusted.library_loader("invariance.datasets._dataset.Dataset")  # not a room of models
    assert not _trusted.library_loader("invariance_evil.jungles.Router")


def has_class_of_models(package: str) -> bool:
    """Whether a package has a public estimator, or a public record that checks itself."""
    public = importlib.import_module(f"invariance.{package}")
    kinds = (getattr(public, name) for name in getattr(public, "__all__", ()))
    return any(
        isinstance(kind, type) and (issubclass(kind, BaseEstimator) or hasattr(kind, "check_loaded")) for kind in kinds
    )


def test_rooms_of_models_are_those_with_public_classes_that_models_are_made_of():
    found = pkgutil.iter_modules([str(Path(_trusted.__file__).parents[1])])
    public = {module.name for module in found if module.ispkg and not module.name.startswith("_")}
    assert set(filter(has_class_of_models, public)) == _trusted.MODEL_ROOMS


def test_a_module_that_is_no_room_is_not_imported(monkeypatch):
    monkeypatch.setattr(_trusted.importlib, "import_module", lambda name: pytest.fail(f"{name} was imported"))
    for module in ("__main__", "_core.kernels", "_version", "absent"):
        assert not _trusted.library_loader(f"invariance.{module}.Model")


class Foreign:
    pass


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (lambda x: x, "<lambda>"),
        (functools.partial(print, 1), "functools.partial"),
        (os.getcwd, "posix.getcwd" if os.name == "posix" else "nt.getcwd"),
        (np.load, "numpy.load"),
        (np.exp, "exp"),
        (Foreign(), "Foreign"),
        ([1, {"deep": (Foreign(),)}], "Foreign"),
        (np.array([1, Foreign()], dtype=object), "Foreign"),
        ("text".upper, "upper"),
    ],
)
def test_what_load_would_refuse_cannot_be_saved(content: Any, name, path):
    path.write_bytes(b"the old file")
    message = refusal(save, SVC(kernel=content), path)
    assert name in message
    assert str(path) in message
    assert path.read_bytes() == b"the old file"
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_forest_is_refused_by_name(path):
    assert "sklearn.tree._tree.Tree" in refusal(save, RandomForestClassifier(2).fit(X, y), path)


def test_a_model_that_contains_itself_is_refused(path):
    model = Router()
    model.me_ = model
    assert str(path) in refusal(save, model, path, trusted=OURS)
    assert not path.exists()


def test_trust_is_not_in_the_file(path):
    save(Router().fit(X, y), path, trusted=OURS)
    message = refusal(load, path)
    assert all(kind.__name__ in message for kind in OURS)


def named(node, module, name, loader="FunctionNode"):
    node.update(__module__=module, __class__=name, __loader__=loader)


def swap_root(module, name, loader):
    return lambda schema: named(schema, module, name, loader)


HOSTILE = {
    "a function": swap_root("os", "system", "FunctionNode"),
    "a function as a class": swap_root("os", "system", "TypeNode"),
    "a call": lambda schema: {
        **{key: schema[key] for key in ("protocol", "_skops_version", "__id__")},
        "__module__": "os",
        "__class__": "system",
        "__loader__": "ConstructorFromReduceNode",
        "content": {
            "__module__": "builtins",
            "__class__": "list",
            "__loader__": "ListNode",
            "content": [{"__module__": "builtins", "__class__": "str", "__loader__": "JsonNode", "content": '"true"'}],
        },
    },
    "a list type that is called": swap_root("os", "system", "ListNode"),
    "eval": swap_root("builtins", "eval", "TypeNode"),
    "numpy's loader": swap_root("numpy", "load", "FunctionNode"),
    "an operator": lambda schema: named(schema, "operator", "methodcaller", "OperatorFuncNode"),
    "a method of a trusted class": swap_root("sklearn.svm._classes", "SVC", "MethodNode"),
    "an unknown loader": swap_root("builtins", "list", "EvilNode"),
    "hidden in an attribute": lambda schema: named(
        schema["content"]["content"]["steps"]["content"][0]["content"][1], "os", "system", "ObjectNode"
    ),
    "an old protocol": lambda schema: schema.update(
        __module__="numpy",
        __class__="ndarray",
        __loader__="FunctionNode",
        protocol=0,
        content={"module_path": "os", "function": "system"},
    ),
}


@pytest.mark.parametrize("edit", HOSTILE.values(), ids=HOSTILE)
def test_a_forged_file_that_names_a_foreign_type_is_refused(edit, saved, monkeypatch):
    monkeypatch.setattr(os, "system", lambda command: pytest.fail("code from the file was run"))
    rewrite(saved, edit_payload=edit_schema(edit))
    assert "not on the list of trusted types" in refusal(load, saved)


def test_a_module_of_the_file_is_not_imported(saved, tmp_path, monkeypatch):
    (tmp_path / "evil_module.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    rewrite(saved, edit_payload=edit_schema(swap_root("evil_module", "Model", "ObjectNode")))
    assert "evil_module.Model" in refusal(load, saved)


def test_a_changed_file_is_noticed(saved):
    rewrite(saved, edit_payload=lambda payload: payload + b" ", forge=False)
    assert "checksum is wrong" in refusal(load, saved)


@pytest.mark.parametrize("share", [0.02, 0.3, 0.6, 0.99])
def test_a_truncated_file(saved, share):
    content = saved.read_bytes()
    saved.write_bytes(content[: int(share * len(content))])
    for read in (load, describe):
        message = refusal(read, saved)
        assert str(saved) in message
        assert "cut off" in message


def test_flipped_bytes_never_pass_and_always_name_the_file(saved):
    content = saved.read_bytes()
    messages, expected = [], load(saved).predict(X)
    for at in np.linspace(0, len(content) - 1, 150).astype(int):
        saved.write_bytes(content[:at] + bytes([content[at] ^ 0x55]) + content[at + 1 :])
        try:
            predicted = load(saved).predict(X)
        except ModelError as error:
            messages.append(str(error))
        else:  # the flip hit a byte that means nothing, such as a date
            np.testing.assert_array_equal(predicted, expected)
    assert len(messages) > 100
    assert all(str(saved) in message and "\n" not in message for message in messages)


@pytest.mark.parametrize("read", [load, describe])
def test_files_that_are_no_models(read, path):
    with pytest.raises(FileNotFoundError, match=r"there is no model file '.*model.zip'"):
        read(path)
    path.write_bytes(b"")
    assert "is empty" in refusal(read, path)
    path.write_bytes(b"not a zip at all, but long enough to be taken for one")
    assert "not a model file" in refusal(read, path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("holiday.jpg", b"")
    assert "invariance.json" in refusal(read, path)
    for text in ("[]", "{", "{}", '{"format": "new"}', "[" * 100_000):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(_container.METADATA, text)
        assert "does not describe a model" in refusal(read, path)
    assert "is a folder" in refusal(read, path.parent)


def test_a_newer_format_asks_for_an_upgrade(saved):
    rewrite(saved, lambda metadata: metadata.update(format=99, library="9.9"))
    for read in (load, describe):
        message = refusal(read, saved)
        assert "format 99, saved by invariance 9.9" in message
        assert "Upgrade" in message


@pytest.mark.parametrize("text", ["{}", "[1]", '{"protocol": 99}', "[" * 100_000, '{"protocol": 2, "__loader__": 3}'])
def test_a_payload_that_is_nonsense(text, saved):
    def nonsense(payload):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr("schema.json", text)
        return out.getvalue()

    rewrite(saved, edit_payload=nonsense)
    assert str(saved) in refusal(load, saved)
    rewrite(saved, edit_payload=lambda payload: b"no zip")
    assert str(saved) in refusal(load, saved)


def test_forged_indices_do_not_reach_compiled_code(path):
    save(HistGradientBoostingClassifier(max_iter=2).fit(X, y), path)

    def is_tree(array):
        return array.dtype.names is not None and "feature_idx" in array.dtype.names

    for field in ("left", "feature_idx"):
        rewrite(path, edit_payload=edit_array(is_tree, lambda nodes, field=field: nodes[field].fill(10**6)))
        assert "a tree " in refusal(load, path)


def test_records_check_themselves_when_loaded(path):
    model = Router().fit(X, y)
    model.dags_[0].children[0] = 99
    assert "children lead outside the graph" in refusal(save, model, path, trusted=OURS)


def test_a_model_of_another_version_that_lacks_a_parameter_is_refused(path):
    model = Router().fit(X, y)
    del model.kind
    assert "a Router lacks kind" in refusal(save, model, path, trusted=OURS)


def test_an_image_classifier_of_another_version_is_refused(path):
    model = ImageClassifier("hierarchy", random_state=0)
    model.fit(np.random.default_rng(0).random((4, 16, 16)), ["a", "a", "b", "b"])
    save(model, path)
    del model.facts_
    assert "it lacks facts_" in refusal(save, model, path)


def test_sparse_matrices_are_refused(path):
    """No model of the library holds any, and compiled code follows their indices."""
    model = StandardScaler().fit(X)
    model.extra_ = scipy.sparse.csr_array(np.eye(3))
    assert "csr_array" in refusal(save, model, path)


@pytest.mark.parametrize("labels", [np.array(["b", "a", "c"], object)[y], np.array(["b", "a", "c"])[y], y])
def test_class_labels_of_any_kind_can_be_saved(labels, path):
    model = SVC().fit(X, labels)
    np.testing.assert_array_equal(load(save(model, path)).predict(X), model.predict(X))


def test_arrays_of_other_objects_are_refused(path):
    for content in (np.array([1, "two"], object), np.array([None], object), np.array([], object)):
        model = StandardScaler().fit(X)
        model.extra_ = content
        assert "array holds objects" in refusal(save, model, path)


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        save(StandardScaler().fit(X), tmp_path / "absent" / "model.zip")
