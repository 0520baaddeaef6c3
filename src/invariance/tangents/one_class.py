"""Novelty detection with a kernel that knows small transformations, the future work of [Pozdnoukhov04]."""

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.svm import OneClassSVM

from invariance._core import loaded
from invariance._core.checks import check_number
from invariance.images import validate_images
from invariance.tangents.machines import GramMachine, unfitted_kernel


class TangentOneClassSVM(OutlierMixin, GramMachine):
    """One-class support vector machine that knows small transformations by their tangents.

    Parameters
    ----------
    kernel : TangentDistance, JitteredDistance, TangentVectorKernel or None, default=None
        Unfitted kernel of images; None means a two-sided `TangentDistance`. There are no labels to choose its width by:
        "auto" is "median".
    nu : float, default=0.1
        Share of new usual images that may be called unusual, between 0 and 1.
    psd_correction : {"clip", "flip"} or None, default="clip"
        What to do with negative eigenvalues of the training matrix, see `TangentSVC`.
    image_shape : tuple of int or None, default=None
        Shape (h, w) or (h, w, c) of the images in flat rows.

    Attributes
    ----------
    offset_ : float
        Score at which an image is neither usual nor unusual.
    kernel_ : object
        Fitted kernel, with its width ``sigma_``.
    svm_ : OneClassSVM
        Fitted machine on the training matrix.
    negative_share_ : float
        Share of negative eigenvalues in the sum of absolute eigenvalues of the training matrix before correction.
    images_ : ndarray of shape (n_compared, h, w) or (n_compared, h, w, c)
        Training images that new images are compared with.
    image_shape_ : tuple of int
        Shape of the training images.
    n_features_in_ : int
        Number of values of an image.

    Notes
    -----
    Differs from the machine of scikit-learn in its offset: that is the quantile `nu` of the scores of the training
    images, where no image counts for itself, so that new images are judged alike.
    """

    def __init__(self, kernel=None, nu=0.1, psd_correction="clip", image_shape=None):
        self.kernel = kernel
        self.nu = nu
        self.psd_correction = psd_correction
        self.image_shape = image_shape

    def fit(self, X, y=None):
        """Learn what usual images look like.

        Parameters
        ----------
        X : array-like of shape (n, h, w), (n, h, w, c) or (n, d)
            Training images of one kind.
        y : None
            Ignored.

        Returns
        -------
        self : TangentOneClassSVM
        """
        nu = check_number("nu", self.nu, 1e-9, 1)
        images = validate_images(self, X, self.image_shape, reset=True)
        gram = self._fit_gram(images)
        self.svm_ = OneClassSVM(nu=nu, kernel="precomputed").fit(gram)
        self.offset_ = float(np.quantile(_scores_left_out(self.svm_, gram), nu))
        self._keep_support(self.svm_)
        return self

    def check_loaded(self) -> None:
        """Raise ValueError if the machine, read from a file, is not one of these images."""
        super().check_loaded()
        if loaded.is_fitted(self, "svm_", "offset_", "images_"):
            loaded.check_values(self, svm_=loaded.instance(OneClassSVM), offset_=loaded.number())
            n_rows = loaded.one_of(self.n_training_images_)
            loaded.check_values(self.svm_, n_features_in_=n_rows, kernel=loaded.one_of("precomputed"))

    def score_samples(self, X) -> np.ndarray:
        """Return how usual images are: (n,), larger for more usual ones."""
        rows = self._gram_rows(X)
        return self.svm_.score_samples(rows)

    def decision_function(self, X) -> np.ndarray:
        """Return (n,) values that are positive for usual images and negative for unusual ones."""
        return self.score_samples(X) - self.offset_

    def predict(self, X) -> np.ndarray:
        """Return 1 for usual images and -1 for unusual ones: (n,)."""
        return np.where(self.decision_function(X) >= 0, 1, -1)

    def _unfitted_kernel(self):
        return unfitted_kernel(self.kernel)


def _scores_left_out(svm: OneClassSVM, gram: np.ndarray) -> np.ndarray:
    """Scores (n,) of the training images without the contribution of each to its own, as for new images."""
    scores = svm.score_samples(gram)
    scores[svm.support_] -= svm.dual_coef_[0] * gram[svm.support_, svm.support_]
    return scores
