"""Every pixel labelled from its surroundings: [Laptev15] sec. 4.2, made dense, with a filter bank and with context.

A pixel is described by (1) a fixed bank of rotation-invariant filters, (2) its largest and smallest responses over Φ
to filters learned from labelled patches as a `JungleClassifier` learns them, (3) from the second round on, the bank on
the probability maps of the round before (auto-context). A boosted head turns that into probabilities.

Differs from [Laptev15]:
- The responses of all nodes go to one head instead of the vote of the leaves.
- Patches are seen at two scales.
- In training, the maps of a round come from heads that have not seen the pixel's part of the data: what a head says of
  pixels it was fitted on is too good, and the next round would trust it too much.
- With few labels, filters would be learned by heart. So a first guess from the bank alone labels further pixels of the
  same images, of which those it is sure of serve to learn filters, not to fit heads.
"""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from invariance._core.checks import check_choice, check_count, check_odd
from invariance._core.randomness import make_rng
from invariance.jungles import InvariantFeatures
from invariance.jungles.final_estimators import make_final_estimator as make_head
from invariance.segmentation.bank import N_RESPONSES
from invariance.segmentation.dense import predict_maps
from invariance.segmentation.description import Description
from invariance.segmentation.inputs import Labelled, check_image, is_stack, pair_up
from invariance.segmentation.learning import borrow_pixels, compare_patch_sizes, cut_examples, fit_rounds
from invariance.segmentation.sampling import Pixels, draw_pixels, make_folds
from invariance.segmentation.standard import StandardImage
from invariance.segmentation.windows import N_SCALES, WindowResponses
from invariance.transformations import Rotations

PATCH_SIZES, DEFAULT_PATCH_SIZE = (15, 23, 31, 47), 31


class JungleSegmenter(BaseEstimator):
    """Label all pixels of images from images in which some are labelled.

    Parameters
    ----------
    transformations : what does not matter to the learned filters; None means Rotations(16).
    patch_size : side of a patch at full resolution, odd (it is also seen at half resolution, twice as far); None tries
        several and keeps the one whose model is best on pixels held out.
    n_patches : at most so many labelled pixels are learned from.
    sampling : "proportional" draws them as they come, "balanced" as many of each class.
    n_rounds : rounds of context; 1 for none.
    unlabelled : the value of mask pixels that nobody labelled, or None if there are none.
    standardize : whether every image is measured against its own mean and deviation, a channel at a time.
    n_pseudo_labels : with fewer labelled pixels than this, filters are learned from so many pixels, the rest being
        those unlabelled ones that a first guess is sure of; 0 never borrows.
    n_jungles, max_depth, smoothness, rank : as for `InvariantFeatures`.
    head : "boosting", "linear", or a classifier with `predict_proba`.
    n_trees : of the boosting.
    warm_start : keep the filters of the last `fit`, and fit the heads alone to the labels given now (all of them, old
        and new): improving a model costs a part of the time.

    Attributes
    ----------
    classes_ : the values of the masks; n_labelled_ : how many pixels of each were labelled; n_channels_;
    patch_size_; features_ : the fitted `InvariantFeatures`; heads_ : one classifier a round.
    """

    def __init__(
        self,
        transformations=None,
        patch_size=31,
        n_patches=50_000,
        sampling="proportional",
        n_rounds=2,
        unlabelled=None,
        standardize=True,
        n_pseudo_labels=5_000,
        n_jungles=1,
        max_depth=5,
        smoothness=1.0,
        rank=64,
        head="boosting",
        n_trees=200,
        warm_start=False,
        n_jobs=None,
        random_state=None,
    ):
        self.transformations = transformations
        self.patch_size = patch_size
        self.n_patches = n_patches
        self.sampling = sampling
        self.n_rounds = n_rounds
        self.unlabelled = unlabelled
        self.standardize = standardize
        self.n_pseudo_labels = n_pseudo_labels
        self.n_jungles = n_jungles
        self.max_depth = max_depth
        self.smoothness = smoothness
        self.rank = rank
        self.head = head
        self.n_trees = n_trees
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, images: Any, masks: Any) -> "JungleSegmenter":
        """Learn from images (h, w) or (h, w, c), or stacks of them, of any sizes, and a mask (h, w) of each.

        Both may be lists or one array; an image with one axis more than its mask is in colour.
        """
        rng, n_rounds = make_rng(self.random_state), check_count("n_rounds", self.n_rounds)
        labelled = pair_up(images, masks, self.unlabelled, self.standardize)
        pixels = self._draw(labelled, rng)
        self._check_same_task(labelled)
        self.classes_, self.n_channels_ = labelled.classes, labelled.n_channels
        self.n_labelled_ = labelled.counts.sum(axis=0)
        folds = make_folds(pixels, len(self.classes_), rng)
        if not (self.warm_start and hasattr(self, "features_")):
            self._learn_filters(labelled, pixels, folds, rng)
        self.heads_ = fit_rounds(
            labelled, pixels, folds, self._description(), self._make_head(rng), n_rounds, self.n_jobs
        )
        return self

    def predict(self, X: Any) -> Any:
        """The likeliest class of every pixel, in the masks' own values: (h, w), or one for every image of a list or
        stack.
        """
        probabilities = self.predict_proba(X)
        if isinstance(probabilities, list):
            return [self.classes_[part.argmax(axis=-1)] for part in probabilities]
        return self.classes_[probabilities.argmax(axis=-1)]

    def predict_proba(self, X: Any) -> Any:
        """Probabilities (h, w, K) float32 of an image, (n, h, w, K) of a stack, a list for a list.

        X may be memory-mapped or a `LazyStack`: it is read a tile or a page at a time.
        """
        check_is_fitted(self)
        if isinstance(X, list | tuple):
            return [self.predict_proba(image) for image in X]
        if is_stack(X, self.n_channels_):
            return np.stack([self._label(X[index]) for index in range(len(X))])
        return self._label(X)

    def check_loaded(self) -> None:
        """Refuse heads that ask for features that are not computed: a file may hold anything."""
        n_own = N_RESPONSES * self.n_channels_ + self.features_.get_feature_names_out().size
        n_maps = 1 if len(self.classes_) == 2 else len(self.classes_)
        for number, head in enumerate(self.heads_):
            n_features = n_own + (N_RESPONSES * n_maps if number else 0)
            if head.n_features_in_ != n_features:
                raise ValueError(f"a head of the segmenter must see {n_features} features; got {head.n_features_in_}.")

    def _label(self, image: Any) -> np.ndarray:
        image = StandardImage(check_image(image, self.n_channels_), self.standardize)
        return predict_maps(self._description(), self.heads_, image, len(self.classes_), self.n_jobs)

    def _description(self) -> Description:
        """What describes pixels; kept from image to image, for the spectra of its kernels."""
        kept = self.__dict__.get("_kept_description")
        if kept is None or kept.windows.filters is not self.features_:
            kept = Description(WindowResponses(self.features_, self.patch_size_, self.n_channels_))
            self._kept_description = kept
        return kept

    def __getstate__(self):
        """The state without what can be computed again."""
        return {name: value for name, value in super().__getstate__().items() if name != "_kept_description"}

    def _draw(self, labelled: Labelled, rng) -> Pixels:
        sampling = check_choice("sampling", self.sampling, ("proportional", "balanced"))
        n_patches = check_count("n_patches", self.n_patches, at_least=2)
        return draw_pixels(labelled.masks, labelled.classes, labelled.counts, n_patches, sampling, rng)

    def _check_same_task(self, labelled: Labelled) -> None:
        if not (self.warm_start and hasattr(self, "features_")):
            return
        if not np.array_equal(labelled.classes, self.classes_) or labelled.n_channels != self.n_channels_:
            raise ValueError(
                f"with warm_start the classes and channels must stay the same; fitted on {self.classes_.tolist()} and "
                f"{self.n_channels_}, got {labelled.classes.tolist()} and {labelled.n_channels}. Fit a new estimator."
            )

    def _learn_filters(self, labelled: Labelled, pixels: Pixels, folds, rng) -> None:
        """Patch size and filters, from the labelled pixels and, if these are few, from borrowed ones."""
        n_pseudo_labels = check_count("n_pseudo_labels", self.n_pseudo_labels, at_least=0)
        examples = borrow_pixels(labelled, pixels, n_pseudo_labels, self._make_head(rng), rng, self.n_jobs)
        seed = int(rng.integers(2**31))

        def make_filters(size: int, n_examples: int) -> InvariantFeatures:
            return InvariantFeatures(
                Rotations(16) if self.transformations is None else self.transformations,
                n_jungles=self.n_jungles,
                extremes="both",
                max_depth=self.max_depth,
                smoothness=self.smoothness,
                rank=self.rank,
                min_samples_leaf=int(np.clip(n_examples // 50, 2, 200)),
                image_shape=(size, size, N_SCALES * labelled.n_channels),
                n_jobs=self.n_jobs,
                random_state=seed,
            )

        self.patch_size_ = self._patch_size(labelled, pixels, folds, make_filters, rng)
        patches = cut_examples(labelled.images, examples, self.patch_size_)
        self.features_ = make_filters(self.patch_size_, len(patches)).fit(patches, examples.codes)

    def _patch_size(self, labelled: Labelled, pixels: Pixels, folds, make_filters, rng) -> int:
        if self.patch_size is not None:
            return check_odd("patch_size", self.patch_size, "a pixel is in the middle of its patch")
        if folds is None:
            return DEFAULT_PATCH_SIZE
        make = self._make_head(rng)
        best = compare_patch_sizes(labelled.images, pixels, folds, PATCH_SIZES, make_filters, make)
        return DEFAULT_PATCH_SIZE if best is None else best

    def _make_head(self, rng):
        """A function that makes an unfitted head for so many samples."""
        if self.head == "vote":
            raise ValueError("head must be 'boosting', 'linear' or a classifier with predict_proba; got 'vote'.")
        seed, n_trees = int(rng.integers(2**31)), check_count("n_trees", self.n_trees)
        return lambda n_samples: make_head(self.head, n_samples, seed, n_trees)
