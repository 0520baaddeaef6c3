"""What a worker does with one block: read its part of the source, predict, write once. Needs nothing but files."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from invariance.models import load
from invariance.segmentation import JungleSegmenter
from invariance.segmentation.description import TILE_SIDE
from invariance.segmentation.standard import Measured
from invariance.volumes.opening import open_volume
from invariance.volumes.targets import Levels, read_block, write_block
from invariance.volumes.volume import ReadOnce, Volume


@dataclass(frozen=True)
class Job:
    """All that a worker must know; small, since it is sent with every block.

    Attributes
    ----------
    model : Path
        The model file; its content must not change.
    source : Path
    level : int
    channel : int or None
    roi : tuple of (start, stop)
        The region of the source, one range per axis.
    target : Path
    labels, probabilities : Levels or None
        What is written; None for nothing.
    n_jobs : int
        Threads per block.
    """

    model: Path
    source: Path
    level: int
    channel: int | None
    roi: tuple[tuple[int, int], ...]
    target: Path
    labels: Levels | None
    probabilities: Levels | None
    n_jobs: int

    def in_source(self, index: Sequence[int]) -> tuple[int, ...]:
        """Return the index of a section of the region in the source."""
        return tuple(int(one) + start for one, (start, _) in zip(index, self.roi[:-2], strict=True))


@dataclass(frozen=True)
class MeasureSection:
    """Measure what the parts of a section are standardized by. A callable that can be sent to a worker."""

    job: Job
    number: int

    def __call__(self) -> Any:
        """Return the measures of the section, as JSON."""
        model, source = _open_model(self.job.model, self.job.n_jobs), _open(self.job)
        lengths = [stop - start for start, stop in self.job.roi[:-2]]
        index = [int(one) for one in np.unravel_index(self.number, lengths)] if lengths else []
        measured = model.measure(source.section(self.job.in_source(index)))
        extremes = None if measured.extremes is None else [float(one) for one in measured.extremes]
        return [measured.mean.tolist(), measured.deviation.tolist(), extremes]


@dataclass(frozen=True)
class LabelBlock:
    """Label one block of the region. A callable that can be sent to a worker.

    Attributes
    ----------
    job : Job
    place : tuple of slices
        The block in the region.
    measures : list or None
        What `MeasureSection` found for its sections; None if it covers whole sections, which are then measured here.
    """

    job: Job
    place: tuple[slice, ...]
    measures: list[Any] | None

    def __call__(self) -> list[int]:
        """Write the block; return how many pixels of each class it has."""
        model, source, place = _open_model(self.job.model, self.job.n_jobs), _open(self.job), self.place
        n_classes = len(model.classes_)
        shape = tuple(part.stop - part.start for part in place)
        labels = np.empty(shape, self.job.labels.dtype) if self.job.labels is not None else None
        maps = np.empty((n_classes, *shape), np.uint8) if self.job.probabilities is not None else None
        values = model.classes_ if labels is None else model.classes_.astype(labels.dtype)
        counts = np.zeros(n_classes, np.int64)
        rows, cols = (_shift(part, start) for part, (start, _) in zip(place[-2:], self.job.roi[-2:], strict=True))
        margin = TILE_SIDE * len(model.final_estimators_)  # rounds before the last reach one tile further each
        for number, inside in enumerate(np.ndindex(*shape[:-2])):
            index = self.job.in_source([part.start + one for part, one in zip(place[:-2], inside, strict=True)])
            measured = None if self.measures is None else _as_measured(self.measures[number])
            section = ReadOnce(source.section(index), _grow(rows, margin), _grow(cols, margin))
            found = model.predict_part(section, rows, cols, measured)
            codes = most_probable(found)
            counts += np.bincount(codes.ravel(), minlength=n_classes)
            if labels is not None:
                labels[inside] = values[codes]
            if maps is not None:
                maps[(slice(None), *inside)] = np.rint(255 * found).astype(np.uint8).transpose(2, 0, 1)
        if labels is not None and self.job.labels is not None:
            write_block(self.job.target, self.job.labels.path(0), place, labels)
        if maps is not None and self.job.probabilities is not None:
            write_block(self.job.target, self.job.probabilities.path(0), (slice(0, n_classes), *place), maps)
        return counts.tolist()


@dataclass(frozen=True)
class ShrinkBlock:
    """Write one block of a level from the stored level below. A callable that can be sent to a worker.

    Attributes
    ----------
    target : Path
    levels : Levels
    place : tuple of slices
        The block in the level.
    level : int
        The level to write, from 1.
    is_label : bool
        Whether pixels are the most frequent value of 2 x 2, instead of their mean.
    """

    target: Path
    levels: Levels
    place: tuple[slice, ...]
    level: int
    is_label: bool

    def __call__(self) -> None:
        """Write the block."""
        place = self.place
        below = self.levels.shapes[self.level - 1]
        doubled = [
            slice(2 * part.start, min(2 * part.stop, side)) for part, side in zip(place[-2:], below[-2:], strict=True)
        ]
        values = read_block(self.target, self.levels.path(self.level - 1), (*place[:-2], *doubled))
        write_block(self.target, self.levels.path(self.level), place, shrink(values, self.is_label))


def most_probable(probabilities: np.ndarray) -> np.ndarray:
    """Return the place (h, w) of the largest of the last axis, the first of several, as `argmax` does.

    For few classes, comparing whole planes takes a fraction of its time.
    """
    codes = np.zeros(probabilities.shape[:-1], np.intp)
    largest = probabilities[..., 0].copy()
    for number in range(1, probabilities.shape[-1]):
        plane = probabilities[..., number]
        np.copyto(codes, number, where=plane > largest)
        np.maximum(largest, plane, out=largest)
    return codes


def shrink(values: np.ndarray, is_label: bool) -> np.ndarray:
    """Halve the last two axes: means of 2 x 2 pixels, or their most frequent value, the smallest of several.

    An odd last row or column counts twice.
    """
    odd = [(0, 0)] * (values.ndim - 2) + [(0, length % 2) for length in values.shape[-2:]]
    padded = np.pad(values, odd, mode="edge")
    corners = np.stack([padded[..., row::2, col::2] for row in (0, 1) for col in (0, 1)])
    if not is_label:
        return np.rint(corners.mean(axis=0, dtype=np.float32)).astype(values.dtype)
    frequency = np.stack([(corners == corner).sum(axis=0) for corner in corners])
    candidates = np.where(frequency == frequency.max(axis=0), corners, np.iinfo(values.dtype).max)
    return candidates.min(axis=0)


def _as_measured(stored: Any) -> Measured:
    """Convert what `MeasureSection` returned; a float32 is exact as a float."""
    mean, deviation, extremes = stored
    pair = None if extremes is None else (np.float32(extremes[0]), np.float32(extremes[1]))
    return Measured(np.array(mean, np.float32), np.array(deviation, np.float32), pair)


# A process works on one job at a time, and opens its files once.
@lru_cache(maxsize=1)
def _open_model(path: Path, n_jobs: int) -> JungleSegmenter:
    return load(path).set_params(n_jobs=n_jobs)


def _open(job: Job) -> Volume:
    return _open_source(job.source, job.level, job.channel)


@lru_cache(maxsize=1)
def _open_source(path: Path, level: int, channel: int | None) -> Volume:
    return open_volume(path, level, channel)


def _shift(part: slice, start: int) -> slice:
    return slice(part.start + start, part.stop + start)


def _grow(part: slice, margin: int) -> slice:
    return slice(part.start - margin, part.stop + margin)
