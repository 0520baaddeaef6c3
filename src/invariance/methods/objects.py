"""Words of shapes and colours, and where edges are, as a method, for photographs of objects."""

from collections.abc import Iterable
from typing import Any

from invariance.codebooks import Grid, KMeansCodebook
from invariance.descriptors import ColourGrid, DenseSift, GradientPyramid
from invariance.methods.exhibits import Drawing, Exhibit, Text
from invariance.methods.method import Method, Treatment
from invariance.methods.neighbours import show_similar
from invariance.methods.preparation import Facts
from invariance.methods.words import BUILT_IN_SENTENCE, POOLED_SENTENCE, word_kernel
from invariance.tradeoff import FeatureKernel, TradeoffClassifier
from invariance.transformations import Identity, Shifts, TransformationSet

MIN_SIDE = 64  # pixels from which dense descriptors find something to describe
WORDS_PER_IMAGE = 10  # at most
# That words are learned from: of few images so few that trying the method on some of them takes a few seconds.
DESCRIPTORS_PER_IMAGE, MAX_DESCRIPTORS = 200, 100_000
PLACES = "places of edges"  # the name of a kernel
SHIFTS_SENTENCE = "Words are counted wherever they occur, and the places of edges are not compared."


class Objects(Method):
    """Words of shapes, of colours and of shapes of colours, and the places of edges, weighed for each class."""

    name = "objects"
    summary = "words of shapes and colours and the places of edges, weighed for each class"
    purpose = "objects in photographs of at least 64 pixels per side; not for faces or digits"
    exact_sentence = POOLED_SENTENCE
    built_in_sentence = BUILT_IN_SENTENCE
    max_learned = 3000
    min_side = auto_min_side = MIN_SIDE
    takes_squares = False
    startup = 0.5  # compiled code and words
    rank = 60

    def suits(self, facts: Facts) -> bool:
        """Images in colour: on few flowers it is level with other methods, on many far ahead."""
        return facts.n_channels > 1

    def treat(self, part):
        """For shifts, the places of edges are left out; words are counted wherever they are."""
        return (Treatment.DESCRIPTOR, SHIFTS_SENTENCE) if isinstance(part, Shifts) else super().treat(part)

    def make(self, plan, facts, common):
        """Up to three kernels of words, and one of the places of edges unless Φ changes places."""
        kernels = object_kernels(plan.computed, facts, common, has_places=not plan.has(Treatment.DESCRIPTOR))
        return TradeoffClassifier(kernels, "ova", probability=True, **common)

    def explain(self, classifier, evaluation, rng) -> Iterable[Exhibit]:
        """What the words are made of, the weights of their kinds, and which images have similar ones."""
        model = classifier.model_
        kinds = zip(model.kernel_names_, model.base_kernels_, strict=True)
        listed = ", ".join(f"{name}: {kernel.transformer_.n_words_}" for name, kernel in kinds if name != PLACES)
        yield Text(
            f"Small windows everywhere in an image are described by their gradients or colours, and each counts for "
            f"the nearest word of its kind ({listed}). Images are compared by their histograms of words; where a word "
            f"is does not matter."
        )
        if PLACES in model.kernel_names_:
            yield Text(
                "Images are also compared by which way edges run in 8 x 8 parts of an image, and in 4 x 4, 2 x 2 and "
                "the whole."
            )
        if len(model.kernel_names_) > 1:
            yield Text("How much each kind of comparison counts was learned for every class.")
            yield Drawing("weights_figure", (model,), "Shares of the kinds of comparison in the weights.")
        yield from show_similar(classifier, evaluation, rng)


def object_kernels(
    phi: TransformationSet, facts: Facts, common: dict[str, Any], has_places: bool = True
) -> list[FeatureKernel]:
    """Return kernels of words of shapes and, for colour images, of colours and of shapes of colours.

    Where Φ is the identity one of the places of edges is added, if it `has_places`: on the validation parts of the
    flowers it is worth 1 to 4 points.
    """
    kinds = [("shape words", DenseSift(8, (8, 12, 18)), 400)]
    if facts.n_channels > 1:
        kinds += [
            ("colour words", ColourGrid(4, 4), 300),
            ("shape of colours", DenseSift(10, (8, 16), "opponent"), 400),
        ]
    sampler = Grid(min(MAX_DESCRIPTORS, DESCRIPTORS_PER_IMAGE * facts.n_images))
    kernels = []
    for name, descriptor, n_words in kinds:
        codebook = KMeansCodebook(min(n_words, WORDS_PER_IMAGE * facts.n_images), n_init=1)
        kernels.append(word_kernel(name, descriptor, codebook, phi, common, sampler))
    if has_places and isinstance(phi, Identity):
        pyramid = GradientPyramid(n_jobs=common["n_jobs"])
        kernels.append(FeatureKernel(pyramid, "chi2", None, PLACES, labelled=False))
    return kernels
