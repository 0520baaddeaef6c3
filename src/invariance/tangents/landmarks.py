"""Classification by the similarity to landmarks, every image at its best alignment over Φ with each of them."""

from functools import partial

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from invariance._core import loaded
from invariance._core.checks import check_count, check_number
from invariance._core.parallel import iterate_jobs, one_blas_thread
from invariance._core.probabilities import learn_sharpness, scores_to_probabilities
from invariance._core.randomness import make_rng
from invariance.descriptors import GradientGrid
from invariance.images import encode_labels, to_grey, validate_images
from invariance.tangents.ridge import fit_ridge
from invariance.transformations import Identity

# gamma="auto" is this over the mean squared distance; chosen on held-out digits turned at random.
SHARPNESS = 3.0
# Memory of the similarities of one block of images to all landmarks under all members.
BLOCK_BYTES = 32 * 2**20
MAX_LANDMARKS = 20_000
PIXELS = "pixels"


class LandmarkClassifier(ClassifierMixin, BaseEstimator):
    """Classify images by their similarity to some of the training images, the landmarks.

    An image is described by oriented gradients on a grid, as `GradientGrid` does it, in all its versions under Φ. Its
    similarity to a landmark is exp(-gamma d²), d being the least distance of its versions. A ridge regression on the
    similarities to all landmarks gives the scores of the classes. Time and memory grow in proportion to the number of
    images, and nothing has to be positive definite.

    Parameters
    ----------
    transformations : TransformationSet or None, default=None
        What does not matter, Φ. None means ``Identity()``.
    n_landmarks : int, default=2000
        Number of landmarks, drawn from the training images in proportion to the classes, at least one per class. With
        fewer training images, all are landmarks.
    gamma : float or "auto", default="auto"
        Factor of the squared distances. "auto" is 3 over their mean.
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
        n_landmarks=2000,
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
        chosen = draw_landmarks(codes, n_landmarks, make_rng(self.random_state))
        self.images_, self.codes_ = images[chosen], codes[chosen]
        images = self._prepare(images)
        self.landmarks_ = describe(self.descriptor, images[chosen])
        squared = self._squared_distances(images)
        self.gamma_ = self._choose_gamma(squared)
        similarities = np.exp(-self.gamma_ * squared, out=squared)
        with one_blas_thread():
            ridge = fit_ridge(similarities, codes, len(self.classes_))
        self.means_, self.weights_, self.offsets_, self.penalty_ = ridge[:4]
        self.sharpness_ = learn_sharpness(ridge.held_out, codes)
        return self

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
        similarities = self.similarities(X)
        with one_blas_thread():
            return (similarities - self.means_) @ self.weights_ + self.offsets_

    def _n_values(self) -> int:
        """Length of a vector."""
        if self.descriptor == PIXELS:
            return self.image_shape_[0] * self.image_shape_[1]
        grid = GradientGrid() if self.descriptor is None else self.descriptor
        return grid.n_cells**2 * grid.n_bins

    def _phi(self):
        return Identity() if self.transformations is None else self.transformations

    def _prepare(self, images: np.ndarray) -> np.ndarray:
        """Return grey images (n, h, w), normalized if Φ says so."""
        grey = images if images.ndim == 3 else np.stack([to_grey(image) for image in images])
        return self._phi().normalize(grey).astype(np.float32, copy=False)

    def _squared_distances(self, images: np.ndarray) -> np.ndarray:
        """Return the least squared distances (n, m) over all versions of images (n, h, w)."""
        operators = self._phi().operators(images.shape[1:])
        bytes_per_image = 4 * len(operators) * (len(self.landmarks_) + 2 * images[0].size)
        n_rows = max(1, BLOCK_BYTES // bytes_per_image)
        blocks = [images[start : start + n_rows] for start in range(0, len(images), n_rows)]
        compute = partial(_least_distances, operators, self.descriptor, self.landmarks_)
        return np.concatenate(list(iterate_jobs(compute, blocks, self.n_jobs, "comparing with landmarks")))

    def _choose_gamma(self, squared: np.ndarray) -> float:
        if self.gamma != "auto":
            return check_number("gamma", self.gamma, 0)
        mean = float(squared.mean())
        return SHARPNESS / mean if mean > 0 else SHARPNESS


def draw_landmarks(codes: np.ndarray, n_landmarks: int, rng: np.random.Generator) -> np.ndarray:
    """Draw images in proportion to their classes, at least one per class: sorted indices, all if there are no more."""
    if len(codes) <= n_landmarks:
        return np.arange(len(codes))
    counts = np.bincount(codes)
    shares = np.maximum(1, np.floor(counts * (n_landmarks / len(codes)))).astype(int)
    chosen = [rng.permutation(np.flatnonzero(codes == code))[:share] for code, share in enumerate(shares)]
    return np.sort(np.concatenate(chosen))


def describe(descriptor: GradientGrid | str | None, grey: np.ndarray) -> np.ndarray:
    """Vectors (n, d) of grey images (n, h, w): float32 gradients, or values as float64, which can be of any size."""
    if descriptor == PIXELS:
        return grey.reshape(len(grey), -1).astype(np.float64)
    if descriptor is not None and not isinstance(descriptor, GradientGrid):
        raise ValueError(f"descriptor must be a GradientGrid, 'pixels' or None; got {descriptor!r}.")
    return (GradientGrid() if descriptor is None else descriptor).describe(grey)


def _least_distances(operators, descriptor, landmarks: np.ndarray, images: np.ndarray) -> np.ndarray:
    """Least squared distances (n, m) of the versions of images (n, h, w) to landmarks (m, d)."""
    versions = operators.apply(images).astype(np.float32, copy=False)
    vectors = describe(descriptor, versions.reshape(-1, *images.shape[1:]))
    lengths = np.einsum("nd,nd->n", vectors, vectors)[:, None] + np.einsum("md,md->m", landmarks, landmarks)
    squared = (lengths - 2 * vectors @ landmarks.T).reshape(len(images), -1, len(landmarks)).min(axis=1)
    return np.maximum(squared, 0)
