"""Images of any sizes, grey or in colour, classified by any method of the library."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from invariance._core.checks import check_choice
from invariance.images import encode_labels
from invariance.methods.catalogue import METHODS, Method
from invariance.methods.facts import MAX_SIDE, SIDE, as_one_kind, as_squares, learn_facts
from invariance.methods.light import even_light, part_with_light
from invariance.transformations import Identity

COPY_SIDE = 128  # of images whose copies a codebook is shown
MAX_COPIES, MAX_COPY_BYTES = 8, 2_000_000_000
FITTED = ("classes_", "facts_", "light_width_", "phi_", "model_")
N_TOGETHER = 256  # images that are prepared and classified at a time


class ImageClassifier(ClassifierMixin, BaseEstimator):
    """One of the library's methods for images of any sizes, grey or in colour.

    Parameters
    ----------
    method : "jungle", "tangent", "hierarchy", "codebook", "texture", "objects" or "tradeoff"; `methods.METHODS` says
        what each is.
    transformations : Φ, what does not matter; None leaves it to the method. `Illumination` in it evens the light of all
        images; alone it leaves the rest to the method.
    max_side : images with a longer side are made smaller.

    Images become grey if none has colours. Methods that compare whole images see squares of 32 pixels, cut from
    the middle.

    Attributes
    ----------
    model_ : the fitted estimator; facts_ : what was known of the training images; classes_; phi_ : Φ without
        illumination; light_width_ : that of the blur by which light is evened, or None.
    """

    def __init__(self, method="tradeoff", transformations=None, max_side=MAX_SIDE, n_jobs=None, random_state=None):
        self.method = method
        self.transformations = transformations
        self.max_side = max_side
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Sequence[np.ndarray], y) -> "ImageClassifier":
        """Learn from images (h, w) or (h, w, c) and their labels."""
        method = self._method()
        self.classes_, codes = encode_labels(y, len(X))
        self.facts_ = learn_facts(X, codes)
        self._check_images(method, codes)
        common = {"random_state": self.random_state, "n_jobs": self.n_jobs}
        self.light_width_, self.phi_ = part_with_light(self.transformations)
        self.model_ = method.make(self.phi_, self.facts_, common)
        images = self.prepare(X)
        if self._is_shown_copies():
            images, codes = self._with_copies(images, codes)
        self.model_.fit(images, self.classes_[codes])
        return self

    def predict_proba(self, X: Sequence[np.ndarray]) -> np.ndarray:
        """Class probabilities (n, K)."""
        check_is_fitted(self)
        blocks = [
            self.model_.predict_proba(self.prepare(X[start : start + N_TOGETHER]))
            for start in range(0, len(X), N_TOGETHER)
        ]
        return np.concatenate(blocks) if blocks else np.empty((0, len(self.classes_)))

    def predict(self, X: Sequence[np.ndarray]) -> np.ndarray:
        """The most probable class of every image."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def squares(self, X: Sequence[np.ndarray]) -> np.ndarray:
        """Images as methods that compare whole ones see them: (n, 32, 32) or (n, 32, 32, 3)."""
        check_is_fitted(self)
        return self._evened(as_squares(X, SIDE, self._n_channels(self._method())))

    def check_loaded(self) -> None:
        """Refuse a fitted model of another version of the library, which lacks what this one needs."""
        missing = [name for name in FITTED if not hasattr(self, name)]
        if 0 < len(missing) < len(FITTED):
            raise ValueError(f"it lacks {', '.join(missing)}: another version of the library saved it; train it again")

    def _method(self) -> Method:
        return METHODS[check_choice("method", self.method, tuple(METHODS))]

    def _n_channels(self, method: Method) -> int:
        return 1 if method.grey else self.facts_.n_channels

    def _check_images(self, method: Method, codes: np.ndarray) -> None:
        if self.facts_.n_least < 2:
            lonely = self.classes_[np.bincount(codes).argmin()]
            raise ValueError(f"class '{lonely}' has one image only; learning needs at least two. Add another.")
        if self.facts_.n_images > method.most:
            others = [repr(name) for name, other in METHODS.items() if other.most >= self.facts_.n_images]
            raise ValueError(
                f"method '{self.method}' takes at most {method.most} images; got {self.facts_.n_images}. "
                f"Take {' or '.join([*others, 'fewer images'])}."
            )

        if self.facts_.side < method.min_side:
            others = [repr(name) for name, other in METHODS.items() if other.min_side <= self.facts_.side]
            raise ValueError(
                f"method '{self.method}' needs images of {method.min_side} pixels per side; these are mostly "
                f"{self.facts_.height} x {self.facts_.width}. Take {' or '.join(others)}."
            )

    def _is_shown_copies(self) -> bool:
        return self._method().copies and self.phi_ is not None and not isinstance(self.phi_, Identity)

    def prepare(self, X: Sequence[np.ndarray]) -> Any:
        """Images as the estimator inside sees them: squares (n, side, side[, 3]), or a list of any sizes."""
        method = self._method()
        n_channels = self._n_channels(method)
        if method.whole:
            return self._evened(as_squares(X, SIDE, n_channels))
        if self._is_shown_copies():
            return self._evened(as_squares(X, COPY_SIDE, n_channels))
        return self._evened(as_one_kind(X, n_channels, self.max_side))

    def _evened(self, images: Any) -> Any:
        """The images, their light evened if it does not matter."""
        if self.light_width_ is None:
            return images
        evened = [even_light(image, self.light_width_) for image in images]
        return np.stack(evened) if isinstance(images, np.ndarray) else evened

    def _with_copies(self, images: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The images and some of their transformed versions."""
        assert self.phi_ is not None
        n_copies = max(1, min(MAX_COPIES, MAX_COPY_BYTES // images.nbytes))
        versions = self.phi_.subsample(n_copies).operators(images.shape[1:]).apply(images)
        n_versions = versions.shape[1]
        return versions.reshape(-1, *images.shape[1:]), np.repeat(codes, n_versions)
