"""Virtual support vectors, [Scholkopf96]: train, transform the support vectors, train again on their versions."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.svm import SVC
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from invariance._core import loaded
from invariance._core.checks import check_number
from invariance.images import encode_labels, validate_images
from invariance.transformations import Identity, Shifts
from invariance.transformations.sets import check_set

N_FOLDS = 5  # of the calibration, scikit-learn's default


class VirtualSVC(ClassifierMixin, BaseEstimator):
    """Support vector machine trained again on transformed versions of its support vectors.

    Parameters
    ----------
    transformations : TransformationSet or None, default=None
        Transformations of the support vectors; None means shifts of one pixel, or none for flat rows without
        `image_shape`, which have no neighbouring pixels.
    kernel : str or callable, default="rbf"
        Kernel of flat images, see `SVC` of scikit-learn.
    C : float, default=10.0
        Regularisation of the support vector machine, see `SVC` of scikit-learn.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of the kernel, see `SVC` of scikit-learn.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, see `SVC` of scikit-learn.
    probability : bool, default=False
        Whether to calibrate by cross-validation, for `predict_proba`; versions of one image stay together.
    image_shape : tuple of int or None, default=None
        Shape (h, w) or (h, w, c) of the images in flat rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes in sorted order.
    n_first_support_ : int
        Number of support vectors of the first machine, of which versions are made.
    svc_ : SVC
        Machine fitted to the versions.
    image_shape_ : tuple of int
        Shape of the training images.
    n_features_in_ : int
        Number of values of an image.
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
        """Fit a machine, transform its support vectors, and fit it again to their versions.

        Parameters
        ----------
        X : array-like of shape (n, h, w), (n, h, w, c) or (n, d)
            Training images.
        y : array-like of shape (n,)
            Their classes.

        Returns
        -------
        self : VirtualSVC
        """
        images = self._take(X, reset=True)
        self.classes_, codes = encode_labels(y, len(images))
        first = self._machine().fit(images.reshape(len(images), -1), codes)
        self.n_first_support_ = len(first.support_)
        versions, owners = self._transform(images[first.support_])
        codes = codes[first.support_][owners]
        self.svc_ = self._machine().fit(versions, codes)
        if self.probability:
            self.calibrated_ = _calibrate(self._machine(), versions, codes, owners)
        return self

    def check_loaded(self) -> None:
        """Raise ValueError if the machine, read from a file, is not one of these images and classes."""
        loaded.check_values(self, probability=loaded.FLAG, image_shape=loaded.SHAPE)
        if not loaded.is_fitted(self, "classes_", "svc_", "n_features_in_"):
            return
        loaded.check_values(
            self,
            classes_=loaded.labels(),
            n_features_in_=loaded.N_VALUES,
            image_shape_=loaded.image_shape(self.n_features_in_),
            svc_=loaded.instance(SVC),
        )
        codes = loaded.array((len(self.classes_),), low=0, high=len(self.classes_) - 1)
        loaded.check_values(self.svc_, classes_=codes, n_features_in_=loaded.one_of(self.n_features_in_))
        if self.probability:
            loaded.check_values(self, calibrated_=loaded.instance(CalibratedClassifierCV))
            loaded.check_values(self.calibrated_, classes_=codes)

    def decision_function(self, X) -> np.ndarray:
        """Return how far on the side of each class images lie: (n,) for two classes, otherwise (n, n_classes)."""
        rows = self._flat(X)
        return self.svc_.decision_function(rows)

    def predict(self, X) -> np.ndarray:
        """Return the class of every image: the most probable one with probability=True."""
        rows = self._flat(X)
        if self.probability:
            return self.classes_[self.calibrated_.predict_proba(rows).argmax(axis=1)]
        return self.classes_[self.svc_.predict(rows)]

    @available_if(lambda machine: bool(machine.probability))
    def predict_proba(self, X) -> np.ndarray:
        """Return the probabilities (n, n_classes) of the classes; probability=True only."""
        rows = self._flat(X)
        return self.calibrated_.predict_proba(rows)

    def _machine(self) -> SVC:
        C = check_number("C", self.C, 1e-12)
        return SVC(C=C, kernel=self.kernel, gamma=self.gamma, class_weight=self.class_weight, break_ties=True)

    def _flat(self, X) -> np.ndarray:
        check_is_fitted(self)
        images = self._take(X, reset=False)
        return images.reshape(len(images), -1)

    def _take(self, X, *, reset: bool) -> np.ndarray:
        """Validate images, and normalize them if Φ says so."""
        check_set("transformations", self.transformations)
        images = validate_images(self, X, self.image_shape, reset=reset)
        return images if self.transformations is None else self.transformations.normalize(images)

    def _transform(self, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return all versions of images as rows, and the index of the image of each."""
        phi = self.transformations
        if phi is None:
            phi = Shifts(1) if images.shape[1] > 1 else Identity()
        orbits = phi.operators(images.shape[1:]).apply(images)
        n, n_members = orbits.shape[:2]
        return orbits.reshape(n * n_members, -1), np.repeat(np.arange(n), n_members)


def _calibrate(machine: SVC, rows: np.ndarray, codes: np.ndarray, owners: np.ndarray) -> CalibratedClassifierCV:
    """Fit sigmoids to decisions on images of which no version was trained on."""
    n_folds = min(N_FOLDS, int(min(len(np.unique(owners[codes == code])) for code in np.unique(codes))))
    if n_folds < 2:
        raise ValueError("probability=True needs at least two support vectors of every class to be calibrated.")
    folds = list(StratifiedGroupKFold(n_folds).split(rows, codes, owners))
    return CalibratedClassifierCV(machine, method="sigmoid", cv=folds, ensemble=False).fit(rows, codes)
