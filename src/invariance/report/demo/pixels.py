"""Pixels from a handful of strokes: a segmenter and a pixel forest learn from one section and label others."""

from typing import NamedTuple

import cv2
import numpy as np
from skimage.feature import multiscale_basic_features
from sklearn.ensemble import RandomForestClassifier

from invariance._core.randomness import spawn_rngs
from invariance.datasets import make_membranes
from invariance.segmentation import JungleSegmenter, SegmentationScores, segmentation_scores

OURS, FOREST = "this library", "pixel forest"
SIDE = 192
NOISE = 0.2  # as in sections that are imaged fast; without noise, thresholds would do
N_NEW = 2  # sections that are labelled
N_STROKES, LENGTH, WIDTH = 8, 60, 3  # and pixels
UNLABELLED, CELL, MEMBRANE = range(3)


class PixelDemo(NamedTuple):
    """What was painted, and what was made of it.

    Attributes
    ----------
    painted : ndarray of shape (h, w)
        The section with strokes.
    strokes : ndarray of shape (h, w), uint8
        0 where nothing is painted, 1 on cells, 2 on membranes.
    images, truth : ndarray of shape (n, h, w)
        The new sections, and where their membranes are.
    probabilities : dict of str to ndarray of shape (n, h, w)
        Of membrane, by method.
    scores : dict of str to SegmentationScores
    """

    painted: np.ndarray
    strokes: np.ndarray
    images: np.ndarray
    truth: np.ndarray
    probabilities: dict[str, np.ndarray]
    scores: dict[str, SegmentationScores]

    @property
    def sentence(self) -> str:
        """The result in one sentence."""
        ours, forest = self.scores[OURS], self.scores[FOREST]
        return (
            f"Pixels: from {N_STROKES} strokes on one section, {ours.pixel_error:.1%} of the pixels of "
            f"{len(self.images)} new sections are wrong; {forest.pixel_error:.1%} by a pixel forest on the same "
            f"strokes. Cells found (V_rand, at most 1): {ours.v_rand:.2f}, and {forest.v_rand:.2f} by the forest."
        )


def run_pixels(random_state: int = 0, n_jobs: int | None = -1) -> PixelDemo:
    """Generate sections, paint strokes on the first, and label the others by both methods.

    Parameters
    ----------
    random_state : int, default=0
    n_jobs : int or None, default=-1

    Returns
    -------
    result : PixelDemo
    """
    sections = make_membranes(1 + N_NEW, (SIDE, SIDE), noise=NOISE, random_state=random_state)
    masks = np.asarray(sections.masks)
    images, truth = np.asarray(sections.images[1:]), masks[1:]
    [rng] = spawn_rngs(random_state, 1)
    strokes = paint_strokes(masks[0], rng)
    segmenter = JungleSegmenter(unlabelled=UNLABELLED, n_jobs=n_jobs, random_state=random_state)
    segmenter.fit([sections.images[0]], [strokes])
    column = list(segmenter.classes_).index(MEMBRANE)
    probabilities = {
        OURS: segmenter.predict_proba(images)[..., column],
        FOREST: predict_by_forest(sections.images[0], strokes, images, random_state, n_jobs),
    }
    scores = {name: segmentation_scores(found, truth, n_jobs=n_jobs) for name, found in probabilities.items()}
    return PixelDemo(np.asarray(sections.images[0]), strokes, images, truth, probabilities, scores)


def paint_strokes(mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Paint straight strokes across a section, with the class that is under the brush; return labels (h, w)."""
    strokes = np.zeros(mask.shape, np.uint8)
    for _ in range(N_STROKES):
        angle, centre = rng.uniform(0, np.pi), rng.uniform(LENGTH / 2, np.array(mask.shape[::-1]) - LENGTH / 2)
        reach = LENGTH / 2 * np.array([np.cos(angle), np.sin(angle)])
        ends = np.rint([centre - reach, centre + reach]).astype(int)
        stroke = cv2.line(np.zeros_like(strokes), tuple(ends[0]), tuple(ends[1]), 1, WIDTH).astype(bool)
        strokes[stroke] = np.where(mask[stroke], MEMBRANE, CELL)
    return strokes


def predict_by_forest(
    painted: np.ndarray, strokes: np.ndarray, images: np.ndarray, random_state: int, n_jobs: int | None
) -> np.ndarray:
    """Probabilities (n, h, w) of membrane by a random forest on intensities, edges and textures at several scales.

    These are the features of scikit-image's tutorial on trainable segmentation, and much like those of ilastik.
    """
    forest = RandomForestClassifier(100, n_jobs=n_jobs, random_state=random_state)
    is_painted = strokes != UNLABELLED
    forest.fit(_describe(painted)[is_painted], strokes[is_painted])
    column = list(forest.classes_).index(MEMBRANE)
    found = [forest.predict_proba(_describe(image).reshape(image.size, -1))[:, column] for image in images]
    return np.reshape(found, images.shape).astype(np.float32)


def _describe(image: np.ndarray) -> np.ndarray:
    return multiscale_basic_features(image, sigma_min=1, sigma_max=16)
