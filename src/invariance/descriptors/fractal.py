"""Local fractal dimension and length: how a measure of light grows with the ball that it is taken over.

Around a point x the measure of a ball of radius r grows like μ(B(x, r)) = L r^D, [VarmaGarg07]. A smooth change
of viewpoint or of the surface, without folds (a bi-Lipschitz map), changes L but leaves D.
"""

from collections.abc import Iterable

import numpy as np
from scipy import fft, ndimage

from invariance._core.checks import check_choice, check_number
from invariance.descriptors.maximum_responses import bank_responses, maximize
from invariance.descriptors.patch_grid import grid_lines, grid_places, standardize
from invariance.descriptors.protocol import RegularDescriptor
from invariance.transformations import Brightness, Contrast, Reflections, Rotations, Shifts

SCALES = (1.0, 2.0, 4.0)
N_ORIENTATIONS = 6
KINDS = ("rotation", "bilipschitz")
# Added to every measure, so that flat places have a logarithm: a hundredth of an image's deviation.
FLOOR = 0.01


class FractalFeatures(RegularDescriptor):
    """Fractal dimensions, alone or with lengths, of light, gradients and filter responses on a regular grid.

    Parameters
    ----------
    kind : {"bilipschitz", "rotation"}, default="bilipschitz"
        "bilipschitz" gives the dimensions D, 14 values: of the light, of the gradient, nine of edges, bright and dark
        bars (maximal over orientation) and three of spots. "rotation" gives 27 values: twice the dimensions, and the
        logarithms of the lengths L, which vary about twice as much, of all but the light.
    step : int, default=4
        Pixels from one place to the next.
    radii : iterable of float, default=(1, 2, 3, 4, 6, 8)
        Radii of the balls in pixels; log μ is fitted by a line in log r. The unit of length is the mean of log r, where
        errors of D and L do not depend on each other.

    Notes
    -----
    Images are brought to mean 0 and deviation 1. Which measures serve, and that lengths come with dimensions, is
    our own choice, by accuracy on textures; [VarmaGarg07] may take others.

    Dimensions ignore zooms and other smooth maps in the limit of small radii only. At the radii of pixels they change
    less than lengths do, but they change, so that neither kind declares them as invariances.
    """

    kept_version = 1

    def __init__(self, kind: str = "bilipschitz", step: int = 4, radii: Iterable[float] = (1, 2, 3, 4, 6, 8)):
        self.kind = kind
        self.step = step
        self.radii = radii

    @property
    def invariances(self):
        """The kinds of transformations that leave the vectors unchanged if their places follow."""
        return (Shifts, Rotations, Reflections, Brightness, Contrast)

    def _describe(self, image):
        is_dimension = check_choice("kind", self.kind, KINDS) == "bilipschitz"
        plane = standardize(image)
        dimensions, lengths = fit_growth(make_measures(plane), tuple(self.radii), self.step)
        return dimensions if is_dimension else np.hstack([2 * dimensions, lengths[:, 1:]])

    def _places(self, shape):
        return grid_places(shape, self.step)


def make_measures(plane: np.ndarray) -> np.ndarray:
    """Non-negative densities (14, h, w) float32 of a plane (h, w): light, gradient, and responses to filters."""
    gradient = ndimage.gaussian_gradient_magnitude(plane, 1.0, mode="reflect")
    maxima = maximize(bank_responses(plane, SCALES, N_ORIENTATIONS), "rotation", len(SCALES))
    return np.concatenate([(plane - plane.min())[None], gradient[None], np.abs(maxima)]).astype(np.float32)


def fit_growth(measures: np.ndarray, radii: tuple[float, ...], step: int) -> tuple[np.ndarray, np.ndarray]:
    """Slopes and intercepts, each (n, m) float32, of log μ(B(x, r)) in log r for measures (m, h, w)."""
    radii = tuple(check_number("radii", radius, 0.5, 1e4) for radius in radii)
    if len(set(radii)) < 2:
        raise ValueError(f"radii must be at least two different numbers, to fit a line through; got {radii}.")
    logs = np.log(ball_sums(measures + FLOOR, radii, step))
    log_radii = np.log(radii) - np.mean(np.log(radii))
    slopes = np.einsum("r,rmn->nm", log_radii / np.sum(log_radii**2), logs)
    return slopes.astype(np.float32, order="C"), logs.mean(axis=0).T.astype(np.float32, order="C")


def ball_sums(measures: np.ndarray, radii: tuple[float, ...], step: int) -> np.ndarray:
    """Sums (r, m, n) of measures (m, h, w) over discs around every `step`-th row and column."""
    margin = int(np.ceil(max(radii)))
    height, width = measures.shape[1:]
    shape = tuple(fft.next_fast_len(length + 2 * margin, real=True) for length in (height, width))
    rows, columns = grid_lines(height, step)[:, None] + margin, grid_lines(width, step) + margin
    discs = [fft.rfft2(_disc(radius, shape)) for radius in radii]
    sums = np.empty((len(radii), len(measures), rows.size * columns.size), np.float32)
    for index, measure in enumerate(measures):
        spectrum = fft.rfft2(np.pad(measure, margin, mode="symmetric"), shape)
        for of_radius, disc in zip(sums, discs, strict=True):
            of_radius[index] = fft.irfft2(spectrum * disc, shape)[rows, columns].ravel()
    return np.maximum(sums, FLOOR)


def _disc(radius: float, shape: tuple[int, int]) -> np.ndarray:
    """A disc around the origin of a frame whose opposite sides meet; pixels on its rim count in part."""
    rows, columns = (np.minimum(np.arange(n), n - np.arange(n)) for n in shape)
    return np.clip(radius + 0.5 - np.hypot(rows[:, None], columns), 0, 1).astype(np.float32)
