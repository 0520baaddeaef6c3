"""Everything that the laws run over, derived from the package: a new room, class or set is found by itself.

Only arguments are written down here: those without which a class cannot be made, and those that make it quick. A class
that cannot be made with them fails the law `test_every_public_class_can_be_made`, so that nothing can be forgotten.
"""

import importlib
import inspect
import pkgutil
import re
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.preprocessing import StandardScaler

import invariance
from invariance.codebooks import BagOfFeatures, RandomWindows
from invariance.descriptors import GradientPyramid
from invariance.encoders import default_encoder
from invariance.hierarchies import DerivedKernel, Layer, NeuralResponse
from invariance.tangents import TangentDistance, TangentVectorKernel
from invariance.tradeoff import FeatureKernel, ImageKernel
from invariance.transformations import (
    Brightness,
    Custom,
    Elastic,
    Gamma,
    Identity,
    Illumination,
    IlluminationCorrections,
    Reflections,
    Rotations,
    Scales,
    Shifts,
    TransformationSet,
)

# Rooms of commands and pages instead of objects.
ROOMS_WITHOUT_OBJECTS = {"cli", "studio"}
ROOMS = sorted(
    module.name
    for module in pkgutil.iter_modules(invariance.__path__)
    if module.ispkg and not module.name.startswith("_") and module.name not in ROOMS_WITHOUT_OBJECTS
)


def public_names(room):
    """List the public names of a room."""
    return importlib.import_module(f"invariance.{room}").__all__


def public_classes(base):
    """Map the names of all public classes of a kind to the classes, over all rooms."""
    things = {name: getattr(importlib.import_module(f"invariance.{room}"), name)
              for room in ROOMS for name in public_names(room)}  # fmt: skip
    return {
        name: thing for name, thing in sorted(things.items()) if isinstance(thing, type) and issubclass(thing, base)
    }


def is_kernel(kind):
    """Whether a class is a kernel: called with images, it gives a Gram matrix, of which it knows the diagonal."""
    return callable(getattr(kind, "diag", None)) and "__call__" in dir(kind)


NOT_MADE: dict[str, str] = {}


def make_all(kinds, settings: dict[str, list[dict[str, Any]]]):
    """Make every class with each of its settings, or without any; what cannot be made is noted in `NOT_MADE`."""
    made = []
    for name, kind in kinds.items():
        for arguments in settings.get(name, [{}]):
            has_seed = "random_state" in inspect.signature(kind).parameters
            try:
                made.append(kind(**({"random_state": 0} if has_seed else {}) | arguments))
            except TypeError as error:
                NOT_MADE[name] = str(error)
    for name in settings.keys() - kinds.keys():
        NOT_MADE[name] = "there is no such public class"
    return made


# ---------------------------------------------------------------- transformation sets

SET_CLASSES = {name: kind for name, kind in public_classes(TransformationSet).items() if kind is not TransformationSet}
SET_SETTINGS: dict[str, list[dict[str, Any]]] = {
    "Affine": [{"matrices": [[[1.1, 0.2], [-0.1, 0.9]], [[1, 0, 0.5], [0, 1, -1.5]]]}],
    "Brightness": [{"n": 3, "limit": 0.3}],
    "Custom": [{"functions": [np.flipud]}],
    "Elastic": [{"n": 3, "strength": 1.5, "smoothness": 2}],
    "Gamma": [{}, {"n": 4}],
    "Morphology": [{}, {"operations": ("open",), "radius": 2}],
    "Perspective": [{"tilt": 0.3}],
    "Reflections": [{}, {"axis": "both"}],
    "Rotations": [{"n": 24}, {"n": 5, "limit": 15, "border": "edge"}, {"n": 6, "interpolation": "nearest"}],
    "Scales": [{"n": 3, "limit": 1.4, "border": "reflect"}],
    "Shears": [{"limit": 20}],
    "Shifts": [
        {"reach": 2},
        {"reach": 3, "step": 2, "border": "edge"},
        {"reach": 2, "border": "reflect"},
        {"reach": 2, "border": "wrap"},
    ],
}
COMBINED_SETS = [
    Rotations(8) * Reflections(),
    Shifts(1) * Rotations(3, border="edge"),
    Rotations(4) | Scales(3),
    Shifts(1).closure(),
    Rotations(24).subsample(7),
    Elastic(2) * Shifts(1),
    Shifts(1) * IlluminationCorrections(),
    IlluminationCorrections() * Shifts(1, border="edge"),
    Shifts(1) * Illumination(2) * Rotations(4),
    Rotations(4) | Gamma(),
    Custom([np.flipud]) * Shifts(1),
]
ALL_SETS = make_all(SET_CLASSES, SET_SETTINGS) + COMBINED_SETS
LINEAR_SETS = [phi for phi in ALL_SETS if phi.operators((5, 6)).linear]

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

# ---------------------------------------------------------------- estimators

ESTIMATOR_CLASSES = {
    name: kind for name, kind in public_classes(BaseEstimator).items() if not issubclass(kind, TransformationSet)
}
FITTED_CLASSES = {name: kind for name, kind in ESTIMATOR_CLASSES.items() if hasattr(kind, "fit")}
SPECIFICATION_CLASSES = {name: kind for name, kind in ESTIMATOR_CLASSES.items() if not hasattr(kind, "fit")}
KERNEL_CLASSES = {name: kind for name, kind in ESTIMATOR_CLASSES.items() if is_kernel(kind)}

JUNGLE: dict[str, Any] = {"max_depth": 3, "max_steps": 15}
A_RESPONSE = NeuralResponse([Layer(1, n_templates=5)], random_state=0)
PYRAMID = GradientPyramid(n_bins=8, levels=2)
ENCODER = default_encoder(size=32)

# Settings for scikit-learn's own checks, whose samples are rows of a few features.
ROW_SETTINGS: dict[str, list[dict[str, Any]]] = {
    "ClusteringForest": [{"n_trees": 2, "n_leaves": 20}, {"n_trees": 2, "n_leaves": None, "max_trials": "sqrt"}],
    "OnnxEncoder": [{"path": "efficientnet-lite0", "size": 32}],
    "FeatureKernel": [{"transformer": StandardScaler(), "distance": "euclidean"}],
    "ImageKernel": [{"kernel": TangentDistance()}],
    "InvariantFeatures": [{"n_jungles": 2, **JUNGLE}],
    # A row of two or three features is no image in which a shift by one pixel, the default, would not matter.
    "JitteredDistance": [{"transformations": Brightness(3, limit=0.02)}],
    "JitteredSVC": [
        {"transformations": Brightness(3, limit=0.02)},
        {"transformations": Identity(), "distance": TangentDistance(sides="mean")},
    ],
    "JungleClassifier": [{"n_jungles": 2, "max_depth": 4, "max_steps": 20}],
    "KMeansCodebook": [{"n_words": 3}, {"n_words": 3, "batch_size": None, "n_init": 1}],
    # The gradients of a row of two or three features say little.
    "LandmarkClassifier": [{"descriptor": "pixels"}],
    "NeuralResponse": [{}, {"layers": [Layer(1, n_templates=5)], "kernel": "gaussian", "pooling": "mean"}],
    "TangentOneClassSVM": [{}, {"kernel": TangentVectorKernel(form="distribution"), "nu": 0.3}],
    "TangentSVC": [{}, {"kernel": TangentVectorKernel(form="sum", method="difference")}],
    "TradeoffClassifier": [{"kernels": [ImageKernel(TangentDistance())], "C": 10.0}],
    "TradeoffKernel": [{"kernels": [TangentDistance(), TangentVectorKernel(form="distribution")]}],
    "TreeClassifier": [{"max_depth": 4, "max_steps": 20}],
    "VirtualSVC": [{"transformations": Brightness(3, limit=0.1)}],
}
ROW_ESTIMATORS = make_all(FITTED_CLASSES, ROW_SETTINGS)

# Settings for images of 16 x 16 pixels, or what TASKS says instead; they state what does not matter.
IMAGE_SETTINGS: dict[str, list[dict[str, Any]]] = {
    "BagOfFeatures": [
        {"sampler": RandomWindows(60, 20)},
        {"sampler": RandomWindows(60, 20), "transformations": Rotations(4)},
    ],
    "ClusteringForest": [{"n_trees": 3, "n_leaves": 20}],
    "CodebookClassifier": [{"bag": BagOfFeatures(sampler=RandomWindows(60, 20))}],
    "DerivedKernel": [{"response": NeuralResponse([Layer(3, n_templates=10)], random_state=0)}],
    "EncoderClassifier": [{"encoder": ENCODER}],
    "FeatureKernel": [{"transformer": PYRAMID}],
    "GradientPyramid": [{"n_bins": 8, "levels": 2}],
    "ImageKernel": [{"kernel": TangentDistance()}],
    "ImageClassifier": [{"method": "tangent"}],
    "InvariantFeatures": [{"transformations": Rotations(3), "n_jungles": 3, "extremes": "both", "rank": 24, **JUNGLE}],
    "JitteredDistance": [{"transformations": Shifts(1)}],
    "JitteredSVC": [{"transformations": Shifts(1)}],
    "JungleClassifier": [
        {"transformations": Rotations(4), "n_jungles": 3, "rank": 24, **JUNGLE},
        {"transformations": Shifts(1) * IlluminationCorrections(), "n_jungles": 3, "max_samples": 0.7,
         "max_members": 0.5, "rank": 24, **JUNGLE},
    ],
    "JungleSegmenter": [
        {"transformations": Rotations(4), "patch_size": 7, "max_pixels": 200, "n_pseudo_labels": 300, "unlabelled": 9,
         "max_depth": 2, "rank": 12, "n_trees": 4},
        {"transformations": Shifts(1) * IlluminationCorrections(), "patch_size": 5, "max_pixels": 150, "n_rounds": 1,
         "n_jungles": 2, "max_depth": 2, "rank": 8},
    ],
    "KMeansCodebook": [{"n_words": 8}],
    "LandmarkClassifier": [{"n_landmarks": 12}, {"transformations": Rotations(4), "n_landmarks": 9}],
    "NeuralResponse": [{"layers": [Layer(3, n_templates=10)]}],
    "OnnxEncoder": [{"path": "efficientnet-lite0", "size": 32, "transformations": Reflections()}],
    "TangentOneClassSVM": [{}, {"kernel": TangentDistance(Shifts(1))}],
    "TangentSVC": [{"kernel": TangentVectorKernel(Rotations(3, limit=10))}],
    "TradeoffClassifier": [{"kernels": [FeatureKernel(PYRAMID), ImageKernel(TangentDistance())]}],
    "TangentVectorKernel": [{}, {"form": "sum", "method": "difference"}, {"form": "distribution"}],
    "TradeoffKernel": [{"kernels": [DerivedKernel(A_RESPONSE), TangentVectorKernel(form="distribution")]}],
    "TreeClassifier": [{"transformations": Reflections(), "rank": 24, **JUNGLE}],
    "TreesClassifier": [{"n_trees": 5, "max_leaves": 8, "sharpness": 0.8}],
    "VirtualSVC": [{"transformations": Shifts(1)}],
}  # fmt: skip
IMAGE_ESTIMATORS = make_all(FITTED_CLASSES, IMAGE_SETTINGS)

# Estimators that learn from something else than labelled images; see `task` in conftest.py.
TASKS = {"ClusteringForest": "rows", "KMeansCodebook": "rows", "TreesClassifier": "rows", "JungleSegmenter": "masks"}

# ---------------------------------------------------------------- specifications and kernels

SPECIFICATION_SETTINGS: dict[str, list[dict[str, Any]]] = {
    "BagKernel": [{}, {"kind": "intersection"}],
    "Layer": [{"size": 3}],
}
SPECIFICATIONS = make_all(SPECIFICATION_CLASSES, SPECIFICATION_SETTINGS)


def name_of(thing):
    """The test id of a set or estimator: its repr on one line, without addresses, which differ between workers."""
    return re.sub(r"\s+", " ", re.sub(r" at 0x[0-9a-f]+", "", repr(thing)))
