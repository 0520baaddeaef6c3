"""The base kernels of kernels="all": every room of the library, one function per room, each given Φ.

With Φ, every kernel stands on exactly Φ; without, every room has the invariances that it is known for.
"""

from typing import Any

from invariance.codebooks import BagOfFeatures, KMeansCodebook, RandomWindows
from invariance.descriptors import MaximumResponses
from invariance.descriptors.protocol import uncovered_parts
from invariance.hierarchies import NeuralResponse
from invariance.images.resizing import SIDE
from invariance.jungles import InvariantFeatures
from invariance.tangents import JitteredDistance, TangentDistance, tangent_parts
from invariance.tradeoff.base import FeatureKernel, ImageKernel
from invariance.transformations import Identity, Rotations, Shifts, TransformationSet
from invariance.transformations.sets import factors_of, product_of

Phi = TransformationSet | None

LEARNED_COST = 3.0  # of kernels whose features were learned from the labels; a larger one makes no difference
N_WINDOWS = 2000  # per image, as the method "codebook" draws
N_TEXTURE_WORDS = 150  # half as many as the method "texture" has alone


def default_kernels(
    transformations: TransformationSet | None = None, random_state: Any = None, n_jobs: int | None = None
) -> list[Any]:
    """Base kernels of every method of the library, for images of any size.

    Only the features of the jungles are learned from the labels: the words of a codebook that has seen them separate
    the training images better than they do others.

    Parameters
    ----------
    transformations : TransformationSet, default=None
        What does not matter, Φ. With Φ, each kernel stands on exactly Φ. None takes the kernels with the invariances
        that their methods are known for, some of them with none.
    random_state : int, Generator or None, default=None
        Seed of the methods that draw something.
    n_jobs : int, default=None
        Number of threads.

    Returns
    -------
    list of base kernels
        Each has a `name`.
    """
    common = {"random_state": random_state, "n_jobs": n_jobs}
    return [kernel for make in ROOMS for kernel in make(transformations, common)]


def _pixels(phi: Phi, common: dict[str, Any]) -> list[Any]:
    distance = TangentDistance(Identity(), blur=0.8, n_jobs=common["n_jobs"])
    if phi is None:
        return [ImageKernel(distance, SIDE, "pixels")]
    return [ImageKernel(JitteredDistance(phi, distance), SIDE, "pixels over Φ")]


def _tangents(phi: Phi, common: dict[str, Any]) -> list[Any]:
    if phi is not None:
        distance = TangentDistance(tangent_parts(phi), n_jobs=common["n_jobs"])
        return [ImageKernel(JitteredDistance(phi, distance), SIDE, "tangents")]
    distance = TangentDistance(n_jobs=common["n_jobs"])
    return [
        ImageKernel(distance, SIDE, "tangents"),
        ImageKernel(JitteredDistance(distance=distance), SIDE, "jittered tangents"),
    ]


def _hierarchies(phi: Phi, common: dict[str, Any]) -> list[Any]:
    plain = NeuralResponse(transformations=phi, **common)
    histograms = NeuralResponse(kernel="histogram", transformations=phi, **common)
    return [
        FeatureKernel(plain, "euclidean", SIDE, "hierarchy", labelled=False),
        FeatureKernel(histograms, "euclidean", SIDE, "hierarchy of histograms", labelled=False),
    ]


def _codebooks(phi: Phi, common: dict[str, Any]) -> list[Any]:
    bag = BagOfFeatures(
        sampler=RandomWindows(N_WINDOWS), transformations=_without_shifts(phi), normalization="sum", **common
    )
    return [FeatureKernel(bag, "chi2", None, "codebook", labelled=False)]


def _textures(phi: Phi, common: dict[str, Any]) -> list[Any]:
    if phi is None:
        descriptor, rest = MaximumResponses("rotation", step=2), None
    else:
        descriptor, _ = MaximumResponses.for_transformations(phi, step=2)
        rest = product_of([factor for factor in factors_of(phi) if uncovered_parts(descriptor, factor)])
    bag = BagOfFeatures(
        KMeansCodebook(N_TEXTURE_WORDS), descriptor, transformations=rest, normalization="sum", **common
    )
    return [FeatureKernel(bag, "chi2", None, "texture words", labelled=False)]


def _jungles(phi: Phi, common: dict[str, Any]) -> list[Any]:
    sets: dict[str, Phi] = {"jungles, rotation": Rotations(16), "jungles, shift": Shifts(2), "jungles, no Φ": None}
    if phi is not None:
        sets = {"jungles": phi}
    return [
        FeatureKernel(
            InvariantFeatures(own, n_jungles=10, max_depth=3, **common), "euclidean", SIDE, name, cost=LEARNED_COST
        )
        for name, own in sets.items()
    ]


def _without_shifts(phi: Phi) -> Phi:
    """Φ as a bag needs it: words are counted wherever they are, so that shifts need no copies of the image."""
    return None if phi is None else product_of([part for part in factors_of(phi) if not isinstance(part, Shifts)])


ROOMS = (_pixels, _tangents, _hierarchies, _codebooks, _textures, _jungles)
