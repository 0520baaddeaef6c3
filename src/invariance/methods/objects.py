"""Words of shapes and colours as a method, for photographs of objects."""

from collections.abc import Iterable
from typing import Any

from invariance.descriptors import ColourGrid, DenseSift
from invariance.methods.exhibits import Drawing, Exhibit, Text
from invariance.methods.method import Method, Treatment
from invariance.methods.neighbours import show_similar
from invariance.methods.preparation import Facts
from invariance.methods.words import BUILT_IN_SENTENCE, POOLED_SENTENCE, SHIFTS_SENTENCE, word_kernel
from invariance.tradeoff import FeatureKernel, TradeoffClassifier
from invariance.transformations import Shifts, TransformationSet

MIN_SIDE = 64  # pixels from which dense descriptors find something to describe
WORDS_PER_IMAGE = 10  # at most


class Objects(Method):
    """Words of shapes, of colours and of shapes of colours, weighed for each class."""

    name = "objects"
    summary = "words of shapes and colours, weighed for each class"
    purpose = "objects in photographs of at least 64 pixels per side; not for faces or digits"
    exact_sentence = POOLED_SENTENCE
    built_in_sentence = BUILT_IN_SENTENCE
    max_learned = 3000
    min_side = auto_min_side = MIN_SIDE
    takes_squares = False
    startup = 0.8  # words are learned from equally many descriptors; measured: 13 s of 68, 34 s of 680 flowers
    rank = 60

    def treat(self, part):
        """Shifts need nothing: words are counted wherever they are."""
        return (Treatment.BUILT_IN, SHIFTS_SENTENCE) if isinstance(part, Shifts) else super().treat(part)

    def make(self, plan, facts, common):
        """Up to three kernels of words."""
        return TradeoffClassifier(object_kernels(plan.computed, facts, common), "ova", probability=True, **common)

    def explain(self, classifier, evaluation, rng) -> Iterable[Exhibit]:
        """What the words are made of, the weights of their kinds, and which images have similar ones."""
        model = classifier.model_
        kinds = zip(model.kernel_names_, model.base_kernels_, strict=True)
        listed = ", ".join(f"{name}: {kernel.transformer_.n_words_}" for name, kernel in kinds)
        yield Text(
            f"Small windows everywhere in an image are described by their gradients or colours, and each counts for "
            f"the nearest word of its kind ({listed}). Images are compared by their histograms of words; where a word "
            f"is does not matter."
        )
        if len(model.kernel_names_) > 1:
            yield Text("How much each kind of words counts was learned for every class.")
            yield Drawing("weights_figure", (model,), "Shares of the kinds of words in the weights.")
        yield from show_similar(classifier, evaluation, rng)


def object_kernels(phi: TransformationSet, facts: Facts, common: dict[str, Any]) -> list[FeatureKernel]:
    """Return kernels of words of shapes and, for colour images, of colours and of shapes of colours."""
    n_words = WORDS_PER_IMAGE * facts.n_images
    shapes = word_kernel("shape words", DenseSift(6, (8, 12, 18)), min(400, n_words), phi, common)
    if facts.n_channels == 1:
        return [shapes]
    colours = word_kernel("colour words", ColourGrid(3, 3), min(300, n_words), phi, common)
    both = DenseSift(8, (8, 16), "opponent")
    return [shapes, colours, word_kernel("shape of colours", both, min(400, n_words), phi, common)]
