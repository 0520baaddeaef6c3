"""Classifying image files that may be millions: in blocks, on this machine or on a Dask cluster, in their order."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from invariance._core.records import RECORDS, Records, job_folder
from invariance._core.running import InThisProcess, OnDask, Progress, Workers, run_in_order
from invariance._version import __version__
from invariance.images import ImageError, comparing_once, read_compact, shrink
from invariance.images.file_list import FileList
from invariance.images.intensity_range import compare_range
from invariance.methods import ImageClassifier
from invariance.models import describe, load

STAGE = "classify"


@dataclass(frozen=True)
class Settings:
    """How files are classified.

    Attributes
    ----------
    scale : str or None, default=None
        How intensities are scaled; None as the model was fitted.
    strict : bool, default=False
        Whether an image that cannot be read is an error.
    digits : int or None, default=None
        To which probabilities are rounded; None keeps them.
    """

    scale: str | None = None
    strict: bool = False
    digits: int | None = None


class Found(NamedTuple):
    """What a worker found of a block, as JSON can hold it.

    Attributes
    ----------
    places : list of int
        Files of the block that could be read.
    codes : list of int
        Their most probable classes.
    probabilities : list of list of float
    skipped : list of (int, str)
        The other files of the block, and why they cannot be read.
    warning : str or None
        How the range of intensities differs from that of the training images.
    seconds : float
        What the classification took, without reading.
    """

    places: list[int]
    codes: list[int]
    probabilities: list[list[float]]
    skipped: list[tuple[int, str]]
    warning: str | None
    seconds: float


class Block(NamedTuple):
    """A block of files: their names, and what was found or the error."""

    files: list[Path]
    found: Found | None
    error: BaseException | None


@dataclass(frozen=True)
class ModelFile:
    """A model that a worker loads by itself. A callable that can be sent to it."""

    path: Path
    sha256: str
    scale: str | None

    def __call__(self) -> ImageClassifier:
        """Return the model; it is loaded once per process."""
        return _load(self)


# A process works on one job at a time.
@lru_cache(maxsize=1)
def _load(model: ModelFile) -> ImageClassifier:
    if describe(model.path)["sha256"] != model.sha256:
        raise ValueError(f"model '{model.path}' was replaced while images were classified. Start again.")
    classifier = load(model.path)
    return classifier if model.scale is None else classifier.set_params(scale=model.scale)


@dataclass(frozen=True)
class ClassifyFiles:
    """Read and classify the files of a block. A callable that can be sent to a worker.

    Attributes
    ----------
    open_model : callable () -> ImageClassifier
    folder : Path
        What relative names are relative to.
    files : list of Path
    settings : Settings
    """

    open_model: Callable[[], ImageClassifier]
    folder: Path
    files: list[Path]
    settings: Settings

    def __call__(self) -> Found:
        """Classify the files."""
        classifier = self.open_model()
        places, images, skipped = self._read(classifier.max_side)
        if not images:
            return Found([], [], [], skipped, None, 0.0)
        started = time.perf_counter()
        with comparing_once():
            values = classifier.predict_proba(images)
        seconds = time.perf_counter() - started
        warning = compare_range(classifier, images) if classifier.depends_on_range else None
        codes = values.argmax(axis=1).tolist()
        digits = self.settings.digits
        rows = (
            values.tolist() if digits is None else [[round(value, digits) for value in row] for row in values.tolist()]
        )
        return Found(places, codes, rows, skipped, warning, seconds)

    def _read(self, max_side: int) -> tuple[list[int], list[np.ndarray], list[tuple[int, str]]]:
        places, images, skipped = [], [], []
        for place, file in enumerate(self.files):
            path = self.folder / file
            try:
                images.append(shrink(read_compact(path), max_side))
                places.append(place)
            except ImageError as error:
                reason = str(error).replace(str(path), str(file))
                if self.settings.strict:
                    raise ImageError(reason) from error
                skipped.append((place, reason))
        return places, images, skipped


def classify_files(
    files: FileList,
    classifier: ImageClassifier,
    settings: Settings,
    model: Path | None = None,
    client: Any = None,
    records: Records | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Iterator[Block]:
    """Classify files in blocks; yield the blocks in the order of the files.

    Memory does not grow with the number of files: with a client, some finished blocks wait for earlier ones.

    Parameters
    ----------
    files : FileList
    classifier : ImageClassifier
        Used without a client; with `settings.scale`.
    settings : Settings
    model : Path or None, default=None
        The file of the classifier, which the workers of the client load by themselves.
    client : distributed.Client or None, default=None
        Computes the blocks on its workers, which must see the same files; None computes them in this process.
    records : Records or None, default=None
        Finished blocks are recorded there, and not computed again.
    on_progress : callable or None, default=None

    Yields
    ------
    block : Block
        With an error if it failed in all tries; a ValueError is not tried again, in this process none is.
    """
    workers: Workers = InThisProcess()
    open_model: Callable[[], ImageClassifier] = lambda: classifier  # noqa: E731
    folder, final = Path(), Exception
    if client is not None and model is not None:
        workers, folder, final = OnDask(client), Path.cwd(), ValueError
        open_model = ModelFile(model.resolve(), describe(model)["sha256"], settings.scale)

    def make_work(number: int) -> ClassifyFiles:
        return ClassifyFiles(open_model, folder, files.block(number), settings)

    for ended in run_in_order(STAGE, files.n_blocks, make_work, workers, records, on_progress, final):
        found = None if ended.error is not None else Found(*ended.result)
        yield Block(files.block(ended.number), found, ended.error)


@contextmanager
def recording(target: Path, model: Path, files: FileList, settings: Settings, restart: bool) -> Iterator[Records]:
    """Open the records of a table beside it, in the folder `TARGET.job`; remove them after success.

    Parameters
    ----------
    target : Path
        The table, which must be written inside.
    model : Path
    files : FileList
    settings : Settings
    restart : bool
        Whether records of an earlier run are deleted.

    Raises
    ------
    RecordsError
        If there are records of another model, other settings or other files, and not `restart`.
    """
    folder = job_folder(target)
    if folder.exists() and not (folder / RECORDS).is_file() and any(folder.iterdir()):
        raise FileExistsError(f"'{folder}' exists and was not written by this command. Name another output.")
    if restart:
        _remove(folder)
    folder.mkdir(exist_ok=True)
    how = [settings.scale, settings.strict, settings.digits, files.n_together, __version__]
    job = {"model": describe(model)["sha256"], "settings": how, "list of files": files.fingerprint()}
    records = Records(folder / RECORDS, job)
    try:
        yield records
    finally:
        records.close()
    _remove(folder)


def has_records(target: Path) -> bool:
    """Return whether an earlier run for this table has not come to its end."""
    return (job_folder(target) / RECORDS).is_file()


def _remove(folder: Path) -> None:
    """Remove the folder of a job, but nothing in it that is not ours."""
    for name in (RECORDS, f"{RECORDS}-journal"):
        (folder / name).unlink(missing_ok=True)
    with suppress(OSError):
        folder.rmdir()
