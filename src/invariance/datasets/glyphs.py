"""Generated line drawings of a few classes under random rotation, shift and scale, drawn exactly."""

from itertools import pairwise

import numpy as np

from invariance._core.checks import check_count, check_number
from invariance._core.randomness import RandomState, make_rng
from invariance.datasets._dataset import Dataset

# Strokes in the square [-1, 1]²; no drawing is a rotated, mirrored or scaled copy of another.
GLYPHS: dict[str, list[list[tuple[float, float]]]] = {
    "arrow": [[(-0.9, 0), (0.9, 0)], [(0.3, -0.6), (0.9, 0), (0.3, 0.6)]],
    "cross": [[(-0.9, 0), (0.9, 0)], [(0, -0.9), (0, 0.9)]],
    "fork": [[(-0.9, 0), (0, 0)], [(0.9, -0.7), (0, -0.7), (0, 0.7), (0.9, 0.7)]],
    "hook": [[(-0.9, -0.5), (0.7, -0.5), (0.7, 0.6), (0.1, 0.6)]],
    "triangle": [[(-0.8, -0.6), (0.8, -0.6), (0, 0.8), (-0.8, -0.6)]],
    "zigzag": [[(-0.9, -0.4), (-0.3, 0.5), (0.3, -0.5), (0.9, 0.4)]],
}
REACH = max(np.hypot(*point) for lines in GLYPHS.values() for line in lines for point in line)
LINE_REACH = 1.5  # pixels from the middle of a line to where its ink ends


def make_glyphs(
    n_per_class: int = 50,
    size: int = 28,
    rotation: float = 180.0,
    shift: float = 2.0,
    scale: float = 0.15,
    noise: float = 0.05,
    random_state: RandomState = 0,
) -> Dataset:
    """Generate line drawings of six classes, each rotated, shifted and scaled at random.

    They are drawn from the distance to the strokes, not resampled, so that no drawing is blurrier than another.

    Parameters
    ----------
    n_per_class : int, default=50
        Number of drawings per class.
    size : int, default=28
        Pixels per side.
    rotation : float, default=180.0
        Largest rotation in degrees, to either side.
    shift : float, default=2.0
        Largest shift in pixels, in either direction.
    scale : float, default=0.15
        Scales are drawn from 1 - scale to 1 + scale.
    noise : float, default=0.05
        Standard deviation of the noise of pixels.
    random_state : int, Generator or None, default=0
        Seed.

    Returns
    -------
    Dataset
        Images (6 n_per_class, size, size), float32 in [0, 1], with labels.
    """
    n_images = check_count("n_per_class", n_per_class) * len(GLYPHS)
    check_count("size", size, at_least=16)
    check_number("rotation", rotation, 0, 180)
    check_number("shift", shift, 0, size / 8)
    check_number("scale", scale, 0, 0.5)
    check_number("noise", noise, 0)
    rng = make_rng(random_state)
    labels = np.repeat(np.arange(len(GLYPHS)), n_per_class)
    angles = np.deg2rad(rng.uniform(-rotation, rotation, n_images))
    # as large as the image lets them be, wherever they are shifted and however they are turned
    unit = ((size - 1) / 2 - shift - LINE_REACH) / (REACH * (1 + scale))
    sizes = unit * rng.uniform(1 - scale, 1 + scale, n_images)
    centres = (size - 1) / 2 + rng.uniform(-shift, shift, (n_images, 2))
    strokes = [_segments(lines) for lines in GLYPHS.values()]
    images = np.stack(
        [
            _draw(strokes[label] @ _rotation(angle) * width + centre, size)
            for label, angle, width, centre in zip(labels, angles, sizes, centres, strict=True)
        ]
    )
    images += rng.normal(0, noise, images.shape)
    return Dataset(
        "glyphs",
        np.clip(images, 0, 1).astype(np.float32),
        labels,
        class_names=tuple(GLYPHS),
        description="Generated line drawings under rotation, shift and scale. Terms: none.",
    )


def _segments(lines) -> np.ndarray:
    """Polylines as segments (m, 2 ends, 2 coordinates)."""
    return np.array([pair for line in lines for pair in pairwise(line)], float)


def _rotation(angle: float) -> np.ndarray:
    return np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])


def _draw(segments: np.ndarray, size: int) -> np.ndarray:
    """Image (size, size) of lines about two pixels wide: full ink on a line, none from LINE_REACH on."""
    pixels = np.stack(np.meshgrid(np.arange(size), np.arange(size), indexing="ij"), axis=-1)[:, :, None]
    start, direction = segments[:, 0], segments[:, 1] - segments[:, 0]
    along = ((pixels - start) * direction).sum(-1) / (direction**2).sum(-1)
    nearest = start + np.clip(along, 0, 1)[..., None] * direction
    distance = np.linalg.norm(pixels - nearest, axis=-1).min(axis=-1)
    return np.clip(LINE_REACH - distance, 0, 1)
