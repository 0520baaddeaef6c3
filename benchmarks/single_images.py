"""How long every method takes to classify a single image, at its default size.

Usage, from the repository: python -m benchmarks.single_images [METHOD ...]
Photographs of 160 to 320 pixels per side for methods that ask for them, digits otherwise; models are trained on 120
images. Milliseconds are the median over images that no model has seen and that are not kept, by the clock and of the
processor (on one thread with OMP_NUM_THREADS=1), beside those of HOG and a support vector machine, by scikit-image and
scikit-learn, on the same images in the same run.
"""

import os
import sys
import time

import numpy as np
from scipy import ndimage
from skimage.feature import hog
from skimage.transform import resize
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from invariance.methods import ImageClassifier
from invariance.methods.registry import method_names

N_TRAINING, N_TIMED, N_CLASSES = 120, 21, 4
PHOTOS = ("objects", "photos", "texture", "encoder")


def make_photos(n: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Colour images of blobs, whose coarseness is their class."""
    rng, labels = np.random.default_rng(0), np.arange(n) % N_CLASSES
    images = []
    for label in labels:
        shape = (*rng.integers(160, 321, 2), 3)
        noise = ndimage.gaussian_filter(rng.standard_normal(shape), (1 + 2 * label, 1 + 2 * label, 0))
        images.append(np.clip(0.5 + 0.2 * noise / noise.std(), 0, 1).astype(np.float32))
    return images, labels


def make_digits(n: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Scikit-learn's digits."""
    digits = load_digits()
    rows = np.flatnonzero(digits.target < N_CLASSES)[:n]
    return [np.float32(image / 16) for image in digits.images[rows]], digits.target[rows]


class HogPeer:
    """Histograms of oriented gradients of images of 64 x 64 pixels, and a support vector machine."""

    def fit(self, images, labels):
        """Learn from images."""
        self.svm = SVC().fit([self._describe(image) for image in images], labels)
        return self

    def predict(self, images):
        """Return a label per image."""
        return self.svm.predict([self._describe(image) for image in images])

    @staticmethod
    def _describe(image):
        grey = image.mean(axis=2) if image.ndim == 3 else image
        return hog(resize(grey, (64, 64)), pixels_per_cell=(8, 8))


def median_milliseconds(classifier, images: list[np.ndarray]) -> tuple[float, float]:
    """The median time to classify one image, by the clock and of the processor; the first one loads compiled code."""
    seconds = []
    for image in images:
        started = time.perf_counter(), time.process_time()
        classifier.predict([image])
        seconds.append((time.perf_counter() - started[0], time.process_time() - started[1]))
    elapsed, busy = 1000 * np.median(seconds[1:], axis=0)
    return float(elapsed), float(busy)


def compare(names: list[str]) -> None:
    for kind, make in (("photographs", make_photos), ("digits", make_digits)):
        images, labels = make(N_TRAINING + N_TIMED)
        training, others = (images[:N_TRAINING], labels[:N_TRAINING]), images[N_TRAINING:]
        peer = median_milliseconds(HogPeer().fit(*training), others)
        print(f"{kind}: HOG and SVM {peer[0]:.1f} ms, {peer[1]:.1f} ms of the processor", flush=True)
        for name in names:
            if (name in PHOTOS) == (make is make_photos):
                elapsed, busy = median_milliseconds(ImageClassifier(name, random_state=0).fit(*training), others)
                print(
                    f"  {name}: {elapsed:.1f} ms per image, {busy:.1f} ms of the processor, {busy / peer[1]:.1f} times",
                    flush=True,
                )


if __name__ == "__main__":
    os.environ["INVARIANCE_CACHE"] = "0"  # an image that was seen before would take no time
    compare(sys.argv[1:] or list(method_names()))
