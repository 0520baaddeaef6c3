"""Trying several Φ on the same labelled pixels, and scoring what was held out.

The model of a trial is a `JungleSegmenter` of one round: the filter bank, filters learned over Φ, and boosting. For
time there are no pseudo-labels, no context, and fewer pixels and trees.
"""

import math
from typing import Any

import numpy as np

from invariance._core.caching import ArrayCache
from invariance._core.checks import check_choice, check_count
from invariance._core.parallel import map_jobs
from invariance._core.randomness import make_rng
from invariance.images import SCALES
from invariance.jungles import InvariantFeatures
from invariance.jungles.final_estimators import make_final_estimator
from invariance.segmentation.bank import N_RESPONSES
from invariance.segmentation.description import BANK_ALONE, TILE_SIDE
from invariance.segmentation.estimators import fast_predictor, fit_estimator
from invariance.segmentation.held_out import NO_LABEL, Run, draw_runs, hold_together, parts_per_class
from invariance.segmentation.inputs import MAX_CLASSES, Labelled, pair_up
from invariance.segmentation.patches import check_patch_size, cut_patches
from invariance.segmentation.sampling import count_labels, draw_pixels
from invariance.segmentation.segmenter import (
    DEFAULT_PATCH_SIZE,
    MIN_SAMPLES_LEAF,
    PATCHES_PER_LEAF,
    JungleSegmenter,
)
from invariance.segmentation.standard import prepare_image
from invariance.segmentation.tiles import Tile, tiles
from invariance.segmentation.windows import N_SCALES
from invariance.transformations import TransformationSet
from invariance.transformations.sets import split_normalizing

# With these, seven candidates take about a minute on two cores. Held-out pixels are cheap and make differences certain,
# so that many are drawn, but a model learns from a part of them.
MAX_PIXELS, SHARE_LEARNED, MIN_LEARNED, N_RUNS = 30_000, 1 / 12, 200, 10
# Bytes of the patches and responses of all pixels; of images with many channels fewer pixels are drawn.
MAX_BYTES = 256 * 2**20
MIN_PIXELS = 100  # fewer tell nothing
# Describing pixels takes time for every tile that holds some, so they are drawn from at most this many tiles.
MAX_TILES = 48
# Tiles of which less than this share is labelled hold strokes.
SPARSE = 0.5
N_TREES = 100  # of the boosting, half of the segmenter's
# Patches and responses of the pixels are kept for the normalizations used last, as many as fit.
CACHE_BYTES = 2 * MAX_BYTES


class PixelTrials:
    """Labelled pixels, drawn and divided once, on which models with different Φ are fitted and scored.

    Parameters
    ----------
    images, masks : list of arrays, or array
        As for `JungleSegmenter.fit`.
    unlabelled : int or None, default=None
        The value of unlabelled pixels in the masks. None means that all pixels are labelled.
    patch_size : int, default=31
        Side of a patch in pixels, odd.
    max_pixels : int, default=30_000
        Maximum number of pixels, the same number of each class where possible, from at most 48 tiles of 256 x 256
        pixels; fewer if their patches would take more than 256 MB. A model learns from a twelfth of this number, but
        at least from 200.
    scale : {"dtype", "image", "percentile"}, default="dtype"
        How intensities are scaled, as for `JungleSegmenter`.
    max_classes : int, default=32
    random_state : int, default=0
    n_jobs : int or None, default=None
        It does not change the result.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        The values of labelled pixels in the masks.
    n_images, n_labelled, n_tiles : int
        Numbers of images with labels, of labelled pixels, and of tiles that pixels were drawn from.
    pixels : Pixels
        The pixels drawn.
    parts : Parts
        What is held out as a whole.
    n_folds : int
        Number of folds, of which a run holds one out.
    runs : list of Run
    """

    def __init__(
        self,
        images: Any,
        masks: Any,
        unlabelled: int | None = None,
        patch_size: int = DEFAULT_PATCH_SIZE,
        max_pixels: int = MAX_PIXELS,
        scale: str = "dtype",
        max_classes: int = MAX_CLASSES,
        random_state: int = 0,
        n_jobs: int | None = None,
    ):
        rng = make_rng(random_state)
        self.patch_size = check_patch_size(patch_size)
        check_count("max_pixels", max_pixels, at_least=MIN_PIXELS)
        self.scale, self.n_jobs = check_choice("scale", scale, SCALES), n_jobs
        labelled = pair_up(images, masks, unlabelled, True, None, self.scale, max_classes)
        self.images, self.n_channels = [image.image for image in labelled.images], labelled.n_channels
        self.classes, self.n_images = labelled.classes, len(labelled.images)
        self.n_labelled = int(labelled.counts.sum())
        n_values = self.n_channels * (N_RESPONSES + N_SCALES * self.patch_size**2)
        max_pixels = min(max_pixels, max(MIN_PIXELS, MAX_BYTES // (4 * n_values)))
        chosen = _choose_tiles(labelled, rng)
        self.n_tiles = len(chosen)
        coded, codes = _encode_masks(labelled, chosen), np.arange(len(self.classes))
        self.pixels = draw_pixels(coded, codes, count_labels(coded, codes), max_pixels, "balanced", rng)
        self.parts = hold_together(coded, self.pixels, self.classes, _is_sparse(coded, chosen))
        self.n_folds = min(N_RUNS, *parts_per_class(self.parts.numbers, self.pixels.codes))
        max_learned = max(MIN_LEARNED, int(SHARE_LEARNED * max_pixels))
        self.runs = draw_runs(self.pixels.codes, self.parts.numbers, self.n_folds, N_RUNS, max_learned, rng)
        self._described = ArrayCache(CACHE_BYTES)

    def score(self, phi: TransformationSet) -> np.ndarray:
        """Compute the shares (n_runs, n_classes) of held-out pixels of each class that are predicted correctly.

        NaN where no pixel of a class is held out.
        """
        normalizing, members = split_normalizing(phi)
        described = self._described.get(repr(normalizing), lambda: self._describe(normalizing))
        n_fixed = N_RESPONSES * self.n_channels
        bank, patches = described[:, :n_fixed], described[:, n_fixed:]
        scores = map_jobs(
            lambda run: self._try(run, members, bank, patches), self.runs, self.n_jobs, label="fitting models"
        )
        return np.stack(scores)

    def _describe(self, normalizing: TransformationSet | None) -> np.ndarray:
        """Compute the responses to the filter bank and the patches of all pixels, side by side: (n, F + d)."""

        def describe(task: tuple[int, np.ndarray]) -> np.ndarray:
            index, places = task
            image = prepare_image(self.images[index], True, normalizing, self.scale)
            pixels = self.pixels.take(places)
            bank = BANK_ALONE.at(image, pixels.rows, pixels.cols, n_jobs=1)
            alone = pixels._replace(image=np.zeros_like(pixels.image))
            return np.concatenate([bank, cut_patches([image], alone, self.patch_size)], axis=1)

        tasks = list(self.pixels.by_image())
        return np.concatenate(map_jobs(describe, tasks, self.n_jobs, label="describing pixels"))

    def _try(self, run: Run, phi: TransformationSet, bank: np.ndarray, patches: np.ndarray) -> np.ndarray:
        """Fit a model and return the shares (n_classes,) of correct predictions."""
        codes, true = self.pixels.codes[run.training], self.pixels.codes[run.held_out]
        filters = self._make_filters(phi, run).fit(patches[run.training], codes)
        training, held_out = (
            np.concatenate([bank[rows], filters.transform(patches[rows])], axis=1)
            for rows in (run.training, run.held_out)
        )
        estimator = fit_estimator(
            lambda n_samples: make_final_estimator("boosting", n_samples, run.seed, N_TREES), training, codes
        )
        is_right = fast_predictor(estimator).predict_columns(held_out.T).argmax(axis=1) == true
        counts, right = (np.bincount(some, minlength=len(self.classes)) for some in (true, true[is_right]))
        return np.where(counts > 0, right / np.maximum(counts, 1), np.nan)

    def _make_filters(self, phi: TransformationSet, run: Run) -> InvariantFeatures:
        """Make the unfitted filters of the segmenter, with its defaults."""
        defaults = JungleSegmenter()
        return InvariantFeatures(
            phi,
            n_jungles=defaults.n_jungles,
            extremes="both",
            max_depth=defaults.max_depth,
            smoothness=defaults.smoothness,
            rank=defaults.rank,
            min_samples_leaf=int(np.clip(len(run.training) // PATCHES_PER_LEAF, *MIN_SAMPLES_LEAF)),
            image_shape=(self.patch_size, self.patch_size, N_SCALES * self.n_channels),
            n_jobs=1,
            random_state=run.seed,
        )


def _choose_tiles(labelled: Labelled, rng: np.random.Generator) -> list[tuple[int, Tile]]:
    """Choose tiles with labelled pixels at random, as many of each image; those of rare classes come first."""
    queue = []
    for index, mask in enumerate(labelled.masks):
        own = [
            tile
            for tile in tiles(mask.shape[0], mask.shape[1], TILE_SIDE)
            if np.isin(_part(mask, tile), labelled.classes).any()
        ]
        queue += [(place, rng.random(), index, own[number]) for place, number in enumerate(rng.permutation(len(own)))]
    queue.sort(key=lambda entry: entry[:2])
    spread = [(index, tile) for _, _, index, tile in queue]
    counts = count_labels([_part(labelled.masks[index], tile) for index, tile in spread], labelled.classes)
    n_each = max(1, MAX_TILES // len(labelled.classes))
    ranked: dict[int, None] = {}
    for code in np.argsort(labelled.counts.sum(axis=0), kind="stable"):
        ranked.update(dict.fromkeys(np.flatnonzero(counts[:, code])[:n_each].tolist()))
    ranked.update(dict.fromkeys(range(len(spread))))
    return [spread[number] for number in list(ranked)[: max(MAX_TILES, len(labelled.classes))]]


def _part(mask: np.ndarray, tile: Tile) -> np.ndarray:
    return mask[tile.top : tile.bottom, tile.left : tile.right]


def _encode_masks(labelled: Labelled, chosen: list[tuple[int, Tile]]) -> list[np.ndarray]:
    """Return masks (h, w) of indices of classes; outside the chosen tiles, and without a label, they are `NO_LABEL`."""
    coded = [np.full(mask.shape, NO_LABEL, np.int16) for mask in labelled.masks]
    for index, tile in chosen:
        values = _part(labelled.masks[index], tile)
        places = np.searchsorted(labelled.classes, values).clip(max=len(labelled.classes) - 1)
        _part(coded[index], tile)[...] = np.where(labelled.classes[places] == values, places, NO_LABEL)
    return coded


def _is_sparse(coded: list[np.ndarray], chosen: list[tuple[int, Tile]]) -> bool:
    n_labelled = sum(int(np.count_nonzero(mask != NO_LABEL)) for mask in coded)
    return n_labelled < SPARSE * sum(math.prod(tile.shape) for _, tile in chosen)
