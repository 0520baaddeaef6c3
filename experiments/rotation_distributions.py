"""Derived kernels between rotations of one image and between different images, [Wibisono10] sec. 6.2.1, fig. 2.

One image per class and its rotations by multiples of 30°. The Q-Q plots hold the quantiles of 1 - K within rotations of
an image and between those of different images, of all trials together, in units of the mean between images. A curve
that begins vertically means that rotations coincide; one below the diagonal, that rotations differ more than images.
The figure of the table is the mean of 1 - K within in per cent of the mean between: 0 if the kernel ignores rotation,
100 if rotations differ as much as images. The paper has plots without figures. Images are rotated as in
`rotated_images`.
"""

import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from skimage.transform import rotate

from experiments.outcome import Curve, Outcome, Plot
from experiments.rotated_images import N_TEMPLATE_IMAGES, SETS, Images, make_response
from invariance._core.progress import track
from invariance.transformations import invariance_profile

ANGLES = range(0, 360, 30)
KERNELS = ("histogram", "inner")
LEVELS = np.linspace(0, 1, 51)


def turn(images: np.ndarray) -> np.ndarray:
    """Images (n, h, w) at all angles, (n, 12, h, w)."""
    return np.stack([[rotate(image, angle, order=0) for angle in ANGLES] for image in images])


class Distributions(NamedTuple):
    """Values of 1 - K within rotations of an image (n,), and between rotations of different images (m,)."""

    within: np.ndarray
    between: np.ndarray

    @property
    def share(self) -> float:
        """Mean within in per cent of the mean between."""
        return float(100 * np.mean(self.within) / np.mean(self.between))


def compare(kernel: str, photos: Images, seed: int) -> Distributions:
    """Distributions of 1 - K on one image per class; templates come from other images."""
    rng = np.random.default_rng(seed)
    chosen = [rng.choice(np.flatnonzero(photos.labels == label)) for label in np.unique(photos.labels)]
    others = rng.permutation(np.setdiff1d(np.arange(len(photos.labels)), chosen))[:N_TEMPLATE_IMAGES]
    response = make_response(kernel, photos.sizes, photos.hop, seed).fit(photos.images[others])
    profile = invariance_profile(response, photos.images[chosen], turn)
    # Responses have length 1, so that squared distances are 2 (1 - K).
    return Distributions(profile.within**2 / 2, profile.between**2 / 2)


def quantile_curve(kernel: str, trials: Sequence[Distributions]) -> Curve:
    """Quantiles within (the places) and between (the rates) of all trials, in units of the mean between images."""
    within, between = (np.concatenate(values) for values in zip(*trials, strict=True))
    of_within, of_between = (np.quantile(values, LEVELS) / between.mean() for values in (within, between))
    return Curve(kernel, tuple(of_within.tolist()), of_between[None])


def quantile_plot(name: str, trials: Mapping[str, Sequence[Distributions]]) -> Plot:
    """The Q-Q plot of all kernels, and the diagonal."""
    curves = [quantile_curve(kernel, found) for kernel, found in trials.items()]
    end = max(max(curve.places[-1], curve.rates[0, -1]) for curve in curves)
    diagonal = Curve("within = between", (0.0, float(end)), np.array([[0.0, end]]))
    unit = "in units of the mean between images"
    return Plot(f"{name}, quantiles of 1 - K {unit}", "within rotations", "between images", [*curves, diagonal])


def run(n_trials: int = 5, sets: Mapping = SETS, seed: int = 0) -> tuple[dict[str, list[Outcome]], list[Plot]]:
    """Both kernels on every set of images: shares and Q-Q plots; one trial per seed, from `seed` on."""
    tables: dict[str, list[Outcome]] = {}
    plots = []
    for name, read in sets.items():
        photos = read()
        trials: dict[str, list[Distributions]] = {}
        for kernel in KERNELS:
            started = time.perf_counter()
            numbers = track(range(seed, seed + n_trials), f"{name}, {kernel}")
            trials[kernel] = [compare(kernel, photos, number) for number in numbers]
            seconds = (time.perf_counter() - started) / n_trials
            shares = np.array([trial.share for trial in trials[kernel]])
            tables.setdefault(name, []).append(Outcome(kernel, shares, None, seconds))
            print(tables[name][-1], flush=True)
        plots.append(quantile_plot(name, trials))
    return tables, plots
