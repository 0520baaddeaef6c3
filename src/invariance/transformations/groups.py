"""Is Φ a group? Only then is the largest response over Φ exactly invariant, [Laptev15] lemma 1."""

from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from invariance._core.checks import check_number
from invariance.transformations.sets import TransformationSet

# Random images on which members are compared: two different members agree on none of them.
N_PROBES = 4
# Checking every pair of a large set would take minutes; a seeded sample of pairs says as much.
MAX_PAIRS = 4096


@dataclass(frozen=True)
class GroupReport:
    """How far Φ is from a group: largest relative deviations, measured on smooth random images.

    Attributes
    ----------
    identity : float
        Deviation of the member that is nearest to the identity.
    inverses : float
        Largest deviation from the identity of a member followed by the member that undoes it best.
    closure : float
        Largest deviation of a product of two members from the nearest member.
    n_members : int
        The number of members.
    n_pairs, n_all_pairs : int
        The number of pairs of members that were compared, and of all pairs.
    tolerance : float
        The largest deviation that counts as zero.
    """

    identity: float
    inverses: float
    closure: float
    n_members: int
    n_pairs: int
    n_all_pairs: int
    tolerance: float

    @property
    def is_group(self) -> bool:
        """Whether all three deviations are within the tolerance."""
        return max(self.identity, self.inverses, self.closure) <= self.tolerance

    @property
    def sentence(self) -> str:
        """The meaning of the deviations for invariance, in words."""
        if self.n_members == 1:
            return "Only the identity: a group, and no transformation is treated as irrelevant."
        these = f"These {self.n_members} members"
        if self.n_pairs < self.n_all_pairs:
            these = f"As far as {self.n_pairs} of {self.n_all_pairs} pairs tell, these {self.n_members} members"
        if self.is_group:
            return f"{these} form a group: the largest response over them is exactly invariant."
        if self.inverses <= self.tolerance:
            return (
                f"{these} have inverses but are not closed (products deviate by up to {self.closure:.1%}): the largest "
                f"response is invariant only approximately. phi.closure() brings it closer; only a group is exact."
            )
        return (
            f"{these} are not a group (undoing one deviates by up to {self.inverses:.1%}, "
            f"products by up to {self.closure:.1%}): the largest response is invariant only approximately."
        )

    def __str__(self) -> str:
        deviations = f"identity {self.identity:.2e}, inverses {self.inverses:.2e}, closure {self.closure:.2e}"
        return f"{deviations}. {self.sentence}"


def check_group(phi: TransformationSet, image_shape: tuple[int, ...], tolerance: float = 1e-6) -> GroupReport:
    """Measure identity, inverses and closure of Φ.

    Parameters
    ----------
    phi : TransformationSet
    image_shape : tuple of int
        Shape of the images on which the members act.
    tolerance : float, default=1e-6
        The largest relative deviation that counts as zero.

    Returns
    -------
    report : GroupReport
        With the deviations, `is_group`, and a `sentence` that explains them.

    Examples
    --------
    >>> from invariance import Rotations, check_group
    >>> check_group(Rotations(4), (9, 9)).is_group
    True
    """
    check_number("tolerance", tolerance, 0, 1)
    operators = phi.operators(image_shape)
    probes = _smooth_images(operators.image_shape)
    orbits = operators.apply(probes)
    sizes = np.sqrt(np.sum(probes**2, axis=(1, 2)))
    n_members = orbits.shape[1]
    n_second = max(1, min(n_members, MAX_PAIRS // n_members))
    chosen = np.sort(np.random.default_rng(0).choice(n_members, n_second, replace=False))
    undone, closed = [], []
    for second in chosen:
        products = operators.apply(orbits[:, second])
        undone.append(_deviations(products, probes[:, None], sizes).min())
        closed.append(np.max([_deviations(orbits, products[:, [t]], sizes).min() for t in range(n_members)]))
    return GroupReport(
        identity=float(_deviations(orbits, probes[:, None], sizes).min()),
        inverses=float(np.max(undone)),
        closure=float(np.max(closed)),
        n_members=n_members,
        n_pairs=n_second * n_members,
        n_all_pairs=n_members**2,
        tolerance=tolerance,
    )


def _smooth_images(image_shape):
    """Draw random images in [0, 1], float64, about as smooth as photographs."""
    noise = np.random.default_rng(0).standard_normal((N_PROBES, *image_shape))
    smooth = ndimage.gaussian_filter(noise, (0, 1, 1))
    low, high = smooth.min(axis=(1, 2), keepdims=True), smooth.max(axis=(1, 2), keepdims=True)
    return (smooth - low) / np.maximum(high - low, 1e-12)


def _deviations(candidates, targets, sizes):
    """Divide the distance of each candidate (probes, T, h, w) from a target (probes, 1, h, w) by the norm: (T,)."""
    difference = np.sqrt(np.sum((candidates - targets) ** 2, axis=(2, 3)))
    return (difference / sizes[:, None]).max(axis=0)
