"""Jittering: the distance between two images is the least over transformed versions of one of them, [DeCoste02]."""

from collections.abc import Iterator

import numpy as np

from invariance._core import loaded
from invariance.tangents.distance import TangentDistance
from invariance.tangents.gaussian import DistanceKernel
from invariance.tangents.points import Points, as_images
from invariance.transformations import Identity, Operators, Shifts, TransformationSet
from invariance.transformations.sets import check_set, split_normalizing
from invariance.transformations.steps import Member

# Versions of images that are described at once: many enough for a single image, few enough for any memory.
N_VERSIONS = 64
# Up to this size the operators of Φ are kept for further images.
OPERATOR_BYTES = 64 * 2**20


class JitteredDistance(DistanceKernel):
    """Kernel exp(-d² / (2 sigma²)), d² the mean of min d²(φx, y) and min d²(x, φy) over φ in Φ, and the distances d.

    With ``JitteredDistance(phi, TangentDistance(tangent_parts(phi)))`` a distance stands on one set Φ: it is the least
    over the members of Φ and, around each of them, along the tangents of those parts of Φ that have tangents. It is 0
    between an image and its versions if Φ is a group, Euclidean for ``Identity()``, and the smaller the larger Φ is.

    Parameters
    ----------
    transformations : TransformationSet or None, default=None
        Members φ of Φ; None means shifts of one pixel.
    distance : TangentDistance or None, default=None
        Distance between versions. None means the Euclidean distance.
    sigma : float or {"auto", "median"}, default="auto"
        Width of the kernel. "median" is half the median distance of the training images. "auto" is chosen by
        cross-validation from multiples of it in `JitteredSVC`, which knows labels; otherwise it is "median".
    image_shape : tuple of int or None, default=None
        Shape (h, w) or (h, w, c) of the images in flat rows.

    Attributes
    ----------
    sigma_ : float
        Width of the kernel.
    image_shape_ : tuple of int
        Shape of the training images.
    n_features_in_ : int
        Number of values of an image.

    Notes
    -----
    It is symmetric but need not be positive definite. Time grows with the number of members; memory does not.
    """

    _kept_operators: tuple[tuple[Member, ...], tuple[int, ...], Operators]

    def __init__(self, transformations=None, distance=None, sigma="auto", image_shape=None):
        self.transformations = transformations
        self.distance = distance
        self.sigma = sigma
        self.image_shape = image_shape

    def check_loaded(self) -> None:
        """Raise ValueError if the parameters, read from a file, are not those of a distance."""
        super().check_loaded()
        loaded.check_values(self, distance=loaded.optional(loaded.instance(TangentDistance)))

    def squared(self, X, Y=None) -> np.ndarray:
        """Return the squared jittered distances (n, m) of images X and Y, or of X and X."""
        over_rows = self.squared_to(X, self.points(X if Y is None else Y))
        over_cols = over_rows if Y is None else self.squared_to(Y, self.points(X))
        return (over_rows + over_cols.T) / 2

    def squared_to(self, X, others: Points) -> np.ndarray:
        """Return the least squared distances (n, m) over the versions of images X alone, to others as `points`.

        `squared` is the mean of this for X and for the others. For a group Φ both are the same but for interpolation:
        this one takes half the time, and nothing of the others is computed again.
        """
        phi, distance = self._phi(), self._distance()
        images = as_images(X, self.image_shape, phi)
        least = np.full((len(images), len(others)), np.inf)
        for operators in self._operators(images):
            versions = np.moveaxis(operators.apply(images), 1, 0)
            points = distance.points(versions.reshape(-1, *images.shape[1:]))
            for start in range(0, len(points), len(images)):
                some = points.take(slice(start, start + len(images)))
                np.minimum(least, distance.compare(some, others), out=least)
        return least

    def points(self, X) -> Points:
        """Return images with their tangents, for `squared_to`."""
        return self._distance().points(as_images(X, self.image_shape, self._phi()))

    def _operators(self, images: np.ndarray) -> Iterator[Operators]:
        """Yield operators of the members of Φ, one member at a time for many images: memory holds one copy of them."""
        shape = images.shape[1:]
        whole = self._all_operators(shape)
        n_together = max(1, N_VERSIONS // len(images))
        if n_together >= len(whole):
            yield whole
            return
        for start in range(0, len(whole), n_together):
            yield Operators(whole.members[start : start + n_together], shape)

    def _all_operators(self, shape: tuple[int, ...]) -> Operators:
        members = self._phi().members(shape)
        if hasattr(self, "_kept_operators") and self._kept_operators[:2] == (members, shape):
            return self._kept_operators[2]
        operators = Operators(members, shape)
        n_values = sum(matrix.nnz for stack in operators.stacks for matrix in stack.matrices)
        if 2 * 12 * n_values <= OPERATOR_BYTES:  # values and their places, twice: one by one and stacked
            self._kept_operators = members, shape, operators
        return operators

    def __getstate__(self):
        """Leave out what can be computed again."""
        return {name: value for name, value in super().__getstate__().items() if name != "_kept_operators"}

    def _phi(self) -> TransformationSet:
        check_set("transformations", self.transformations)
        return Shifts(1) if self.transformations is None else self.transformations

    def _distance(self) -> TangentDistance:
        distance = TangentDistance(Identity()) if self.distance is None else self.distance
        normalizing, _ = split_normalizing(distance.transformations)
        if normalizing is not None:
            raise ValueError(
                f"distance must not normalize images, of which versions are made first; got {normalizing!r} in its "
                f"transformations. Multiply those of {type(self).__name__} by it."
            )
        return distance
