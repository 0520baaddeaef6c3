"""Derived kernels between rotations of one image and between different images, [Wibisono10] sec. 6.2.1, fig. 2.

One image per class and its rotations by multiples of 30°. The figure is the mean of 1 - K within rotations of an image
in per cent of the mean between those of different images: 0 if the kernel ignores rotation, 100 if rotations differ as
much as images. The paper draws the two distributions, without figures. Images are rotated as in `rotated_images`.
"""

import time

import numpy as np
from skimage.transform import rotate

from experiments.outcome import Outcome
from experiments.rotated_images import N_TEMPLATE_IMAGES, SETS, make_response
from invariance._core.progress import track
from invariance.transformations import invariance_profile

ANGLES = range(0, 360, 30)
KERNELS = ("histogram", "inner")


def turn(images: np.ndarray) -> np.ndarray:
    """Images (n, h, w) at all angles, (n, 12, h, w)."""
    return np.stack([[rotate(image, angle, order=0) for angle in ANGLES] for image in images])


def judge(kernel: str, photos, seed: int) -> float:
    """1 - K within rotations in per cent of 1 - K between images, means of both."""
    rng = np.random.default_rng(seed)
    chosen = [rng.choice(np.flatnonzero(photos.labels == label)) for label in np.unique(photos.labels)]
    others = rng.permutation(np.setdiff1d(np.arange(len(photos.labels)), chosen))[:N_TEMPLATE_IMAGES]
    response = make_response(kernel, photos.sizes, photos.hop, seed).fit(photos.images[others])
    profile = invariance_profile(response, photos.images[chosen], turn)
    # Responses have length 1, so that squared distances are 2 (1 - K).
    return float(100 * np.mean(profile.within**2) / np.mean(profile.between**2))


def run(n_trials: int = 5, sets: dict = SETS, seed: int = 0) -> dict[str, list[Outcome]]:
    """Both kernels on every set of images; one trial per seed, from `seed` on."""
    tables: dict[str, list[Outcome]] = {}
    for name, read in sets.items():
        photos = read()
        for kernel in KERNELS:
            started = time.perf_counter()
            numbers = track(range(seed, seed + n_trials), f"{name}, {kernel}")
            shares = [judge(kernel, photos, number) for number in numbers]
            seconds = (time.perf_counter() - started) / n_trials
            tables.setdefault(name, []).append(Outcome(kernel, np.array(shares), None, seconds))
            print(tables[name][-1], flush=True)
    return tables
