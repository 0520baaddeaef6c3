"""A single tree of invariant filters as a scikit-learn classifier, [Laptev15] sec. 3.3."""

from invariance.jungles.classifier import JungleClassifier


class TreeClassifier(JungleClassifier):
    """Classify images by a single tree of invariant filters, TICT of [Laptev15].

    A tree is one jungle whose leaves are never merged, so it grows wide and tends to overfit.

    Parameters
    ----------
    transformations : TransformationSet or None, default=None
        What does not matter, Φ, for example `Rotations(24)`. None means the identity alone.
    max_depth : int, default=12
        Maximum number of layers.
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
    validation_fraction : float, default=0.0
        Share of the images that is held out to decide when to stop; 0 grows to the end.
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
        Whether `fit` keeps the tree grown so far and, if `max_depth` was raised, adds layers.
    random_state : int, RandomState instance, Generator or None, default=None
        Seed for reproducible results.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    dags_ : list of one Dag
        The tree as flat arrays.
    filters_ : ndarray of shape (n_filters, h, w) or (n_filters, h, w, c)
        All learned filters as images.
    growth_curves_ : list of one list of Layer
        Depth, number of leaves, maximum width and validation loss of every layer.
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

    n_jungles = 1
    final_estimator = "vote"
    max_width = None
    max_samples = 1.0
    max_members = 1.0
    n_jobs = None

    def __init__(
        self,
        transformations=None,
        max_depth=12,
        threshold="gain",
        targets="groups",
        smoothness=1.0,
        relaxation="retry",
        rank="auto",
        validation_fraction=0.0,
        patience=2,
        min_samples_leaf=1,
        n_init=1,
        max_steps=50,
        class_weight=None,
        image_shape=None,
        warm_start=False,
        random_state=None,
    ):
        self.transformations = transformations
        self.max_depth = max_depth
        self.threshold = threshold
        self.targets = targets
        self.smoothness = smoothness
        self.relaxation = relaxation
        self.rank = rank
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.min_samples_leaf = min_samples_leaf
        self.n_init = n_init
        self.max_steps = max_steps
        self.class_weight = class_weight
        self.image_shape = image_shape
        self.warm_start = warm_start
        self.random_state = random_state
