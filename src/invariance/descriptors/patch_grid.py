"""Small patches on a regular grid: as they are, turned to lie along their own gradient, or as sorted rings."""

import numpy as np
from scipy import ndimage

from invariance._core.checks import check_count, check_odd
from invariance.descriptors.protocol import RegularDescriptor
from invariance.images import check_image, to_grey
from invariance.transformations import Brightness, Contrast, Reflections, Rotations, Shifts

# A difference in light that is just seen, where an image's standard deviation is 1, [VarmaZisserman05].
WEBER = 0.03


class PatchGrid(RegularDescriptor):
    """The grey values of small patches on a regular grid.

    Parameters
    ----------
    size : int, default=9
        Side of a patch in pixels, odd; a vector has size² values.
    aligned : bool, default=False
        Whether every patch is first turned by the direction of the mean gradient in it (under a Gaussian window), which
        makes its values invariant to rotation.
    step : int, default=4
        Pixels from one patch to the next.
    centred : bool, default=False
        Whether the mean of a patch is subtracted: the light on a surface, which changes slowly, else rules the
        distances of patches.

    Notes
    -----
    Images are brought to mean 0 and deviation 1, and patches to a contrast by Weber's law. Beyond its border an image
    is its mirror image.
    """

    kept_version = 1

    def __init__(self, size: int = 9, aligned: bool = False, step: int = 4, centred: bool = False):
        self.size = size
        self.aligned = aligned
        self.step = step
        self.centred = centred

    @property
    def invariances(self):
        """The kinds of transformations that leave the vectors unchanged if their places follow."""
        return (Shifts, Rotations, Brightness, Contrast) if self.aligned else (Shifts, Brightness, Contrast)

    def _describe(self, image):
        plane = standardize(image)
        radius = check_odd("size", self.size, "a pixel is in the middle of a patch") // 2
        places = grid_places(plane.shape, self.step)
        across = np.arange(-radius, radius + 1, dtype=np.float32)
        offsets = np.stack([np.repeat(across, self.size), np.tile(across, self.size)])
        if self.aligned:
            patches = _sample(plane, places, _turn(offsets, _directions(plane, places, self.size / 4)))
        else:
            padded = np.pad(plane, radius, mode="symmetric")
            rows, columns = (places.T[:, :, None] + offsets[:, None] + radius).astype(int)
            patches = padded[rows, columns]
        return weber_contrast(centre(patches) if self.centred else patches)

    def _places(self, shape):
        return grid_places(shape, self.step)


class SortedRings(RegularDescriptor):
    """The grey values on rings around the places of a regular grid, sorted ring by ring.

    Parameters
    ----------
    radius : int, default=4
        Rings have the radii 0, 1, ..., `radius`. A ring of radius r has 8 r values, by linear interpolation,
        1 + 4 radius (radius + 1) in all.
    step : int, default=4
        Pixels from one place to the next.

    Notes
    -----
    A rotation of the image moves values along their ring only, so that sorted they stay: no direction has to be found
    first. The idea is that of the sorted random projections of Liu et al. (ICCV 2011), here without the projections.
    Images are brought to mean 0 and deviation 1, vectors to mean 0 and to a contrast by Weber's law. Beyond its border
    an image is its mirror image.
    """

    kept_version = 1

    def __init__(self, radius: int = 4, step: int = 4):
        self.radius = radius
        self.step = step

    @property
    def invariances(self):
        """The kinds of transformations that leave the vectors unchanged if their places follow."""
        return (Shifts, Rotations, Reflections, Brightness, Contrast)

    def _describe(self, image):
        plane = standardize(image)
        places = grid_places(plane.shape, self.step)
        radii = range(check_count("radius", self.radius) + 1)
        rings = [np.sort(_sample(plane, places, _ring(radius)[:, None]), axis=1) for radius in radii]
        return weber_contrast(centre(np.hstack(rings)))

    def _places(self, shape):
        return grid_places(shape, self.step)


def standardize(image: np.ndarray) -> np.ndarray:
    """An image as one grey plane (h, w) float32 of mean 0 and deviation 1; a flat one as zeros."""
    plane = to_grey(check_image(image)).astype(np.float32)
    plane = plane - plane.mean()
    deviation = plane.std()
    # What rounding leaves of a flat image is not to be made large.
    return plane / deviation if deviation > 1e-6 else np.zeros_like(plane)


def weber_contrast(vectors: np.ndarray) -> np.ndarray:
    """Vectors (n, D) of length l brought to length log(1 + l / 0.03), [VarmaZisserman05]."""
    lengths = np.sqrt(np.einsum("nd,nd->n", vectors, vectors))[:, None]
    return vectors * (np.log1p(lengths / WEBER) / np.maximum(lengths, 1e-12))


def centre(vectors: np.ndarray) -> np.ndarray:
    """Vectors (n, D) less the mean of their own values."""
    return vectors - vectors.mean(axis=1, keepdims=True)


def grid_places(shape: tuple[int, ...], step: int) -> np.ndarray:
    """Rows and columns (n, 2) of a grid as wide as the pixels are, with equal margins, row by row."""
    rows, columns = (grid_lines(length, step) for length in shape[:2])
    return np.stack(np.meshgrid(rows, columns, indexing="ij"), axis=-1).reshape(-1, 2).astype(float)


def grid_lines(length: int, step: int) -> np.ndarray:
    """Every `step`-th index below `length`, with margins that differ by one at most."""
    step = check_count("step", step)
    return np.arange((length - 1) % step // 2, length, step)


def _directions(plane: np.ndarray, places: np.ndarray, width: float) -> np.ndarray:
    """The unit vector (2, n) of the mean gradient around every place, downwards where there is none."""
    rows, columns = places.astype(int).T
    slopes = [ndimage.gaussian_filter(plane, width, order=order, mode="reflect") for order in ((1, 0), (0, 1))]
    down, right = (slope[rows, columns] for slope in slopes)
    lengths = np.hypot(down, right)
    # A gradient of rounding has no direction.
    is_flat = lengths < 1e-5
    lengths[is_flat] = 1
    return np.stack([np.where(is_flat, 1, down / lengths), np.where(is_flat, 0, right / lengths)])


def _turn(offsets: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Offsets (2, d) turned so that down becomes each direction (2, n): (2, n, d)."""
    down, right = directions[:, :, None]
    return np.stack([down * offsets[0] - right * offsets[1], right * offsets[0] + down * offsets[1]])


def _ring(radius: int) -> np.ndarray:
    """The offsets (2, 8 radius), or the one of radius 0, of points equally far apart on a circle."""
    angles = 2 * np.pi * np.arange(max(8 * radius, 1)) / max(8 * radius, 1)
    return radius * np.stack([np.sin(angles), np.cos(angles)])


def _sample(plane: np.ndarray, places: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """The values (n, d) at offsets (2, n or 1, d) from places (n, 2), interpolated linearly."""
    return ndimage.map_coordinates(plane, places.T[:, :, None] + offsets, order=1, mode="reflect", output=np.float32)
