"""What methods made of visual words share: kernels of word histograms, and how words relate to Φ."""

from typing import Any

from invariance.codebooks import BagOfFeatures, Grid, KMeansCodebook
from invariance.tradeoff import FeatureKernel
from invariance.transformations import TransformationSet

POOLED_SENTENCE = "Words are counted over all members of the set, at the same places for each."
BUILT_IN_SENTENCE = "Where words occur in an image does not matter."
SHIFTS_SENTENCE = "Words are counted wherever they occur; only what enters at the border changes."


def word_kernel(
    name: str,
    descriptor: Any,
    codebook: KMeansCodebook,
    phi: TransformationSet,
    common: dict[str, Any],
    sampler: Grid | None = None,
) -> FeatureKernel:
    """Return a χ² kernel of histograms of the words of a descriptor on its grid, pooled over Φ."""
    bag = BagOfFeatures(codebook, descriptor, sampler, phi, normalization="sum", **common)
    return FeatureKernel(bag, "chi2", None, name, labelled=False)
