"""Marks on an image whose true mask is known: strokes of a brush as a hand draws them, and discs.

Discs lie at random places and show the truth. Of the strokes, every second follows the foreground, such as a
membrane, and is painted as foreground. The others cross it, and are painted with the class that is seen under the
brush. A hand wavers and does not see borders exactly, so that some pixels beside a border get the wrong label.
"""

from collections.abc import Sequence
from typing import NamedTuple

import cv2
import numpy as np

from experiments.peers.pixel_forest import UNLABELLED

WIDTH, LENGTH = 3, 30  # of a stroke in pixels
STEP = 3  # pixels between points of a stroke
MARGIN = 4  # a stroke begins this far inside the image
BEND = np.deg2rad(40)  # the sharpest bend that a hand makes within a step
CURVATURE = np.deg2rad(4)  # standard deviation of the bend per step where nothing is followed
WAVER = 0.5  # standard deviation of a point beside the line that is meant, in pixels
MISSEEN = 1  # a border is seen up to this many pixels away from where it is
DEEPEST = 4.0  # depth in pixels beyond which one place of the foreground is as good as another


class Stroke(NamedTuple):
    """Pixels of one stroke of the brush, and the class that each is painted with."""

    rows: np.ndarray
    cols: np.ndarray
    labels: np.ndarray


def draw_strokes(mask: np.ndarray, n_strokes: int, rng: np.random.Generator) -> list[Stroke]:
    """Strokes of width 3 and about 30 pixels long on the foreground of a mask, and across it, by turns.

    Parameters
    ----------
    mask : ndarray of shape (h, w)
        True on the foreground; both classes must be in it.
    n_strokes : int
    rng : Generator

    Returns
    -------
    strokes : list of Stroke
        Of labels 0 and 1; together they have both.
    """
    mask = np.asarray(mask, bool)
    inner = mask[MARGIN:-MARGIN, MARGIN:-MARGIN]
    if not inner.any() or inner.all():
        raise ValueError(f"mask must hold both classes {MARGIN} pixels from the border. Take another image.")
    depth = depth_of(mask)
    starts = np.argwhere(inner) + MARGIN
    while True:
        chosen = starts[rng.integers(len(starts), size=n_strokes)]
        strokes = [
            _follow(mask, depth, start, rng) if number % 2 == 0 else _cross(mask, depth, start, rng)
            for number, start in enumerate(chosen)
        ]
        if len(np.unique(np.concatenate([stroke.labels for stroke in strokes]))) == 2:
            return strokes


def paint(strokes: Sequence[Stroke], shape: tuple[int, ...]) -> np.ndarray:
    """A mask (h, w) int8 of the labels of strokes, a later one over the earlier ones, and -1 elsewhere."""
    painted = np.full(shape, UNLABELLED, np.int8)
    for stroke in strokes:
        painted[stroke.rows, stroke.cols] = stroke.labels
    return painted


def depth_of(mask: np.ndarray) -> np.ndarray:
    """How deep a pixel lies in the foreground, at most `DEEPEST`; below 0 in the background. float32 (h, w)."""
    inside, outside = (
        cv2.distanceTransform(side.astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_5) for side in (mask, ~mask)
    )
    return cv2.GaussianBlur(np.clip(inside - outside, -DEEPEST, DEEPEST), (0, 0), 1)


def _follow(mask: np.ndarray, depth: np.ndarray, start: np.ndarray, rng: np.random.Generator) -> Stroke:
    """A stroke along the middle of the foreground, where it is deepest."""
    place = _middle_near(depth, start)
    heading = _best_heading(depth, place, rng)
    bends = np.linspace(-BEND, BEND, 9)
    line = [place]
    for _ in range(LENGTH // STEP):
        ahead = line[-1] + STEP * _towards(heading + bends)
        # A straight line is preferred where several directions are as good.
        heading += bends[np.argmax(_at(depth, ahead) - 0.5 * (bends / BEND) ** 2)]
        line.append(line[-1] + STEP * _towards(heading))
    rows, cols = _brush(np.array(line), mask.shape, rng)
    return Stroke(rows, cols, np.ones(len(rows), np.int8))


def _cross(mask: np.ndarray, depth: np.ndarray, start: np.ndarray, rng: np.random.Generator) -> Stroke:
    """A stroke through a place of the foreground, across it; classes change where the hand sees a border."""
    place = _middle_near(depth, start)
    heading = _best_heading(depth, place, rng) + np.pi / 2 + rng.normal(0, BEND / 4)
    steps = LENGTH // STEP
    halves = [
        place + STEP * np.cumsum(_towards(side + np.cumsum(rng.normal(0, CURVATURE, steps // 2))), axis=0)
        for side in (heading, heading + np.pi)
    ]
    rows, cols = _brush(np.concatenate([halves[0][::-1], [place], halves[1]]), mask.shape, rng)
    seen = np.stack([rows, cols]) + rng.integers(-MISSEEN, MISSEEN + 1, size=(2, 1))
    labels = mask[tuple(np.clip(seen, 0, np.array(mask.shape)[:, None] - 1))]
    return Stroke(rows, cols, labels.astype(np.int8))


def _middle_near(depth: np.ndarray, start: np.ndarray) -> np.ndarray:
    """The deepest pixel within two pixels of a start, as (row, col)."""
    top, left = start - 2
    window = depth[top : top + 5, left : left + 5]
    return start - 2.0 + np.unravel_index(np.argmax(window), window.shape)


def _best_heading(depth: np.ndarray, place: np.ndarray, rng: np.random.Generator) -> float:
    """The angle in which the foreground is deepest over the first steps."""
    angles = rng.uniform(0, 2 * np.pi) + np.linspace(0, 2 * np.pi, 16, endpoint=False)
    ahead = sum(_at(depth, place + distance * _towards(angles)) for distance in (STEP, 2 * STEP, 3 * STEP))
    return float(angles[np.argmax(ahead)])


def _towards(angles: np.ndarray | float) -> np.ndarray:
    """Steps (..., 2) of length 1, as (row, col)."""
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1)


def _at(depth: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The depth at places (..., 2); outside the image that of the background."""
    rows, cols = np.moveaxis(np.round(places).astype(int), -1, 0)
    inside = (rows >= 0) & (rows < depth.shape[0]) & (cols >= 0) & (cols < depth.shape[1])
    return np.where(inside, depth[np.where(inside, rows, 0), np.where(inside, cols, 0)], -DEEPEST)


def _brush(line: np.ndarray, shape: tuple[int, ...], rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The pixels (rows, cols) under a brush that is led along a line (n, 2) by a hand that wavers."""
    led = np.round(line + rng.normal(0, WAVER, line.shape)).astype(np.int32)
    canvas = np.zeros(shape, np.uint8)
    cv2.polylines(canvas, [np.ascontiguousarray(led[:, ::-1])], False, 1)
    # cv2's own lines of width 3 are nearly 5 pixels wide.
    rows, cols = np.nonzero(cv2.dilate(canvas, cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (WIDTH, WIDTH))))
    return rows, cols


def draw_scribbles(mask: np.ndarray, n_discs: int, radius: int, rng: np.random.Generator) -> np.ndarray:
    """A mask (h, w) int8 of 0 and 1 inside discs at random places, which may overlap, and -1 elsewhere.

    Discs lie inside the image. A draw that shows one class only is drawn again.
    """
    mask = np.asarray(mask, bool)
    if mask.all() or not mask.any():
        raise ValueError(f"mask must hold both classes; got {mask.flat[0]} everywhere. Take another section.")
    offsets = np.arange(-radius, radius + 1)
    down, right = np.nonzero(offsets[:, None] ** 2 + offsets**2 <= radius**2)
    while True:
        tops = rng.integers(mask.shape[0] - 2 * radius, size=(n_discs, 1))
        lefts = rng.integers(mask.shape[1] - 2 * radius, size=(n_discs, 1))
        marked = np.zeros(mask.shape, bool)
        marked[tops + down, lefts + right] = True
        if mask[marked].any() and not mask[marked].all():
            return np.where(marked, mask, UNLABELLED).astype(np.int8)
