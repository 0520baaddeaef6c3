"""Support vector machines on Gram matrices of kernels that know small transformations.

The matrix of the training images is computed once, in blocks; only the support vectors are kept and compared with new
images.
"""

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.svm import SVC, OneClassSVM
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from invariance._core import loaded
from invariance._core.checks import check_number
from invariance.images import encode_labels, validate_images
from invariance.tangents.distance import TangentDistance
from invariance.tangents.jitter import JitteredDistance
from invariance.tangents.psd import PsdCorrection, check_psd_correction, negative_share
from invariance.tangents.widths import WidthSearch
from invariance.transformations import TransformationSet

N_FOLDS = 5  # of the calibration, scikit-learn's default


class GramMachine(BaseEstimator):
    """Base of the machines on a Gram matrix: they have parameters psd_correction and image_shape."""

    psd_correction: Any
    image_shape: Any

    @abstractmethod
    def _unfitted_kernel(self) -> Any:
        """Return an unfitted kernel of images that this machine may fit."""

    def _fit_gram(self, images: np.ndarray, search: WidthSearch | None = None) -> np.ndarray:
        """Fit the kernel and return the corrected training matrix; a `search` chooses widths that are "auto"."""
        check_psd_correction(self.psd_correction)
        self.kernel_ = self._unfitted_kernel()
        if getattr(self.kernel_, "sides", "two") == "one":
            raise ValueError("a support vector machine needs a symmetric kernel; got sides='one'. Use 'two' or 'mean'.")
        self.images_ = images
        if hasattr(self.kernel_, "fit_matrix"):
            K = self.kernel_.fit_matrix(images, search)
        else:
            K = self.kernel_.fit(images)(images)
        self.negative_share_ = negative_share(K)
        self.psd_ = PsdCorrection(self.psd_correction)
        return self.psd_.fit_transform(K)

    def _keep_support(self, machine: SVC | OneClassSVM) -> None:
        """Forget the images that no decision depends on; a corrected matrix needs all of them."""
        self.n_training_images_ = len(self.images_)
        self.compared_ = np.arange(len(self.images_)) if self.psd_.projection_ is not None else machine.support_
        self.images_ = self.images_[self.compared_]

    def check_loaded(self) -> None:
        """Raise ValueError if images, correction and machine, read from a file, do not go together."""
        loaded.check_values(self, image_shape=loaded.SHAPE)
        fitted = ("kernel_", "images_", "psd_", "n_training_images_", "compared_", "n_features_in_")
        if not loaded.is_fitted(self, *fitted):
            return
        n_training = loaded.whole(1, 10**6)
        loaded.check_values(
            self,
            n_features_in_=loaded.N_VALUES,
            image_shape_=loaded.image_shape(self.n_features_in_),
            kernel_=loaded.able("__call__"),
            n_training_images_=n_training,
            psd_=loaded.instance(PsdCorrection),
        )
        compared = loaded.array((None,), low=0, high=self.n_training_images_ - 1)
        loaded.check_values(self, compared_=compared)
        loaded.check_values(self, images_=loaded.image_arrays(len(self.compared_), self.image_shape_))
        if self.compared_.dtype.kind != "i":
            raise ValueError("images that a machine compares with must be named by whole numbers.")
        loaded.check_values(self.psd_, projection_=loaded.optional(loaded.array((self.n_training_images_,) * 2)))

    def _gram_rows(self, X) -> np.ndarray:
        """Rows (m, n) of images against all training images; those that no decision depends on stay 0."""
        check_is_fitted(self)
        images = validate_images(self, X, self.image_shape, reset=False)
        rows = np.zeros((len(images), self.n_training_images_))
        rows[:, self.compared_] = self.kernel_(images, self.images_)
        return self.psd_.transform(rows)


def _has_probabilities(machine) -> bool:
    return bool(machine.probability)


class GramClassifier(ClassifierMixin, GramMachine):
    """Base of the support vector classifiers on a Gram matrix."""

    def fit(self, X, y):
        """Choose the width of the kernel and fit the machine.

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
        svc = self._unfitted_machine()
        images = validate_images(self, X, self.image_shape, reset=True)
        self.classes_, codes = encode_labels(y, len(images))
        K = self._fit_gram(images, WidthSearch(codes, svc, self.psd_correction))
        if self.probability:
            self.calibrated_ = _calibrate(svc, K, codes)
        self.svc_ = svc.fit(K, codes)
        self._keep_support(self.svc_)
        return self

    def check_loaded(self) -> None:
        """Raise ValueError if the machine, read from a file, is not one of these images and classes."""
        super().check_loaded()
        loaded.check_values(self, probability=loaded.FLAG)
        if not loaded.is_fitted(self, "classes_", "svc_", "images_"):
            return
        loaded.check_values(self, classes_=loaded.labels(), svc_=loaded.instance(SVC))
        codes = loaded.array((len(self.classes_),), low=0, high=len(self.classes_) - 1)
        n_rows = loaded.one_of(self.n_training_images_)
        loaded.check_values(self.svc_, classes_=codes, n_features_in_=n_rows, kernel=loaded.one_of("precomputed"))
        if self.probability:
            loaded.check_values(self, calibrated_=loaded.instance(CalibratedClassifierCV))
            loaded.check_values(self.calibrated_, classes_=codes)

    def decision_function(self, X) -> np.ndarray:
        """Return how far on the side of each class images lie: (n,) for two classes, otherwise (n, n_classes)."""
        rows = self._gram_rows(X)
        return self.svc_.decision_function(rows)

    def predict(self, X) -> np.ndarray:
        """Return the class of every image: the most probable one with probability=True."""
        rows = self._gram_rows(X)
        if self.probability:
            return self.classes_[self.calibrated_.predict_proba(rows).argmax(axis=1)]
        return self.classes_[self.svc_.predict(rows)]

    @available_if(_has_probabilities)
    def predict_proba(self, X) -> np.ndarray:
        """Return the probabilities (n, n_classes), by a sigmoid of cross-validated decisions; probability=True only."""
        rows = self._gram_rows(X)
        return self.calibrated_.predict_proba(rows)

    def _unfitted_machine(self) -> SVC:
        C = check_number("C", self.C, 1e-12)
        return SVC(C=C, kernel="precomputed", class_weight=self.class_weight, break_ties=True)


def _calibrate(svc: SVC, K: np.ndarray, codes: np.ndarray) -> CalibratedClassifierCV:
    """Fit sigmoids to the cross-validated decisions of a machine."""
    n_folds = min(N_FOLDS, int(np.bincount(codes).min()))
    if n_folds < 2:
        raise ValueError("probability=True needs at least two images of every class to be calibrated.")
    return CalibratedClassifierCV(svc, method="sigmoid", cv=n_folds, ensemble=False).fit(K, codes)


class TangentSVC(GramClassifier):
    """Support vector machine that knows small transformations by their tangents.

    With default parameters it finds the width of its kernel by cross-validation on the training images: half the
    median distance, or the multiple of it with a clearly lower error.

    Parameters
    ----------
    kernel : TangentDistance, JitteredDistance, TangentVectorKernel or None, default=None
        Unfitted kernel of images; None means a two-sided `TangentDistance`. Its width is chosen by cross-validation
        if its sigma is "auto". The distances are computed once for all widths.
    C : float, default=10.0
        Regularisation of the support vector machine, see `SVC` of scikit-learn.
    psd_correction : {"clip", "flip"} or None, default="clip"
        What to do with negative eigenvalues of the training matrix: set them to 0, take their absolute values, or
        nothing. With None the machine may not find its optimum.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, see `SVC` of scikit-learn.
    probability : bool, default=False
        Whether to calibrate by cross-validation, for `predict_proba`.
    image_shape : tuple of int or None, default=None
        Shape (h, w) or (h, w, c) of the images in flat rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes in sorted order.
    kernel_ : object
        Fitted kernel, with its width ``sigma_``.
    svc_ : SVC
        Fitted machine on the training matrix.
    negative_share_ : float
        Share of negative eigenvalues in the sum of absolute eigenvalues of the training matrix before correction.
    images_ : ndarray of shape (n_compared, h, w) or (n_compared, h, w, c)
        Training images that new images are compared with.
    image_shape_ : tuple of int
        Shape of the training images.
    n_features_in_ : int
        Number of values of an image.
    """

    def __init__(
        self, kernel=None, C=10.0, psd_correction="clip", class_weight=None, probability=False, image_shape=None
    ):
        self.kernel = kernel
        self.C = C
        self.psd_correction = psd_correction
        self.class_weight = class_weight
        self.probability = probability
        self.image_shape = image_shape

    def _unfitted_kernel(self):
        return unfitted_kernel(self.kernel)


def unfitted_kernel(kernel: Any) -> Any:
    """Return an unfitted copy of a kernel of images, of the tangent distance if it is None."""
    if kernel is None:
        return TangentDistance()
    if isinstance(kernel, type) or not (callable(kernel) and hasattr(kernel, "diag")):
        example = f"TangentDistance({kernel!r})" if isinstance(kernel, TransformationSet) else "TangentDistance()"
        raise ValueError(f"kernel must be a kernel of images; got {kernel!r}. Try {example}.")
    return clone(kernel)


class JitteredSVC(GramClassifier):
    """Support vector machine whose kernel is the largest over transformed versions of one image, [DeCoste02].

    Parameters
    ----------
    transformations : TransformationSet or None, default=None
        Transformations of which versions are made; None means shifts of one pixel.
    distance : TangentDistance or None, default=None
        Distance between versions; None means the Euclidean distance. ``TangentDistance(tangent_parts(phi))`` allows
        for what lies between the members of `transformations`.
    sigma : float or {"auto", "median"}, default="auto"
        Width of the kernel. "median" is half the median distance of the training images; "auto" is chosen by
        cross-validation from multiples of it.
    C : float, default=10.0
        Regularisation of the support vector machine, see `SVC` of scikit-learn.
    psd_correction : {"clip", "flip"} or None, default="clip"
        What to do with negative eigenvalues of the training matrix, see `TangentSVC`.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, see `SVC` of scikit-learn.
    probability : bool, default=False
        Whether to calibrate by cross-validation, for `predict_proba`.
    image_shape : tuple of int or None, default=None
        Shape (h, w) or (h, w, c) of the images in flat rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes in sorted order.
    kernel_ : JitteredDistance
        Fitted kernel, with its width ``sigma_``.
    svc_ : SVC
        Fitted machine on the training matrix.
    negative_share_ : float
        Share of negative eigenvalues in the sum of absolute eigenvalues of the training matrix before correction.
    images_ : ndarray of shape (n_compared, h, w) or (n_compared, h, w, c)
        Training images that new images are compared with.
    image_shape_ : tuple of int
        Shape of the training images.
    n_features_in_ : int
        Number of values of an image.
    """

    def __init__(
        self,
        transformations=None,
        distance=None,
        sigma="auto",
        C=10.0,
        psd_correction="clip",
        class_weight=None,
        probability=False,
        image_shape=None,
    ):
        self.transformations = transformations
        self.distance = distance
        self.sigma = sigma
        self.C = C
        self.psd_correction = psd_correction
        self.class_weight = class_weight
        self.probability = probability
        self.image_shape = image_shape

    def _unfitted_kernel(self):
        return clone(JitteredDistance(self.transformations, self.distance, self.sigma))
