"""Classification by the similarity to landmarks, every image at its best alignment over Φ with each of them."""

from functools import partial

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from invariance._core import loaded
from invariance._core.checks import check_count, check_number
from invariance._core.parallel import map_jobs, one_blas_thread
from invariance._core.probabilities import learn_sharpness, scores_to_probabilities
from invariance._core.progress import track
from invariance._core.randomness import draw_stratified, make_rng
from invariance.descriptors import GradientGrid
from invariance.images import encode_labels, to_grey, validate_images
from invariance.tangents.hard_images import FIRST_SHARE, add_hard, lack_of_margin
from invariance.tangents.ridge import Sums, fit_ridge
from invariance.transformations import Identity
from invariance.transformations.sets import check_set

# gamma="auto" is this over the mean squared distance; chosen on held-out digits, upright and turned at random.
SHARPNESS = 2.0
# Memory of the similarities of one block of images to all landmarks under all members.
BLOCK_BYTES = 8 * 2**20
MAX_LANDMARKS = 20_000
# Images by which gamma, the penalty and the sharpness are chosen; of more, so many are drawn.
MAX_LEFT_OUT = 5000
N_TOGETHER = 4096  # images whose similarities are in memory at a time
PIXELS = "pixels"
COMPARING = "comparing with landmarks"  # the label of progress


class LandmarkClassifier(ClassifierMixin, BaseEstimator):
    """Classify images by their similarity to some of the training images, the landmarks.

    An image is described by oriented gradients on a grid, as `GradientGrid` does it, in all its versions under Φ. Its
    similarity to a landmark is exp(-gamma d²), d being the least distance of its versions. A ridge regression on the
    similarities to all landmarks gives the scores of the classes. Time grows in proportion to the number of images,
    memory does not grow with it, and nothing has to be positive definite.

    Where there are more images than landmarks, a third of the landmarks is drawn at random; a regression on these finds
    images that are hard to tell apart, of which the others are drawn.

    Parameters
    ----------
    transformations : TransformationSet or None, default=None
        What does not matter, Φ. None means ``Identity()``.
    n_landmarks : int, default=4000
        Number of landmarks, drawn from the training images, at least one per class. With fewer training images, all are
        landmarks.
    gamma : float or "auto", default="auto"
        Factor of the squared distances. "auto" is 2 over their mean.
    descriptor : GradientGrid, "pixels" or None, default=None
        What of an image is compared: oriented gradients, None meaning ``GradientGrid()``, or its values.
    image_shape : tuple of int or None, default=None
        Shape (h, w) or (h, w, c) of the images in flat rows.
    n_jobs : int or None, default=None
        Number of threads; -1 uses all processors. It does not change the result.
    random_state : int, RandomState instance, Generator or None, default=None
        Seed of the choice of landmarks.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes in sorted order.
    landmarks_ : ndarray of shape (m, d)
        The vectors of the landmarks.
    images_ : ndarray of shape (m, h, w) or (m, h, w, c), float32
        The landmarks themselves.
    codes_ : ndarray of shape (m,)
        Place of the class of each landmark in `classes_`.
    gamma_ : float
        Factor of the squared distances.
    penalty_ : float
        Penalty of the squared weights, which has the smallest squared error of left-out images.
    means_, weights_, offsets_ : ndarrays of shapes (m,), (m, n_classes) and (n_classes,)
        The regression: scores are `(similarities - means_) @ weights_ + offsets_`.
    sharpness_ : float
        Factor of the scores before the softmax, learned from the scores of left-out images.
    image_shape_ : tuple of int
        Shape of the training images.
    n_features_in_ : int
        Number of values of an image.

    Notes
    -----
    The largest response over Φ is that of [Laptev15], with training images as filters; the similarities as features
    are the empirical kernel map of the jittered kernel of [DeCoste02].
    """

    def __init__(
        self,
        transformations=None,
        n_landmarks=4000,
        gamma="auto",
        descriptor=None,
        image_shape=None,
        n_jobs=None,
        random_state=None,
    ):
        self.transformations = transformations
        self.n_landmarks = n_landmarks
        self.gamma = gamma
        self.descriptor = descriptor
        self.image_shape = image_shape
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X, y):
        """Choose landmarks, and regress the classes on the similarities to them.

        Parameters
        ----------
        X : array-like of shape (n, h, w), (n, h, w, c) or (n, d)
            Training images.
        y : array-like of shape (n,)
            Their classes.

        Returns
        -------
        self : object
        """
        n_landmarks = check_count("n_landmarks", self.n_landmarks, at_most=MAX_LANDMARKS)
        images = validate_images(self, X, self.image_shape, reset=True)
        self.classes_, codes = encode_labels(y, len(images))
        rng = make_rng(self.random_state)
        left_out = draw_stratified(codes, MAX_LEFT_OUT, rng)
        prepared = self._prepare(images)
        chosen = np.arange(len(codes))
        if len(codes) > n_landmarks:
            chosen = draw_stratified(codes, max(1, round(FIRST_SHARE * n_landmarks)), rng)
            self._learn(prepared, codes, chosen, left_out)
            chosen = add_hard(chosen, lack_of_margin(self._score(prepared), codes), n_landmarks, rng)
        self._learn(prepared, codes, chosen, left_out)
        self.images_, self.codes_ = images[chosen], codes[chosen]
        return self

    def _learn(self, images: np.ndarray, codes: np.ndarray, chosen: np.ndarray, left_out: np.ndarray) -> None:
        """Regress the classes on the similarities to chosen images; some are left out to choose gamma and penalty."""
        self.landmarks_ = describe(self.descriptor, images[chosen])
        squared = self._squared_distances(images[left_out], COMPARING)
        self.gamma_ = self._choose_gamma(squared)
        similarities = np.exp(-self.gamma_ * squared, out=squared)
        sums = Sums(len(chosen), len(self.classes_))
        sums.add(similarities, codes[left_out], self.n_jobs)
        self._add_others(sums, images, codes, left_out)
        ridge = fit_ridge(sums, similarities, codes[left_out])
        self.means_, self.weights_, self.offsets_, self.penalty_ = ridge[:4]
        self.sharpness_ = learn_sharpness(ridge.held_out, codes[left_out])

    def check_loaded(self) -> None:
        """Raise ValueError if landmarks and regression, read from a file, do not go together."""
        grid = loaded.either(loaded.one_of(PIXELS), loaded.instance(GradientGrid))
        loaded.check_values(
            self,
            image_shape=loaded.SHAPE,
            descriptor=loaded.optional(grid),
            n_landmarks=loaded.whole(1, MAX_LANDMARKS),
            n_jobs=loaded.JOBS,
        )
        names = (
            "classes_",
            "landmarks_",
            "images_",
            "codes_",
            "gamma_",
            "means_",
            "weights_",
            "offsets_",
            "sharpness_",
        )
        if not loaded.is_fitted(self, *names, "n_features_in_", "image_shape_"):
            return
        loaded.check_values(
            self,
            classes_=loaded.labels(),
            n_features_in_=loaded.N_VALUES,
            image_shape_=loaded.image_shape(self.n_features_in_),
            landmarks_=loaded.array((None, self._n_values())),
            gamma_=loaded.number(0),
            sharpness_=loaded.number(0),
        )
        m, n_classes = len(self.landmarks_), len(self.classes_)
        loaded.check_values(
            self,
            images_=loaded.image_arrays(m, self.image_shape_),
            codes_=loaded.array((m,), low=0, high=n_classes - 1),
            means_=loaded.array((m,)),
            weights_=loaded.array((m, n_classes)),
            offsets_=loaded.array((n_classes,)),
        )

    def decision_function(self, X) -> np.ndarray:
        """Return the scores of the classes: (n, n_classes), or for two classes those of the second (n,)."""
        scores = self._scores(X)
        return scores[:, 1] if len(self.classes_) == 2 else scores

    def predict(self, X) -> np.ndarray:
        """Return the class with the largest score of every image."""
        scores = self._scores(X)
        return self.classes_[scores.argmax(axis=1)]

    def predict_proba(self, X) -> np.ndarray:
        """Return the probabilities (n, n_classes) of the classes."""
        return scores_to_probabilities(self._scores(X), self.sharpness_)

    def similarities(self, X) -> np.ndarray:
        """Return the similarities (n, m) of images to the landmarks."""
        check_is_fitted(self)
        images = self._prepare(validate_images(self, X, self.image_shape, reset=False))
        return np.exp(-self.gamma_ * self._squared_distances(images))

    def _scores(self, X) -> np.ndarray:
        check_is_fitted(self)
        return self._score(self._prepare(validate_images(self, X, self.image_shape, reset=False)))

    def _score(self, images: np.ndarray) -> np.ndarray:
        """Return the scores (n, n_classes) of prepared images, some at a time."""
        scores = np.empty((len(images), len(self.classes_)))
        for rows in track(_slices(len(images)), COMPARING):
            similarities = np.exp(-self.gamma_ * self._squared_distances(images[rows]))
            with one_blas_thread():
                scores[rows] = (similarities - self.means_) @ self.weights_ + self.offsets_
        return scores

    def _n_values(self) -> int:
        """Length of a vector."""
        if self.descriptor == PIXELS:
            return self.image_shape_[0] * self.image_shape_[1]
        grid = GradientGrid() if self.descriptor is None else self.descriptor
        return grid.n_cells**2 * grid.n_bins

    def _phi(self):
        check_set("transformations", self.transformations)
        return Identity() if self.transformations is None else self.transformations

    def _prepare(self, images: np.ndarray) -> np.ndarray:
        """Return grey images (n, h, w), normalized if Φ says so."""
        grey = images if images.ndim == 3 else np.stack([to_grey(image) for image in images])
        return self._phi().normalize(grey).astype(np.float32, copy=False)

    def _squared_distances(self, images: np.ndarray, label: str | None = None) -> np.ndarray:
        """Return the least squared distances (n, m) over all versions of images (n, h, w)."""
        operators = self._phi().operators(images.shape[1:])
        bytes_per_image = 4 * len(operators) * (len(self.landmarks_) + 2 * images[0].size)
        n_rows = max(1, BLOCK_BYTES // bytes_per_image)
        blocks = [images[start : start + n_rows] for start in range(0, len(images), n_rows)]
        lengths = np.einsum("md,md->m", self.landmarks_, self.landmarks_)
        compute = partial(_least_distances, operators, self.descriptor, self.landmarks_, lengths)
        return np.concatenate(map_jobs(compute, blocks, self.n_jobs, label))

    def _add_others(self, sums: Sums, images: np.ndarray, codes: np.ndarray, added: np.ndarray) -> None:
        """Add the similarities of all images but those that were added, some at a time."""
        others = np.delete(np.arange(len(images)), added)
        for some in track(_slices(len(others)), COMPARING):
            rows = others[some]
            squared = self._squared_distances(images[rows])
            sums.add(np.exp(-self.gamma_ * squared, out=squared), codes[rows], self.n_jobs)

    def _choose_gamma(self, squared: np.ndarray) -> float:
        if self.gamma != "auto":
            return check_number("gamma", self.gamma, 0)
        mean = float(squared.mean())
        return SHARPNESS / mean if mean > 0 else SHARPNESS


def _slices(n_images: int) -> list[slice]:
    return [slice(start, start + N_TOGETHER) for start in range(0, n_images, N_TOGETHER)]


def describe(descriptor: GradientGrid | str | None, grey: np.ndarray) -> np.ndarray:
    """Vectors (n, d) of grey images (n, h, w): float32 gradients, or values as float64, which can be of any size."""
    if descriptor == PIXELS:
        return grey.reshape(len(grey), -1).astype(np.float64)
    if descriptor is not None and not isinstance(descriptor, GradientGrid):
        raise ValueError(f"descriptor must be a GradientGrid, 'pixels' or None; got {descriptor!r}.")
    return (GradientGrid() if descriptor is None else descriptor).describe(grey)


def _least_distances(
    operators, descriptor, landmarks: np.ndarray, lengths: np.ndarray, images: np.ndarray
) -> np.ndarray:
    """Least squared distances (n, m) of the versions of images (n, h, w) to landmarks (m, d) of squared lengths (m,).

    |v - l|² = |l|² - 2 (v.l - |v|²/2), so that the largest of the products in brackets belongs to the least distance.
    """
    versions = operators.apply(images).astype(np.float32, copy=False)
    vectors = describe(descriptor, versions.reshape(-1, *images.shape[1:]))
    products = vectors @ landmarks.T
    products -= np.einsum("nd,nd->n", vectors, vectors)[:, None] / 2
    largest = products.reshape(len(images), -1, len(landmarks)).max(axis=1)
    return np.maximum(lengths - 2 * largest, 0)
