"""Learned invariant features as a scikit-learn transformer, for any classifier to use."""

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.callback import with_callbacks

from invariance._core.checks import check_choice
from invariance.jungles.ensemble import JungleEnsemble


class InvariantFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, JungleEnsemble):
    """Images turned into their largest (and smallest) responses over Φ to filters learned from labels.

    The filters are those of a `JungleClassifier` with the same parameters; use them with any classifier. `extremes`
    is "largest" for one value a filter, as in [Laptev15], or "both" for the largest and the smallest.
    """

    def __init__(
        self,
        transformations=None,
        n_jungles=10,
        extremes="largest",
        max_depth=6,
        max_width="auto",
        split="gain",
        contrast="groups",
        smoothness=1.0,
        rank="auto",
        max_samples=0.5,
        max_members=1.0,
        validation_fraction=0.0,
        patience=2,
        min_samples_leaf=1,
        n_starts=1,
        max_steps=50,
        class_weight=None,
        image_shape=None,
        warm_start=False,
        n_jobs=None,
        random_state=None,
    ):
        self.transformations = transformations
        self.n_jungles = n_jungles
        self.extremes = extremes
        self.max_depth = max_depth
        self.max_width = max_width
        self.split = split
        self.contrast = contrast
        self.smoothness = smoothness
        self.rank = rank
        self.max_samples = max_samples
        self.max_members = max_members
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.min_samples_leaf = min_samples_leaf
        self.n_starts = n_starts
        self.max_steps = max_steps
        self.class_weight = class_weight
        self.image_shape = image_shape
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state

    @with_callbacks
    def fit(self, X, y, sample_weight=None):
        """Learn filters from images (n, h, w[, c]) or flat rows and their labels."""
        check_choice("extremes", self.extremes, ("largest", "both"))
        self._grow(X, y, sample_weight)
        return self

    def transform(self, X):
        """Responses (n, k) float32 of images to the k filters, or (n, 2k) with the smallest after the largest."""
        responses = self._extreme_responses(X)
        return responses if self.extremes == "both" else np.ascontiguousarray(responses[:, : self._n_filters])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags

    @property
    def _n_features_out(self):
        return self._n_filters * (2 if self.extremes == "both" else 1)
