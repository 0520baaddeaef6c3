"""Build a model from the nodes of its schema, which have been checked, and its arrays.

A node names its loader, the class that it builds and, by a number of its own, the object that it stands for: nodes with
the same number are one object. The loaders are those of skops, which writes models. Its own are not used for reading,
because skops imports all of scikit-learn, more than reading a model takes otherwise.
"""

import importlib
import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from invariance.models._payload import MAX_NODES

Node = Mapping[str, Any]


# What a generator of numpy is seeded with.
SEEDS = {"entropy", "spawn_key", "pool_size", "n_children_spawned"}
POOL_SIZE = 4  # numpy's own; the time that a seed takes grows with its square
MAX_KEY = 2**53  # of dicts; larger ones can be chosen so that all have one hash


class Builder:
    """Builds objects from nodes, each object once."""

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.arrays = arrays
        self._built: dict[int, Any] = {}
        # An object in two places counts twice: whoever walks through a model meets it twice.
        self._sizes: dict[int, int] = {}
        self._n_met = 0

    def build(self, node: Node) -> Any:
        """Return the object of a node."""
        number, n_before = node.get("__id__"), self._n_met
        if number in self._built:
            self._meet(self._sizes[number])
            return self._built[number]
        self._meet(1)
        built = LOADERS[node["__loader__"]](self, node)
        if number is not None:
            self._built[number], self._sizes[number] = built, self._n_met - n_before
        return built

    def _meet(self, n_objects: int) -> None:
        self._n_met += n_objects
        if self._n_met > MAX_NODES:
            raise ValueError(f"its objects stand for more than {MAX_NODES}, the limit for a model")

    def build_all(self, nodes: list[Node]) -> list[Any]:
        """Return the objects of nodes."""
        return [self.build(node) for node in nodes]


def build_model(schema: Node, arrays: Mapping[str, np.ndarray]) -> Any:
    """Build a model.

    Parameters
    ----------
    schema : mapping
        The node of the model. Every pair of loader and class below it must be trusted.
    arrays : mapping of str to ndarray
        By the name that nodes give them.

    Returns
    -------
    object
    """
    return Builder(arrays).build(schema)


def _named(node: Node) -> Any:
    """The class or function that a node names."""
    return getattr(importlib.import_module(node["__module__"]), node["__class__"])


def _build_array(builder: Builder, node: Node) -> Any:
    array = builder.arrays[node["file"]]
    kind = _named(node)
    if kind is np.ndarray:
        return array
    if array.ndim:
        raise ValueError(f"a number is an array of shape {array.shape}")
    return kind(array)


def _build_items(builder: Builder, node: Node) -> Any:
    return _named(node)(builder.build_all(node["content"]))


def _build_tuple(builder: Builder, node: Node) -> tuple:
    kind, items = _named(node), builder.build_all(node["content"])
    return kind(*items) if hasattr(kind, "_fields") else tuple(items)


def _build_dict(builder: Builder, node: Node) -> Any:
    kinds = [_named(kind) for kind in node["key_types"]["content"]]  # as they were checked
    pairs = zip(kinds, node["content"].items(), strict=True)
    return _named(node)({_build_key(kind, key): builder.build(value) for kind, (key, value) in pairs})


def _build_key(kind: Callable[[str], Any], text: str) -> Any:
    key = kind(text)
    if not isinstance(key, str) and abs(key) > MAX_KEY:
        raise ValueError("a key of a dict is too large")
    return key


def _build_plain(builder: Builder, node: Node) -> Any:
    value = json.loads(node["content"])
    if not (value is None or isinstance(value, bool | int | float | str)):
        raise ValueError("a number or text is none")
    return value


def _build_object(builder: Builder, node: Node) -> Any:
    kind = _named(node)
    state = builder.build(node["content"]) if node.get("content") is not None else None
    return _with_state(kind.__new__(kind), state)


def _build_by_call(builder: Builder, node: Node) -> Any:
    return _named(node)(*builder.build(node["content"]))


def _build_loss(builder: Builder, node: Node) -> Any:
    return _with_state(_named(node)(*builder.build(node["__reduce__"]["args"])), builder.build(node["content"]) or None)


def _with_state(built: Any, state: Any) -> Any:
    if state is not None and hasattr(built, "__setstate__"):
        built.__setstate__(state)
    elif state is not None:
        vars(built).update(state)
    return built


def _build_random_state(builder: Builder, node: Node) -> np.random.RandomState:
    generator = np.random.RandomState()
    generator.set_state(builder.build(node["content"]))
    return generator


def _build_generator(builder: Builder, node: Node) -> np.random.Generator:
    state = builder.build(node["content"]["bit_generator"])
    kind = getattr(np.random, state["bit_generator"])
    if not (isinstance(kind, type) and issubclass(kind, np.random.BitGenerator)):
        raise ValueError(f"{state['bit_generator']!r} is no bit generator")
    seeds = builder.build(node["content"]["seed_seq"])
    if not isinstance(seeds, dict) or seeds.keys() - SEEDS or seeds.get("pool_size", POOL_SIZE) != POOL_SIZE:
        raise ValueError("the seed of a random generator is none")
    bits = kind(np.random.SeedSequence(**seeds))
    bits.state = state
    return np.random.Generator(bits)


LOADERS: Mapping[str, Callable[[Builder, Node], Any]] = {
    "ConstructorFromReduceNode": _build_by_call,
    "DictNode": _build_dict,
    "FunctionNode": lambda builder, node: _named(node),
    "JsonNode": _build_plain,
    "ListNode": _build_items,
    "LossNode": _build_loss,
    "NdArrayNode": _build_array,
    "ObjectNode": _build_object,
    "RandomGeneratorNode": _build_generator,
    "RandomStateNode": _build_random_state,
    "SetNode": _build_items,
    "TupleNode": _build_tuple,
    "TypeNode": lambda builder, node: _named(node),
}
