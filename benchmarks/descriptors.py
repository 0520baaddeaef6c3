"""Dense SIFT against OpenCV's SIFT at the same windows: speed, how well places are found again, and accuracy.

Usage, from the repository: python -m benchmarks.descriptors [--accuracy]
Images are those of flowers17 (training and validation images of split 1) and of uiuc_textures if available, else
generated. An image is turned, zoomed or made noisy a little; a place is found again if of all vectors of the changed
image the nearest one is at most one step from where the place has moved to. Seconds are those of the processor, on one
thread; every ratio compares two figures of the same run. `--accuracy` adds the method "objects" with either descriptor,
trained on training and judged on validation images, which takes minutes.
"""

import sys
import time
from typing import Any

import cv2
import numpy as np

from invariance._core.parallel import one_blas_thread
from invariance.datasets import DatasetMissing, load_flowers17, load_uiuc_textures
from invariance.descriptors import DenseSift, SiftWindows
from invariance.descriptors.dense_sift import split_channels
from invariance.descriptors.protocol import RegularDescriptor, grid_windows, window_centres
from invariance.images import check_image, shrink

STEP, RADII = 6, (8, 12, 18)
N_IMAGES = 12
N_SEEDS = 3  # of accuracies
# Degrees, zoom, and standard deviation of noise.
CHANGES = {
    "turned by 5°": (5, 1, 0),
    "zoomed by 1.1": (0, 1.1, 0),
    "noise of 0.05": (0, 1, 0.05),
    "all": (5, 1.1, 0.05),
}


class OpencvDenseSift(RegularDescriptor):
    """The windows of `DenseSift`, each described by OpenCV."""

    def __init__(self, step=6, radii=(8, 12, 16, 24), channels="grey"):
        self.step = step
        self.radii = radii
        self.channels = channels

    @property
    def invariances(self):
        """None that matter here."""
        return ()

    def _windows(self, shape):
        return np.concatenate([grid_windows(shape, 2 * radius, self.step) for radius in self.radii])

    def _describe(self, image):
        windows = self._windows(image.shape)
        planes = split_channels(check_image(image), self.channels)
        return np.hstack([SiftWindows().extract(plane, windows)[0] for plane in planes])

    def _places(self, shape):
        return window_centres(self._windows(shape))


def load_images() -> dict[str, list[np.ndarray]]:
    """Some images of every data set, of at most 320 pixels per side."""
    found = {}
    try:
        flowers = load_flowers17()
        rows = np.concatenate([flowers.splits[name] for name in ("train1", "validation1")])
        found["flowers"] = [flowers.images[row] for row in rows[:: len(rows) // N_IMAGES][:N_IMAGES]]
    except DatasetMissing as missing:
        print(missing)
    try:
        textures = load_uiuc_textures().images
        found["textures"] = [textures[row] for row in range(0, len(textures), len(textures) // N_IMAGES)][:N_IMAGES]
    except DatasetMissing as missing:
        print(missing)
    if not found:
        rng = np.random.default_rng(0)
        found["generated"] = [cv2.resize(rng.random((24 + 4 * k, 32, 3)), (320, 240)) for k in range(N_IMAGES)]
    return {name: [shrink(np.asarray(image), 320) for image in images] for name, images in found.items()}


def change(image: np.ndarray, degrees: float, zoom: float, noise: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The changed image, and the matrix (2, 3) that takes (x, y, 1) to where it has moved."""
    height, width = image.shape[:2]
    matrix = cv2.getRotationMatrix2D(((width - 1) / 2, (height - 1) / 2), degrees, zoom)
    moved = cv2.warpAffine(image, matrix, (width, height), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)
    moved = moved + noise * np.random.default_rng(seed).standard_normal(moved.shape)
    return np.clip(moved, 0, 1).astype(np.float32), matrix


def count_found(descriptor: Any, images: list[np.ndarray], how: tuple[float, float, float]) -> float:
    """The share of places, of all windows of one radius, that are found again in the changed image."""
    found, total = 0, 0
    for seed, image in enumerate(images):
        changed, matrix = change(image, *how, seed)
        vectors, places = descriptor.extract(image)
        others, other_places = descriptor.extract(changed)
        moved = np.column_stack([places[:, ::-1], np.ones(len(places))]) @ matrix.T
        expected = moved[:, ::-1]
        low, high = other_places.min(axis=0), other_places.max(axis=0)
        is_inside = ((expected >= low) & (expected <= high)).all(axis=1) & vectors.any(axis=1)
        nearest = (vectors[is_inside] @ others.T).argmax(axis=1)
        away = np.abs(other_places[nearest] - expected[is_inside]).max(axis=1)
        found, total = found + int((away <= STEP).sum()), total + len(away)
    return found / total


def compare_speed(images: list[np.ndarray], settings: tuple) -> None:
    seconds = {}
    for kind in (DenseSift, OpencvDenseSift):
        descriptor = kind(*settings)
        descriptor.extract(images[0])  # compile
        started = time.process_time()
        n_vectors = sum(len(descriptor.extract(image)[0]) for image in images)
        seconds[kind] = time.process_time() - started
    ours, theirs = (1000 * took / len(images) for took in seconds.values())
    print(
        f"  {settings}: {n_vectors / len(images):,.0f} windows per image, ours {ours:.1f} ms, OpenCV {theirs:.1f} ms, "
        f"{theirs / ours:.1f} times"
    )


def compare_matching(images: list[np.ndarray]) -> None:
    for name, how in CHANGES.items():
        shares = []
        for kind in (DenseSift, OpencvDenseSift):
            shares.append(np.mean([count_found(kind(STEP, (radius,)), images, how) for radius in RADII]))
        print(f"  {name}: places found again, ours {100 * shares[0]:.1f} %, OpenCV {100 * shares[1]:.1f} %")


def compare_accuracy() -> None:
    """The method "objects" on split 1 of flowers, from training to validation images, with either descriptor."""
    from invariance.methods import ImageClassifier, objects

    flowers = load_flowers17()
    parts = [flowers.splits[name] for name in ("train1", "validation1")]
    (images, labels), (others, truth) = (
        ([shrink(np.asarray(flowers.images[row]), 320) for row in rows], np.asarray(flowers.labels)[rows])
        for rows in parts
    )
    for seed in range(N_SEEDS):
        for kind in (DenseSift, OpencvDenseSift):
            objects.DenseSift = kind
            started = time.process_time()
            model = ImageClassifier("objects", random_state=seed).fit(images, labels)
            accuracy = 100 * np.mean(model.predict(others) == truth)
            took = time.process_time() - started
            print(f"objects on flowers, seed {seed}, {kind.__name__}: {accuracy:.2f} %, {took:.0f} s", flush=True)
    objects.DenseSift = DenseSift


if __name__ == "__main__":
    cv2.setNumThreads(1)
    with one_blas_thread():
        for name, images in load_images().items():
            print(f"{name}, {len(images)} images")
            for settings in ((STEP, RADII), (8, (8, 16), "opponent"), (4, (8, 16, 24))):
                compare_speed(images, settings)
            compare_matching(images)
        if "--accuracy" in sys.argv:
            compare_accuracy()
