"""Ensembles of jungles as a scikit-learn classifier, [Laptev15].

The stages, one file each: Φ is reduced to a basis that fits the images (`transformations/reduction.py`); every jungle
is grown layer by layer (`growing.py`), learning one filter per node (`filters.py`), splitting the node by its response
(`splitting.py`) and merging leaves with similar classes (`merging.py`); the leaves vote, or a classifier is fitted on
the responses (`final_estimators.py`).
"""

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from invariance._core import loaded
from invariance.jungles.dag import Dag, follow, leaf_probabilities, route
from invariance.jungles.ensemble import JungleEnsemble
from invariance.jungles.final_estimators import fit_final_estimator, make_final_estimator


class JungleClassifier(ClassifierMixin, JungleEnsemble):
    """Classify images by jungles of filters whose largest response over Φ separates classes.

    Over a set Φ that is a group of pixel permutations (`Rotations(4)`, `Reflections()` and their products on square
    images) predictions are exactly invariant, up to rounding, as long as `max_members` is 1. Use `check_group` to
    measure how far another set is from a group.

    Parameters
    ----------
    transformations : TransformationSet or None, default=None
        What does not matter, Φ, for example `Rotations(24)`. None means the identity alone.
    n_jungles : int, default=10
        Number of jungles in the ensemble.
    final_estimator : {"vote", "linear", "discriminant", "boosting"} or classifier, default="vote"
        How the jungles decide. "vote" averages the class shares of the leaves, as in [Laptev15]. "linear" (logistic
        regression), "discriminant" (linear discriminant analysis with shrinkage, for many classes with few images),
        "boosting" and any classifier with `predict_proba` are fitted on the largest and smallest responses to all
        filters.
    max_depth : int, default=12
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
    max_samples : float, default=1.0
        Share of the images that each jungle is grown on.
    max_members : float, default=1.0
        Share of the members of Φ that each jungle takes the maximum over; the identity is always among them. Below 1
        predictions are no longer exactly invariant. With two classes, all images, all members and no validation images
        all jungles would be equal.
    validation_fraction : float, default=0.2
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
    final_estimator_ : classifier or None
        The classifier fitted on the responses; None for "vote", or if no filter could be learned.
    n_images_ : int
        Number of images given to `fit`.
    image_shape_ : tuple of int
        Shape of an image.
    n_features_in_ : int
        Number of values of an image.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if X was a data frame of flat rows.

    Notes
    -----
    The response to a filter, max over φ of <θ, φ(x)>, is eq. (1) of [Laptev15]; it is learned by eq. (5) and (6).
    `transformations.closure()` gives eq. (4).

    Differs from [Laptev15]: a node learns to separate two groups of all its classes and cuts the responses where the
    information gain is largest; `targets="pairs", threshold="zero"` is the choice of the paper. The loss of a filter is
    a mean, so that one `smoothness` suits any number of images. Growth is stopped by the Brier score.
    """

    _kept_filters: tuple[list[Dag], list[tuple[np.ndarray, ...]]]

    def __init__(
        self,
        transformations=None,
        n_jungles=10,
        final_estimator="vote",
        max_depth=12,
        max_width="auto",
        threshold="gain",
        targets="groups",
        smoothness=1.0,
        relaxation="retry",
        rank="auto",
        max_samples=1.0,
        max_members=1.0,
        validation_fraction=0.2,
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
        self.final_estimator = final_estimator
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
        """Grow the jungles and fit the final estimator.

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
        self : JungleClassifier
            The fitted classifier.
        """
        make_final_estimator(self.final_estimator, 1, self.random_state)  # a wrong one is an error before any work
        images, codes, weights = self._grow(X, y, sample_weight)
        self.final_estimator_ = self._fit_final_estimator(images, codes, weights)
        return self

    def check_loaded(self) -> None:
        """Raise ValueError if what was read from a file is no ensemble, or its final estimator is of other classes."""
        super().check_loaded()
        if not hasattr(self, "dags_"):
            return
        loaded.check_values(self, final_estimator_=loaded.optional(loaded.able("predict_proba")))
        if self.final_estimator_ is not None:
            loaded.check_values(self.final_estimator_, classes_=loaded.labels())
            if not np.isin(self.final_estimator_.classes_, self.classes_).all():
                raise ValueError("the final estimator of jungles knows classes that they do not.")

    def predict_proba(self, X):
        """Predict class probabilities.

        Parameters
        ----------
        X : array-like of shape (n, h, w), (n, h, w, c) or (n, n_features)
            Images like those of `fit`.

        Returns
        -------
        probabilities : ndarray of shape (n, n_classes)
            Probabilities, in the order of `classes_`.
        """
        check_is_fitted(self)
        if self.final_estimator_ is None:
            return np.concatenate([self._vote(orbits) for orbits in self._orbit_blocks(X)])
        found = self.final_estimator_.predict_proba(self._extreme_responses(X))
        # Classes whose images all have weight 0 never reached the final estimator.
        probabilities = np.zeros((len(found), len(self.classes_)))
        probabilities[:, np.searchsorted(self.classes_, self.final_estimator_.classes_)] = found
        return probabilities

    def predict(self, X):
        """Predict the most probable class of every image.

        Parameters
        ----------
        X : array-like of shape (n, h, w), (n, h, w, c) or (n, n_features)
            Images like those of `fit`.

        Returns
        -------
        labels : ndarray of shape (n,)
            Class labels.
        """
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(axis=1)]

    def apply(self, X):
        """Find the leaf that every image reaches in every jungle.

        Parameters
        ----------
        X : array-like of shape (n, h, w), (n, h, w, c) or (n, n_features)
            Images like those of `fit`.

        Returns
        -------
        leaves : ndarray of shape (n, n_jungles)
            Node numbers of the leaves.
        """
        blocks = [
            np.column_stack([route(dag, orbits.restrict(dag.members)) for dag in self.dags_])
            for orbits in self._orbit_blocks(X)
        ]
        return np.concatenate(blocks)

    def decision_path(self, X):
        """Find the nodes that every image passes through.

        Parameters
        ----------
        X : array-like of shape (n, h, w), (n, h, w, c) or (n, n_features)
            Images like those of `fit`.

        Returns
        -------
        indicator : sparse matrix of shape (n, n_nodes)
            1 where an image passes through a node; the nodes of all jungles side by side.
        n_nodes_ptr : ndarray of shape (n_jungles + 1,)
            The columns of jungle i are `n_nodes_ptr[i]:n_nodes_ptr[i + 1]`.
        """
        blocks = [[self._visits(dag, orbits) for dag in self.dags_] for orbits in self._orbit_blocks(X)]
        starts = np.cumsum([0] + [dag.n_nodes for dag in self.dags_])
        return sparse.vstack([sparse.hstack(jungles) for jungles in blocks], format="csr"), starts

    def _fit_final_estimator(self, images, codes, weights):
        """Fit the classifier on the responses; None if the leaves vote."""
        classifier = make_final_estimator(self.final_estimator, len(images), self.random_state)
        # Images that no filter can separate have no response to learn from: then the leaves vote.
        if classifier is None or self._n_filters == 0:
            return None
        return fit_final_estimator(classifier, self._extreme_responses(images), self.classes_[codes], weights)

    def _vote(self, orbits):
        """Average the class probabilities (n, K) of the leaves over all jungles."""
        votes = [leaf_probabilities(dag)[route(dag, orbits.restrict(dag.members))] for dag in self.dags_]
        return np.mean(votes, axis=0)

    @staticmethod
    def _visits(dag, orbits):
        """Mark the nodes of one jungle that images pass through: sparse (n, nodes)."""
        _, visits = follow(dag, orbits.restrict(dag.members))
        nodes = np.repeat(np.arange(dag.n_nodes), [len(rows) for rows in visits])
        entries = np.ones(len(nodes), np.int8), (np.concatenate(visits), nodes)
        return sparse.csr_matrix(entries, shape=(orbits.n_samples, dag.n_nodes))
