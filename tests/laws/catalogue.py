"""Everything the laws are run over. A new room adds its names here, and every law holds for them."""

import re

import numpy as np

from invariance.codebooks import ClusteringForest, KMeansCodebook
from invariance.hierarchies import Layer, NeuralResponse
from invariance.jungles import InvariantFeatures, JungleClassifier, TreeClassifier
from invariance.segmentation import JungleSegmenter
from invariance.tangents import (
    JitteredSVC,
    TangentDistance,
    TangentOneClassSVM,
    TangentSVC,
    TangentVectorKernel,
    VirtualSVC,
)
from invariance.transformations import (
    Affine,
    Brightness,
    Contrast,
    Custom,
    Elastic,
    Gamma,
    Identity,
    Illumination,
    Morphology,
    Perspective,
    Reflections,
    Rotations,
    Scales,
    Shears,
    Shifts,
)

LINEAR_SETS = [
    Identity(),
    Rotations(24),
    Rotations(5, limit=15, border="edge"),
    Rotations(6, interpolation="nearest"),
    Shifts(2),
    Shifts(3, step=2, border="edge"),
    Shifts(2, border="reflect"),
    Shifts(2, border="wrap"),
    Reflections(),
    Reflections("both"),
    Scales(3, limit=1.4, border="reflect"),
    Shears(3, limit=20),
    Affine([[[1.1, 0.2], [-0.1, 0.9]], [[1, 0, 0.5], [0, 1, -1.5]]]),
    Perspective(4, tilt=0.3),
    Elastic(3, strength=1.5, smoothness=2),
    Rotations(8) * Reflections(),
    Shifts(1) * Rotations(3, border="edge"),
    Rotations(4) | Scales(3),
    Shifts(1).closure(),
    Rotations(24).subsample(7),
    Elastic(2) * Shifts(1),
]

NONLINEAR_SETS = [
    Morphology(),
    Morphology(("open",), radius=2),
    Brightness(3, limit=0.3),
    Contrast(),
    Gamma(4),
    Illumination(),
    Custom([np.flipud]),
    Shifts(1) * Illumination(),
    Illumination() * Shifts(1, border="edge"),
    Rotations(4) | Gamma(),
]

ALL_SETS = LINEAR_SETS + NONLINEAR_SETS

# (set, image shape) that are groups exactly: their members only move pixels around.
GROUPS = [
    (Identity(), (6, 7)),
    (Rotations(4), (7, 7)),
    (Rotations(2), (5, 8)),
    (Reflections("both"), (5, 8)),
    (Rotations(4) * Reflections(), (8, 8)),
    (Shifts(2, border="wrap"), (5, 5)),
    (Shifts(4, border="wrap") * Reflections(), (6, 9)),
    (Rotations(4) * Shifts(2, border="wrap"), (5, 5)),
]

# Every public estimator, with settings that make it quick. `random_state` is an int, so that a law may fit it twice.
ESTIMATORS = [
    JungleClassifier(n_jungles=2, max_depth=4, max_steps=20, random_state=0),
    JungleClassifier(n_jungles=2, max_depth=3, max_steps=20, final_estimator="linear", random_state=0),
    TreeClassifier(max_depth=4, max_steps=20, random_state=0),
    InvariantFeatures(n_jungles=2, max_depth=3, max_steps=20, random_state=0),
    ClusteringForest(n_trees=2, n_leaves=20, random_state=0),
    ClusteringForest(n_trees=2, n_leaves=None, min_gain=0.01, max_trials="sqrt", threshold="samples", random_state=0),
    KMeansCodebook(n_words=3, random_state=0),
    KMeansCodebook(n_words=3, batch=True, max_iter=20, random_state=0),
    NeuralResponse([Layer(1, n_templates=5)], kernel="gaussian", pooling="mean", random_state=0),
    NeuralResponse(random_state=0),
    TangentSVC(),
    TangentSVC(TangentVectorKernel(form="sum", method="difference"), definite="clip"),
    # A row of two or three features is no image in which a shift by one pixel, the default, would not matter.
    VirtualSVC(Brightness(3, limit=0.1)),
    JitteredSVC(Brightness(3, limit=0.02)),
    JitteredSVC(Identity(), distance=TangentDistance(sides="mean"), definite="flip"),
    TangentOneClassSVM(),
    TangentOneClassSVM(TangentVectorKernel(form="distribution"), nu=0.3, definite="clip"),
]

# Checks of scikit-learn's that an estimator cannot pass, by its name, with the reason.
ROWS_ARE_DRAWN = (
    "a row of weight two is not quite two rows: the basis and its spread are measured, and samples held out, by row, "
    "and a leaf's shares are smoothed by the mean weight of a row"
)
EXPECTED_FAILURES = {
    name: {"check_sample_weight_equivalence_on_dense_data": ROWS_ARE_DRAWN}
    for name in ("JungleClassifier", "TreeClassifier", "InvariantFeatures")
}
EXPECTED_FAILURES["NeuralResponse"] = {
    "check_sample_weight_equivalence_on_dense_data": "templates are drawn: twice the chance is not two equal rows"
}

# Estimators for images: what is irrelevant in them is stated, with a linear set, one that is not, and parts of one.
IMAGE_ESTIMATORS = [
    JungleClassifier(Rotations(4), n_jungles=3, max_depth=4, max_steps=15, rank=24, random_state=0),
    JungleClassifier(
        Shifts(1) * Illumination(),
        n_jungles=3,
        max_depth=3,
        max_samples=0.7,
        max_members=0.5,
        max_steps=15,
        rank=24,
        random_state=0,
    ),
    JungleClassifier(
        Rotations(4), n_jungles=3, final_estimator="linear", max_depth=3, max_steps=15, rank=24, random_state=0
    ),
    TreeClassifier(Reflections(), max_depth=4, max_steps=15, rank=24, threshold="zero", random_state=0),
    InvariantFeatures(Rotations(3), n_jungles=3, max_depth=3, max_steps=15, rank=24, extremes="both", random_state=0),
]

# Estimators of pixels: images and their masks instead of labels. scikit-learn's checks know no such y.
PIXEL_ESTIMATORS = [
    JungleSegmenter(
        Rotations(4),
        patch_size=7,
        max_pixels=200,
        n_pseudo_labels=300,
        unlabelled=9,
        max_depth=2,
        rank=12,
        n_trees=4,
        random_state=0,
    ),
    JungleSegmenter(
        Shifts(1) * Illumination(),
        patch_size=5,
        max_pixels=150,
        n_rounds=1,
        n_jungles=2,
        max_depth=2,
        rank=8,
        final_estimator="linear",
        random_state=0,
    ),
]


def name_of(phi):
    """The test id of a set or estimator: its repr on one line, without addresses, which differ between workers."""
    return re.sub(r"\s+", " ", re.sub(r" at 0x[0-9a-f]+", "", repr(phi)))
