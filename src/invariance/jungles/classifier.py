"""Jungles and trees as scikit-learn classifiers, [Laptev15].

The algorithm: reduce Φ to a basis that fits the images (reduction.py); grow each jungle layer by layer (growing.py),
a filter a node (filters.py), merging leaves that look alike (merging.py); let the leaves vote, or let any classifier
learn from the responses. f_θ(x) = max over φ of <θ, φ(x)> is eq. (1), its learning eq. (5)-(6); `phi.closure()` gives
eq. (4). Each file says where it differs from the paper; `contrast="pairs", split="zero"` is the paper's own choice.
"""

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from invariance.jungles.dag import follow, leaf_probabilities, route
from invariance.jungles.ensemble import JungleEnsemble
from invariance.jungles.heads import fit_head, make_head


class JungleClassifier(ClassifierMixin, JungleEnsemble):
    """Images classified by jungles of filters whose largest response over Φ tells classes apart.

    Parameters
    ----------
    transformations : what does not matter, for example `Rotations(24)`; None is the identity alone
    n_jungles : how many jungles vote
    head : "vote" (mean of the leaves' class shares, the paper's), "boosting" or "linear" (a classifier on the largest
        and smallest responses of all filters), or any scikit-learn classifier for these responses
    max_depth, max_width : layers at most, and leaves per layer at first; "auto" is three times the number of classes,
        None never merges leaves. A jungle that stops improving gets wider by half.
    split : cut the responses of a node where it gains most information ("gain") or at "zero"
    contrast : a filter is learned for two classes of its node ("pairs", the paper's), for all of them parted at random
        into two "groups", or for one class and the "rest"; the latter two use every image of the node
    smoothness : weight of the gradient penalty on filters; a trivial split takes a third off it
    rank : directions kept of the images, or the share of their energy if below 1
    max_samples, max_members : share of the images, and of Φ, that each jungle is grown with; with two classes, all of
        both and nothing held out, all jungles would be the same
    validation_fraction : share of these images held out to decide when to stop; 0 grows to the end
    patience : layers without improvement before growth stops
    min_samples_leaf, n_starts, max_steps : smallest leaf; starts, and L-BFGS iterations, for each filter
    class_weight, image_shape, warm_start, n_jobs, random_state : as in scikit-learn; flat rows need `image_shape`;
        a warm start adds jungles and, where `max_depth` was raised, layers

    Attributes
    ----------
    classes_ : the classes; dags_ : the jungles; filters_ : the learned filters as images; growth_curves_ : depth,
        leaves and held-out loss of every layer; reduced_ : Φ in the reduced basis; head_ : the fitted head, if any
    """

    def __init__(
        self,
        transformations=None,
        n_jungles=10,
        head="vote",
        max_depth=12,
        max_width="auto",
        split="gain",
        contrast="groups",
        smoothness=1.0,
        rank="auto",
        max_samples=1.0,
        max_members=1.0,
        validation_fraction=0.2,
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
        self.head = head
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
        """Learn from images (n, h, w[, c]) or flat rows and their labels."""
        make_head(self.head, 1, self.random_state)  # a wrong head is an error before the jungles grow, not after
        images, codes, weights = self._grow(X, y, sample_weight)
        head = make_head(self.head, len(images), self.random_state)
        # Images that no filter can tell apart have no response to learn from: then the leaves vote.
        has_head = head is not None and self._n_filters > 0
        self.head_ = (
            fit_head(head, self._extreme_responses(images), self.classes_[codes], weights) if has_head else None
        )
        return self

    def predict_proba(self, X):
        """Class probabilities (n, K)."""
        check_is_fitted(self)
        if self.head_ is not None:
            probabilities = self.head_.predict_proba(self._extreme_responses(X))
            # Classes without weight never reached the head.
            aligned = np.zeros((len(probabilities), len(self.classes_)))
            aligned[:, np.searchsorted(self.classes_, self.head_.classes_)] = probabilities
            return aligned
        return np.concatenate([self._vote(orbits) for orbits in self._orbit_blocks(X)])

    def predict(self, X):
        """The most probable class of every image."""
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(axis=1)]

    def apply(self, X):
        """The leaf of every image in every jungle: (n, n_jungles)."""
        blocks = [
            np.column_stack([route(dag, orbits.restrict(dag.members)) for dag in self.dags_])
            for orbits in self._orbit_blocks(X)
        ]
        return np.concatenate(blocks)

    def decision_path(self, X):
        """(indicator, n_nodes_ptr): a sparse (n, nodes of all jungles) matrix of the nodes that images pass through."""
        blocks = [[self._visits(dag, orbits) for dag in self.dags_] for orbits in self._orbit_blocks(X)]
        starts = np.cumsum([0] + [dag.n_nodes for dag in self.dags_])
        return sparse.vstack([sparse.hstack(jungles) for jungles in blocks], format="csr"), starts

    def _vote(self, orbits):
        votes = [leaf_probabilities(dag)[route(dag, orbits.restrict(dag.members))] for dag in self.dags_]
        return np.mean(votes, axis=0)

    @staticmethod
    def _visits(dag, orbits):
        _, visits = follow(dag, orbits.restrict(dag.members))
        nodes = np.repeat(np.arange(dag.n_nodes), [len(rows) for rows in visits])
        entries = np.ones(len(nodes), np.int8), (np.concatenate(visits), nodes)
        return sparse.csr_matrix(entries, shape=(orbits.n_samples, dag.n_nodes))


class TreeClassifier(JungleClassifier):
    """A single tree of invariant filters (TICT of [Laptev15]): no leaves are merged, so it grows wide and overfits.

    Parameters and attributes are those of `JungleClassifier`, as far as they concern one tree.
    """

    n_jungles = 1
    head = "vote"
    max_width = None
    max_samples = 1.0
    max_members = 1.0
    n_jobs = None

    def __init__(
        self,
        transformations=None,
        max_depth=12,
        split="gain",
        contrast="groups",
        smoothness=1.0,
        rank="auto",
        validation_fraction=0.0,
        patience=2,
        min_samples_leaf=1,
        n_starts=1,
        max_steps=50,
        class_weight=None,
        image_shape=None,
        warm_start=False,
        random_state=None,
    ):
        self.transformations = transformations
        self.max_depth = max_depth
        self.split = split
        self.contrast = contrast
        self.smoothness = smoothness
        self.rank = rank
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.min_samples_leaf = min_samples_leaf
        self.n_starts = n_starts
        self.max_steps = max_steps
        self.class_weight = class_weight
        self.image_shape = image_shape
        self.warm_start = warm_start
        self.random_state = random_state
