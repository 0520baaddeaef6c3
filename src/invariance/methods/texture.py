"""Words of filter responses as a method, for textures, [Varma07] sec. 4."""

from collections.abc import Iterable

from invariance.codebooks import KMeansCodebook
from invariance.descriptors import MaximumResponses
from invariance.methods.exhibits import Exhibit, Text
from invariance.methods.method import Method, Treatment
from invariance.methods.neighbours import show_similar
from invariance.methods.words import BUILT_IN_SENTENCE, POOLED_SENTENCE, SHIFTS_SENTENCE, word_kernel
from invariance.tradeoff import TradeoffClassifier
from invariance.transformations import Rotations, Shifts
from invariance.transformations.sets import product_of

N_WORDS = 300
STEP = 2


class Texture(Method):
    """Words of filter responses, which are maximised over orientation and scale where Φ asks for it."""

    name = "texture"
    summary = "words of filter responses"
    purpose = "textures at any angle; not for anything with a layout"
    default_phi = Rotations(24)
    exact_sentence = POOLED_SENTENCE
    built_in_sentence = BUILT_IN_SENTENCE
    max_learned = 3000
    auto_min_side = 64
    is_grey = True
    takes_squares = False
    startup = 0.3  # measured: 3.4 s of 53, 15 s of 340 flowers
    rank = 50

    def treat(self, part):
        """Full circles and wide scales are left to the filters; standardization removes brightness and contrast."""
        if isinstance(part, Shifts):
            return Treatment.BUILT_IN, SHIFTS_SENTENCE
        if type(part) in MaximumResponses("none").invariances:
            return Treatment.BUILT_IN, "Every image is brought to mean 0 and deviation 1."
        _, uncovered = MaximumResponses.for_transformations(part)
        if uncovered:
            return super().treat(part)
        kind = "orientations, also between the angles of the set" if isinstance(part, Rotations) else "scales"
        return Treatment.DESCRIPTOR, f"Filter responses are maximised over all {kind}."

    def make(self, plan, facts, common):
        """One kernel of words of filter responses."""
        settled = [part.part for part in plan.parts if part.treatment == Treatment.DESCRIPTOR]
        descriptor, _ = MaximumResponses.for_transformations(product_of(settled), step=STEP)
        kernel = word_kernel("texture words", descriptor, KMeansCodebook(N_WORDS), plan.computed, common)
        return TradeoffClassifier([kernel], "ova", probability=True, **common)

    def explain(self, classifier, evaluation, rng) -> Iterable[Exhibit]:
        """What the words are made of, and which images have similar ones."""
        descriptor = classifier.model_.base_kernels_[0].transformer_.descriptor
        yield Text(
            f"Every second pixel of an image is described by its responses to a bank of filters (invariance: "
            f"{descriptor.invariance}) and counts for the nearest of {N_WORDS} words. Images are compared by their "
            f"histograms of words; where a word is does not matter."
        )
        yield from show_similar(classifier, evaluation, rng)
