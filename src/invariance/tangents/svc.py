"""Classification with tangents: a support vector machine whose kernel knows small transformations."""

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.svm import SVC
from sklearn.utils.metaestimators import available_if

from invariance._core.checks import check_number
from invariance.images import encode_labels, validate_images
from invariance.tangents.distance import TangentDistance
from invariance.tangents.jitter import JitteredDistance
from invariance.tangents.machines import GramMachine

N_FOLDS = 5


def _has_probabilities(machine) -> bool:
    return bool(machine.probability)


class GramClassifier(ClassifierMixin, GramMachine):
    """A support vector classifier on a Gram matrix."""

    def fit(self, X, y):
        """Learn from images (n, h, w[, c]) or flat rows and their labels."""
        C = check_number("C", self.C, 1e-12)
        images = validate_images(self, X, self.image_shape, reset=True)
        self.classes_, codes = encode_labels(y, len(images))
        K = self._fit_gram(images)
        svc = SVC(C=C, kernel="precomputed", class_weight=self.class_weight, break_ties=True)
        self.svc_ = svc.fit(K, codes)
        if self.probability:
            n_folds = min(N_FOLDS, int(np.bincount(codes).min()))
            if n_folds < 2:
                raise ValueError("probability=True needs at least two images of every class to be calibrated.")
            self.calibrated_ = CalibratedClassifierCV(svc, method="sigmoid", cv=n_folds, ensemble=False).fit(K, codes)
        self._keep_support(self.svc_)
        return self

    def decision_function(self, X) -> np.ndarray:
        """How far on the side of each class an image lies: (n,) for two classes, else (n, K)."""
        rows = self._gram_rows(X)
        return self.svc_.decision_function(rows)

    def predict(self, X) -> np.ndarray:
        """The class of every image: the most probable one, if probabilities were asked for."""
        rows = self._gram_rows(X)
        if self.probability:
            return self.classes_[self.calibrated_.predict_proba(rows).argmax(axis=1)]
        return self.classes_[self.svc_.predict(rows)]

    @available_if(_has_probabilities)
    def predict_proba(self, X) -> np.ndarray:
        """Probabilities (n, K) of the classes, by a sigmoid fitted to cross-validated decisions; `probability=True`."""
        rows = self._gram_rows(X)
        return self.calibrated_.predict_proba(rows)


class TangentSVC(GramClassifier):
    """A support vector machine that knows small transformations by their tangents.

    Parameters
    ----------
    kernel : a `TangentDistance` (the default, two-sided) or a `TangentVectorKernel`, unfitted; its widths are found on
        the training images where they are "auto".
    C : of the support vector machine.
    psd_correction : "clip", "flip" or None: what to do with negative eigenvalues of the training matrix; how large a share
        they have is found in `negative_share_`. With None a machine that is not the best one may be found.
    probability : whether to calibrate, for `predict_proba`.
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
        return TangentDistance() if self.kernel is None else clone(self.kernel)


class JitteredSVC(GramClassifier):
    """A support vector machine whose kernel is the largest over jittered versions of one image, [DeCoste02].

    Parameters
    ----------
    transformations : the jitters; None means shifts of one pixel.
    distance : between images: None for the Euclidean one, or a `TangentDistance`, which sees to what the jitters leave.
    sigma : width of the kernel; "auto" is half the median distance.
    C, psd_correction, class_weight, probability : see `TangentSVC`.
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
