"""What trees, jungles and learned features share: growing an ensemble from images, and walking it in blocks."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from invariance._core.checks import check_choice, check_count, check_number
from invariance._core.parallel import iterate_jobs, one_blas_thread
from invariance._core.randomness import spawn_rngs
from invariance.images import encode_labels, validate_images
from invariance.jungles.dag import Dag
from invariance.jungles.filters import Geometry, measure_geometry
from invariance.jungles.growing import Growth, Samples, grow_jungle
from invariance.jungles.orbits import Orbits
from invariance.transformations import Identity, ReducedOperators, TransformationSet, reduce_operators

# The basis is an average over images: beyond this many it no longer changes.
N_BASIS_IMAGES = 5000
RANKS, RANK_BUDGET = (96, 400), 200_000
# Images of one block of a long prediction.
BLOCK_BYTES = 64 * 2**20


class JungleEnsemble(CallbackSupportMixin, BaseEstimator):
    """An ensemble of trees or jungles of filters learned from labelled images under Φ; see its children."""

    n_jungles: int
    max_width: Any
    warm_start: bool
    classes_: np.ndarray
    reduced_: ReducedOperators
    _grown_depth: int

    def _grow(self, X, y, sample_weight) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Grow the ensemble, and give back the images, their class codes and their weights."""
        growing_on = self.warm_start and hasattr(self, "dags_")
        images = validate_images(self, X, self.image_shape, reset=not growing_on)
        classes, codes = encode_labels(y, len(images))
        if growing_on:
            self._check_same_task(classes)
        self.n_images_ = len(images)
        images, codes, weights = _drop_weightless(images, codes, self._weigh(images, classes[codes], sample_weight))
        if not growing_on:
            self.classes_ = classes
            self.reduced_ = self._reduce(images)
            self.dags_: list[Dag] = []
            self.growth_curves_: list = []
        with one_blas_thread():
            orbits = Orbits.of(self.reduced_, images)
            geometry = measure_geometry(orbits, self.reduced_.basis, images.shape[1:])
        self._grow_ensemble(orbits, codes, weights, geometry)
        return images, codes, weights

    def _reduce(self, images) -> ReducedOperators:
        """Φ in the basis of at most `N_BASIS_IMAGES` of the images."""
        rank = self.rank
        if rank == "auto":
            # Learning costs samples x rank: few images afford many directions, and need them for smooth filters.
            rank = int(np.clip(RANK_BUDGET // len(images), *RANKS))
        step = -(-len(images) // N_BASIS_IMAGES)
        with one_blas_thread():
            return reduce_operators(self._phi(), images[::step], rank)

    def _phi(self) -> TransformationSet:
        phi = Identity() if self.transformations is None else self.transformations
        if not isinstance(phi, TransformationSet):
            raise ValueError(f"transformations must be a set such as Rotations(24), or None; got {phi!r}.")
        return phi

    def _grow_ensemble(self, orbits: Orbits, codes, weights, geometry: Geometry) -> None:
        """New jungles up to `n_jungles`; more layers for those that exist, if `max_depth` was raised."""
        n_jungles = check_count("n_jungles", self.n_jungles)
        growth = self._growth(len(self.classes_))
        rngs = spawn_rngs(self.random_state, n_jungles)
        n_grown = len(self.dags_)
        if n_jungles < n_grown:
            raise ValueError(
                f"with warm_start n_jungles must be at least {n_grown}, the number grown; got {n_jungles}."
            )
        deepen = n_grown > 0 and growth.max_depth > self._grown_depth
        first = 0 if deepen else n_grown
        tasks = [(rngs[i], self.dags_[i] if i < n_grown else None) for i in range(first, n_jungles)]
        grow = partial(self._grow_one, orbits, codes, weights, geometry, growth)
        kept = self.dags_[:first], self.growth_curves_[:first]
        context = self._init_callback_context(max_subtasks=len(tasks))
        context.call_on_fit_task_begin(estimator=self)
        grown = []
        for pair in iterate_jobs(grow, tasks, self.n_jobs, label="growing jungles"):
            grown.append(pair)
            subcontext = context.subcontext(task_name="jungle")
            subcontext.call_on_fit_task_begin(estimator=self)
            subcontext.call_on_fit_task_end(estimator=self)
        self.dags_ = [*kept[0], *(dag for dag, _ in grown)]
        earlier = [*self.growth_curves_[first:], *[[]] * len(grown)]
        curves = [_continue_curve(old, new) for old, (_, new) in zip(earlier, grown, strict=False)]
        self.growth_curves_ = [*kept[1], *curves]
        self._grown_depth = growth.max_depth
        context.call_on_fit_task_end(estimator=self)

    def _grow_one(self, orbits: Orbits, codes, weights, geometry, growth, task):
        """One jungle, on its own subset of the samples and of Φ, watched by its own samples held out."""
        rng, grown = task
        rows = _draw_share(len(codes), check_number("max_samples", self.max_samples, 1e-6, 1), rng)
        members = _draw_share(
            orbits.n_members, check_number("max_members", self.max_members, 0, 1), rng, keep_first=True
        )
        held_out = _hold_out(codes[rows], check_number("validation_fraction", self.validation_fraction, 0, 0.9), rng)
        chosen = orbits if len(rows) == orbits.n_samples else orbits.take(rows)
        samples = Samples(chosen, codes[rows], weights[rows], held_out, len(self.classes_))
        return grow_jungle(samples, members if grown is None else grown.members, geometry, growth, rng, grown)

    def _growth(self, n_classes: int) -> Growth:
        max_width = self.max_width
        if max_width == "auto":
            max_width = 3 * n_classes
        elif max_width is not None:
            max_width = check_count("max_width", max_width, at_least=2)
        return Growth(
            max_depth=check_count("max_depth", self.max_depth),
            max_width=max_width,
            split=check_choice("split", self.split, ("gain", "zero")),
            contrast=check_choice("contrast", self.contrast, ("pairs", "groups", "rest")),
            smoothness=check_number("smoothness", self.smoothness, 0, 1e12),
            min_samples_leaf=check_count("min_samples_leaf", self.min_samples_leaf),
            max_steps=check_count("max_steps", self.max_steps),
            n_starts=check_count("n_starts", self.n_starts),
            patience=check_count("patience", self.patience),
        )

    def _weigh(self, images, labels, sample_weight):
        weights = _check_sample_weight(sample_weight, images, dtype=np.float64, ensure_non_negative=True)
        return weights if self.class_weight is None else weights * compute_sample_weight(self.class_weight, labels)

    def _check_same_task(self, classes):
        phi = self._phi()
        if repr(phi) != repr(self.reduced_.phi):
            raise ValueError(
                f"with warm_start the transformations must stay the same; fitted with {self.reduced_.phi!r}, "
                f"got {phi!r}. Fit a new estimator."
            )
        if not np.array_equal(classes, self.classes_):
            raise ValueError(
                f"with warm_start the classes must stay the same; fitted on {self.classes_.tolist()}, got "
                f"{classes.tolist()}. Fit a new estimator."
            )

    def _orbit_blocks(self, X) -> Iterator[Orbits]:
        """The orbits of new images, block by block."""
        check_is_fitted(self)
        images = validate_images(self, X, self.image_shape, reset=False)
        # A block holds the images, their alterations and the responses to one filter under all members.
        floats = images[0].size * (1 + len(self.reduced_.matrices)) + sum(map(len, self.reduced_.matrices))
        n_block = max(1, BLOCK_BYTES // (4 * floats))
        for start in range(0, len(images), n_block):
            yield Orbits.of(self.reduced_, images[start : start + n_block])

    @property
    def filters_(self) -> np.ndarray:
        """All learned filters as images: (k, h, w) or (k, h, w, c)."""
        check_is_fitted(self)
        coordinates = np.concatenate([dag.filters for dag in self.dags_])
        return (coordinates @ self.reduced_.basis.T).reshape(-1, *self.reduced_.image_shape)

    @property
    def _n_filters(self):
        return sum(len(dag.filters) for dag in self.dags_)

    def _extreme_responses(self, X) -> np.ndarray:
        """Largest, then smallest responses over Φ of new images to all filters: (n, 2k) float32."""
        blocks = []
        for orbits in self._orbit_blocks(X):
            parts = [orbits.restrict(dag.members).extreme_responses(dag.filters) for dag in self.dags_]
            halves = [np.split(part, 2, axis=1) for part in parts]
            blocks.append(np.concatenate([half[0] for half in halves] + [half[1] for half in halves], axis=1))
        return np.concatenate(blocks)


def _continue_curve(old, new):
    """A growth curve as far as its jungle was kept, and what came after a warm start."""
    return [layer for layer in old if layer.depth < new[0].depth] + new


def _drop_weightless(images, codes, weights):
    """Images, codes and weights of those images that have a weight; weights of mean 1."""
    kept = np.flatnonzero(weights)
    if len(np.unique(codes[kept])) < 2:
        raise ValueError("sample_weight must be positive for images of at least two classes; others are ignored.")
    if len(kept) < len(weights):
        images, codes, weights = images[kept], codes[kept], weights[kept]
    return images, codes, weights * (len(weights) / weights.sum())


def _draw_share(n: int, share: float, rng, keep_first: bool = False) -> np.ndarray:
    """Sorted indices of a random share of n things, at least one."""
    n_drawn = max(1, round(share * n))
    if n_drawn == n:
        return np.arange(n)
    first = int(keep_first)
    drawn = first + rng.permutation(n - first)[: n_drawn - first]
    return np.sort(np.concatenate([np.arange(first), drawn]))


def _hold_out(codes: np.ndarray, share: float, rng) -> np.ndarray:
    """Which samples to hold out: (n,) bool, a share of every class; none if there are too few of some class."""
    held_out = np.zeros(len(codes), bool)
    counts = np.unique_counts(codes).counts
    n_held = round(share * len(codes))
    if n_held < len(counts) or len(codes) - n_held < len(counts) or counts.min() < 2:
        return held_out
    splitter = StratifiedShuffleSplit(1, test_size=n_held, random_state=int(rng.integers(2**31)))
    held_out[next(splitter.split(codes, codes))[1]] = True
    # A class that is held out as a whole could not be learned: one of its samples goes back.
    for code in np.setdiff1d(codes[held_out], codes[~held_out]):
        held_out[np.flatnonzero(codes == code)[0]] = False
    return held_out
