"""Labelling every pixel from its surroundings: [Laptev15] sec. 4.2, made dense, with a filter bank and context.

The stages, one file each: draw labelled pixels (`sampling.py`), add pseudo-labels (`pseudo_labels.py`), learn filters
from patches (`patches.py`), describe pixels (`description.py`), fit one classifier per round (`rounds.py`), predict all
pixels (`dense.py`).
"""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from invariance._core import loaded
from invariance._core.checks import check_choice, check_count
from invariance._core.randomness import make_rng
from invariance.images import SCALES, watch_range
from invariance.jungles import InvariantFeatures
from invariance.segmentation.bank import N_RESPONSES
from invariance.segmentation.dense import predict_maps, predict_part
from invariance.segmentation.description import Description
from invariance.segmentation.estimators import FEW_PIXELS, MakeEstimator, choose_estimator, make_estimator
from invariance.segmentation.inputs import MAX_CLASSES, Labelled, check_image, is_stack, pair_up
from invariance.segmentation.observations import group_pixels, number_strokes, thin_strokes
from invariance.segmentation.patches import MAX_PATCH_SIZE, check_patch_size, cut_patches, select_patch_size
from invariance.segmentation.pseudo_labels import add_pseudo_labels
from invariance.segmentation.rounds import fit_rounds
from invariance.segmentation.sampling import Pixels, draw_pixels, make_folds
from invariance.segmentation.standard import Measured, StandardImage, prepare_image
from invariance.segmentation.tiles import Tile
from invariance.segmentation.windows import N_SCALES, WindowResponses
from invariance.transformations import Rotations, TransformationSet
from invariance.transformations.sets import split_normalizing

# What patch_size=None compares, and what it falls back to.
PATCH_SIZES, DEFAULT_PATCH_SIZE = (15, 23, 31, 47), 31
DEFAULT_TRANSFORMATIONS = Rotations(16)
# The smallest leaf of the jungles: two percent of the patches, within these bounds.
PATCHES_PER_LEAF, MIN_SAMPLES_LEAF = 50, (2, 200)
# With more labelled pixels than this, but still few, filters are learned from a part of those of large strokes, at
# least this many: neighbouring patches are similar.
MIN_PATCHES = 5_000


class JungleSegmenter(BaseEstimator):
    """Label all pixels of images, learning from images in which some pixels are labelled.

    A pixel is described by a fixed bank of rotation-invariant filters; by its largest and smallest responses over Φ to
    filters learned from labelled patches, as in `InvariantFeatures`; and, from the second round on, by the filter bank
    on the probability maps of the round before (auto-context). A classifier turns that into probabilities.

    Parameters
    ----------
    transformations : TransformationSet or None, default=None
        What does not matter to the learned filters. None means `Rotations(16)`. With `Illumination` as a factor, whole
        images are normalized first, which takes a copy of each in memory.
    patch_size : int or None, default=31
        Side of a patch in pixels, odd; patches are also seen at half resolution, twice as large. None compares several
        sizes on held-out pixels.
    max_pixels : int, default=50_000
        Maximum number of labelled pixels to learn from.
    sampling : {"proportional", "balanced"}, default="proportional"
        Whether these are drawn in proportion to the classes or with the same number per class. With "balanced", the
        probabilities of trees are not corrected for the shares of the classes.
    n_rounds : int, default=2
        Number of rounds; 1 means no context.
    unlabelled : int or None, default=None
        The value of unlabelled pixels in the masks. None means that all pixels are labelled.
    standardize : bool, default=True
        Whether every channel of an image is scaled to mean 0 and standard deviation 1; then the range in which images
        are stored does not matter.
    n_pseudo_labels : int, default=5_000
        With fewer labelled pixels than this, filters are learned from this many, adding unlabelled pixels whose class
        a first model is certain of. 0 uses labelled pixels only.
    n_jungles : int, default=1
        Number of jungles that learn filters, as in `InvariantFeatures`.
    max_depth : int, default=5
        Maximum number of layers of a jungle.
    smoothness : float, default=1.0
        Weight of the penalty on the gradient of a filter.
    rank : int, float or "auto", default=64
        Number of basis vectors that patches and filters are expressed in, as in `InvariantFeatures`.
    final_estimator : {"auto", "trees", "boosting", "linear"} or classifier, default="auto"
        What is fitted on the features of pixels in every round; a classifier must have `predict_proba`. "trees" are
        extremely randomized; "auto" means "boosting" if many pixels are labelled, in many places, and else "trees".
    n_trees : int, default=200
        Number of trees of "trees" and "boosting".
    warm_start : bool, default=False
        Whether `fit` keeps the filters of the last call and fits only the final estimators, to all labels given now.
        Adding labels to a model then costs a part of the time.
    n_jobs : int or None, default=None
        Number of parallel jobs; -1 uses all processors. It does not change the result.
    random_state : int, RandomState instance, Generator or None, default=None
        Seed for reproducible results.
    scale : {"dtype", "image", "percentile"}, default="dtype"
        How intensities are scaled before anything else, see `invariance.images.rescale`: by the dtype, or every image
        by its own extremes, or by its percentiles, so that a few very bright pixels do not matter.
    max_classes : int, default=32
        More classes in the masks are an error: they are probably numbers of objects, or greys of a lossy image.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The values of labelled pixels in the masks.
    n_labelled_ : ndarray of shape (n_classes,)
        Number of labelled pixels of each class.
    n_channels_ : int
        Number of channels of an image.
    intensity_range_ : dict
        Dtype and range of the training images; without `standardize`, images in another range are labelled with a
        warning.
    patch_size_ : int
        Side of a patch in pixels.
    features_ : InvariantFeatures
        The learned filters.
    final_estimators_ : list of classifiers, at most n_rounds
        The classifier of every round; a single one if the labelled pixels are too few for cross-validation.

    Notes
    -----
    Differs from [Laptev15]:

    - One classifier is fitted on the responses to all filters, instead of the vote of the leaves.
    - Patches are seen at two scales, beside a fixed filter bank.
    - There are rounds of context. In training the maps of a round come from classifiers that were not fitted on that
      part of the data, as predictions for training pixels are too good.
    - Strokes show the classes in other shares than images do. The shares in images are estimated from the maps of the
      first round, and the probabilities of trees in the last round corrected by their ratio to the labelled shares.
    - With few labels the filters would overfit. So a first model on the filter bank alone labels further pixels of the
      same images; those it is certain of serve to learn filters, but not to fit the final estimators.
    """

    def __init__(
        self,
        transformations=None,
        patch_size=31,
        max_pixels=50_000,
        sampling="proportional",
        n_rounds=2,
        unlabelled=None,
        standardize=True,
        n_pseudo_labels=5_000,
        n_jungles=1,
        max_depth=5,
        smoothness=1.0,
        rank=64,
        final_estimator="auto",
        n_trees=200,
        warm_start=False,
        n_jobs=None,
        random_state=None,
        scale="dtype",
        max_classes=MAX_CLASSES,
    ):
        self.transformations = transformations
        self.patch_size = patch_size
        self.max_pixels = max_pixels
        self.sampling = sampling
        self.n_rounds = n_rounds
        self.unlabelled = unlabelled
        self.standardize = standardize
        self.n_pseudo_labels = n_pseudo_labels
        self.n_jungles = n_jungles
        self.max_depth = max_depth
        self.smoothness = smoothness
        self.rank = rank
        self.final_estimator = final_estimator
        self.n_trees = n_trees
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.scale = scale
        self.max_classes = max_classes

    def fit(self, X: Any, y: Any) -> "JungleSegmenter":
        """Learn from images and their masks.

        Parameters
        ----------
        X : list of arrays, or array
            Images of shape (h, w) or (h, w, c), or stacks of them; in a list they may have different sizes.
        y : list of integer arrays, or integer array
            A mask of shape (h, w) for every image, a stack of masks for a stack. An image with one axis more than its
            mask has channels.

        Returns
        -------
        self : JungleSegmenter
            The fitted segmenter.
        """
        rng, n_rounds = make_rng(self.random_state), check_count("n_rounds", self.n_rounds)
        scale = check_choice("scale", self.scale, SCALES)
        labelled = pair_up(X, y, self.unlabelled, self.standardize, self._phi(), scale, self.max_classes)
        watch_range(self, X, reset=True)
        pixels = self._draw(labelled, rng)
        keep_filters = self.warm_start and hasattr(self, "features_")
        if keep_filters:
            self._check_same_task(labelled)
        self.classes_, self.n_channels_ = labelled.classes, labelled.n_channels
        self.n_labelled_ = labelled.counts.sum(axis=0)
        strokes = number_strokes([np.isin(mask, self.classes_) for mask in labelled.masks], pixels)
        folds = make_folds(group_pixels(pixels, strokes), pixels.codes, len(self.classes_), rng)
        n_strokes, is_balanced = int(strokes.max()) + 1, self.sampling == "balanced"
        make = self._estimator_maker(len(pixels.codes), n_strokes, rng)
        if not keep_filters:
            self._learn_filters(labelled, pixels, strokes, folds, make, rng)
        self.final_estimators_ = fit_rounds(
            labelled, pixels, folds, self._description(), make, n_rounds, self.n_jobs, n_strokes, is_balanced
        )
        return self

    def predict(self, X: Any) -> Any:
        """Predict the most probable class of every pixel.

        Parameters
        ----------
        X : array or list of arrays
            An image of shape (h, w) or (h, w, c), a stack of images, or a list of images of any sizes.

        Returns
        -------
        labels : ndarray of shape (h, w) or (n, h, w), or list of ndarrays
            The predicted values of `classes_`: one array for an image or a stack, a list for a list.
        """
        probabilities = self.predict_proba(X)
        if isinstance(probabilities, list):
            return [self.classes_[part.argmax(axis=-1)] for part in probabilities]
        return self.classes_[probabilities.argmax(axis=-1)]

    def predict_proba(self, X: Any) -> Any:
        """Predict the class probabilities of every pixel.

        Parameters
        ----------
        X : array or list of arrays
            An image of shape (h, w) or (h, w, c), a stack of images, or a list of images of any sizes. It may be
            memory-mapped or a `LazyStack`: one tile or one page is read at a time.

        Returns
        -------
        probabilities : ndarray of shape (h, w, n_classes) or (n, h, w, n_classes), float32, or list of ndarrays
            Probabilities in the order of `classes_`: one array for an image or a stack, a list for a list.
        """
        check_is_fitted(self)
        if isinstance(X, list | tuple):
            return [self.predict_proba(image) for image in X]
        if is_stack(X, self.n_channels_):
            return np.stack([self._predict_image(X[index]) for index in range(len(X))])
        return self._predict_image(X)

    def predict_part(self, image: Any, rows: slice, cols: slice, measured: Measured | None = None) -> np.ndarray:
        """Predict the class probabilities of a part of an image that may be larger than memory.

        Parameters
        ----------
        image : array of shape (h, w) or (h, w, c)
            The whole image, of which only what the part depends on is read.
        rows, cols : slice
            The part, with starts and stops inside the image.
        measured : Measured or None, default=None
            What `measure` returns for the image; None reads the whole image once.

        Returns
        -------
        probabilities : ndarray of shape (n_rows, n_cols, n_classes), float32
            Bit for bit those of `predict_proba(image)[rows, cols]`.
        """
        check_is_fitted(self)
        prepared = self._prepare(image, measured)
        part = Tile(rows.start, rows.stop, cols.start, cols.stop)
        n_classes = len(self.classes_)
        return predict_part(self._description(), self.final_estimators_, prepared, n_classes, part, self.n_jobs)

    def measure(self, image: Any) -> Measured:
        """Measure what every part of an image (h, w) or (h, w, c) is standardized by; all of it is read."""
        check_is_fitted(self)
        return self._prepare(image).measured

    def check_loaded(self) -> None:
        """Raise ValueError if filters and final estimators, read from a file, do not go together."""
        loaded.check_values(self, n_jobs=loaded.JOBS, standardize=loaded.FLAG)
        if not loaded.is_fitted(self, "classes_", "n_channels_", "patch_size_", "features_", "final_estimators_"):
            return
        loaded.check_values(
            self,
            classes_=loaded.labels(),
            n_channels_=loaded.whole(1, 64),
            patch_size_=loaded.whole(1, MAX_PATCH_SIZE),
            features_=loaded.instance(InvariantFeatures),
            final_estimators_=loaded.list_of(loaded.able("predict_proba"), at_least=1),
        )
        shape = (self.patch_size_, self.patch_size_, N_SCALES * self.n_channels_)
        if self.patch_size_ % 2 == 0 or self.features_.n_features_in_ != int(np.prod(shape)):
            raise ValueError(f"the filters of the segmenter must be for patches of {shape}.")
        n_own = N_RESPONSES * self.n_channels_ + self.features_.get_feature_names_out().size
        n_maps = 1 if len(self.classes_) == 2 else len(self.classes_)
        for number, estimator in enumerate(self.final_estimators_):
            n_features = n_own + (N_RESPONSES * n_maps if number else 0)
            loaded.check_values(estimator, classes_=loaded.labels(len(self.classes_)))
            if estimator.n_features_in_ != n_features:
                raise ValueError(
                    f"final estimator {number} of the segmenter must have n_features_in_ = {n_features}; "
                    f"got {estimator.n_features_in_}."
                )

    def __sklearn_tags__(self):
        """Declare that the input is images and masks instead of rows and labels."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.target_tags.required = True
        tags.target_tags.one_d_labels = False
        tags.target_tags.two_d_labels = True
        return tags

    def __getstate__(self):
        """Leave out what can be computed again."""
        return {name: value for name, value in super().__getstate__().items() if name != "_kept_description"}

    def _draw(self, labelled: Labelled, rng) -> Pixels:
        """Draw the labelled pixels to learn from."""
        sampling = check_choice("sampling", self.sampling, ("proportional", "balanced"))
        max_pixels = check_count("max_pixels", self.max_pixels, at_least=2)
        return draw_pixels(labelled.masks, labelled.classes, labelled.counts, max_pixels, sampling, rng)

    def _check_same_task(self, labelled: Labelled) -> None:
        """Refuse a warm start with other classes or channels."""
        if not np.array_equal(labelled.classes, self.classes_) or labelled.n_channels != self.n_channels_:
            raise ValueError(
                f"with warm_start the classes and channels must stay the same; fitted on {self.classes_.tolist()} and "
                f"{self.n_channels_}, got {labelled.classes.tolist()} and {labelled.n_channels}. Fit a new estimator."
            )

    def _learn_filters(self, labelled: Labelled, pixels: Pixels, strokes, folds, make: MakeEstimator, rng) -> None:
        """Select the patch size and learn filters, from pseudo-labels as well if there are few labels."""
        n_pseudo_labels = check_count("n_pseudo_labels", self.n_pseudo_labels, at_least=0)
        examples = add_pseudo_labels(labelled, pixels, n_pseudo_labels, make, rng, self.n_jobs)
        if MIN_PATCHES < len(pixels.codes) < FEW_PIXELS:
            examples = thin_strokes(pixels, strokes, MIN_PATCHES, rng)
        seed = int(rng.integers(2**31))
        _, phi = split_normalizing(self._phi())  # the images are normalized already

        def make_filters(size: int, n_examples: int) -> InvariantFeatures:
            return InvariantFeatures(
                phi,
                n_jungles=self.n_jungles,
                extremes="both",
                max_depth=self.max_depth,
                smoothness=self.smoothness,
                rank=self.rank,
                min_samples_leaf=int(np.clip(n_examples // PATCHES_PER_LEAF, *MIN_SAMPLES_LEAF)),
                image_shape=(size, size, N_SCALES * labelled.n_channels),
                n_jobs=self.n_jobs,
                random_state=seed,
            )

        self.patch_size_ = self._find_patch_size(labelled, pixels, folds, make_filters, make)
        patches = cut_patches(labelled.images, examples, self.patch_size_)
        self.features_ = make_filters(self.patch_size_, len(patches)).fit(patches, examples.codes)

    def _find_patch_size(self, labelled: Labelled, pixels: Pixels, folds, make_filters, make: MakeEstimator) -> int:
        """Check the patch size, or select it if None."""
        if self.patch_size is not None:
            return check_patch_size(self.patch_size)
        if folds is None:
            return DEFAULT_PATCH_SIZE
        best = select_patch_size(labelled.images, pixels, folds, PATCH_SIZES, make_filters, make)
        return DEFAULT_PATCH_SIZE if best is None else best

    def _estimator_maker(self, n_pixels: int, n_strokes: int, rng) -> MakeEstimator:
        """Return a function that makes an unfitted final estimator for a number of samples."""
        seed, n_trees = int(rng.integers(2**31)), check_count("n_trees", self.n_trees)
        chosen = choose_estimator(self.final_estimator, n_pixels, n_strokes)
        return lambda n_samples: make_estimator(chosen, n_samples, n_strokes, seed, n_trees, self.n_jobs)

    def _phi(self) -> TransformationSet:
        return DEFAULT_TRANSFORMATIONS if self.transformations is None else self.transformations

    def _predict_image(self, image: Any) -> np.ndarray:
        """Predict the probabilities (h, w, K) of one image."""
        prepared = self._prepare(image)
        return predict_maps(self._description(), self.final_estimators_, prepared, len(self.classes_), self.n_jobs)

    def _prepare(self, image: Any, measured: Measured | None = None) -> StandardImage:
        """Check an image and return it as the description sees it."""
        image = check_image(image, self.n_channels_)
        if measured is None and not self.standardize and self.scale == "dtype":
            watch_range(self, [image], reset=False)
        return prepare_image(image, self.standardize, self._phi(), self.scale, measured)

    def _description(self) -> Description:
        """Return the features of a pixel; kept between images, as the spectra of the filters are in it."""
        kept = self.__dict__.get("_kept_description")
        if kept is None or kept.windows.filters is not self.features_:
            kept = Description(WindowResponses(self.features_, self.patch_size_, self.n_channels_))
            self._kept_description = kept
        return kept
