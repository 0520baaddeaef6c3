"""What is new? A one-class machine whose kernel knows small transformations, the future work of [Pozdnoukhov04]."""

import numpy as np
from sklearn.base import OutlierMixin, clone
from sklearn.svm import OneClassSVM

from invariance._core.checks import check_number
from invariance.images import validate_images
from invariance.tangents.distance import TangentDistance
from invariance.tangents.machines import GramMachine


class TangentOneClassSVM(OutlierMixin, GramMachine):
    """Learns what images usually look like, and says which ones do not.

    Parameters
    ----------
    kernel : a `TangentDistance` (the default) or a `TangentVectorKernel`, unfitted.
    nu : the share of usual images that may be called unusual. A machine's own offset is that of its training images,
        each of which is its own nearest; here none counts for itself, so that new images are judged alike.
    psd_correction : "clip", "flip" or None, see `TangentSVC`.
    """

    def __init__(self, kernel=None, nu=0.1, psd_correction="clip", image_shape=None):
        self.kernel = kernel
        self.nu = nu
        self.psd_correction = psd_correction
        self.image_shape = image_shape

    def fit(self, X, y=None):
        """Learn from images (n, h, w[, c]) or flat rows of one kind."""
        nu = check_number("nu", self.nu, 1e-9, 1)
        images = validate_images(self, X, self.image_shape, reset=True)
        gram = self._fit_gram(images)
        self.svm_ = OneClassSVM(nu=nu, kernel="precomputed").fit(gram)
        self.offset_ = float(np.quantile(_scores_without_themselves(self.svm_, gram), nu))
        self._keep_support(self.svm_)
        return self

    def score_samples(self, X) -> np.ndarray:
        """How usual images are: (n,), larger for more usual ones."""
        rows = self._gram_rows(X)
        return self.svm_.score_samples(rows)

    def decision_function(self, X) -> np.ndarray:
        """Positive for usual images, negative for unusual ones: (n,)."""
        return self.score_samples(X) - self.offset_

    def predict(self, X) -> np.ndarray:
        """1 for usual images, -1 for unusual ones."""
        return np.where(self.decision_function(X) >= 0, 1, -1)

    def _unfitted_kernel(self):
        return TangentDistance() if self.kernel is None else clone(self.kernel)


def _scores_without_themselves(svm: OneClassSVM, gram: np.ndarray) -> np.ndarray:
    """Scores (n,) of the training images without what each adds to its own: what a new image can reach."""
    scores = svm.score_samples(gram)
    scores[svm.support_] -= svm.dual_coef_[0] * gram[svm.support_, svm.support_]
    return scores
