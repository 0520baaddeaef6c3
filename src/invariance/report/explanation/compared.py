"""What is nearest to what, for methods that compare an image with those they have learned from."""

from typing import Any

import numpy as np

from invariance.codebooks import histogram_distances
from invariance.methods import ImageClassifier
from invariance.report.answers import Answers
from invariance.report.figures import GREEN, ORANGE, RED
from invariance.report.report import Report
from invariance.report.tradeoff_figures import weights_figure

N_EXAMPLES = 4
N_NEAREST = 5
NEAREST = "Framed in orange is an image, beside it the nearest ones; green is the same class, red another."
MAX_COMPARED = 200  # images of the folder among which the nearest are sought


def show_tangent(report: Report, classifier: ImageClassifier, answers: Answers | None, rng) -> None:
    """Training images that are nearest to some of the images."""
    kernel = classifier.model_.base_kernels_[0]
    phi = "shifts of one pixel" if classifier.phi_ is None else repr(classifier.phi_)
    report.text(
        f"Images are compared as grey squares of {kernel.images_.shape[1]} pixels. Their distance is the least over "
        f"{phi}, and what small shifts, turns, zooms, stretches and shears could explain is left out of it. The nearer "
        f"a training image, the more it has to say; how much, a support vector machine has learned."
    )
    if answers is None:
        report.text("Which training images are nearest to an image is shown with images only.")
        return
    report.text(f"{NEAREST} The images beside it are training images.")
    codes = _training_codes(classifier.model_)
    rows = _striking(answers, rng)
    squares = classifier.squares([answers.images[row] for row in rows])
    for row, square, likeness in zip(rows, squares, kernel.rows(squares), strict=True):
        nearest = np.argsort(-likeness, kind="stable")[:N_NEAREST]
        _show_nearest(report, answers, row, square, kernel.images_[nearest], codes[nearest], likeness[nearest])


def show_texture(report: Report, classifier: ImageClassifier, answers: Answers | None, rng) -> None:
    """What the words are made of, and which images have similar ones."""
    words = classifier.model_.base_kernels_[0].transformer_
    report.text(
        f"Every pixel of an image is described by its responses to a bank of filters, invariance "
        f"“{words.descriptor.invariance}”, and counts for the nearest of {words.n_words_} words. Images are compared "
        f"by their histograms of words; where a word stands does not matter."
    )
    _show_similar(report, classifier, answers, rng)


def show_objects(report: Report, classifier: ImageClassifier, answers: Answers | None, rng) -> None:
    """What the words are made of, the weights of their kinds, and which images have similar ones."""
    model = classifier.model_
    kinds = zip(model.kernel_names_, model.base_kernels_, strict=True)
    listed = ", ".join(f"{name}: {kernel.transformer_.n_words_}" for name, kernel in kinds)
    report.text(
        f"Small windows everywhere in an image are described by their gradients or colours, and each counts for the "
        f"nearest word of its kind ({listed}). Images are compared by their histograms of words; where a word stands "
        f"does not matter."
    )
    if len(model.kernel_names_) > 1:
        report.text("How much each kind of words counts was learned for every class.").figure(
            weights_figure(model), "Shares of the kinds of words in the weights."
        )
    _show_similar(report, classifier, answers, rng)


def _show_similar(report: Report, classifier: ImageClassifier, answers: Answers | None, rng) -> None:
    """Which of the other images have the most similar words; the model does not keep its training images."""
    if answers is None:
        report.text("Which images have similar words is shown with images only.")
        return
    report.text(
        f"{NEAREST} The images beside it are others of those given to this report: a model of this method does not "
        f"keep what it has learned from."
    )
    rows = _striking(answers, rng)
    among = np.union1d(rows, rng.permutation(len(answers.codes))[:MAX_COMPARED])
    images = list(classifier.prepare([answers.images[row] for row in among]))
    likeness = _likeness(classifier.model_, images)
    np.fill_diagonal(likeness, -1)  # an image is not its own neighbour
    for row in rows:
        own = int(np.searchsorted(among, row))
        nearest = np.argsort(-likeness[own], kind="stable")[: min(N_NEAREST, len(among) - 1)]
        shown = [images[place] for place in nearest]
        codes = answers.codes[among[nearest]]
        _show_nearest(report, answers, row, images[own], shown, codes, likeness[own, nearest])


def _likeness(model: Any, images: list[np.ndarray]) -> np.ndarray:
    """Kernels (n, n) of histograms of words, each with its mean share in the weights."""
    likeness = np.zeros((len(images), len(images)))
    for kernel, share in zip(model.base_kernels_, model.shares_.mean(axis=0), strict=True):
        features = np.asarray(kernel.transformer_.transform(images), np.float64)
        likeness += share * np.exp(-kernel.gamma_ * histogram_distances(features))
    return likeness


def _striking(answers: Answers, rng: np.random.Generator) -> np.ndarray:
    """Some rows: the surest wrong answers, and right ones drawn at random."""
    wrong = np.flatnonzero(~answers.is_right)
    wrong = wrong[np.argsort(-answers.confidence[wrong], kind="stable")][: N_EXAMPLES // 2]
    right = rng.permutation(np.flatnonzero(answers.is_right))
    return np.concatenate([wrong, right])[:N_EXAMPLES].astype(int)


def _show_nearest(
    report: Report,
    answers: Answers,
    row: int,
    image: np.ndarray,
    others: Any,
    codes: np.ndarray,
    likeness: np.ndarray,
) -> None:
    """One row: an image and those nearest to it."""
    true, given = answers.codes[row], answers.classes[answers.given[row]]
    titles = [f"is {answers.classes[true]}\nsaid {given}"]
    titles += [f"{answers.classes[code]}\nlikeness {value:.2f}" for code, value in zip(codes, likeness, strict=True)]
    frames = [ORANGE, *(GREEN if code == true else RED for code in codes)]
    report.images([image, *others], titles, frames=frames)


def _training_codes(model: Any) -> np.ndarray:
    """The codes (n,) of the classes of the training images, as the tasks of the machines tell them."""
    codes = np.empty(max(task.samples.max() for task in model.tasks_) + 1, int)
    for task in model.tasks_:
        codes[task.samples[task.targets > 0]] = task.positive
        if task.negative >= 0:
            codes[task.samples[task.targets < 0]] = task.negative
    return codes
