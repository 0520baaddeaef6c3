"""The library's own methods as base kernels: which of them a task wants, and with which Φ."""

from typing import Any

from invariance.codebooks import BagOfFeatures, WordHistograms
from invariance.descriptors import MaximumResponses
from invariance.hierarchies import NeuralResponse
from invariance.jungles import InvariantFeatures
from invariance.tangents import JitteredDistance, TangentDistance
from invariance.tradeoff.base import FeatureKernel, ImageKernel
from invariance.transformations import Identity, Rotations, Shifts, TransformationSet

SIDE = 32
LEARNED_COST = 3.0  # of the jungles, whose filters have seen the labels; more makes no difference


def default_kernels(
    transformations: TransformationSet | None = None, random_state: Any = None, n_jobs: int | None = None
) -> list[Any]:
    """At least one base kernel of every method, for images of any size: all but the bags see them 32 pixels wide.

    `transformations` is the Φ of the jungles; None tries rotations, small shifts, and none. Of all of them only the
    jungles are shown the labels: the words of a codebook that has seen them look better than they are.
    """
    seed = {"random_state": random_state, "n_jobs": n_jobs}
    sets = {"rotation": Rotations(16), "shift": Shifts(2), "no Φ": None}
    if transformations is not None:
        sets = {"given Φ": transformations, "no Φ": None}
    jungles = [
        FeatureKernel(
            InvariantFeatures(phi, n_jungles=10, max_depth=3, **seed),
            "euclidean",
            SIDE,
            f"jungles, {name}",
            cost=LEARNED_COST,
        )
        for name, phi in sets.items()
    ]
    return [
        ImageKernel(TangentDistance(Identity(), blur=0.8, n_jobs=n_jobs), SIDE, "pixels"),
        ImageKernel(TangentDistance(n_jobs=n_jobs), SIDE, "tangents"),
        ImageKernel(JitteredDistance(distance=TangentDistance(n_jobs=n_jobs)), SIDE, "jittered tangents"),
        FeatureKernel(NeuralResponse(**seed), "euclidean", SIDE, "hierarchy", False),
        FeatureKernel(NeuralResponse(kernel="histogram", **seed), "euclidean", SIDE, "hierarchy of histograms", False),
        FeatureKernel(BagOfFeatures(n_windows=2000, normalization="sum", **seed), "chi2", None, "codebook", False),
        FeatureKernel(
            WordHistograms(MaximumResponses("rotation", step=2), 150, **seed), "chi2", None, "texture words", False
        ),
        *jungles,
    ]
