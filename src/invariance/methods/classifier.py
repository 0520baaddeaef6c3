"""Images of any sizes, grey or in colour, classified by any method."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from invariance._core import loaded
from invariance._core.checks import check_choice
from invariance._core.randomness import draw_stratified, make_rng
from invariance.encoders import OnnxEncoder
from invariance.images import SCALES, ChosenImages, comparing_once, encode_labels, watch_range
from invariance.images.validation import is_one_image
from invariance.methods.method import Method, Plan, Treatment
from invariance.methods.preparation import (
    MAX_SIDE,
    SIDE,
    Facts,
    as_one_kind,
    as_squares,
    learn_facts,
)
from invariance.methods.registry import get_combining_method, get_method, get_methods
from invariance.transformations import TransformationSet
from invariance.transformations.sets import check_set

MAX_COPIES, MAX_COPY_BYTES = 8, 2_000_000_000
FITTED = ("classes_", "facts_", "n_learned_", "model_")
MIN_PER_CLASS = 2  # images that most methods need
N_TOGETHER = 256  # images that are prepared and classified at a time


class ImageClassifier(ClassifierMixin, BaseEstimator):
    """Classify images of any sizes, grey or in colour, by one of the registered methods.

    Images become grey if none has colour. Methods that compare whole images see squares of 32 pixels, cut from the
    middle.

    Parameters
    ----------
    method : str or None, default=None
        One of `methods.method_names()`; None is the method that combines all others.
    transformations : TransformationSet or None, default=None
        Φ, what does not matter; None leaves it to the method. `plan` says what the method does with each part.
    max_side : int, default=320
        Images with a longer side are shrunk.
    scale : {"dtype", "image", "percentile"}, default="dtype"
        How intensities are scaled, see `invariance.images.rescale`: by the dtype, or every image by its own extremes or
        percentiles, so that the range in which images are stored does not matter.
    n_jobs : int or None, default=None
        Number of threads.
    random_state : int, RandomState instance or None, default=None
    encoder : OnnxEncoder or None, default=None
        The pretrained network of methods that take one; None is `encoders.default_encoder()`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    facts_ : Facts
        What was known of the training images.
    n_learned_ : int
        Number of training images that the method learned from: all, or as many as it takes at most, drawn at random in
        proportion to the classes.
    intensity_range_ : dict
        Dtype and range of the training images; images in another range are classified with a warning, unless `scale`
        removes the difference.
    model_ : estimator
        The fitted classifier of the method.
    """

    def __init__(
        self,
        method=None,
        transformations=None,
        max_side=MAX_SIDE,
        n_jobs=None,
        random_state=None,
        scale="dtype",
        encoder=None,
    ):
        self.method = method
        self.transformations = transformations
        self.max_side = max_side
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.scale = scale
        self.encoder = encoder

    def fit(self, X: Sequence[np.ndarray], y) -> "ImageClassifier":
        """Learn from images.

        Parameters
        ----------
        X : sequence of ndarray of shape (h, w) or (h, w, c)
            Images, whose sizes may differ; a single one is put in a list.
        y : array-like of shape (n,)
            Class labels, two or more images per class.

        Returns
        -------
        self : ImageClassifier
        """
        check_set("transformations", self.transformations)
        method, plan = self._method(), self.plan().check(self.method_name)
        images = check_images(X)
        check_choice("scale", self.scale, SCALES)
        watch_range(self, images, reset=True)
        self.classes_, codes = encode_labels(y, len(images))
        self.facts_ = learn_facts(images, codes)
        check_limits(method, self.facts_, self.classes_, codes)
        images, codes = self._draw(images, codes)
        common = {"random_state": self.random_state, "n_jobs": self.n_jobs}
        chosen = dict(encoder=self.encoder) if method.takes_encoder else {}
        learned = self.facts_._replace(n_images=len(codes), n_smallest=int(np.bincount(codes).min()))
        self.model_ = method.make(plan, learned, common, **chosen)
        prepared = self.prepare(images)
        if plan.has(Treatment.COPIES):
            prepared, codes = add_copies(prepared, codes, plan)
        self.model_.fit(prepared, self.classes_[codes])
        return self

    def predict_proba(self, X: Sequence[np.ndarray]) -> np.ndarray:
        """Return class probabilities.

        Parameters
        ----------
        X : sequence of ndarray of shape (h, w) or (h, w, c)

        Returns
        -------
        probabilities : ndarray of shape (n, n_classes)
        """
        check_is_fitted(self)
        images = check_images(X)
        if self.depends_on_range:
            watch_range(self, images, reset=False)
        starts = range(0, len(images), N_TOGETHER)
        with comparing_once():
            blocks = [self.model_.predict_proba(self.prepare(images[start : start + N_TOGETHER])) for start in starts]
        return np.concatenate(blocks) if blocks else np.empty((0, len(self.classes_)))

    def predict(self, X: Sequence[np.ndarray]) -> np.ndarray:
        """Return the most probable class of every image."""
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(axis=1)]

    def plan(self) -> Plan:
        """Return what the method does with every part of Φ."""
        return self._method().plan(self.transformations)

    def prepare(self, X: Sequence[np.ndarray]) -> Any:
        """Return images as the method sees them: squares (n, side, side[, 3]), or a list of any sizes."""
        if self._method().takes_squares:
            return self.squares(X)
        return as_one_kind(X, self.n_channels_, self.max_side, self.scale, self.plan().illumination_width)

    def squares(self, X: Sequence[np.ndarray]) -> np.ndarray:
        """Return images as methods that compare whole images see them: (n, 32, 32) or (n, 32, 32, 3)."""
        check_is_fitted(self, "facts_")
        return as_squares(X, SIDE, self.n_channels_, self.scale, self.plan().illumination_width)

    @property
    def learned_sentence(self) -> str:
        """From how many of the training images the method learned, in words."""
        n_images = self.facts_.n_images
        if self.n_learned_ == n_images:
            return f"From all {n_images} images."
        return (
            f"From {self.n_learned_} of {n_images} images, drawn in proportion to the classes: '{self.method_name}' "
            f"takes no more."
        )

    @property
    def depends_on_range(self) -> bool:
        """Whether images in another range of intensities are classified otherwise."""
        return self.scale == "dtype" and self.plan().illumination_width is None

    @property
    def method_name(self) -> str:
        """Name of the method."""
        return self._method().name

    def _method(self) -> Method:
        return get_combining_method() if self.method is None else get_method(self.method)

    @property
    def n_channels_(self) -> int:
        """Number of channels that the method sees."""
        return 1 if self._method().is_grey else self.facts_.n_channels

    def check_loaded(self) -> None:
        """Refuse a model of another version of the library, which lacks attributes that this one needs."""
        loaded.check_values(
            self,
            max_side=loaded.optional(loaded.whole(1, loaded.MAX_SIDE)),
            transformations=loaded.optional(loaded.instance(TransformationSet)),
            encoder=loaded.optional(loaded.instance(OnnxEncoder)),
        )
        missing = [name for name in FITTED if not hasattr(self, name)]
        if 0 < len(missing) < len(FITTED):
            raise ValueError(f"it lacks {', '.join(missing)}: another version of the library saved it; train it again")
        if missing:
            return
        if not isinstance(self.facts_, Facts):
            raise ValueError("its facts about the training images are not of their type; train it again")
        loaded.check_values(
            self,
            classes_=loaded.labels(),
            n_learned_=loaded.whole(1, self.facts_.n_images),
            model_=loaded.able("predict_proba"),
        )
        loaded.check_values(self.model_, classes_=loaded.labels(len(self.classes_)))
        self.plan()

    def _draw(self, images: Any, codes: np.ndarray) -> tuple[Any, np.ndarray]:
        """Draw the images that the method learns from; all, if it takes as many."""
        max_learned = self._method().max_learned
        if max_learned is None or max_learned >= len(codes):
            self.n_learned_ = len(codes)
            return images, codes
        rows = draw_stratified(codes, max_learned, make_rng(self.random_state), MIN_PER_CLASS)
        self.n_learned_ = len(rows)
        return ChosenImages(images, rows), codes[rows]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags


def check_images(X: Any) -> Any:
    """Return a sequence of images, or raise if it is none.

    Raises
    ------
    ValueError
        If X is one image instead of a sequence, or holds values that are not finite.
    """
    if is_one_image(X) or (isinstance(X, np.ndarray) and X.ndim not in (1, 3, 4)):
        cure = "Put a single image in a list."
        raise ValueError(
            f"X must be a sequence of images (h, w) or (h, w, c); got one array of shape {X.shape}. {cure}"
        )
    for number, image in enumerate(X):
        values = np.asarray(image)
        if values.ndim not in (2, 3) or values.size == 0:
            raise ValueError(f"image {number} must be (h, w) or (h, w, c); got shape {values.shape}.")
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise ValueError(f"image {number} holds NaN or infinity. Replace these values.")
    return X


def check_limits(method: Method, facts: Facts, classes: np.ndarray, codes: np.ndarray) -> None:
    """Raise if a method cannot learn from such images, naming those that can."""
    if method.missing():
        raise ValueError(f"method '{method.name}' cannot be used: {method.missing()}.")
    if facts.n_classes < 2:
        raise ValueError(f"images of at least two classes are needed; got one class, '{classes[0]}'.")
    if facts.n_smallest < 2:
        lonely = classes[np.bincount(codes).argmin()]
        raise ValueError(f"class '{lonely}' has one image only; at least two are needed. Add another.")
    if facts.side < method.min_side:
        others = [repr(other.name) for other in get_methods() if other.min_side <= facts.side]
        raise ValueError(
            f"method '{method.name}' needs images of at least {method.min_side} pixels per side; the median size is "
            f"{facts.height} x {facts.width}. Take {' or '.join(others)}."
        )


def add_copies(images: Any, codes: np.ndarray, plan: Plan) -> tuple[Any, np.ndarray]:
    """Return the images with some of their transformed versions, and the codes (n,) of all.

    At most 8 versions per image, fewer where they would take more than two gigabytes.
    """
    n_bytes = sum(image.nbytes for image in images)
    n_versions = min(MAX_COPIES, MAX_COPY_BYTES // n_bytes)
    if n_versions < 2:
        return images, codes
    drawn = plan.computed.subsample(n_versions)
    versions = [drawn.operators(image.shape).apply(image[None])[0] for image in images]
    stacked = [version for some in versions for version in some]
    repeated = np.repeat(codes, [len(some) for some in versions])
    return np.stack(stacked) if isinstance(images, np.ndarray) else stacked, repeated
