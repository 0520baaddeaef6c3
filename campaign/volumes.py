"""Forged volumes through `open_volume` and `segment`: labelled, or refused in one line, in bounded memory."""

import json
import os
import pickle
import shutil
import sys
import traceback
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import tifffile

from campaign.commands import MISTAKE, OK, run_command
from campaign.damage import HARMS
from campaign.part import Case, Findings, Part
from campaign.world import make_world

SECONDS = 300.0
N_PER_COMMAND = 7  # of so many volumes, one is labelled by a command
MAX_PEAK = 1_100_000_000  # bytes of a process: the libraries, and some times the largest chunk that is read
SHAPE = (3, 40, 50)
FAILED_BLOCKS = 1  # the exit code of a command that lists blocks it could not label
MAX_LABELLED = 10**5  # pixels of a forged volume that a command labels
EVIDENCE = "executed"  # a file that code of a stranger would make
EXTREMES: tuple[Any, ...] = (
    None, 0, -1, 1, 3, 1.5, "", "x", "../..", [], {}, [0], [-1, 40, 50], [10**9] * 3, [3, 40, 50, 1], [2**63] * 3, True,
    "|O", "<f8", ">u2", "<U3", "|V7", "int4", 10**30, [{"id": "pickle"}], {"id": "pickle"}, {"id": "zlib", "level": 99},
    [{"name": "bytes"}], "NaN", [[1, 2], [3]], {"name": "regular", "configuration": {"chunk_shape": [0, 1, 1]}},
    {"name": "regular", "configuration": {"chunk_shape": [10**6, 10**6, 10**6]}},
)  # fmt: skip


def prepare(inputs: Path, is_short: bool) -> None:
    """Write whole volumes of every kind."""
    make_world(inputs)
    folder = inputs / "volumes"
    if folder.exists():
        return
    folder.mkdir()
    run = run_command(["volumes"], folder, SECONDS, target=partial(_end_with, _write_all, folder))
    if run.code != OK:
        raise RuntimeError(run.blamed(f"ended with exit code {run.code}"))


def _end_with(work: Callable[..., int], *arguments: Path | None) -> int:
    """End the process with the exit code of some work, without unloading: a fork lacks what zarr ends itself by."""
    try:
        code = work(*arguments)
    except BaseException:
        traceback.print_exc()
        code = FAILED_BLOCKS
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _write_all(folder: Path) -> int:
    import h5py
    import zarr
    from numcodecs import Zlib

    cells = np.random.default_rng(0).integers(0, 2, (3, 5, 5)).repeat(8, 1).repeat(10, 2).astype(np.uint8) * 200
    for zarr_format in (2, 3):
        compressors: Any = [Zlib()] if zarr_format == 2 else "auto"
        plain = zarr.create_array(
            folder / f"plain{zarr_format}.zarr", shape=SHAPE, dtype="uint8", chunks=(1, 16, 16),
            zarr_format=zarr_format, compressors=compressors,
        )  # fmt: skip
        plain[:] = cells
        group = zarr.open_group(folder / f"ome{zarr_format}.zarr", mode="w", zarr_format=zarr_format)
        for level in (0, 1):
            part = cells[:, :: 2**level, :: 2**level]
            group.create_array(str(level), shape=part.shape, dtype="uint8", chunks=(1, 16, 16))[:] = part
        datasets = [{"path": str(level), "coordinateTransformations": []} for level in (0, 1)]
        stated: dict[str, Any] = {
            "multiscales": [{"axes": [{"name": one} for one in "zyx"], "datasets": datasets, "version": "0.4"}]
        }
        group.attrs.update(stated if zarr_format == 2 else {"ome": {"version": "0.5", **stated}})
    sharded = zarr.create_array(
        folder / "sharded.zarr", shape=SHAPE, dtype="uint8", chunks=(1, 16, 16), shards=(1, 64, 64)
    )
    sharded[:] = cells
    grey: dict[str, Any] = {"photometric": "minisblack", "tile": (16, 16)}
    tifffile.imwrite(folder / "tiles.tif", cells, compression="zlib", **grey)
    tifffile.imwrite(folder / "plain.tif", cells, bigtiff=True, **grey)
    with h5py.File(folder / "volume.h5", "w") as file:
        dataset = file.create_dataset("exported_data", data=cells, chunks=(1, 16, 16), compression="gzip")
        dataset.attrs["axistags"] = json.dumps({"axes": [{"key": one} for one in "zyx"]})
    return OK


def run(case: Case) -> Findings:
    """Forge one volume, and let a child read it and label it."""
    sources = sorted((case.inputs / "volumes").iterdir())
    source = sources[case.number % len(sources)]
    path = case.folder / source.name
    (shutil.copytree if source.is_dir() else shutil.copy)(source, path)
    done = []
    for _ in range(int(case.rng.integers(1, 3))):
        forgeries = STORE_FORGERIES if path.is_dir() else FILE_FORGERIES
        forge = forgeries[case.rng.integers(len(forgeries))]
        forge(path, case.rng)
        done.append(forge.__name__.strip("_"))
    what = f"{source.name}: {', '.join(done)}"
    model = case.inputs / "world" / "p.inv" if case.number % N_PER_COMMAND == 0 else None
    ended = run_command(["volume", what], case.folder, SECONDS, target=partial(_end_with, _judge, path, model))
    faults = [f"forged volume {what}\n{fault}" for fault in ended.faults([OK, FAILED_BLOCKS, MISTAKE])]
    if not faults and ended.peak > MAX_PEAK:
        faults.append(ended.blamed(f"forged volume {what}: needs {ended.peak / 1e6:.0f} MB"))
    if (case.folder / EVIDENCE).exists():
        faults.append(f"forged volume {what}: code of the file was executed")
    findings = Findings()
    findings.add(f"{source.suffix[1:]} {ended.out.split()[0] if ended.out else 'refused'}", faults)
    return findings


def _judge(path: Path, model: Path | None) -> int:
    """Read a part of a volume, and with a model label it unless it is large; what is refused must be one line."""
    import math

    import invariance.images.tiff_pages as tiff_pages
    from invariance.cli import main
    from invariance.images import ImageError
    from invariance.volumes import VolumeError, open_volume

    tiff_pages.MAX_WHOLE_BYTES = 0  # small files by region, as large ones
    try:
        volume = open_volume(path)
        index = tuple(length - 1 for length in volume.shape[:-2])
        part = volume.section(index)[:20, 5:30]
        height, width = (min(20, volume.shape[-2]), len(range(*slice(5, 30).indices(volume.shape[-1]))))
        assert part.shape[:2] == (height, width), part.shape
        print("read", flush=True)
    except (VolumeError, ImageError, FileNotFoundError) as error:
        if len(str(error).splitlines()) != 1:
            raise AssertionError(f"an error of several lines: {error}") from error
        print("refused", flush=True)
        volume = None
    if model is None or (volume is not None and math.prod(volume.shape) > MAX_LABELLED):
        return OK
    return main(["segment", str(model), str(path), "-o", "out.zarr"])


# ---------------------------------------------------------------- Zarr


def _files(path: Path, is_metadata: bool) -> list[Path]:
    names = (".zarray", ".zattrs", ".zgroup", "zarr.json")
    return sorted(one for one in path.rglob("*") if one.is_file() and (one.name in names) == is_metadata)


def _pick(rng: np.random.Generator, values: Any) -> Any:
    return values[int(rng.integers(len(values)))]


def _parse(file: Path) -> Any:
    """Return the content of metadata, None if an earlier forgery has damaged them."""
    try:
        return json.loads(file.read_text())
    except (ValueError, RecursionError):
        return None


def _change_metadata(path: Path, rng: np.random.Generator) -> None:
    """Replace one value anywhere in the metadata."""
    files = _files(path, is_metadata=True)
    if not files:
        return
    file = _pick(rng, files)
    content = _parse(file)
    places: list[tuple[Any, Any]] = []
    waiting = [content]
    while waiting:
        node = waiting.pop()
        for key in node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ():
            places.append((node, key))
            waiting.append(node[key])
    if places:
        node, key = _pick(rng, places)
        node[key] = _pick(rng, EXTREMES)
        file.write_text(json.dumps(content))


def _damage_metadata(path: Path, rng: np.random.Generator) -> None:
    file = _pick(rng, _files(path, is_metadata=True) or [path / "zarr.json"])
    content = file.read_bytes() if file.exists() else b"{"
    file.write_bytes(_pick(rng, HARMS)(content, rng) if content else b"[" * 10**5)


def _nest_metadata(path: Path, rng: np.random.Generator) -> None:
    _pick(rng, _files(path, is_metadata=True) or [path / "zarr.json"]).write_bytes(b"[" * 10**6)


def _grow(path: Path, rng: np.random.Generator) -> None:
    """State a huge shape, or huge chunks."""
    for file in _files(path, is_metadata=True):
        content = _parse(file)
        if isinstance(content, dict) and "shape" in content:
            large = [3, int(10 ** rng.integers(3, 13)), int(10 ** rng.integers(3, 13))]
            if "chunks" in content:
                content[_pick(rng, ("shape", "chunks"))] = large
            elif rng.random() < 0.5:
                content["shape"] = large
            else:
                content["chunk_grid"] = {"name": "regular", "configuration": {"chunk_shape": large}}
            file.write_text(json.dumps(content))


def _damage_chunks(path: Path, rng: np.random.Generator) -> None:
    """Damage, truncate or delete some chunks."""
    for file in _files(path, is_metadata=False):
        if rng.random() < 0.5:
            content = file.read_bytes()
            if rng.random() < 0.2 or not content:
                file.unlink()
            else:
                file.write_bytes(_pick(rng, HARMS)(content, rng))


def _bomb(path: Path, rng: np.random.Generator) -> None:
    """Replace chunks by what unpacks to a gigabyte, or states that it does."""
    packer = zlib.compressobj(1)
    bombs = {
        "zlib": b"".join([*(packer.compress(bytes(10**7)) for _ in range(100)), packer.flush()]),
        "blosc": bytes([2, 1, 0, 1]) + (2**31 - 17).to_bytes(4, "little") + (2**31 - 17).to_bytes(4, "little")
        + (24).to_bytes(4, "little") + bytes(8),
        "zstd": b"\x28\xb5\x2f\xfd\xe0" + (2**40).to_bytes(8, "little") + b"\x01\x00\x00",
    }  # fmt: skip
    content = bombs[_pick(rng, tuple(bombs))]
    for file in _files(path, is_metadata=False):
        file.write_bytes(content)


def _link_away(path: Path, rng: np.random.Generator) -> None:
    """Replace a file or a folder by a link to a device, a pipe, another file, or the store itself."""
    target = _pick(rng, ("/dev/zero", "/etc/passwd", "/proc/self/mem", str(path), "..", "pipe", "/dev/stdin"))
    victims = [one for one in path.rglob("*") if not one.is_symlink()]
    if not victims:
        return
    victim = _pick(rng, sorted(victims))
    (shutil.rmtree if victim.is_dir() else os.unlink)(victim)
    if target == "pipe":
        os.mkfifo(victim)
    else:
        victim.symlink_to(target)


class _Evil:
    """Unpickled, it makes a file."""

    def __reduce__(self):
        return os.mkdir, (EVIDENCE,)


def _pickled(path: Path, rng: np.random.Generator) -> None:
    """State that chunks are pickles, and make them such."""
    for file in _files(path, is_metadata=True):
        content = _parse(file)
        if isinstance(content, dict) and "chunks" in content:
            if rng.random() < 0.5:
                content["dtype"] = "|O"
            content["compressor"], content["filters"] = _pick(
                rng, ((None, [{"id": "pickle"}]), ({"id": "pickle"}, None), ({"id": "zlib"}, [{"id": "pickle"}]))
            )
            file.write_text(json.dumps(content))
        elif isinstance(content, dict) and "codecs" in content:
            name = _pick(rng, ("pickle", "numcodecs.pickle"))
            content["codecs"] = [{"name": name, "configuration": {}}, {"name": "bytes"}][:: _pick(rng, (1, -1))]
            file.write_text(json.dumps(content))
    payload = pickle.dumps(_Evil())
    for file in _files(path, is_metadata=False):
        file.write_bytes(payload if rng.random() < 0.7 else zlib.compress(payload))


def _swap_nodes(path: Path, rng: np.random.Generator) -> None:
    """Put groups where arrays should be, and the other way round."""
    files = _files(path, is_metadata=True)
    if len(files) > 1:
        first, second = rng.choice(len(files), 2, replace=False)
        shutil.copy(files[first], files[second])


# ---------------------------------------------------------------- files


def _harm(path: Path, rng: np.random.Generator) -> None:
    content = path.read_bytes()
    if content:
        path.write_bytes(_pick(rng, HARMS)(content, rng))


def _edit_numbers(path: Path, rng: np.random.Generator) -> None:
    """Replace some numbers of 2, 4 or 8 bytes by extreme ones."""
    content = bytearray(path.read_bytes())
    for _ in range(int(rng.integers(1, 6))):
        size = int(rng.choice([2, 4, 8]))
        place = int(rng.integers(max(1, (len(content) - size) // 2))) * 2
        value = int(_pick(rng, (0, 1, 2**15, 2**16 - 1, 2**31 - 1, 2**32 - 1, 2**63 - 1, 10**6, len(content))))
        content[place : place + size] = (value % 2 ** (8 * size)).to_bytes(size, "little")
    path.write_bytes(content)


def _retag(path: Path, rng: np.random.Generator) -> None:
    """Change one of the tags of a TIFF that describe tiles; anywhere in an HDF5 file."""
    if path.suffix != ".tif":
        return _edit_numbers(path, rng)
    tags = ("ImageWidth", "ImageLength", "TileWidth", "TileLength", "TileByteCounts", "TileOffsets", "BitsPerSample",
            "SamplesPerPixel", "Compression", "PhotometricInterpretation")  # fmt: skip
    try:
        with tifffile.TiffFile(path, mode="r+") as file:
            tag = _pick(rng, file.pages).tags[_pick(rng, tags)]
            value = int(_pick(rng, (0, 1, 7, 16, 255, 65535, 10**6, 2**31 - 1)))
            values = list(tag.value) if isinstance(tag.value, tuple) else [tag.value]
            values[int(rng.integers(len(values)))] = value % 2 ** (16 if tag.dtype == 3 else 32)
            tag.overwrite(values if len(values) > 1 else values[0])
    except Exception:  # it was damaged before
        _edit_numbers(path, rng)


Forgery = Callable[[Path, np.random.Generator], None]
STORE_FORGERIES: tuple[Forgery, ...] = (
    *(_change_metadata,) * 4, *(_damage_chunks,) * 2, _damage_metadata, _nest_metadata, _grow, _bomb, _link_away,
    _pickled, _swap_nodes,
)  # fmt: skip
FILE_FORGERIES: tuple[Forgery, ...] = (_harm, _edit_numbers, *(_retag,) * 2)
PART = Part("volumes", 300, lambda number: 2 * SECONDS, prepare, run, n_together=10)
