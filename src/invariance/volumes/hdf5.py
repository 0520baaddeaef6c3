"""HDF5 files as volumes: one dataset, with the axes that ilastik states.

A file comes from a stranger, and HDF5 can name other files and load code: only datasets whose bytes are in the file are
read, reached by hard links, with the filters that HDF5 and h5py bring along.
"""

import json
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from invariance._core.extras import command_for
from invariance.volumes.arrays import Stored, are_axes, chunks_of, guess_axes, volume_of_array
from invariance.volumes.volume import Volume, VolumeError, identify

SUFFIXES = (".h5", ".hdf5")
AXES_ATTRIBUTE, MAX_ATTRIBUTE_BYTES = "axistags", 2**16
MAX_OBJECTS = 10_000  # that are looked at for datasets (our choice)
DEFLATE, SHUFFLE, FLETCHER32, LZF = 1, 2, 3, 32000
FILTERS = {DEFLATE, SHUFFLE, FLETCHER32, LZF}
CURE = "Save the array itself in one file, plain or with gzip."


class Described(NamedTuple):
    """What is known of a dataset without keeping its file open."""

    shape: tuple[int, ...]
    dtype: np.dtype


def is_hdf5(path: Path) -> bool:
    """Tell whether a path is an HDF5 file, or a dataset in one: `labels.h5/exported_data`."""
    return _split(path) is not None


def _split(path: Path) -> tuple[Path, str] | None:
    """Return the file and the name of the dataset in it, "" for none; None if there is no such file."""
    for file in (path, *path.parents):
        if file.suffix.lower() in SUFFIXES and file.is_file():
            return file, path.relative_to(file).as_posix() if file != path else ""
    return None


def open_hdf5(path: Path, level: int, channel: int | None) -> Volume:
    """Open a dataset of an HDF5 file."""
    split = _split(path)
    if split is None:
        raise FileNotFoundError(f"the volume '{path}' does not exist. Check the path.")
    _check_installed()
    file, name = split
    if level != 0:
        raise VolumeError(f"'{path}' has one resolution level, 0; got {level}. Omit it.")
    with _Opened(file) as root:
        name = name or _only_dataset(file, root)
        dataset = _find(file, root, name)
        array, chunks = Described(dataset.shape, dataset.dtype), dataset.chunks
        axes = _read_axes(dataset) or guess_axes(array.shape)
        is_zero = not dataset.fillvalue if array.dtype.kind in "biuf" else False
    if not axes:
        raise VolumeError(f"'{path}' is an array of {len(array.shape)} axes; a volume has 2 to 5, of tczyx.")

    def read(place: tuple[Any, ...]) -> np.ndarray:
        with _Opened(file) as root:
            dataset = _find(file, root, name)
            if (dataset.shape, dataset.dtype, dataset.chunks) != (*array, chunks):
                raise VolumeError(f"'{path}' has changed since it was opened. Begin again.")
            _check_unpacked(path, dataset, place)
            return np.asarray(dataset[place])

    def is_chunk_stored(number: tuple[int, ...]) -> bool:
        with _Opened(file) as root:
            return _chunk_bytes(_find(file, root, name), number) is not None

    return volume_of_array(
        path,
        Stored(array, axes, (1.0,) * len(axes), (None,) * len(axes)),
        level,
        channel,
        identity=json.dumps([identify(file), name, axes]),
        read=read,
        chunks=chunks,
        files=chunks,
        is_file_stored=is_chunk_stored if chunks is not None and is_zero else None,
    )


def _check_installed() -> None:
    from importlib.util import find_spec

    if find_spec("h5py") is None:
        raise VolumeError(f"HDF5 files need h5py. Try: {command_for('hdf5')}.")


class _Opened:
    """An open HDF5 file; whatever its library raises becomes an error of one line."""

    def __init__(self, file: Path):
        self._file = file
        self._root: Any = None

    def __enter__(self) -> Any:
        import h5py

        try:
            self._root = h5py.File(self._file, "r")
        except Exception as error:
            raise self._refused(error) from error
        return self._root

    def __exit__(self, kind, error, traceback) -> None:
        try:
            self._root.close()
        except Exception as failed:
            error = error or failed
        if isinstance(error, Exception) and not isinstance(error, VolumeError):
            raise self._refused(error) from error

    def _refused(self, error: Exception) -> VolumeError:
        detail = " ".join(str(error).split()) or type(error).__name__
        return VolumeError(f"'{self._file}' cannot be read as an HDF5 file ({detail}).")


def _only_dataset(file: Path, root: Any) -> str:
    """Return the name of the only dataset; refuse a file with none or several, and list them."""
    import h5py

    names, groups, n_objects = [], [("", root)], 0
    seen = {h5py.h5o.get_info(root.id).addr}
    while groups:
        prefix, group = groups.pop()
        for key in group:
            n_objects += 1
            if n_objects > MAX_OBJECTS:
                raise VolumeError(f"'{file}' has more than {MAX_OBJECTS} objects. Name the dataset: '{file}/NAME'.")
            if not isinstance(group.get(key, getlink=True), h5py.HardLink):
                continue
            found = group[key]
            if isinstance(found, h5py.Dataset):
                names.append(prefix + key)
            elif isinstance(found, h5py.Group) and (address := h5py.h5o.get_info(found.id).addr) not in seen:
                seen.add(address)
                groups.append((f"{prefix}{key}/", found))
    if len(names) == 1:
        return names[0]
    listed = ", ".join(sorted(names)[:10]) + (", ..." if len(names) > 10 else "")
    found = f"{len(names)} datasets: {listed}. Name one: '{file}/{sorted(names)[0]}'" if names else "no dataset"
    raise VolumeError(f"'{file}' has {found}.")


def _find(file: Path, root: Any, name: str) -> Any:
    """Return a dataset whose bytes are in the file."""
    import h5py

    found = root
    for key in name.split("/"):
        link = found.get(key, getlink=True) if isinstance(found, h5py.Group) and key in found.keys() else None  # noqa: SIM118
        if link is None:
            raise VolumeError(f"'{file}' has no dataset '{name}'.")
        if not isinstance(link, h5py.HardLink):
            raise VolumeError(f"'{name}' in '{file}' is a link, which is not followed. {CURE}")
        found = found[key]
    if not isinstance(found, h5py.Dataset):
        raise VolumeError(f"'{name}' in '{file}' is no dataset. Name one inside it.")
    plist = found.id.get_create_plist()
    if found.shape is None or found.is_virtual or plist.get_external_count() > 0:
        raise VolumeError(f"the values of '{name}' are not in '{file}' itself. {CURE}")
    filters = [plist.get_filter(number)[0] for number in range(plist.get_nfilters())]
    # Deflate is what the bytes on the disk begin with: how much they unpack to can be checked.
    after = filters[filters.index(DEFLATE) + 1 :] if DEFLATE in filters else []
    if not set(filters) <= FILTERS or filters.count(DEFLATE) > 1 or set(after) - {FLETCHER32}:
        raise VolumeError(f"'{name}' in '{file}' is packed by filters that are not read ({filters}). {CURE}")
    return found


def _read_axes(dataset: Any) -> str:
    """Read the letters of the axes that ilastik states; "" without."""
    import h5py

    if AXES_ATTRIBUTE not in dataset.attrs:
        return ""
    stored = h5py.h5a.open(dataset.id, AXES_ATTRIBUTE.encode())
    if stored.get_storage_size() > MAX_ATTRIBUTE_BYTES or stored.shape not in ((), (1,)):
        return ""
    stated = dataset.attrs[AXES_ATTRIBUTE]
    stated = stated[0] if isinstance(stated, np.ndarray) else stated
    try:
        axes = json.loads(stated)["axes"]
        letters = "".join(str(axis["key"]).lower() for axis in axes)
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    return letters if are_axes(letters, len(dataset.shape)) else ""


def _chunk_bytes(dataset: Any, number: tuple[int, ...]) -> int | None:
    """Return how many bytes a chunk has in the file; None if it is not stored."""
    start = tuple(one * side for one, side in zip(number, dataset.chunks, strict=True))
    info = dataset.id.get_chunk_info_by_coord(start)
    return None if info.byte_offset is None else info.size


def _check_unpacked(path: Path, dataset: Any, place: tuple[Any, ...]) -> None:
    """Refuse chunks of a region that would unpack to more than their size: the library has no such limit."""
    if dataset.chunks is None:
        return
    plist = dataset.id.get_create_plist()
    filters = [plist.get_filter(number)[0] for number in range(plist.get_nfilters())]
    limit = dataset.dtype.itemsize
    for side in dataset.chunks:
        limit *= side
    limit += 2**16
    for number in chunks_of(place, dataset.shape, dataset.chunks):
        n_bytes = _chunk_bytes(dataset, number)
        if n_bytes is None:
            continue
        if n_bytes > 2 * limit:
            raise VolumeError(f"a chunk of '{path}' is larger than its shape. The file is damaged or hostile.")
        if DEFLATE in filters:
            start = tuple(one * side for one, side in zip(number, dataset.chunks, strict=True))
            mask, packed = dataset.id.read_direct_chunk(start)
            is_packed = not mask & 1 << filters.index(DEFLATE)
            if is_packed and len(zlib.decompressobj().decompress(packed, limit + 1)) > limit:
                raise VolumeError(
                    f"a chunk of '{path}' unpacks to more than its shape. The file is damaged or hostile."
                )
