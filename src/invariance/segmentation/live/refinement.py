"""The refined model: a `JungleSegmenter` fitted to strokes, on regions around them, in a thread that can be cancelled.

Regions are cut from images that are standardized already, so that parts of a slide have the brightness of the slide.
The fitted segmenter is then told to standardize images itself: it runs on whole images as any other.
"""

import copy
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from invariance.images.intensity_range import measure_range
from invariance.segmentation.bank import REACH
from invariance.segmentation.live.background import Token
from invariance.segmentation.live.images import Region
from invariance.segmentation.live.stroke_rows import choose_pixels
from invariance.segmentation.live.strokes import Painted
from invariance.segmentation.segmenter import JungleSegmenter
from invariance.segmentation.standard import StandardImage
from invariance.segmentation.tiles import Tile
from invariance.segmentation.windows import window_reach
from invariance.transformations import Identity
from invariance.transformations.sets import split_normalizing

# Images of at most this many pixels are used as a whole, of others the squares of this side with strokes in them, the
# newest first, with this margin, up to this many pixels in all (our choices, for time and memory).
MAX_WHOLE_PIXELS = 1024 * 1024
BLOCK_SIDE, BLOCK_MARGIN = 512, 64
MAX_REGION_PIXELS = 4 * 1024 * 1024
# Of a stroke with more pixels, those in so many discs of this radius are used: about as many.
MAX_PIXELS_PER_STROKE, N_DISCS, DISC_RADIUS = 1024, 16, 4
# Filters of so many sets of strokes are kept.
MAX_KEPT_FILTERS = 4


class RefinedModel:
    """A fitted segmenter that predicts parts of images.

    Parameters
    ----------
    version : int
        The revision of the strokes.
    segmenter : JungleSegmenter
        The segmenter, for whole images as they are stored.
    """

    stage = "refined"

    def __init__(self, version: int, segmenter: JungleSegmenter):
        self.version, self.segmenter, self.classes = version, segmenter, segmenter.classes_
        self._runner = copy.copy(segmenter)
        self._runner.set_params(standardize=False, scale="dtype", transformations=_without_normalizing(segmenter))
        self._runner.__dict__.pop("intensity_range_", None)  # standardized values have none
        reach = max(REACH, window_reach(segmenter.patch_size_)) + REACH * (len(segmenter.final_estimators_) - 1)
        self._margin = -(-reach // 8) * 8  # learned filters see every second pixel: parts begin at an even one

    def predict(self, image: StandardImage, block: Tile) -> np.ndarray:
        """Predict probabilities (h, w, K) float32 of a part of an image, as for the whole image."""
        height, width = image.shape[:2]
        top, left = max(block.top - self._margin, 0), max(block.left - self._margin, 0)
        bottom, right = min(block.bottom + self._margin, height), min(block.right + self._margin, width)
        maps = self._runner.predict_proba(image[top:bottom, left:right])
        return maps[block.top - top : block.bottom - top, block.left - left : block.right - left].copy()


class Picked(NamedTuple):
    """The pixels of a stroke that are learned from, its image and its label."""

    image: int
    label: int
    rows: np.ndarray
    cols: np.ndarray


class _Filters(NamedTuple):
    """A segmenter with learned filters, and the strokes that they were learned from."""

    painted: list[Painted]
    segmenter: JungleSegmenter


class Refiner:
    """Fits segmenters to strokes; filters are kept as long as the strokes they were learned from are.

    Filters are learned from the first 2, 3, 4, 6, 8, 12, ... strokes, and the final estimators from all. So the result
    depends on the strokes alone, not on which of the earlier jobs were cancelled.

    Parameters
    ----------
    template : JungleSegmenter
        The parameters.
    seed : int
        Seed of everything that is random.
    given : JungleSegmenter or None
        A fitted segmenter whose filters are kept as long as classes and channels are the same.
    """

    def __init__(self, template: JungleSegmenter, seed: int, given: JungleSegmenter | None = None):
        self._template, self._seed, self.given = template, seed, given
        self._kept: list[_Filters] = []

    def fit(self, version: int, painted: list[Painted], images: list[StandardImage], token: Token) -> RefinedModel:
        """Fit a segmenter to strokes; raise `Cancelled` if the token says so."""
        with_filters = self._find_filters(painted, images, token)
        segmenter = self._make(painted, warm_start=True)
        for name in ("features_", "patch_size_", "classes_", "n_channels_"):
            setattr(segmenter, name, getattr(with_filters, name))
        segmenter.fit(*self._cut(painted, images, token, segmenter.unlabelled))
        token.check()
        segmenter.intensity_range_ = measure_range([images[part.stroke.image].image for part in painted[-1:]])
        parameters = ("standardize", "scale", "transformations", "warm_start", "random_state")
        segmenter.set_params(**{name: getattr(self._template, name) for name in parameters})
        return RefinedModel(version, segmenter)

    def _find_filters(self, painted: list[Painted], images: list[StandardImage], token: Token) -> JungleSegmenter:
        labels = np.array([part.stroke.label for part in painted])
        classes = np.unique(labels)
        if self.given is not None and np.array_equal(self.given.classes_, classes):
            return self.given
        first = painted[: count_for_filters(labels)]
        for kept in self._kept:
            if len(kept.painted) == len(first) and all(map(_is_same, kept.painted, first)):
                return kept.segmenter
        segmenter = self._make(first, n_rounds=1)
        segmenter.fit(*self._cut(first, images, token, segmenter.unlabelled))
        self._kept = [_Filters(first, segmenter), *self._kept][:MAX_KEPT_FILTERS]
        return segmenter

    def _make(self, painted: list[Painted], **parameters: Any) -> JungleSegmenter:
        """Make an unfitted segmenter for images that are standardized already."""
        segmenter = clone(self._template).set_params(standardize=False, scale="dtype", random_state=self._seed)
        unlabelled = min(int(part.stroke.label or 0) for part in painted) - 1
        phi = _without_normalizing(segmenter)
        return segmenter.set_params(transformations=phi, unlabelled=unlabelled, **parameters)

    def _cut(self, painted: list[Painted], images: list[StandardImage], token: Token, unlabelled: int):
        """Cut regions with strokes, (list of Region, list of masks)."""
        picked = [pick_pixels(part, self._seed) for part in painted]
        regions, masks = [], []
        for image, block in choose_blocks(picked, [image.shape for image in images]):
            tile = _widen(block, images[image].shape)
            mask = np.full(tile.shape, unlabelled, np.int64)
            for part in picked:
                if part.image == image:
                    rows, cols = part.rows - block.top, part.cols - block.left
                    inside = (rows >= 0) & (cols >= 0) & (rows < block.shape[0]) & (cols < block.shape[1])
                    mask[part.rows[inside] - tile.top, part.cols[inside] - tile.left] = part.label
            regions.append(Region(images[image], tile, token))
            masks.append(mask)
        return regions, masks


def count_for_filters(labels: np.ndarray) -> int:
    """Return from how many of the first strokes filters are learned: 2, 3, 4, 6, 8, ..., or until all classes occur."""
    power = 1 << (len(labels).bit_length() - 1)
    between = power + power // 2
    firsts = np.unique(labels, return_index=True)[1]
    return max(between if between <= len(labels) else power, int(firsts.max()) + 1)


def pick_pixels(painted: Painted, seed: int) -> Picked:
    """Pick the pixels of a stroke to learn from: all, or of a large stroke those near some of them.

    Picked pixels stay connected, because the segmenter takes a connected region for one observation.
    """
    stroke = painted.stroke
    rows, cols = stroke.rows[painted.owned], stroke.cols[painted.owned]
    if len(rows) > MAX_PIXELS_PER_STROKE:
        centres = choose_pixels(painted, seed, N_DISCS)
        down, across = rows[:, None] - stroke.rows[centres], cols[:, None] - stroke.cols[centres]
        near = (down * down + across * across <= DISC_RADIUS**2).any(axis=1)
        rows, cols = rows[near], cols[near]
    return Picked(stroke.image, int(stroke.label or 0), rows, cols)


def choose_blocks(picked: list[Picked], shapes: list[tuple[int, ...]]) -> list[tuple[int, Tile]]:
    """Choose the parts of images to learn from: (index of an image, its part).

    They are in the order in which the images were painted first, whatever their indices are, and of rows.
    """
    newest = picked[::-1]
    firsts = set(np.unique([part.label for part in newest], return_index=True)[1].tolist())
    chosen: set[tuple[int, Tile]] = set()
    n_pixels = 0
    # The newest stroke of every class is used in any case.
    for number in sorted(range(len(newest)), key=lambda number: number not in firsts):
        image = newest[number].image
        for block in _blocks_of(newest[number], shapes[image]):
            size = int(np.prod(_widen(block, shapes[image]).shape))
            if (image, block) not in chosen and (number in firsts or n_pixels + size <= MAX_REGION_PIXELS):
                chosen.add((image, block))
                n_pixels += size
    painted = list(dict.fromkeys(part.image for part in picked))
    return sorted(chosen, key=lambda part: (painted.index(part[0]), part[1]))


def _blocks_of(picked: Picked, shape: tuple[int, ...]) -> list[Tile]:
    """List the blocks of an image in which a stroke has pixels; one with all of it if the image is small."""
    height, width = shape[:2]
    if height * width <= MAX_WHOLE_PIXELS:
        return [Tile(0, height, 0, width)]
    squares = np.stack([picked.rows // BLOCK_SIDE, picked.cols // BLOCK_SIDE], axis=1)
    corners = np.unique(squares, axis=0) * BLOCK_SIDE
    return [
        Tile(top, min(top + BLOCK_SIDE, height), left, min(left + BLOCK_SIDE, width)) for top, left in corners.tolist()
    ]


def _widen(block: Tile, shape: tuple[int, ...]) -> Tile:
    """Add the margin that pixels at the border of a block need, within the image."""
    return Tile(
        max(block.top - BLOCK_MARGIN, 0),
        min(block.bottom + BLOCK_MARGIN, shape[0]),
        max(block.left - BLOCK_MARGIN, 0),
        min(block.right + BLOCK_MARGIN, shape[1]),
    )


def _is_same(first: Painted, second: Painted) -> bool:
    """Tell whether a stroke has the same place and the same pixels in two histories."""
    is_named_alike = (first.number, first.position) == (second.number, second.position)
    return is_named_alike and (first.owned is second.owned or np.array_equal(first.owned, second.owned))


def _without_normalizing(segmenter: JungleSegmenter) -> Any:
    """Return Φ without the part that normalizes whole images."""
    if segmenter.transformations is None:
        return None
    return split_normalizing(segmenter.transformations)[1] or Identity()
