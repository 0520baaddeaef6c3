"""Weights in PyTorch's legacy format, read without PyTorch and without running what a pickle asks for.

The file is a row of pickles (a magic number, a version, the machine, the tensors, the names of their storages), then
the storages themselves: a count and the raw values of each. A tensor is a view of a storage. Only the four names that
such a file needs are known here, and none of them is PyTorch's: everything else in a pickle is refused.
"""

import pickle
from collections import OrderedDict
from math import prod
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

MAGIC = 0x1950A86A20F9469CFC6C  # of the first pickle
VERSION = 1001


class Storage(NamedTuple):
    """A named row of values that comes later in the file."""

    key: str
    dtype: np.dtype
    n_values: int


class View(NamedTuple):
    """A tensor: values of a storage, at `offset` and in steps of `strides` values."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def read_weights(file: BinaryIO) -> dict[str, np.ndarray]:
    """Read the named tensors of a file of `torch.save(model.state_dict())`, before PyTorch 1.6.

    Parameters
    ----------
    file : binary file

    Returns
    -------
    dict of str to ndarray

    Raises
    ------
    ValueError
        If the file is not such a file, or asks for anything but tensors.
    """
    try:
        magic, version, _, tensors, keys = (_Unpickler(file).load() for _ in range(5))
    except (pickle.UnpicklingError, EOFError, AttributeError, TypeError, ValueError, LookupError) as error:
        raise ValueError(f"the weights cannot be read: {error}.") from error
    if (magic, version) != (MAGIC, VERSION) or not isinstance(tensors, dict) or not isinstance(keys, list):
        raise ValueError("the weights are not in PyTorch's legacy format. Install the package of the weights again.")
    views = {name: view for name, view in tensors.items() if isinstance(view, View)}
    if len(views) < len(tensors):
        raise ValueError("the weights hold something else than tensors. Install the package of the weights again.")
    storages = {view.storage.key: view.storage for view in views.values()}
    values = {key: _read_values(file, storages.get(key), key) for key in keys}
    return {name: _tensor(view, values.get(view.storage.key), name) for name, view in views.items()}


def _read_values(file: BinaryIO, storage: Storage | None, key: str) -> np.ndarray:
    if storage is None:
        raise ValueError(f"the weights have a storage {key!r} of no tensor.")
    content = file.read(8 + storage.n_values * storage.dtype.itemsize)
    if len(content) < 8 + storage.n_values * storage.dtype.itemsize:
        raise ValueError("the weights were cut off. Install the package of the weights again.")
    if int.from_bytes(content[:8], "little") != storage.n_values:
        raise ValueError(f"storage {key!r} of the weights has another length than its tensor says.")
    return np.frombuffer(content, storage.dtype, offset=8)


def _tensor(view: View, values: np.ndarray | None, name: str) -> np.ndarray:
    axes = list(zip(view.shape, view.strides, strict=True))
    last = view.offset + sum((side - 1) * stride for side, stride in axes)
    is_sound = view.offset >= 0 and all(side > 0 and stride >= 0 for side, stride in axes)
    # A tensor of more values than its storage would repeat some.
    if values is None or not is_sound or last >= len(values) or prod(view.shape) > len(values):
        raise ValueError(f"tensor {name!r} of the weights lies outside its storage.")
    strides = [stride * values.itemsize for stride in view.strides]
    return np.array(as_strided(values[view.offset :], view.shape, strides, writeable=False), order="C")


def _rebuild_tensor(storage: Storage, offset: int, shape: Any, strides: Any, *ignored: Any) -> View:
    """Stand in for `torch._utils._rebuild_tensor_v2`."""
    if not isinstance(storage, Storage) or len(shape) != len(strides):
        raise pickle.UnpicklingError("they hold a tensor without a storage")
    return View(storage, int(offset), tuple(map(int, shape)), tuple(map(int, strides)))


KNOWN: dict[tuple[str, str], Any] = {
    ("collections", "OrderedDict"): OrderedDict,
    ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor,
    ("torch", "FloatStorage"): np.dtype("<f4"),
    ("torch", "LongStorage"): np.dtype("<i8"),
}


class _Unpickler(pickle.Unpickler):
    """Knows four names; a storage is a place in the file, not an object."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in KNOWN:
            raise pickle.UnpicklingError(f"they ask for {module}.{name}, which no weights need")
        return KNOWN[module, name]

    def persistent_load(self, pid: Any) -> Storage:
        kind, dtype, key, _, n_values, view = pid
        if kind != "storage" or not isinstance(dtype, np.dtype) or view is not None or n_values < 0:
            raise pickle.UnpicklingError("they hold a storage of an unknown kind")
        return Storage(str(key), dtype, int(n_values))
