"""Geometric sets: rotations, shifts, reflections, scales, shears, affine maps, perspective, elastic fields.

All are resamplings about the centre of the image, hence linear. Quarter turns and whole-pixel shifts are exact.
"""

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from invariance._core.checks import check_choice, check_count, check_number
from invariance.transformations.resampling import BORDERS, INTERPOLATIONS
from invariance.transformations.sets import MAX_MEMBERS, TextForm, TransformationSet
from invariance.transformations.steps import Displacement, Warp


class _Warps(TransformationSet):
    """A set whose members are single warps about the centre."""

    border: str
    interpolation: str

    @abstractmethod
    def _homographies(self, image_shape):
        """Return 3 x 3 matrices that take a pixel (x, y, 1) of the result to its source."""

    def _list_members(self, image_shape):
        check_choice("border", self.border, BORDERS)
        check_choice("interpolation", self.interpolation, INTERPOLATIONS)
        homographies = self._homographies(image_shape)
        warps = [Warp.from_matrix(matrix, self.border, self.interpolation) for matrix in homographies]
        return [() if warp.is_identity() else (warp,) for warp in warps]


def _linear_map(a, b, c, d):
    """Return the homography of a 2 x 2 matrix."""
    return np.array([[a, b, 0.0], [c, d, 0.0], [0.0, 0.0, 1.0]])


def _rotation(degrees):
    """Return the homography that rotates the content counter-clockwise."""
    angle = np.deg2rad(degrees)
    return _linear_map(np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle))


def even_steps(n: int, limit: float) -> np.ndarray:
    """Space `n` values evenly from -`limit` to `limit`.

    Parameters
    ----------
    n : int
        An even number gives no zero, which a set adds as its identity.
    limit : float

    Returns
    -------
    values : ndarray of shape (n,)
        Zero alone if `n` is 1.
    """
    # Whole numbers first, so that the middle is exactly zero.
    return limit * np.arange(1 - n, n, 2) / (n - 1) if n > 1 else np.zeros(1)


class Rotations(_Warps):
    """`n` rotations over the full circle, or evenly from -`limit` to `limit` degrees, counter-clockwise.

    Parameters
    ----------
    n : int, default=8
        The number of rotations.
    limit : float, default=None
        The largest angle in degrees, at most 180; None divides the full circle.
    border : {"zero", "edge", "reflect", "wrap"}, default="zero"
        What lies outside the image.
    interpolation : {"linear", "nearest"}, default="linear"
        How values between pixels are found.
    """

    text_form = TextForm("rotations", ("n", "limit"), "rotations:24")

    def __init__(self, n: int = 8, limit: float | None = None, border: str = "zero", interpolation: str = "linear"):
        self.n = n
        self.limit = limit
        self.border = border
        self.interpolation = interpolation

    def _homographies(self, image_shape):
        n = check_count("n", self.n, at_most=MAX_MEMBERS)
        if self.limit is None:
            angles = np.arange(n) * 360 / n
        else:
            angles = even_steps(n, check_number("limit", self.limit, 0, 180))
        return [_rotation(angle) for angle in angles]

    @property
    def is_full_circle(self) -> bool:
        """Whether the rotations cover the full circle: no `limit`, or one of 180 degrees."""
        return self.limit is None or self.limit >= 180

    def _generators(self):
        return ("rotation",)


class Shifts(_Warps):
    """All shifts by up to `reach` whole pixels along each axis; every `step`-th, if given.

    Parameters
    ----------
    reach : int, default=1
        The largest shift in pixels; there are (2 reach + 1)² shifts.
    step : int, default=1
        Distance between neighbouring shifts in pixels.
    border : {"zero", "edge", "reflect", "wrap"}, default="zero"
        What lies outside the image.
    interpolation : {"linear", "nearest"}, default="linear"
        How values between pixels are found.
    """

    text_form = TextForm("shifts", ("reach", "step"), "shifts:2")

    def __init__(self, reach: int = 1, step: int = 1, border: str = "zero", interpolation: str = "linear"):
        self.reach = reach
        self.step = step
        self.border = border
        self.interpolation = interpolation

    def _homographies(self, image_shape):
        reach, step = check_count("reach", self.reach, at_least=0), check_count("step", self.step)
        n_steps = reach // step
        check_count("the number of shifts", (2 * n_steps + 1) ** 2, at_most=MAX_MEMBERS)
        offsets = np.arange(-n_steps, n_steps + 1) * step
        return [np.array([[1.0, 0.0, -dx], [0.0, 1.0, -dy], [0.0, 0.0, 1.0]]) for dy in offsets for dx in offsets]

    def _generators(self):
        return ("shift_x", "shift_y")


class Reflections(_Warps):
    """Left-right mirror images (`axis` "horizontal"), upside-down ones ("vertical"), or "both" and their product.

    Parameters
    ----------
    axis : {"horizontal", "vertical", "both"}, default="horizontal"
        The direction that is reversed; "both" has four members, a rotation by 180 degrees among them.
    border : {"zero", "edge", "reflect", "wrap"}, default="zero"
        What lies outside the image.
    interpolation : {"linear", "nearest"}, default="linear"
        How values between pixels are found.
    """

    text_form = TextForm("reflections", ("axis",), "reflections:both")

    def __init__(self, axis: str = "horizontal", border: str = "zero", interpolation: str = "linear"):
        self.axis = axis
        self.border = border
        self.interpolation = interpolation

    def _homographies(self, image_shape):
        check_choice("axis", self.axis, ("horizontal", "vertical", "both"))
        signs = {"horizontal": [(-1, 1)], "vertical": [(1, -1)], "both": [(-1, 1), (1, -1), (-1, -1)]}
        return [_linear_map(x, 0.0, 0.0, y) for x, y in signs[self.axis]]

    def _generators(self):
        return ()


class Scales(_Warps):
    """`n` zooms from 1/`limit` to `limit`, evenly on a logarithmic scale.

    Parameters
    ----------
    n : int, default=3
        The number of factors.
    limit : float, default=1.25
        The largest factor, from 1 to 100.
    border : {"zero", "edge", "reflect", "wrap"}, default="zero"
        What lies outside the image.
    interpolation : {"linear", "nearest"}, default="linear"
        How values between pixels are found.
    """

    text_form = TextForm("scales", ("n", "limit"), "scales:3:1.25")

    def __init__(self, n: int = 3, limit: float = 1.25, border: str = "zero", interpolation: str = "linear"):
        self.n = n
        self.limit = limit
        self.border = border
        self.interpolation = interpolation

    def _homographies(self, image_shape):
        limit = check_number("limit", self.limit, 1, 100)
        factors = np.exp(even_steps(check_count("n", self.n, at_most=MAX_MEMBERS), np.log(limit)))
        return [_linear_map(1 / factor, 0.0, 0.0, 1 / factor) for factor in factors]

    def _generators(self):
        return ("scale",)


class Shears(_Warps):
    """`n` shears from -`limit` to `limit` degrees along `axis` "horizontal", "vertical" or "both".

    Parameters
    ----------
    n : int, default=3
        The number of shears per axis.
    limit : float, default=10.0
        The largest angle in degrees, at most 80.
    axis : {"horizontal", "vertical", "both"}, default="both"
        The direction in which pixels move. "both" has the shears along each axis, not their products.
    border : {"zero", "edge", "reflect", "wrap"}, default="zero"
        What lies outside the image.
    interpolation : {"linear", "nearest"}, default="linear"
        How values between pixels are found.
    """

    text_form = TextForm("shears", ("n", "limit", "axis"), "shears:3:10")

    def __init__(
        self,
        n: int = 3,
        limit: float = 10.0,
        axis: str = "both",
        border: str = "zero",
        interpolation: str = "linear",
    ):
        self.n = n
        self.limit = limit
        self.axis = axis
        self.border = border
        self.interpolation = interpolation

    def _homographies(self, image_shape):
        check_choice("axis", self.axis, ("horizontal", "vertical", "both"))
        slopes = np.tan(
            np.deg2rad(
                even_steps(check_count("n", self.n, at_most=MAX_MEMBERS), check_number("limit", self.limit, 0, 80))
            )
        )
        along_x = [_linear_map(1.0, slope, 0.0, 1.0) for slope in slopes]
        along_y = [_linear_map(1.0, 0.0, slope, 1.0) for slope in slopes]
        return {"horizontal": along_x, "vertical": along_y, "both": along_x + along_y}[self.axis]

    def _generators(self):
        return {"horizontal": ("shear_x",), "vertical": ("shear_y",), "both": ("shear_x", "shear_y")}[self.axis]


class Affine(_Warps):
    """Given affine maps of the image.

    Parameters
    ----------
    matrices : sequence of array-like of shape (2, 2) or (2, 3), default=()
        Each acts on (x, y) from the centre of the image; a third column is a shift in pixels. A matrix says where the
        content goes, as in OpenCV's `warpAffine`, so it must have an inverse. Without matrices the set has no member
        but the identity, and still the six tangents of all affine maps.
    border : {"zero", "edge", "reflect", "wrap"}, default="zero"
        What lies outside the image.
    interpolation : {"linear", "nearest"}, default="linear"
        How values between pixels are found.
    """

    def __init__(self, matrices: Sequence = (), border: str = "zero", interpolation: str = "linear"):
        self.matrices = matrices
        self.border = border
        self.interpolation = interpolation

    def _homographies(self, image_shape):
        return [np.linalg.inv(_as_homography(matrix)) for matrix in self.matrices]

    def _generators(self):
        return ("shift_x", "shift_y", "rotation", "scale", "stretch", "shear_x")


def _as_homography(matrix):
    """Return a 2 x 2 or 2 x 3 matrix as a homography, or name what is wrong with it."""
    matrix = np.asarray(matrix, dtype=np.float64)
    if matrix.shape not in ((2, 2), (2, 3)) or not np.all(np.isfinite(matrix)):
        raise ValueError(f"matrices must hold finite 2 x 2 or 2 x 3 matrices; got one of shape {matrix.shape}.")
    if abs(np.linalg.det(matrix[:, :2])) < 1e-9:
        raise ValueError(f"every affine map needs an inverse; the determinant of {matrix[:, :2].tolist()} is 0.")
    homography = np.eye(3)
    homography[:2, : matrix.shape[1]] = matrix
    return homography


class Perspective(_Warps):
    """The image tilted away from the viewer in `n` directions; `tilt` is the change of depth at the border.

    Parameters
    ----------
    n : int, default=4
        The number of directions, evenly over the full circle.
    tilt : float, default=0.2
        The relative change of depth at the border of the image, at most 0.9.
    border : {"zero", "edge", "reflect", "wrap"}, default="zero"
        What lies outside the image.
    interpolation : {"linear", "nearest"}, default="linear"
        How values between pixels are found.
    """

    text_form = TextForm("perspective", ("n", "tilt"), "perspective:4:0.2")

    def __init__(self, n: int = 4, tilt: float = 0.2, border: str = "zero", interpolation: str = "linear"):
        self.n = n
        self.tilt = tilt
        self.border = border
        self.interpolation = interpolation

    def _homographies(self, image_shape):
        tilt = check_number("tilt", self.tilt, 0, 0.9) / (max(image_shape) / 2)
        directions = np.arange(check_count("n", self.n, at_most=MAX_MEMBERS)) * 2 * np.pi / self.n
        return [
            np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [tilt * np.cos(angle), tilt * np.sin(angle), 1.0]])
            for angle in directions
        ]


class Elastic(TransformationSet):
    """`n` smooth random distortions: root mean square `strength` pixels, correlated over `smoothness` pixels.

    Parameters
    ----------
    n : int, default=4
        The number of distortions.
    strength : float, default=1.0
        Root mean square displacement in pixels.
    smoothness : float, default=4.0
        Standard deviation in pixels of the Gaussian that smooths the displacements.
    random_state : int, default=0
        Seed of the displacements.
    border : {"zero", "edge", "reflect", "wrap"}, default="zero"
        What lies outside the image.
    interpolation : {"linear", "nearest"}, default="linear"
        How values between pixels are found.
    """

    text_form = TextForm("elastic", ("n", "strength", "smoothness"), "elastic:4:1.5")

    def __init__(
        self,
        n: int = 4,
        strength: float = 1.0,
        smoothness: float = 4.0,
        random_state: int = 0,
        border: str = "zero",
        interpolation: str = "linear",
    ):
        self.n = n
        self.strength = strength
        self.smoothness = smoothness
        self.random_state = random_state
        self.border = border
        self.interpolation = interpolation

    def _list_members(self, image_shape):
        border = check_choice("border", self.border, BORDERS)
        interpolation = check_choice("interpolation", self.interpolation, INTERPOLATIONS)
        strength = check_number("strength", self.strength, 0, 1000)
        smoothness = check_number("smoothness", self.smoothness, 0.1, 1000)
        seed = check_count("random_state", self.random_state, at_least=0)
        return [
            (Displacement((seed, field), strength, smoothness, border, interpolation),)
            for field in range(check_count("n", self.n, at_most=MAX_MEMBERS))
        ]
