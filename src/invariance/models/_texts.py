"""Arrays of texts: class labels of a data frame are objects to numpy, but a model file holds no arrays of objects."""

import io
import json
import zipfile
from typing import Any

import numpy as np

from invariance.models._payload import SCHEMA


def store_texts(payload: bytes) -> bytes:
    """Store arrays of objects that are all texts as arrays of texts, as which they are loaded.

    Parameters
    ----------
    payload : bytes
        A model as skops writes it.

    Returns
    -------
    bytes
        The same bytes if there is no such array.
    """
    with zipfile.ZipFile(io.BytesIO(payload)) as archive:
        schema = json.loads(archive.read(SCHEMA))
        nodes = [node for node in _object_arrays(schema) if _texts_of(node) is not None]
        if not nodes:
            return payload
        members = {name: archive.read(name) for name in archive.namelist() if name != SCHEMA}
    for node in nodes:
        members[f"{node['__id__']}.npy"] = _as_npy(np.array(_texts_of(node)))
        node.update(type="numpy", file=f"{node['__id__']}.npy")
        del node["content"], node["shape"]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        archive.writestr(SCHEMA, json.dumps(schema))
    return out.getvalue()


def _object_arrays(value: Any) -> list[dict[str, Any]]:
    """The nodes of arrays of objects below a value of the schema."""
    if isinstance(value, dict):
        own = [value] if value.get("__loader__") == "NdArrayNode" and value.get("type") == "json" else []
        return own + [node for item in value.values() for node in _object_arrays(item)]
    return [node for item in value for node in _object_arrays(item)] if isinstance(value, list) else []


def _texts_of(node: dict[str, Any]) -> list[str] | None:
    """The texts of an array of one axis, or None if it is not of texts."""
    items = node["content"]
    if not items or any(item.get("__loader__") != "JsonNode" for item in items):
        return None
    texts = [json.loads(item["content"]) for item in items]
    return texts if all(isinstance(text, str) for text in texts) else None


def _as_npy(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.save(out, array, allow_pickle=False)
    return out.getvalue()
