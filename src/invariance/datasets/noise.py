"""Generated textures: noise of a given spectrum at a random rotation, without interpolation."""

import numpy as np

from invariance._core.checks import check_count
from invariance._core.randomness import RandomState, make_rng
from invariance.datasets._dataset import Dataset

# name: (wavelength in pixels, number of directions, spread of a direction in radians or None for all directions)
SPECTRA = {
    "coarse stripes": (8.0, 1, 0.15),
    "fine stripes": (4.5, 1, 0.15),
    "weave": (6.0, 2, 0.15),
    "grain": (6.0, 1, None),
}


def make_textures(n_per_class: int = 50, size: int = 32, random_state: RandomState = 0) -> Dataset:
    """Generate noise textures of four classes, each rotated by a random angle.

    A texture is white noise filtered in the Fourier plane to a ring (its wavelength) and to one or two directions. The
    filter is rotated, so that nothing is interpolated. All classes have mean 0.5 and standard deviation 0.15.

    Parameters
    ----------
    n_per_class : int, default=50
        Number of textures per class.
    size : int, default=32
        Pixels per side.
    random_state : int, Generator or None, default=0
        Seed.

    Returns
    -------
    Dataset
        Images (4 n_per_class, size, size), float32 in [0, 1], with labels.
    """
    n_images = check_count("n_per_class", n_per_class) * len(SPECTRA)
    check_count("size", size, at_least=8)
    rng = make_rng(random_state)
    labels = np.repeat(np.arange(len(SPECTRA)), n_per_class)
    angles = rng.uniform(0, np.pi, n_images)
    spectra = list(SPECTRA.values())
    canvas = 2 * size  # twice the window, as filtered noise is periodic and a texture is not
    gains = np.stack([_gain(canvas, angle, *spectra[label]) for label, angle in zip(labels, angles, strict=True)])
    waves = np.fft.ifft2(np.fft.fft2(rng.normal(size=gains.shape)) * gains).real[:, :size, :size]
    waves -= waves.mean(axis=(1, 2), keepdims=True)
    waves /= waves.std(axis=(1, 2), keepdims=True)
    return Dataset(
        "noise_textures",
        np.clip(0.5 + 0.15 * waves, 0, 1).astype(np.float32),
        labels,
        class_names=tuple(SPECTRA),
        description="Generated noise of four spectra at random rotations. Terms: none.",
    )


def _gain(side: int, angle: float, wavelength: float, n_directions: int, spread: float | None) -> np.ndarray:
    """Amplitude (side, side) at each frequency of the Fourier plane."""
    frequency = np.fft.fftfreq(side)
    radius = np.hypot(frequency[:, None], frequency)
    radius[0, 0] = 1 / side  # a constant has no direction; far outside the ring it gets no weight
    gain = np.exp(-((np.log(radius * wavelength) / 0.2) ** 2) / 2)
    if spread is None:
        return gain
    direction = np.arctan2(frequency[:, None], frequency) - angle
    period = np.pi / n_directions
    off = (direction + period / 2) % period - period / 2
    return gain * np.exp(-((off / spread) ** 2) / 2)
