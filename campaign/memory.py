"""Peak memory of `load`, `predict` and `segment` in new processes, against the formulas that docs/memory.md states.

The formulas bound what a process needs from the sizes of its files, so that it is known beforehand.
"""

import math
import shutil
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import tifffile
from PIL import Image

from campaign.commands import OK, Ended, run_command
from campaign.part import Case, Findings, Part
from campaign.world import make_world, must_run

MB = 10**6
SECONDS = 600.0
# The constants of docs/memory.md, in bytes.
LIBRARIES = 350 * MB  # the interpreter and all libraries, loaded
LOAD, PER_ARRAY_BYTE, PER_SCHEMA_BYTE = 40 * MB, 3, 30
PER_VALUE = 16  # of the largest image while it is decoded; a value is one channel of one pixel
STORED_COPIES, PER_VALUE_WITHOUT_WHITE = 3, 28  # of images other than of 8 and 16 bits without sign
PREDICT = 400 * MB  # 64 images of at most 320 x 320 pixels and their descriptions
SEGMENT = 200 * MB  # per thread: a tile of 256 x 256 pixels; and the spectra of the filters
TILE_SIDE = 256
N_JOBS = 2
METHODS = ("codebook", "hierarchy", "jungle", "objects", "tangent", "texture", "tradeoff")


def load_limit(model: Path) -> int:
    """Bound the memory of `load`."""
    with zipfile.ZipFile(model) as archive, archive.open("model.skops") as payload, zipfile.ZipFile(payload) as members:
        sizes = {member.filename: member.file_size for member in members.infolist()}
    n_schema = sizes.pop("schema.json")
    n_arrays = sum(sizes.values())
    return LIBRARIES + LOAD + model.stat().st_size + PER_ARRAY_BYTE * n_arrays + PER_SCHEMA_BYTE * n_schema


def read_limit(shape: tuple[int, ...], dtype: np.dtype) -> int:
    """Bound the memory of reading an image."""
    has_white = dtype in (np.uint8, np.uint16)
    return math.prod(shape) * (PER_VALUE if has_white else STORED_COPIES * dtype.itemsize + PER_VALUE_WITHOUT_WHITE)


def predict_limit(model: Path, shape: tuple[int, ...], dtype: np.dtype) -> int:
    """Bound the memory of `predict`, given the largest image."""
    return load_limit(model) + PREDICT + read_limit(shape, dtype)


def segment_limit(model: Path, height: int, width: int, n_channels: int) -> int:
    """Bound the memory of `segment` for a page: what is kept of all pixels, and of one band of tiles per round."""
    from invariance.models import load

    segmenter = load(model)
    n_rounds, n_classes = len(segmenter.final_estimators_), len(segmenter.classes_)
    n_features = segmenter.final_estimators_[-1].n_features_in_
    n_pixels = height * width
    per_pixel = PER_VALUE * n_channels + 4 * n_classes * (n_rounds + 2) + 24
    band = 4 * TILE_SIDE * (width + TILE_SIDE) * n_features
    return load_limit(model) + SEGMENT * N_JOBS + per_pixel * n_pixels + n_rounds * band


# ---------------------------------------------------------------- cases


def prepare(inputs: Path, is_short: bool) -> None:
    """Make a model of every method, and a segmenter of two rounds with the default patches."""
    make_world(inputs)
    (inputs / "memory").mkdir()
    if not is_short:
        from tests.models.forging import make_methods

        (inputs / "models").mkdir(exist_ok=True)
        make_methods(inputs / "models")
        cells = tifffile.imread(inputs / "world" / "cells.tif")[0].repeat(3, 0).repeat(3, 1)
        Image.fromarray(cells).save(inputs / "memory" / "cells.png")
        Image.fromarray((cells > 0).astype(np.uint8)).save(inputs / "memory" / "masks.png")
        must_run(["fit-pixels", "cells.png", "masks.png", "-o", "p.inv", "--pixels", "1000"], inputs / "memory")


def run(case: Case) -> Findings:
    """Measure one command."""
    return (SHORT_MEASURES if case.is_short else MEASURES)[case.number](case)


def load_large(case: Case) -> Findings:
    """`load` of a model of 80 MB whose numbers cannot be compressed, and of one whose numbers can."""
    findings = Findings()
    for kind in ("noise", "zeros"):
        path = case.folder / f"{kind}.inv"
        # Saved by another process, so that this one, whose child loads it, stays small.
        saved = run_command(["save", str(path)], case.folder, SECONDS, target=lambda: _save(path, kind))  # noqa: B023
        findings.faults += saved.faults([OK])
        measure(findings, f"load, 80 MB of {kind}", _load(path, case.folder), load_limit(path))
    return findings


def _save(path: Path, kind: str) -> int:
    from sklearn.linear_model import LogisticRegression

    from invariance.models import save

    n_features = 10_000_000
    model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    rng = np.random.default_rng(0)
    model.coef_ = rng.normal(size=(1, n_features)) if kind == "noise" else np.zeros((1, n_features))
    model.n_features_in_ = n_features
    save(model, path)
    return OK


def load_small(case: Case) -> Findings:
    """`load` of a small model."""
    findings, path = Findings(), case.inputs / "world" / "m.inv"
    measure(findings, "load, a small model", _load(path, case.folder), load_limit(path))
    return findings


def predict_one(case: Case, shape: tuple[int, ...], kind: str, dtype: type = np.uint8) -> Findings:
    """`predict` of one large image."""
    pixels: np.ndarray = case.rng.integers(0, 256, shape, dtype=np.uint8).astype(dtype)
    path = case.folder / f"large.{'png' if dtype == np.uint8 else 'tif'}"
    if path.suffix == ".tif":
        tifffile.imwrite(path, pixels, photometric="rgb" if len(shape) == 3 else "minisblack")
    else:
        Image.fromarray(pixels).save(path, compress_level=1)
    model, findings = case.inputs / "world" / "m.inv", Findings()
    limit = predict_limit(model, shape, pixels.dtype)
    measure(findings, f"predict, {kind} {_size(shape)}", _predict(model, path, case.folder), limit)
    return findings


def predict_refused(case: Case) -> Findings:
    """`predict` of an image that would need more than the limit of an image, which is skipped before it is decoded."""
    folder, size = case.folder / "images", (9000, 9000)
    folder.mkdir()
    Image.new("RGBA", size).save(folder / "large.png", compress_level=1)
    shutil.copy(case.inputs / "world" / "photos" / "level" / "0.png", folder)
    model, findings = case.inputs / "world" / "m.inv", Findings()
    limit = predict_limit(model, (1, 1), np.dtype(np.uint8))
    measure(findings, f"predict, refused rgba {_size(size)}", _predict(model, folder, case.folder), limit)
    return findings


def predict_many(case: Case, method: str) -> Findings:
    """`predict` of more images than are in memory at a time."""
    folder, shape = case.folder / "many", (400, 400, 3)
    folder.mkdir()
    for number in range(100):
        pixels = case.rng.integers(0, 256, shape, dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{number}.png", compress_level=1)
    model, findings = case.inputs / "models" / f"{method}.inv", Findings()
    limit = predict_limit(model, shape, np.dtype(np.uint8))
    measure(findings, f"predict, {method}, 100 images {_size(shape)}", _predict(model, folder, case.folder), limit)
    return findings


def _predict(model: Path, images: Path, folder: Path) -> Ended:
    arguments = ["predict", str(model), str(images), "--jobs", str(N_JOBS)]
    return run_command(arguments, folder, SECONDS, is_real=True)


def segment_one(case: Case, shape: tuple[int, int], model: str) -> Findings:
    """`segment` of one large image, with all results."""
    path, findings = case.folder / "large.png", Findings()
    cells = case.rng.integers(0, 2, (shape[0] // 8, shape[1] // 8)).repeat(8, 0).repeat(8, 1)
    Image.fromarray((200 * cells).astype(np.uint8)).save(path)
    arguments = ["segment", str(case.inputs / model), str(path), "-o", "out", "--probabilities", "--overlay"]
    ended = run_command([*arguments, "--jobs", str(N_JOBS)], case.folder, SECONDS, is_real=True)
    measure(findings, f"segment, {_size(shape)}", ended, segment_limit(case.inputs / model, *shape, 1))
    return findings


def _load(path: Path, folder: Path) -> Ended:
    """Load a model in a new process."""

    def load() -> int:
        from invariance.models import load

        load(path)
        return OK

    return run_command(["load", str(path)], folder, SECONDS, target=load)


def measure(findings: Findings, what: str, ended: Ended, limit: int) -> None:
    """Compare the peak of a command with its limit."""
    faults = ended.faults([OK])
    if not faults and ended.peak > limit:
        faults.append(ended.blamed(f"{what}: needs {ended.peak / MB:.0f} MB; {limit / MB:.0f} MB is its limit"))
    findings.add(f"{what}: {ended.peak / MB:.0f} of {limit / MB:.0f} MB", faults)


def _size(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))


MEASURES: tuple[Callable[[Case], Findings], ...] = (
    load_small,
    load_large,
    lambda case: predict_one(case, (3000, 3000), "grey"),
    lambda case: predict_one(case, (3000, 3000, 3), "rgb"),
    lambda case: predict_one(case, (3000, 3000, 4), "rgba"),
    lambda case: predict_one(case, (3000, 3000, 3), "16-bit", np.uint16),
    lambda case: predict_one(case, (3000, 3000), "float", np.float32),
    predict_refused,
    *(partial(predict_many, method=method) for method in METHODS),
    lambda case: segment_one(case, (512, 512), "memory/p.inv"),
    lambda case: segment_one(case, (1024, 1536), "memory/p.inv"),
    lambda case: segment_one(case, (256, 4096), "memory/p.inv"),
    lambda case: segment_one(case, (2048, 1024), "world/p.inv"),
)
SHORT_MEASURES = (load_small, lambda case: segment_one(case, (256, 256), "world/p.inv"))
PART = Part("memory", len(MEASURES), lambda number: 2 * SECONDS, prepare, run)
