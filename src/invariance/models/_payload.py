"""The payload of a model file: a zip of `schema.json` and of one array in numpy's format for every array of the model.

The payload is checked before anything is built from it, with limits on all that it declares, and read once: what is
built is what was checked. Nothing but arrays is in it, so that a member that is itself an archive, whatever its name,
is refused.
"""

import io
import json
import math
import os
import zipfile
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from invariance.models._container import CURE, ENTRY, MAX_MODEL_BYTES, ModelError, read_member, reason_of

SCHEMA = "schema.json"
# The largest models of the library, one-against-one machines of a hundred classes, need half as much of these.
MAX_MEMBERS = 2**16
MAX_NODES = 2**18
MAX_NUMBER = 2**60  # of an object: its address when it was saved
MAX_SCHEMA_BYTES = 2**25
MAX_SCHEMA_VALUES = 2**22  # values of the schema, which are counted before any is built
MAX_PER_NODE = 4  # dicts and lists per node, itself included: its attributes, its items, its arguments
MAX_BRACKETS = 10_000  # in texts of the schema, such as names of classes
MAX_DEPTH = 100  # of nested values; models reach 30
ARCHIVES = (b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"(\xb5/\xfd")


class Payload(NamedTuple):
    """A payload that respects all limits.

    Attributes
    ----------
    schema : dict
        The node of the model, with all others in it.
    arrays : dict of str to ndarray
        By the names that nodes give them.
    """

    schema: dict[str, Any]
    arrays: dict[str, np.ndarray]


def read_payload(
    content: bytes, path: str | os.PathLike, check_nodes: Callable[[list[dict[str, Any]]], None]
) -> Payload:
    """Unpack a payload and check it against the limits.

    Parameters
    ----------
    content : bytes
    path : path-like
        The model file, for the error.
    check_nodes : callable
        Raises an error if it refuses the nodes of the schema; called before any array is read.

    Returns
    -------
    Payload

    Raises
    ------
    ModelError
        If the payload is damaged or exceeds a limit.
    """
    try:
        if content.count(ENTRY) > MAX_MEMBERS:
            raise ValueError(f"it has more than {MAX_MEMBERS} members, the limit for a model")
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = _check_members(archive)
            schema, nodes = _read_schema(read_member(archive, SCHEMA, MAX_SCHEMA_BYTES))
            check_nodes(nodes)
            _check_files(nodes, names)
            arrays = {name: _read_array(read_member(archive, name, MAX_MODEL_BYTES), name) for name in sorted(names)}
            return Payload(schema, arrays)
    except (ModelError, MemoryError):
        raise
    except Exception as error:  # a file may hold anything, so reading it may raise anything
        raise ModelError(f"'{path}' does not hold a model that can be unpacked: {reason_of(error)}. {CURE}") from error


def _check_members(archive: zipfile.ZipFile) -> set[str]:
    """Check numbers, names and declared sizes of the members, and return the names of the arrays."""
    members = archive.infolist()
    if len(members) > MAX_MEMBERS:
        raise ValueError(f"it has {len(members)} members, but {MAX_MEMBERS} are the limit")
    names = {member.filename for member in members}
    if len(names) < len(members):
        raise ValueError("two of its members have one name")
    if sum(member.file_size for member in members) > MAX_MODEL_BYTES:
        raise ValueError(f"it unpacks to more than {MAX_MODEL_BYTES / 2**30:g} GB, the limit for a model")
    return names - {SCHEMA}


def _read_schema(text: bytes) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Check size and depth of the schema, and return it and its nodes."""
    # Counted in the text, before any value is built; texts in it may hold some brackets of their own.
    n_containers = text.count(b"{") + text.count(b"[")
    if n_containers + text.count(b",") > MAX_SCHEMA_VALUES:
        raise ValueError(f"its schema has more than {MAX_SCHEMA_VALUES} values, the limit for a model")
    if n_containers > MAX_PER_NODE * text.count(b'"__loader__"') + MAX_BRACKETS:
        raise ValueError("its schema has values that belong to no node")
    schema = json.loads(text)
    nodes: list[dict[str, Any]] = []
    for value in _containers(schema):
        # What could be taken for a node.
        if isinstance(value, dict) and ("__loader__" in value or "__class__" in value):
            _check_number(value.get("__id__"))
            nodes.append(value)
        if len(nodes) > MAX_NODES:
            raise ValueError(f"its schema has more than {MAX_NODES} nodes, the limit for a model")
    return schema, nodes


def _check_number(number: Any) -> None:
    """Check the number of an object, which is found by it; larger ones can be chosen so that all have one hash."""
    if number is not None and not (type(number) is int and 0 <= number < MAX_NUMBER):
        raise ValueError("the number of an object is none")


def _check_files(nodes: list[dict[str, Any]], names: set[str]) -> None:
    """Check that every array is read by one object, which many nodes may stand for, and that all are there."""
    owners: dict[str, int] = {}
    for node in nodes:
        if "file" not in node:
            continue
        if node["__id__"] is None:
            raise ValueError(f"the array {node['file']!r} has no number, so that it would be built again and again")
        if owners.setdefault(node["file"], node["__id__"]) != node["__id__"]:
            raise ValueError(f"two objects of its schema read the member {node['file']!r}")
    if owners.keys() != names:
        raise ValueError("its members are not those that its schema names")


def _containers(schema: Any) -> Iterator[dict[str, Any] | list[Any]]:
    """Yield every dict and list of the schema."""
    waiting = [(schema, 1)]
    while waiting:
        value, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise ValueError(f"its schema is nested more than {MAX_DEPTH} deep, the limit for a model")
        yield value
        items = value.values() if isinstance(value, dict) else value
        waiting.extend((item, depth + 1) for item in items if isinstance(item, dict | list))


def _read_array(content: bytes, name: str) -> np.ndarray:
    """The array of numbers or texts that a member holds in numpy's format, if it is of the size that it states."""
    if content.startswith(ARCHIVES):
        raise ValueError(f"its member {name!r} is an archive")
    file = io.BytesIO(content)
    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"its array {name!r} is of an unknown version")
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    try:
        shape, _, dtype = read(file)
    except Exception as error:  # a header is parsed as Python; a nested one runs out of the parser's memory
        raise ValueError(f"the header of its array {name!r} cannot be read ({reason_of(error)})") from error
    if dtype.hasobject:
        raise ValueError(f"its array {name!r} holds objects")
    size = math.prod(shape)
    if any(side < 0 for side in shape) or (size > 0 and dtype.itemsize == 0):
        raise ValueError(f"its array {name!r} has shape {shape} and items of {dtype.itemsize} bytes")
    if size * dtype.itemsize != len(content) - file.tell():
        raise ValueError(f"its array {name!r} is not as large as its header says")
    file.seek(0)
    return np.lib.format.read_array(file, allow_pickle=False)
