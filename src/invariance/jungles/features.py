"""Learned invariant features as a scikit-learn transformer, for any classifier to use."""

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.callback import with_callbacks

from invariance._core.checks import check_choice
from invariance.jungles.ensemble import JungleEnsemble


class InvariantFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, JungleEnsemble):
    """Transform images into their largest (and smallest) responses over Φ to filters learned from labels.

    The filters are those of a `JungleClassifier` with the same parameters.

    Parameters
    ----------
    transformations : TransformationSet or None, default=None
        What does not matter, Φ, for example `Rotations(24)`. None means the identity alone.
    n_jungles : int, default=10
        Number of jungles in the ensemble.
    extremes : {"largest", "both"}, default="largest"
        "largest" gives one feature per filter, as in [Laptev15]; "both" adds the smallest response to every filter.
    max_depth : int, default=6
        Maximum number of layers.
    max_width : int, "auto" or None, default="auto"
        Maximum number of leaves of a layer, beyond which leaves with similar classes are merged. It grows by half when
        the validation loss stops improving. "auto" is three times the number of classes; None never merges leaves.
    threshold : {"gain", "zero"}, default="gain"
        Where a node cuts its responses: where the information gain is largest, or at zero as in [Laptev15].
    targets : {"groups", "pairs", "rest"}, default="groups"
        What the filter of a node learns to separate: all its classes, divided at random into two groups; two of its
        classes, as in [Laptev15]; or one class from the rest. "groups" and "rest" use every image of the node.
    smoothness : float, default=1.0
        Weight λ of the penalty on the gradient of a filter. A split that leaves one side empty reduces it by a third.
    relaxation : {"retry", "layer"}, default="retry"
        When a split with a reduced λ is tried. "retry" tries the same leaf again at once, up to 20 times, and keeps the
        reduced λ only if it led to a split. "layer" keeps it in any case and leaves the leaf to the next layer, as in
        [Laptev15]; a layer without any split then counts against `max_depth`.
    rank : int, float or "auto", default="auto"
        Number of basis vectors that images and filters are expressed in or, if below 1, the share of the images' energy
        to keep. "auto" takes 96 to 400, fewer for more images.
    max_samples : float, default=0.5
        Share of the images that each jungle is grown on.
    max_members : float, default=1.0
        Share of the members of Φ that each jungle takes the maximum over; the identity is always among them. Below 1
        the features are no longer exactly invariant, even if Φ is a group.
    validation_fraction : float, default=0.0
        Share of the images of each jungle that is held out to decide when to stop; 0 grows to the end.
    patience : int, default=2
        Number of layers without improvement after which growth stops.
    min_samples_leaf : int, default=1
        Minimum number of images in a leaf.
    n_init : int, default=1
        Number of starting points for learning each filter; the best result is kept.
    max_steps : int, default=50
        Maximum number of L-BFGS iterations per filter.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as in scikit-learn.
    image_shape : tuple of int or None, default=None
        Shape (h, w) or (h, w, c) of an image if X is given as flat rows.
    warm_start : bool, default=False
        Whether `fit` keeps the jungles grown so far, adding jungles and, if `max_depth` was raised, layers.
    n_jobs : int or None, default=None
        Number of jungles grown at a time; -1 uses all processors. It does not change the result.
    random_state : int, RandomState instance, Generator or None, default=None
        Seed for reproducible results.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    dags_ : list of Dag of length n_jungles
        The jungles as flat arrays.
    filters_ : ndarray of shape (n_filters, h, w) or (n_filters, h, w, c)
        All learned filters as images.
    growth_curves_ : list of list of Layer, of length n_jungles
        Depth, number of leaves, maximum width and validation loss of every layer of every jungle.
    reduced_ : ReducedOperators
        Φ in the reduced basis.
    n_images_ : int
        Number of images given to `fit`.
    image_shape_ : tuple of int
        Shape of an image.
    n_features_in_ : int
        Number of values of an image.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if X was a data frame of flat rows.
    """

    def __init__(
        self,
        transformations=None,
        n_jungles=10,
        extremes="largest",
        max_depth=6,
        max_width="auto",
        threshold="gain",
        targets="groups",
        smoothness=1.0,
        relaxation="retry",
        rank="auto",
        max_samples=0.5,
        max_members=1.0,
        validation_fraction=0.0,
        patience=2,
        min_samples_leaf=1,
        n_init=1,
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
        self.threshold = threshold
        self.targets = targets
        self.smoothness = smoothness
        self.relaxation = relaxation
        self.rank = rank
        self.max_samples = max_samples
        self.max_members = max_members
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.min_samples_leaf = min_samples_leaf
        self.n_init = n_init
        self.max_steps = max_steps
        self.class_weight = class_weight
        self.image_shape = image_shape
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state

    @with_callbacks
    def fit(self, X, y, sample_weight=None):
        """Learn the filters.

        Parameters
        ----------
        X : array-like of shape (n, h, w), (n, h, w, c) or (n, n_features)
            Training images, or flat rows of `image_shape`.
        y : array-like of shape (n,)
            Class labels.
        sample_weight : array-like of shape (n,), default=None
            Weights of the images; None weighs all the same.

        Returns
        -------
        self : InvariantFeatures
            The fitted transformer.
        """
        check_choice("extremes", self.extremes, ("largest", "both"))
        self._grow(X, y, sample_weight)
        return self

    def transform(self, X):
        """Compute the responses of images to all filters.

        Parameters
        ----------
        X : array-like of shape (n, h, w), (n, h, w, c) or (n, n_features)
            Images like those of `fit`.

        Returns
        -------
        responses : ndarray of shape (n, n_filters) or (n, 2 * n_filters), float32
            Largest responses over Φ; with `extremes="both"` followed by the smallest.
        """
        responses = self._extreme_responses(X)
        return responses if self.extremes == "both" else np.ascontiguousarray(responses[:, : self._n_filters])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags

    @property
    def _n_features_out(self):
        return self._n_filters * (2 if self.extremes == "both" else 1)
