"""Inputs that hostile or unlucky people give to commands: damaged images, folders without sense, forged models."""

import hashlib
import io
import json
import shutil
import struct
import zipfile
import zlib
from pathlib import Path

import numpy as np
import tifffile
from PIL import Image
from sklearn.linear_model import LogisticRegression

from invariance import models
from invariance.cli import main

PIXELS = np.random.default_rng(0).integers(0, 256, (24, 30), dtype=np.uint8)


def encoded(kind: str) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(PIXELS).save(buffer, kind)
    return buffer.getvalue()


def empty_png(width: int, height: int) -> bytes:
    """A PNG whose header promises pixels that never come."""

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


def zipped(members: dict[str, bytes], sizes: dict[str, int] | None = None) -> bytes:
    """A zip that lies about the sizes of some members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        for name, size in (sizes or {}).items():
            archive.getinfo(name).file_size = size
    return buffer.getvalue()


def model_around(payload: bytes, **description) -> bytes:
    """A model file with a right checksum; a description of None is left out."""
    said = {"format": 1, "library": "0.1.0", "method": "x", "type": "x", "sha256": hashlib.sha256(payload).hexdigest()}
    said = {name: value for name, value in (said | description).items() if value is not None}
    return zipped({"invariance.json": json.dumps(said).encode(), "model.skops": payload})


def with_flipped_bit(content: bytes, place: float) -> bytes:
    changed = bytearray(content)
    changed[int(place * (len(changed) - 1))] ^= 1
    return bytes(changed)


def fill(folder: Path, kinds=("level", "upright"), n=3) -> Path:
    for kind in kinds:
        (folder / kind).mkdir(parents=True)
        for number in range(n):
            Image.fromarray(np.roll(PIXELS, number, int(kind == "level"))).save(folder / kind / f"{number}.png")
    return folder


def put_inputs(world: Path) -> None:
    """Good inputs, two models, and every bad input that `test_malformed.py` names, in a folder."""
    fill(world / "photos")
    for name in ("images", "masks"):
        (world / name).mkdir()
    cells = np.random.default_rng(1).integers(0, 2, (6, 6)).repeat(8, 0).repeat(8, 1).astype(np.uint8)
    Image.fromarray(200 * cells).save(world / "images" / "a.png")
    Image.fromarray(cells).save(world / "masks" / "a.png")
    assert main(["fit", str(world / "photos"), "-o", str(world / "m.inv"), "--method", "codebook"]) == 0
    arguments = ["fit-pixels", str(world / "images"), str(world / "masks"), "-o", str(world / "p.inv")]
    assert main([*arguments, "--patch-size", "5", "--pixels", "200", "--rounds", "1"]) == 0
    put_bad_images(world)
    put_bad_folders(world)
    put_bad_models(world)


def put_bad_images(world: Path) -> None:
    good = encoded("png")
    files = {
        "a.png": good,
        "empty.png": b"",
        "text.png": b"this is no image\n",
        "cut.png": good[: len(good) // 2],
        "vast.png": empty_png(2**31 - 1, 2**31 - 1),
        "large.png": empty_png(13_000, 13_000),  # Pillow would only warn of it
        "flat.png": empty_png(0, 9),
        "notes": b"hello",
    }
    for name, content in files.items():
        (world / name).write_bytes(content)
    for name, value in {"nan.tif": np.nan, "infinite.tif": np.inf}.items():
        tifffile.imwrite(world / name, np.full((8, 8), value, np.float32))
    Image.new("RGB", (9, 9), "red").save(world / "colour.png")
    Image.new("L", (1, 1)).save(world / "dot.png")
    (world / "gone.png").symlink_to("nowhere.png")
    (world / "circle.png").symlink_to("circle.png")


def put_bad_folders(world: Path) -> None:
    for name in ("void", "folder.inv", "folder.csv", "folder.html", "taken/a.png", "hollow/level", "hollow/upright"):
        (world / name).mkdir(parents=True)
    fill(world / "one", ["level"])
    fill(world / "single", n=1)
    fill(world / "pairs", n=2)
    fill(world / "deep" / "deeper")
    fill(fill(world / "lonely", ["level"]), ["upright"], n=1)
    for number in range(3):
        (fill(world / f"broken{number}") / "level" / "9.png").write_bytes(b"no image")
        for good in range(number):
            (world / f"broken{number}" / "level" / f"{good}.png").write_bytes(b"")
    (world / "broken2" / "level" / "2.png").write_bytes(b"")
    names = {"line": "two\nlines", "emoji": "🍃", "dash": "--level", "bell": "\a\x1b[31mred", "bytes": "\udcff\udcfe"}
    for name, kind in names.items():
        folder = fill(world / "names" / name)
        (folder / "level").rename(folder / kind)
        (folder / kind / "9.png").write_bytes(b"no image")
    for name, mask in {
        "small": np.zeros((7, 7), np.uint8),
        "plain": np.zeros((48, 48), np.uint8),
        "bright": np.random.default_rng(0).integers(0, 255, (48, 48, 3), dtype=np.uint8),
    }.items():
        (world / name).mkdir()
        Image.fromarray(mask).save(world / name / "a.png")
    (world / "strange").mkdir()
    shutil.copy(world / "masks" / "a.png", world / "strange" / "b.png")


def put_bad_models(world: Path) -> None:
    good = (world / "m.inv").read_bytes()
    with zipfile.ZipFile(world / "m.inv") as archive:
        payload = archive.read("model.skops")
    torn = bytearray(zipped({"a.npz": bytes(range(256)) * 20}))
    torn[35:45] = b"\xff" * 10  # the compressed bytes begin there
    files = {
        "cut.inv": good[: len(good) // 2],
        "headless.inv": good[100:],
        "flipped.inv": with_flipped_bit(good, 0.5),
        "zero.inv": b"",
        "other.inv": zipped({"hello.txt": b"hello"}),
        "bomb.inv": zipped({"invariance.json": b" " * 2**23, "model.skops": payload}),
        "nested-bomb.inv": model_around(zipped({"schema.json": b"{}", "a.npy": b"x"}, {"a.npy": 2**40})),
        "torn.inv": model_around(bytes(torn)),
        "nonsense.inv": model_around(zipped({"schema.json": b"{}"})),
        "deep.inv": model_around(zipped({"schema.json": b"[" * 100_000})),
        "endless.inv": model_around(payload, format=float("inf")),
        "nameless.inv": model_around(payload, library=None),
        "future.inv": model_around(payload, format=99),
    }
    for name, content in files.items():
        (world / name).write_bytes(content)
    models.save(LogisticRegression().fit([[0.0], [1.0]], [0, 1]), world / "linear.inv")
