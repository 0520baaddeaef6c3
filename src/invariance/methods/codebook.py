"""Paper 2 as a method: visual words of windows at random places and sizes, from clustering forests."""

from collections.abc import Iterable

import numpy as np

from invariance.codebooks import BagOfFeatures, CodebookClassifier, RandomWindows
from invariance.descriptors import HslPatches
from invariance.methods.exhibits import Drawing, Exhibit, Text
from invariance.methods.method import Method, Treatment
from invariance.methods.words import BUILT_IN_SENTENCE, POOLED_SENTENCE, SHIFTS_SENTENCE
from invariance.transformations import Shifts

N_WINDOWS = 2000
N_MAPS = 3
N_WORDS = 4
N_IMAGES = 12
N_SHOWN = 24  # windows of a word


class Codebook(Method):
    """A bag of words of a clustering forest with a linear support vector machine."""

    name = "codebook"
    summary = "visual words of windows at random places and sizes"
    purpose = "objects anywhere in images, and digits; not for textures"
    takes_squares = False
    exact_sentence = POOLED_SENTENCE
    built_in_sentence = BUILT_IN_SENTENCE
    rank = 20

    def treat(self, part):
        """Shifts need nothing: words are counted wherever they are."""
        return (Treatment.BUILT_IN, SHIFTS_SENTENCE) if isinstance(part, Shifts) else super().treat(part)

    def make(self, plan, facts, common):
        """Colour words where there is colour; 2,000 windows, where the paper's figure 4 levels off."""
        bag = BagOfFeatures(
            descriptor=HslPatches() if facts.n_channels == 3 else None,
            sampler=RandomWindows(N_WINDOWS),
            transformations=plan.computed,
        )
        return CodebookClassifier(bag, probability=True, **common)

    def cost(self, plan):
        """The windows are divided among the members, so that Φ adds only the transformed images."""
        return 1 + plan.count_members() / 24

    def explain(self, classifier, evaluation, rng) -> Iterable[Exhibit]:
        """Where the words of a class are found in images, and what the words with the largest weight look like."""
        model = classifier.model_
        yield Text(
            f"A window of an image is given a word by each of {len(model.bag_.codebook_.trees_)} trees; there are "
            f"{model.bag_.n_words_} words in all. An image is classified by how often each word occurs in "
            f"{N_WINDOWS} windows."
        )
        if evaluation is None:
            yield Text("With images, the report shows where the words of a class are found and what they look like.")
            return
        rows = rng.permutation(len(evaluation.codes))[:N_IMAGES]
        images = list(classifier.prepare([evaluation.images[row] for row in rows]))
        for image, row in zip(images[:N_MAPS], rows[:N_MAPS], strict=False):
            label = evaluation.classes[evaluation.codes[row]]
            yield Drawing(
                "word_map_figure",
                (model, image, label),
                f"An image of class {label}, and where in it words are found that are frequent in windows of this "
                f"class. A share near {1 / len(evaluation.classes):.2f} says nothing.",
            )
        for word, label in _typical_words(classifier, images):
            yield Drawing(
                "word_figure",
                (model, images, word, N_SHOWN, N_WINDOWS),
                f"Windows of these images with word {word}, which has a large weight for class {label}.",
            )


def _typical_words(classifier, images: list[np.ndarray]) -> list[tuple[int, str]]:
    """Words that occur in the images and have the largest weight for a class, for some classes."""
    model = classifier.model_
    weights = model.svm_.coef_ if len(model.svm_.coef_) > 1 else np.concatenate([-model.svm_.coef_, model.svm_.coef_])
    contribution = weights * model.bag_.transform(images).mean(axis=0)
    words = contribution.argmax(axis=1)
    largest = np.argsort(-contribution.max(axis=1), kind="stable")[:N_WORDS]
    return [
        (int(words[code]), str(classifier.classes_[code])) for code in largest if contribution[code, words[code]] > 0
    ]
