"""What is nearest to what, for methods that compare images: rows of an image and its neighbours."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from invariance.methods.exhibits import ASKED, OTHER, SAME, Exhibit, Images, Text

if TYPE_CHECKING:
    from invariance.methods.classifier import ImageClassifier
    from invariance.methods.evaluation import Evaluation

N_EXAMPLES = 4
N_NEAREST = 5
MAX_COMPARED = 200  # images among which the nearest are searched
NEAREST = "An image has an orange frame; beside it are the nearest ones, green if of the same class, red if not."


def show_neighbours(
    evaluation: "Evaluation", row: int, image: np.ndarray, others: Any, codes: np.ndarray, similarity: np.ndarray
) -> Images:
    """Return an image and the images nearest to it, with their classes and similarities."""
    true, predicted = evaluation.codes[row], evaluation.classes[evaluation.predicted[row]]
    names = evaluation.classes
    titles = [f"is {names[true]}\npredicted {predicted}"]
    titles += [f"{names[code]}\nsimilarity {value:.2f}" for code, value in zip(codes, similarity, strict=True)]
    frames = [ASKED, *(SAME if code == true else OTHER for code in codes)]
    return Images([image, *others], titles, frames=frames)


def show_similar(
    classifier: "ImageClassifier", evaluation: "Evaluation | None", rng: np.random.Generator
) -> Iterable[Exhibit]:
    """Yield which images have similar words; a model of words does not keep its training images."""
    if evaluation is None:
        yield Text("With images, the report shows which of them have similar words.")
        return
    yield Text(
        f"{NEAREST} The images beside it are others of those given to this report: a model of this method does not "
        f"keep its training images."
    )
    rows = striking_rows(evaluation, rng)
    among = np.union1d(rows, rng.permutation(len(evaluation.codes))[:MAX_COMPARED])
    images = list(classifier.prepare([evaluation.images[row] for row in among]))
    similarity = _similarity(classifier.model_, images)
    np.fill_diagonal(similarity, -1)  # an image is not its own neighbour
    for row in rows:
        own = int(np.searchsorted(among, row))
        nearest = np.argsort(-similarity[own], kind="stable")[: min(N_NEAREST, len(among) - 1)]
        shown = [images[place] for place in nearest]
        codes = evaluation.codes[among[nearest]]
        yield show_neighbours(evaluation, row, images[own], shown, codes, similarity[own, nearest])


def striking_rows(evaluation: "Evaluation", rng: np.random.Generator) -> np.ndarray:
    """Return a few rows: the most confident errors, and correct predictions drawn at random."""
    wrong = np.flatnonzero(~evaluation.is_right)
    wrong = wrong[np.argsort(-evaluation.confidence[wrong], kind="stable")][: N_EXAMPLES // 2]
    right = rng.permutation(np.flatnonzero(evaluation.is_right))
    return np.concatenate([wrong, right])[:N_EXAMPLES].astype(int)


def _similarity(model: Any, images: list[np.ndarray]) -> np.ndarray:
    """Kernels (n, n) of word histograms, averaged with their mean shares in the weights."""
    from sklearn.metrics.pairwise import additive_chi2_kernel  # not needed to predict

    similarity = np.zeros((len(images), len(images)))
    for kernel, share in zip(model.base_kernels_, model.shares_.mean(axis=0), strict=True):
        features = np.asarray(kernel.transformer_.transform(images), np.float64)
        similarity += share * np.exp(0.5 * kernel.gamma_ * additive_chi2_kernel(features))
    return similarity
