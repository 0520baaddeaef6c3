"""Models are built as skops, which wrote them, would build them."""

import io
import json
import subprocess
import sys
import zipfile
from typing import Any

import numpy as np
import pytest
import skops.io

from invariance.models._building import LOADERS, build_model
from invariance.models._payload import SCHEMA, read_payload
from invariance.models._trusted import LOADERS_OF_CALLER, PAIRS
from tests.models.savable import foreign_estimators

X = np.random.default_rng(0).random((5, 4))


def stored(value: Any) -> Any:
    """What skops stores of a value, without numbers of objects, with the arrays in place of their names."""
    with zipfile.ZipFile(io.BytesIO(skops.io.dumps(value))) as archive:

        def plain(node: Any) -> Any:
            if isinstance(node, dict):
                rest = {key: plain(item) for key, item in node.items() if key != "__id__"}
                return {**rest, "file": archive.read(node["file"])} if "file" in node else rest
            return [plain(item) for item in node] if isinstance(node, list) else node

        return plain(json.loads(archive.read(SCHEMA)))


def both(value: Any) -> tuple[Any, Any]:
    """A value written by skops, as we build it and as skops does."""
    payload = skops.io.dumps(value)
    trusted = skops.io.get_untrusted_types(data=payload)
    return build_model(*read_payload(payload, "model", lambda nodes: None)), skops.io.loads(payload, trusted=trusted)


@pytest.mark.parametrize("name", foreign_estimators(), ids=lambda name: name.partition(" at 0x")[0])
def test_estimators_are_as_skops_builds_them(name):
    ours, theirs = both(foreign_estimators()[name])
    assert stored(ours) == stored(theirs)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(None, id="none"),
        pytest.param([1, 2.5, "text", True], id="list"),
        pytest.param({"a": (1, 2), 3: [], np.int64(4): {"deep": None}}, id="dict"),
        pytest.param({1, 2}, id="set"),
        pytest.param(np.asfortranarray(np.arange(6.0).reshape(2, 3)), id="array"),
        pytest.param(np.array(["a", "bcd"]), id="texts"),
        pytest.param(np.float32(1.5), id="scalar"),
        pytest.param(slice, id="class"),
        pytest.param(np.random.default_rng(3), id="generator"),
        pytest.param(np.random.RandomState(3), id="random state"),
    ],
)
def test_values_are_as_skops_builds_them(value):
    ours, theirs = both({"value": value})
    assert stored(ours) == stored(theirs)
    assert type(ours["value"]) is type(value)


def test_a_generator_goes_on_where_it_was():
    generator = np.random.default_rng(3)
    generator.random(5)
    ours, _ = both(generator)
    assert np.array_equal(ours.random(9), generator.random(9))


def test_what_was_one_object_is_one_object():
    shared = np.arange(3.0)
    ours, _ = both([shared, {"again": shared}, np.arange(3.0)])
    assert ours[0] is ours[1]["again"]
    assert ours[0] is not ours[2]


def test_every_trusted_loader_is_known():
    assert LOADERS.keys() == PAIRS.keys() | LOADERS_OF_CALLER


def test_nothing_of_numpy_is_called_in_place_of_a_bit_generator():
    node = {"__loader__": "RandomGeneratorNode", "content": {}}
    for part, content in (("bit_generator", {"bit_generator": "seed"}), ("seed_seq", {})):
        node["content"][part] = {
            "__loader__": "DictNode", "__module__": "builtins", "__class__": "dict",
            "key_types": {
                "__loader__": "ListNode", "__module__": "builtins", "__class__": "list",
                "content": [{"__loader__": "TypeNode", "__module__": "builtins", "__class__": "str"}] * len(content),
            },
            "content": {key: {"__loader__": "JsonNode", "content": json.dumps(text)} for key, text in content.items()},
        }  # fmt: skip
    with pytest.raises(ValueError, match="'seed' is no bit generator"):
        build_model(node, {})


def test_seeds_are_of_the_usual_size():
    """The time that numpy takes for a seed grows with the square of its pool."""
    payload = skops.io.dumps(np.random.Generator(np.random.PCG64(np.random.SeedSequence(1, pool_size=8))))
    with pytest.raises(ValueError, match="the seed of a random generator is none"):
        build_model(*read_payload(payload, "model", lambda nodes: None))


@pytest.mark.parametrize("key", [2**61 - 1, -(2**61) + 1])
def test_keys_of_one_hash_are_refused(key):
    with pytest.raises(ValueError, match="a key of a dict is too large"):
        build_model(*read_payload(skops.io.dumps({key: 1}), "model", lambda nodes: None))


def test_reading_a_model_does_not_import_skops(tmp_path):
    from invariance.models import save

    path = save(foreign_estimators()["SVC()"], tmp_path / "model.inv")
    code = f"import sys; from invariance.models import load; load({str(path)!r}); print('skops' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"
