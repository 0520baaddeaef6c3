"""Virtual support vectors, [Scholkopf96]: train, transform the support vectors, train again on their versions."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.svm import SVC
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from invariance._core.checks import check_number
from invariance.images import encode_labels, validate_images
from invariance.transformations import Shifts


class VirtualSVC(ClassifierMixin, BaseEstimator):
    """A support vector machine that has seen transformed versions of its support vectors.

    Parameters
    ----------
    transformations : how the support vectors are transformed; None means shifts of one pixel.
    kernel, C, gamma : of the support vector machine, see scikit-learn's `SVC`.
    probability : whether to calibrate by cross-validation, for `predict_proba`; versions of one image stay together.
    """

    def __init__(
        self,
        transformations=None,
        kernel="rbf",
        C=10.0,
        gamma="scale",
        class_weight=None,
        probability=False,
        image_shape=None,
    ):
        self.transformations = transformations
        self.kernel = kernel
        self.C = C
        self.gamma = gamma
        self.class_weight = class_weight
        self.probability = probability
        self.image_shape = image_shape

    def fit(self, X, y):
        """Learn from images (n, h, w[, c]) or flat rows and their labels."""
        images = validate_images(self, X, self.image_shape, reset=True)
        self.classes_, codes = encode_labels(y, len(images))
        first = self._machine().fit(images.reshape(len(images), -1), codes)
        self.n_first_support_ = len(first.support_)
        versions, owners = self._transform(images[first.support_])
        codes = codes[first.support_][owners]
        self.svc_ = self._machine().fit(versions, codes)
        if self.probability:
            self.calibrated_ = _calibrate(self._machine(), versions, codes, owners)
        return self

    def decision_function(self, X) -> np.ndarray:
        """How far on the side of each class an image lies: (n,) for two classes, else (n, K)."""
        rows = self._flat(X)
        return self.svc_.decision_function(rows)

    def predict(self, X) -> np.ndarray:
        """The class of every image: the most probable one, if probabilities were asked for."""
        rows = self._flat(X)
        if self.probability:
            return self.classes_[self.calibrated_.predict_proba(rows).argmax(axis=1)]
        return self.classes_[self.svc_.predict(rows)]

    @available_if(lambda machine: bool(machine.probability))
    def predict_proba(self, X) -> np.ndarray:
        """Probabilities (n, K) of the classes; `probability=True`."""
        rows = self._flat(X)
        return self.calibrated_.predict_proba(rows)

    def _machine(self) -> SVC:
        C = check_number("C", self.C, 1e-12)
        return SVC(C=C, kernel=self.kernel, gamma=self.gamma, class_weight=self.class_weight, break_ties=True)

    def _flat(self, X) -> np.ndarray:
        check_is_fitted(self)
        images = validate_images(self, X, self.image_shape, reset=False)
        return images.reshape(len(images), -1)

    def _transform(self, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """All versions of images as rows, and which image each is of."""
        phi = Shifts(1) if self.transformations is None else self.transformations
        orbits = phi.operators(images.shape[1:]).apply(images)
        n, n_members = orbits.shape[:2]
        return orbits.reshape(n * n_members, -1), np.repeat(np.arange(n), n_members)


def _calibrate(machine: SVC, rows: np.ndarray, codes: np.ndarray, owners: np.ndarray) -> CalibratedClassifierCV:
    """A sigmoid fitted to decisions on images of which no version was learned from."""
    n_folds = min(5, int(min(len(np.unique(owners[codes == code])) for code in np.unique(codes))))
    if n_folds < 2:
        raise ValueError("probability=True needs at least two support vectors of every class to be calibrated.")
    folds = list(StratifiedGroupKFold(n_folds).split(rows, codes, owners))
    return CalibratedClassifierCV(machine, method="sigmoid", cv=folds, ensemble=False).fit(rows, codes)
