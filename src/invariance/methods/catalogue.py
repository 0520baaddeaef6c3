"""The library's methods, each ready for images: what it is for, how many it takes, and how it is made from Φ."""

from collections.abc import Callable
from typing import Any, NamedTuple

from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from invariance.codebooks import BagOfFeatures, CodebookClassifier, KMeansCodebook, RandomWindows
from invariance.descriptors import ColourGrid, DenseSift, HslPatches, MaximumResponses
from invariance.hierarchies import NeuralResponse
from invariance.jungles import JungleClassifier
from invariance.methods.facts import Facts
from invariance.tangents import JitteredDistance, TangentDistance
from invariance.tradeoff import FeatureKernel, ImageKernel, TradeoffClassifier, default_kernels
from invariance.transformations import Identity, Rotations, Scales, Shifts, TransformationSet
from invariance.transformations.sets import parts_of

Phi = TransformationSet | None
LARGE = 64  # pixels per side from which local descriptors have something to see
WORDS_A_IMAGE = 10  # at most


class Method(NamedTuple):
    """A way to classify images.

    `make(phi, facts, common)` gives an estimator, `common` being its random_state and n_jobs. `whole` says that it
    compares whole images of one size, `grey` that it ignores colours, `copies` that it knows Φ only by being shown
    transformed copies, `most` how many images it takes, `growth` the power of their number that its time grows with,
    `min_side` how many pixels per side images must mostly have.
    """

    what: str
    make: Callable[[Phi, Facts, dict[str, Any]], Any]
    whole: bool = True
    grey: bool = False
    copies: bool = False
    most: int = 10_000
    growth: int = 1
    min_side: int = 1


def _jungle(phi: Phi, facts: Facts, common: dict[str, Any]) -> Any:
    small = Rotations(3, limit=15, border="edge") * Shifts(1, border="edge")
    phi = small if phi is None else phi
    return JungleClassifier(phi, head="linear", max_depth=3, validation_fraction=0.0, **common)


def _tangent(phi: Phi, facts: Facts, common: dict[str, Any]) -> Any:
    kernel = JitteredDistance(phi, TangentDistance(n_jobs=common["n_jobs"]))
    return _machine([ImageKernel(kernel, name="tangents")], common)


def _hierarchy(phi: Phi, facts: Facts, common: dict[str, Any]) -> Any:
    return make_pipeline(NeuralResponse(**common), StandardScaler(), LogisticRegression(C=0.01, max_iter=2000))


def _codebook(phi: Phi, facts: Facts, common: dict[str, Any]) -> Any:
    descriptor = HslPatches() if facts.n_channels == 3 else None
    bag = BagOfFeatures(descriptor=descriptor, sampler=RandomWindows(2000))
    return CodebookClassifier(bag, probability=True, **common)


def _texture(phi: Phi, facts: Facts, common: dict[str, Any]) -> Any:
    return _machine([_texture_kernel(phi, common)], common)


def _objects(phi: Phi, facts: Facts, common: dict[str, Any]) -> Any:
    for part in parts_of(phi) if phi is not None else ():
        if not isinstance(part, Identity | Shifts):
            kind = type(part).__name__.lower()
            raise ValueError(f"method 'objects' sees upright shapes: it cannot ignore {kind}. Take 'codebook'.")
    return _machine(_object_kernels(facts, common), common)


def _tradeoff(phi: Phi, facts: Facts, common: dict[str, Any]) -> Any:
    kernels = default_kernels(phi, **common)
    if facts.side >= LARGE:
        kernels += _object_kernels(facts, common)
    return _machine(kernels, common, sigma="cv")


def _machine(kernels: list[Any], common: dict[str, Any], **settings: Any) -> TradeoffClassifier:
    return TradeoffClassifier(kernels, "ova", probability=True, **settings, **common)


def _texture_kernel(phi: Phi, common: dict[str, Any]) -> FeatureKernel:
    kinds = tuple(type(part) for part in parts_of(phi)) if phi is not None else (Rotations,)
    level = {(False, False): "none", (True, False): "rotation", (False, True): "scale", (True, True): "similarity"}
    return _words("texture words", MaximumResponses(level[Rotations in kinds, Scales in kinds], step=2), 300, common)


def _object_kernels(facts: Facts, common: dict[str, Any]) -> list[FeatureKernel]:
    most = WORDS_A_IMAGE * facts.n_images
    shapes = _words("shape words", DenseSift(6, (8, 12, 18)), min(400, most), common)
    if facts.n_channels == 1:
        return [shapes]
    colours = _words("colour words", ColourGrid(3, 3), min(300, most), common)
    return [shapes, colours, _words("shape of colours", DenseSift(8, (8, 16), "opponent"), min(400, most), common)]


def _words(name: str, descriptor: Any, n_words: int, common: dict[str, Any]) -> FeatureKernel:
    bag = BagOfFeatures(KMeansCodebook(n_words), descriptor, normalization="sum", **common)
    return FeatureKernel(bag, "chi2", None, name, labelled=False)


# Is made of all others, and takes about so many times as long as they together: 1 to 4 were measured on flowers,
# textures, faces and digits, but some of the others may not have been tried.
COMBINED, COMBINED_TIMES = "tradeoff", 4
METHODS = {
    "jungle": Method("learned filters whose largest response over Φ tells classes apart", _jungle),
    "tangent": Method("distances that ignore small transformations", _tangent, grey=True, most=3000, growth=2),
    "hierarchy": Method("responses to templates, layer upon layer", _hierarchy, copies=True),
    "codebook": Method("visual words of windows at random places and sizes", _codebook, whole=False, copies=True),
    "texture": Method("words of filter responses, for textures", _texture, whole=False, grey=True, most=3000),
    "objects": Method(
        "words of shapes and colours, weighed for each class", _objects, whole=False, most=3000, min_side=LARGE
    ),
    "tradeoff": Method("all methods together, weighed for each class", _tradeoff, whole=False, most=1500, growth=2),
}
