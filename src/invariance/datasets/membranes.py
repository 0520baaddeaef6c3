"""Generated electron micrographs: cells with dark membranes, organelles, blur and noise, and the exact mask."""

import numpy as np
from scipy.ndimage import gaussian_filter, map_coordinates
from scipy.spatial import cKDTree

from invariance._core.checks import check_count, check_number
from invariance._core.randomness import RandomState, spawn_rngs
from invariance.datasets._dataset import Dataset

N_NEIGHBOURS = 8  # seeds in which the nearest wall of a pixel is looked for; a Voronoi cell has six sides on average


def make_membranes(
    n_images: int = 4,
    shape: tuple[int, int] = (256, 256),
    cell_size: float = 36.0,
    thickness: float = 4.0,
    blur: float = 1.0,
    noise: float = 0.08,
    random_state: RandomState = 0,
) -> Dataset:
    """Generate images that look like stained tissue, with masks that are True on membranes.

    A cell is a Voronoi region under a smooth random distortion. Organelles are as dark as membranes but not in the
    mask, so that brightness alone does not suffice.

    Parameters
    ----------
    n_images : int, default=4
        Number of images.
    shape : tuple (h, w), default=(256, 256)
        Their shape.
    cell_size : float, default=36.0
        Typical width of a cell in pixels.
    thickness : float, default=4.0
        Mean width of a membrane in pixels; it varies by 40 %.
    blur : float, default=1.0
        Standard deviation of the Gaussian blur in pixels.
    noise : float, default=0.08
        Standard deviation of the noise of pixels.
    random_state : int, Generator or None, default=0
        Seed.

    Returns
    -------
    Dataset
        Images (n_images, h, w), float32 in [0, 1], with masks.
    """
    height, width = (check_count("shape", side, at_least=8) for side in shape)
    check_number("cell_size", cell_size, low=4)
    check_number("thickness", thickness, low=1, high=cell_size / 2)
    check_number("blur", blur, low=0)
    check_number("noise", noise, low=0)
    rngs = spawn_rngs(random_state, check_count("n_images", n_images))
    images, masks = zip(
        *(_make_image((height, width), cell_size, thickness, blur, noise, rng) for rng in rngs), strict=True
    )
    return Dataset(
        "membranes",
        np.stack(images),
        masks=np.stack(masks),
        class_names=("cell", "membrane"),
        description="Generated: distorted Voronoi cells with membranes. Terms: none.",
    )


def _make_image(shape, cell_size, thickness, blur, noise, rng) -> tuple[np.ndarray, np.ndarray]:
    cell, from_wall = _grow_cells(shape, cell_size, rng)
    half_width = thickness / 2 * (1 + 0.4 * np.tanh(_smooth_field(shape, cell_size, rng)))
    mask = from_wall < half_width
    image = rng.normal(0.7, 0.05, cell.max() + 1)[cell]
    image += 0.06 * _smooth_field(shape, 2.0, rng) + 0.04 * _smooth_field(shape, 8.0, rng)
    image = _stain_organelles(image, from_wall - half_width, cell_size, rng)
    # A membrane fades over a pixel, and where it is cut obliquely it is fainter.
    edge = 1 / (1 + np.exp(np.clip(2 * (from_wall - half_width), -30, 30)))
    image += (0.22 + 0.08 * np.tanh(_smooth_field(shape, 12.0, rng)) - image) * edge
    image = gaussian_filter(image, blur) + rng.normal(0, noise, shape)
    image *= 1 + 0.12 * _smooth_field(shape, max(shape) / 4, rng)
    return np.clip(image, 0, 1).astype(np.float32), mask


def _smooth_field(shape, width: float, rng) -> np.ndarray:
    """Gaussian noise of correlation length `width`, mean about 0 and standard deviation 1."""
    # Generated coarsely and enlarged, so that wide fields cost no more than narrow ones.
    step = max(width / 3, 1.0)
    sigma = width / step
    coarse = gaussian_filter(rng.normal(size=[int(side / step) + 8 for side in shape]), sigma)
    coarse *= 2 * np.sqrt(np.pi) * sigma  # the filter divides the deviation by this
    rows, columns = (3 + np.arange(side) / step for side in shape)
    return map_coordinates(coarse, np.meshgrid(rows, columns, indexing="ij"), order=1)


def _grow_cells(shape, cell_size: float, rng) -> tuple[np.ndarray, np.ndarray]:
    """The cell of each pixel (h, w) and its distance from the nearest wall between two cells."""
    seeds = _scatter_seeds(shape, cell_size, rng)
    pixels = np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), axis=-1).astype(float)
    for bend in (0.9, 0.35):  # large bends, then small ones
        for axis in (0, 1):
            pixels[..., axis] += 0.25 * bend * cell_size * _smooth_field(shape, bend * cell_size, rng)
    distance, nearest = cKDTree(seeds).query(pixels, k=min(N_NEIGHBOURS, len(seeds)))
    # The wall to another seed is the perpendicular bisector; a pixel is (d² - d0²) / 2|s - s0| away from it.
    between = np.linalg.norm(seeds[nearest[..., 1:]] - seeds[nearest[..., :1]], axis=-1)
    from_wall = (distance[..., 1:] ** 2 - distance[..., :1] ** 2) / (2 * between)
    return nearest[..., 0], from_wall.min(axis=-1)


def _scatter_seeds(shape, cell_size: float, rng) -> np.ndarray:
    """Random points (n, 2), each with a clearing of its own size around it, so that cells vary in size."""
    low, high = -2 * cell_size, np.array(shape) + 2 * cell_size
    n_tries = int(np.prod((high - low) / cell_size) * 4) + 8
    points = rng.uniform(low, high, (n_tries, 2))
    clearing = cell_size * rng.lognormal(-0.4, 0.5, n_tries)
    kept: list[int] = []
    for i in range(n_tries):
        gaps = np.linalg.norm(points[kept] - points[i], axis=1)
        if np.all(gaps > np.maximum(clearing[kept], clearing[i])):
            kept.append(i)
    return points[kept]


def _stain_organelles(image, from_membrane, cell_size: float, rng) -> np.ndarray:
    """Draw vesicles (small rings) and mitochondria (large dark ovals with a rim) inside the cells."""
    rows, columns = np.meshgrid(*map(np.arange, image.shape), indexing="ij")
    n_cells = image.size / cell_size**2
    for low, high, count in ((0.06, 0.1, 3 * n_cells), (0.15, 0.3, 0.6 * n_cells)):
        for _ in range(rng.poisson(count)):
            row, column = (int(rng.integers(side)) for side in image.shape)
            radius = cell_size * rng.uniform(low, high)
            if from_membrane[row, column] < radius + 2:
                continue
            angle, stretch = rng.uniform(0, np.pi), rng.uniform(0.6, 1)
            along = np.cos(angle) * (rows - row) + np.sin(angle) * (columns - column)
            across = (np.cos(angle) * (columns - column) - np.sin(angle) * (rows - row)) / stretch
            outside = np.hypot(along, across) - radius
            body = 1 / (1 + np.exp(np.clip(2 * outside, -30, 30)))
            rim = np.exp(-((outside / 1.2) ** 2))
            image = image - (0.22 if low > 0.1 else 0.05) * body - 0.18 * rim
    return image
