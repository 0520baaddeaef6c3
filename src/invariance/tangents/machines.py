"""Support vector machines on a Gram matrix of the library's own kernels: what all of them share.

The matrix is computed once, in blocks; only the support vectors are kept and compared with new images.
"""

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.svm import SVC, OneClassSVM
from sklearn.utils.validation import check_is_fitted

from invariance._core.checks import check_choice
from invariance.images import validate_images
from invariance.tangents.psd import PsdCorrection, negative_share


class GramMachine(BaseEstimator):
    """Images in, a Gram matrix of `_unfitted_kernel()` out: for machines with parameters psd_correction and image_shape."""

    psd_correction: Any
    image_shape: Any

    @abstractmethod
    def _unfitted_kernel(self) -> Any:
        """The kernel to fit and compare images by."""

    def _fit_gram(self, images: np.ndarray) -> np.ndarray:
        """The training matrix, repaired if asked; sets `kernel_`, `images_` and `negative_share_`."""
        if self.psd_correction is not None:
            check_choice("psd_correction", self.psd_correction, ("clip", "flip"))
        kernel = self._unfitted_kernel()
        if getattr(kernel, "sides", "two") == "one":
            raise ValueError("a support vector machine needs a symmetric kernel; got sides='one'. Use 'two' or 'mean'.")
        self.kernel_ = kernel.fit(images)
        self.images_ = images
        K = self.kernel_(images)
        self.negative_share_ = negative_share(K)
        self.gram_ = PsdCorrection(self.psd_correction)
        return self.gram_.fit_transform(K)

    def _keep_support(self, machine: SVC | OneClassSVM) -> None:
        """Forget the images that no decision depends on; a repaired matrix needs them all."""
        self.n_training_images_ = len(self.images_)
        self.compared_ = np.arange(len(self.images_)) if self.gram_.projection_ is not None else machine.support_
        self.images_ = self.images_[self.compared_]

    def _gram_rows(self, X) -> np.ndarray:
        """Rows (m, n) against all training images; those that do not matter stay 0."""
        check_is_fitted(self)
        images = validate_images(self, X, self.image_shape, reset=False)
        rows = np.zeros((len(images), self.n_training_images_))
        rows[:, self.compared_] = self.kernel_(images, self.images_)
        return self.gram_.transform(rows)
