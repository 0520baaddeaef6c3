"""Real data that scikit-learn and scikit-image ship in their wheels, so that they are always present, also offline."""

import numpy as np

from invariance._core.checks import check_choice, check_count
from invariance._core.randomness import RandomState, spawn_rngs
from invariance.datasets._dataset import Dataset

TEXTURES = ("brick", "grass", "gravel")


def load_digits() -> Dataset:
    """Load handwritten digits from scikit-learn.

    Returns
    -------
    Dataset
        Images (1797, 8, 8), float32 in [0, 1], with labels.
    """
    from sklearn import datasets

    bunch = datasets.load_digits()
    return Dataset(
        "digits",
        (bunch.images / 16).astype(np.float32),
        bunch.target.astype(np.int64),
        class_names=tuple("0123456789"),
        description="Optical recognition of handwritten digits, UCI, test part; shipped with scikit-learn. "
        "Terms: CC BY 4.0; cite Alpaydin and Kaynak 1998.",
    )


def load_faces() -> Dataset:
    """Load faces, and windows without a face, from scikit-image.

    Returns
    -------
    Dataset
        Images (200, 25, 25), float32; 100 faces with label 1 and 100 others with label 0.
    """
    from skimage import data

    return Dataset(
        "faces",
        data.lfw_subset().astype(np.float32),
        np.repeat([1, 0], 100),
        class_names=("no face", "face"),
        description="A subset of Labeled Faces in the Wild, shipped with scikit-image. "
        "Terms: see scikit-image's data notes; cite Huang et al. 2007.",
    )


def load_textures(n_windows: int = 100, size: int = 32, split: str = "train", random_state: RandomState = 0) -> Dataset:
    """Cut windows from photographs of brick, grass and gravel of scikit-image, each at a random rotation.

    Parameters
    ----------
    n_windows : int, default=100
        Number of windows per texture.
    size : int, default=32
        Pixels per side of a window.
    split : {"train", "test"}, default="train"
        "train" windows come from the upper half of each photograph and "test" windows from the lower half, so that no
        pixel is in both.
    random_state : int, Generator or None, default=0
        Seed of places and rotations.

    Returns
    -------
    Dataset
        Images (3 n_windows, size, size), float32, with labels.
    """
    from skimage import data

    check_choice("split", split, ("train", "test"))
    images = [getattr(data, name)().astype(np.float32) / 255 for name in TEXTURES]
    rngs = spawn_rngs(random_state, 2 * len(TEXTURES))[split == "test" :: 2]
    windows = [
        cut_windows(_half(image, split), check_count("n_windows", n_windows), size, rng)
        for image, rng in zip(images, rngs, strict=True)
    ]
    return Dataset(
        "textures",
        np.concatenate(windows),
        np.repeat(np.arange(len(TEXTURES)), n_windows),
        class_names=TEXTURES,
        description="Windows of photographs of brick, grass and gravel, shipped with scikit-image. "
        "Terms: CC0, see scikit-image's data notes.",
    )


def _half(image: np.ndarray, split: str) -> np.ndarray:
    middle = len(image) // 2
    return image[:middle] if split == "train" else image[middle:]


def cut_windows(image: np.ndarray, n_windows: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """`n_windows` square windows of an image (h, w) at random places and rotations, with no pixel from outside it."""
    from scipy.ndimage import map_coordinates

    side = np.arange(check_count("size", size)) - (size - 1) / 2
    reach = np.hypot(side[-1], side[-1])  # of a corner from the centre, whatever the rotation
    room = np.array(image.shape) - 1 - 2 * reach
    if room.min() < 0:
        raise ValueError(f"size must let a rotated window fit into {image.shape} pixels; got {size}.")
    centres = reach + rng.random((n_windows, 2)) * room
    angles = rng.uniform(0, 2 * np.pi, n_windows)[:, None, None]
    rows, columns = np.meshgrid(side, side, indexing="ij")
    at = (
        centres[:, 0, None, None] + np.cos(angles) * rows - np.sin(angles) * columns,
        centres[:, 1, None, None] + np.sin(angles) * rows + np.cos(angles) * columns,
    )
    return map_coordinates(image, at, order=1, mode="nearest").astype(np.float32)
