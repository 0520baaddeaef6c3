"""Images moved along tangents by gradients and by finite differences, [Pozdnoukhov04] sec. 3.1, fig. 2.

The paper shows one face: along tangents by gradients, eq. (5), "only very local rotations are reasonable", whatever the
blur; along the difference to the face rotated by 10° all steps up to 10° look right. Here the error of such an image is
its distance from the truly rotated image, in per cent of the distance between that and the image that was not moved: 0
is the rotated image, 100 no better than doing nothing. It is a mean over the faces of three people of Yale, 64 x 64,
and over both directions. Gradients are those of the image blurred by 1 or 2 pixels, as the derivative of a Gaussian.
Differences have no error at 10°, which they are made from.
"""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from experiments.outcome import Curve
from invariance._core.progress import track
from invariance.datasets import load_yale
from invariance.transformations import Rotations, tangent_vectors

ANGLES = (1, 2, 5, 8, 10)  # degrees
STEP = 10  # the finite rotation of the paper
N_PEOPLE = 3  # per run, so that five runs share nobody
DIFFERENCES = f"finite differences of {STEP}°"


def rotate_both_ways(images: np.ndarray, angle: float) -> np.ndarray:
    """Images (n, h, w) rotated by the angle in degrees in the direction of the generator, and back: (n, 2, h, w)."""
    return Rotations(3, limit=angle, border="edge").operators(images.shape[1:]).apply(images)[:, [2, 1]]


def move_by_gradients(images: np.ndarray, angle: float, blur: float) -> np.ndarray:
    """Move images to x ± α ℓ with the tangent ℓ of eq. (5): (n, 2, h, w)."""
    tangents = tangent_vectors(images, Rotations(3), "analytic", smoothing=blur)
    return images[:, None] + np.radians([angle, -angle])[:, None, None] * tangents


def move_by_differences(images: np.ndarray, angle: float) -> np.ndarray:
    """Move images to x + (α / 10°) ℓ, for the differences ℓ to the images rotated by 10° and -10°: (n, 2, h, w)."""
    return images[:, None] + angle / STEP * (rotate_both_ways(images, STEP) - images[:, None])


MOVES: dict[str, Callable[[np.ndarray, float], np.ndarray]] = {
    **{f"gradients, blurred by {blur:g}": partial(move_by_gradients, blur=blur) for blur in (1.0, 2.0)},
    DIFFERENCES: move_by_differences,
}


def measure(images: np.ndarray, rotated: np.ndarray, moved: np.ndarray) -> float:
    """Mean distance of moved images (n, 2, h, w) from the rotated ones, in per cent of the true movement."""
    missed, movement = (np.linalg.norm(found - rotated, axis=(2, 3)) for found in (moved, images[:, None]))
    return 100 * float(np.mean(missed / movement))


def draw_runs(labels: np.ndarray, n_runs: int, seed: int) -> list[np.ndarray]:
    """Indices of the images of `N_PEOPLE` people per run, nobody in two runs."""
    people = np.random.default_rng(seed).permutation(np.unique(labels))
    if n_runs * N_PEOPLE > len(people):
        raise ValueError(f"n_runs must be at most {len(people) // N_PEOPLE}, so that runs share nobody; got {n_runs}.")
    groups = people[: n_runs * N_PEOPLE].reshape(n_runs, N_PEOPLE)
    return [np.flatnonzero(np.isin(labels, group)) for group in groups]


def run(n_runs: int = 5, seed: int = 0, moves: Mapping[str, Callable] = MOVES) -> list[Curve]:
    """Errors by angle."""
    data = load_yale(size=64)
    images, labels = np.asarray(data.images, np.float32) / 255, np.asarray(data.labels)
    errors = np.empty((len(moves), n_runs, len(ANGLES)))
    for number, drawn in enumerate(track(draw_runs(labels, n_runs, seed), "runs")):
        faces = images[drawn]
        for place, angle in enumerate(ANGLES):
            rotated = rotate_both_ways(faces, angle)
            for row, move in enumerate(moves.values()):
                errors[row, number, place] = measure(faces, rotated, move(faces, angle))
    return [Curve(name, ANGLES, rates) for name, rates in zip(moves, errors, strict=True)]
