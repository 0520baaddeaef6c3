"""What trees, jungles and learned features share: growing an ensemble from images, and its responses in blocks."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin
from sklearn.utils.validation import check_is_fitted

from invariance._core import loaded
from invariance._core.checks import check_choice, check_count, check_number
from invariance._core.parallel import iterate_jobs, one_blas_thread
from invariance._core.randomness import spawn_rngs
from invariance.images import encode_labels, validate_images
from invariance.jungles.dag import Dag
from invariance.jungles.drawing import draw_share, drop_weightless, hold_out, weigh_samples
from invariance.jungles.filters import Geometry, measure_geometry
from invariance.jungles.growing import Layer, grow_jungle
from invariance.jungles.moved_filters import MAX_KEPT_BYTES, extremes_over_members, move_filters
from invariance.jungles.orbits import Orbits, restrict_matrices
from invariance.jungles.splitting import Growth, Samples
from invariance.transformations import Identity, ReducedOperators, TransformationSet, reduce_operators
from invariance.transformations.sets import check_set

# The basis depends on averages over images: beyond this number it no longer changes noticeably.
MAX_BASIS_IMAGES = 5000
# rank="auto" is RANK_BUDGET / n_images, within these bounds: the cost of learning grows with images times rank.
RANK_BOUNDS, RANK_BUDGET = (96, 400), 200_000
# max_width="auto" is this many leaves per class.
LEAVES_PER_CLASS = 3
# Memory of one block of images during prediction.
BLOCK_BYTES = 64 * 2**20
# Bounds of parameters: a share must select something, and a validation share must leave most images for training.
MIN_SHARE, MAX_VALIDATION, MAX_SMOOTHNESS = 1e-6, 0.9, 1e12


class JungleEnsemble(CallbackSupportMixin, BaseEstimator):
    """Base class of ensembles of trees or jungles of filters learned from labelled images under Φ."""

    n_jungles: int
    max_width: Any
    warm_start: bool
    classes_: np.ndarray
    reduced_: ReducedOperators
    _grown_depth: int

    def _grow(self, X, y, sample_weight) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Grow the ensemble; return the images, class codes and weights it was grown on."""
        growing_on = self.warm_start and hasattr(self, "dags_")
        images = validate_images(self, X, self.image_shape, reset=not growing_on)
        classes, codes = encode_labels(y, len(images))
        if growing_on:
            self._check_same_task(classes)
        self.n_images_ = len(images)
        weights = weigh_samples(sample_weight, self.class_weight, classes[codes])
        images, codes, weights = drop_weightless(images, codes, weights)
        if not growing_on:
            self.classes_ = classes
            self.reduced_ = self._reduce(images)
            self.dags_: list[Dag] = []
            self.growth_curves_: list[list[Layer]] = []
        with one_blas_thread():
            orbits = Orbits.of(self.reduced_, images)
            geometry = measure_geometry(orbits, self.reduced_.basis, images.shape[1:])
        self._grow_ensemble(orbits, codes, weights, geometry)
        return images, codes, weights

    def _reduce(self, images) -> ReducedOperators:
        """Express Φ in a basis found from at most `MAX_BASIS_IMAGES` of the images."""
        rank = self.rank
        if rank == "auto":
            rank = int(np.clip(RANK_BUDGET // len(images), *RANK_BOUNDS))
        step = -(-len(images) // MAX_BASIS_IMAGES)
        with one_blas_thread():
            return reduce_operators(self._phi(), images[::step], rank)

    def _phi(self) -> TransformationSet:
        check_set("transformations", self.transformations)
        return Identity() if self.transformations is None else self.transformations

    def _grow_ensemble(self, orbits: Orbits, codes, weights, geometry: Geometry) -> None:
        """Add jungles up to `n_jungles`, and layers to those that exist if `max_depth` was raised."""
        n_jungles, n_grown = check_count("n_jungles", self.n_jungles), len(self.dags_)
        growth = self._growth(len(self.classes_))
        rngs = spawn_rngs(self.random_state, n_jungles)
        if n_jungles < n_grown:
            raise ValueError(
                f"with warm_start n_jungles must be at least {n_grown}, the number grown; got {n_jungles}."
            )
        deepen = n_grown > 0 and growth.max_depth > self._grown_depth
        first = 0 if deepen else n_grown
        tasks = [(rngs[i], self.dags_[i] if i < n_grown else None) for i in range(first, n_jungles)]
        context = self._init_callback_context(max_subtasks=len(tasks))
        context.call_on_fit_task_begin(estimator=self)
        grow = partial(self._grow_one, orbits, codes, weights, geometry, growth)
        grown = []
        for pair in iterate_jobs(grow, tasks, self.n_jobs, label="growing jungles"):
            grown.append(pair)
            subcontext = context.subcontext(task_name="jungle")
            subcontext.call_on_fit_task_begin(estimator=self)
            subcontext.call_on_fit_task_end(estimator=self)
        earlier = [*self.growth_curves_[first:], *[[]] * len(grown)]
        curves = [_continue_curve(old, new) for old, (_, new) in zip(earlier, grown, strict=False)]
        self.dags_ = [*self.dags_[:first], *(dag for dag, _ in grown)]
        self.growth_curves_ = [*self.growth_curves_[:first], *curves]
        self._grown_depth = growth.max_depth
        context.call_on_fit_task_end(estimator=self)

    def _grow_one(self, orbits: Orbits, codes, weights, geometry, growth, task) -> tuple[Dag, list[Layer]]:
        """Grow one jungle on its own share of the samples and of Φ, with its own validation samples."""
        rng, grown = task
        rows = draw_share(len(codes), check_number("max_samples", self.max_samples, MIN_SHARE, 1), rng)
        members = draw_share(
            orbits.n_members, check_number("max_members", self.max_members, 0, 1), rng, keep_first=True
        )
        validation_fraction = check_number("validation_fraction", self.validation_fraction, 0, MAX_VALIDATION)
        held_out = hold_out(codes[rows], validation_fraction, rng)
        chosen = orbits if len(rows) == orbits.n_samples else orbits.take(rows)
        samples = Samples(chosen, codes[rows], weights[rows], held_out, len(self.classes_))
        return grow_jungle(samples, members if grown is None else grown.members, geometry, growth, rng, grown)

    def _growth(self, n_classes: int) -> Growth:
        """Check the parameters that concern the growth of one jungle."""
        max_width = self.max_width
        if max_width == "auto":
            max_width = LEAVES_PER_CLASS * n_classes
        elif max_width is not None:
            max_width = check_count("max_width", max_width, at_least=2)
        return Growth(
            max_depth=check_count("max_depth", self.max_depth),
            max_width=max_width,
            threshold=check_choice("threshold", self.threshold, ("gain", "zero")),
            targets=check_choice("targets", self.targets, ("pairs", "groups", "rest")),
            smoothness=check_number("smoothness", self.smoothness, 0, MAX_SMOOTHNESS),
            relaxation=check_choice("relaxation", self.relaxation, ("retry", "layer")),
            min_samples_leaf=check_count("min_samples_leaf", self.min_samples_leaf),
            max_steps=check_count("max_steps", self.max_steps),
            n_init=check_count("n_init", self.n_init),
            patience=check_count("patience", self.patience),
        )

    def _check_same_task(self, classes):
        """Refuse a warm start with other transformations or classes."""
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

    def check_loaded(self) -> None:
        """Raise ValueError if the graphs, read from a file, are not those of this set, these images and classes."""
        loaded.check_values(self, image_shape=loaded.SHAPE)
        if "n_jobs" in self._get_param_names():
            loaded.check_values(self, n_jobs=loaded.JOBS)
        if "extremes" in self._get_param_names():
            loaded.check_values(self, extremes=loaded.one_of("largest", "both"))
        if not loaded.is_fitted(self, "classes_", "reduced_", "dags_", "growth_curves_", "n_features_in_", "n_images_"):
            return
        loaded.check_values(
            self,
            n_features_in_=loaded.N_VALUES,
            image_shape_=loaded.image_shape(self.n_features_in_),
            classes_=loaded.labels(),
            reduced_=loaded.instance(ReducedOperators),
            dags_=loaded.list_of(loaded.instance(Dag), at_least=1),
            growth_curves_=loaded.list_of(loaded.list_of(loaded.instance(Layer)), len(self.dags_)),
        )
        reduced, n_members = self.reduced_, sum(map(len, self.reduced_.matrices))
        if tuple(reduced.image_shape) != tuple(self.image_shape_):
            raise ValueError(f"the basis of jungles is for images of another shape, {reduced.image_shape}.")
        for dag in self.dags_:
            if dag.filters.shape[1] != reduced.rank or dag.members[-1] >= n_members:
                raise ValueError("a jungle has filters or members of another set of transformations.")
            if dag.histogram.shape[1] != len(self.classes_):
                raise ValueError("a jungle counts other classes than those of the ensemble.")

    @property
    def filters_(self) -> np.ndarray:
        """All learned filters as images: (n_filters, h, w) or (n_filters, h, w, c)."""
        check_is_fitted(self)
        coordinates = np.concatenate([dag.filters for dag in self.dags_])
        return (coordinates @ self.reduced_.basis.T).reshape(-1, *self.reduced_.image_shape)

    @property
    def _n_filters(self):
        return sum(len(dag.filters) for dag in self.dags_)

    def _orbit_blocks(self, X) -> Iterator[Orbits]:
        """Yield the orbits of new images in blocks of bounded memory."""
        check_is_fitted(self)
        images = validate_images(self, X, self.image_shape, reset=False)
        # A block holds the images, their alterations and the responses to one filter under all members.
        floats = images[0].size * (1 + len(self.reduced_.matrices)) + sum(map(len, self.reduced_.matrices))
        n_block = max(1, BLOCK_BYTES // (4 * floats))
        for start in range(0, len(images), n_block):
            yield Orbits.of(self.reduced_, images[start : start + n_block])

    def _extreme_responses(self, X) -> np.ndarray:
        """Compute the largest, then the smallest responses over Φ to all filters: (n, 2 n_filters) float32."""
        blocks = []
        for orbits in self._orbit_blocks(X):
            parts = [extremes_over_members(orbits.coordinates, moved) for moved in self._moved_filters()]
            blocks.append(np.concatenate(parts, axis=1).reshape(-1, orbits.n_samples).T)
        return np.concatenate(blocks)

    def _moved_filters(self) -> Iterable[tuple[np.ndarray, ...]]:
        """Return the filters of every jungle under all its members, kept if they are few."""
        dags, kept = _kept_filters.get(self, (None, []))
        if dags is self.dags_:
            return kept
        matrices = tuple(self.reduced_.matrices)
        moved = (move_filters(restrict_matrices(matrices, dag.members), dag.filters) for dag in self.dags_)
        if 8 * self.reduced_.rank * sum(len(dag.filters) * len(dag.members) for dag in self.dags_) > MAX_KEPT_BYTES:
            return moved  # one jungle at a time
        kept = list(moved)
        _kept_filters[self] = self.dags_, kept
        return kept


# The jungles of an ensemble and their filters under all members. They are no attribute: `predict` and `transform` must
# not change an estimator, and a saved one does not need what can be computed again.
_kept_filters: WeakKeyDictionary[JungleEnsemble, tuple[list[Dag], list[tuple[np.ndarray, ...]]]] = WeakKeyDictionary()


def _continue_curve(old: list[Layer], new: list[Layer]) -> list[Layer]:
    """Join the layers that a warm start kept with those it added."""
    return [layer for layer in old if layer.depth < new[0].depth] + new
