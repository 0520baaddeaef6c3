"""What a classifier has learned, each method in its own way. Without images, what can be shown without them."""

from collections.abc import Callable

import numpy as np

from invariance.methods import METHODS, ImageClassifier
from invariance.report.answers import Answers
from invariance.report.codebook_figures import word_figure, word_map_figure
from invariance.report.explanation.compared import show_objects, show_tangent, show_texture
from invariance.report.jungle_figures import filters_figure, growth_figure, winners_figure
from invariance.report.jungle_graph import jungle_figure
from invariance.report.report import Report
from invariance.report.tradeoff_figures import MAX_TASKS_SHOWN, similarity_figure, weights_figure
from invariance.tradeoff.reasoning import class_shares, task_similarity

N_WINNERS = 6
N_MAPS = 3
N_WORDS = 4
N_IMAGES_OF_WORDS = 12
N_TEMPLATES = 24
MAX_CLASSES_WITH_TEMPLATES = 24

Show = Callable[[Report, ImageClassifier, Answers | None, np.random.Generator], None]


def show_learned(
    report: Report, classifier: ImageClassifier, answers: Answers | None, rng: np.random.Generator
) -> None:
    """The section on what was learned."""
    what = METHODS[classifier.method].what
    report.section("What was learned").text(f"{what[0].upper()}{what[1:]}.")
    SHOW[classifier.method](report, classifier, answers, rng)


def show_jungle(report: Report, classifier: ImageClassifier, answers: Answers | None, rng) -> None:
    """Filters, how images respond to the first of them, a graph, and how the jungles grew."""
    model = classifier.model_
    if not any((dag.feature >= 0).any() for dag in model.dags_):
        report.text("There is nothing to show: no filter was found that tells classes apart. Give it more images.")
        return
    report.text(
        f"The images are seen as squares of {model.image_shape_[0]} pixels. The response of a filter to one is its "
        f"largest over the transformations that do not matter; what the classifier decides by are all responses."
    ).figure(
        filters_figure(model),
        "Filters of the nodes that most training images reached, named jungle.node, with the number of these. "
        + (
            "Colours are about a middle grey."
            if classifier.facts_.n_channels == 3
            else "Red looks for bright pixels, blue for dark ones; each filter has its own scale."
        ),
    )
    if answers is not None:
        rows = rng.permutation(len(answers.codes))[:N_WINNERS]
        report.figure(
            winners_figure(model, classifier.squares([answers.images[row] for row in rows])),
            "Above, some images; in the middle, each as the filter below likes it best, and which transformation "
            "that is; below, the filter and its response.",
        )
    report.figure(
        jungle_figure(model, max_layers=4),
        "One of the jungles. Training images start at the top; at a node their largest response to its filter "
        "decides where they go. Bars are the classes of those that came by, and the number below says how many.",
    ).figure(
        growth_figure(model),
        "How the jungles grew, layer by layer, and, where images were held out, how well these are predicted.",
    )


def show_codebook(report: Report, classifier: ImageClassifier, answers: Answers | None, rng) -> None:
    """Where the words of a class are seen in images, and what the words that speak for classes look like."""
    model = classifier.model_
    report.text(
        f"A window of an image is given a word by each of {len(model.bag_.codebook_.trees_)} trees; there are "
        f"{model.bag_.n_words_} words in all. An image is classified by how often each word occurs in "
        f"{model.bag_.sampler_.n_windows} windows."
    )
    if answers is None:
        report.text("Where in an image the words of a class are, and what they look like, is shown with images only.")
        return
    rows = rng.permutation(len(answers.codes))[:N_IMAGES_OF_WORDS]
    photos = list(classifier.prepare([answers.images[row] for row in rows]))
    for photo, row in zip(photos[:N_MAPS], rows[:N_MAPS], strict=False):
        label = answers.classes[answers.codes[row]]
        report.figure(
            word_map_figure(model, photo, label),
            f"An image of class {label}, and where in it words are found that windows of this class have. Near an "
            f"even share of {1 / len(answers.classes):.2f} a word says nothing.",
        )
    for word, label in _telling_words(classifier, photos):
        report.figure(
            word_figure(model, photos, word, N_TEMPLATES, model.bag_.sampler_.n_windows),
            f"Windows of these images with word {word}, which speaks for class {label}.",
        )


def show_hierarchy(report: Report, classifier: ImageClassifier, answers: Answers | None, rng) -> None:
    """Templates of every layer, and those that speak most for each class."""
    response, _, regression = (step for _, step in classifier.model_.steps)
    report.text(
        "A layer asks how well the best-placed part of an image matches each of its templates, which are parts of "
        "training images drawn at random; the next layer compares these responses. No label was used for that, only "
        "for the weights of the last layer's responses."
    )
    for number, templates in enumerate(response.templates_, start=1):
        height, width = templates.shape[1:3]
        report.images(
            [_without_single_channel(template) for template in templates[:N_TEMPLATES]],
            caption=f"Some of {len(templates)} templates of layer {number}: {height} x {width} pixels.",
            side=72,
        )
    templates = response.templates_[-1]
    weights = regression.coef_ if len(regression.coef_) > 1 else np.concatenate([-regression.coef_, regression.coef_])
    if weights.shape[1] != len(templates):
        return  # an embedding mixes the responses, so that a weight belongs to no template
    classes = classifier.classes_[:MAX_CLASSES_WITH_TEMPLATES]
    best = weights[: len(classes)].argmax(axis=1)
    report.images(
        [_without_single_channel(templates[place]) for place in best],
        [str(name) for name in classes],
        "For each class the template of the last layer whose response speaks most for it, compared with the other "
        "templates. It need not be a part of such an image.",
        side=72,
    )


def show_tradeoff(report: Report, classifier: ImageClassifier, answers: Answers | None, rng) -> None:
    """The weights of the kernels, what they cost, and which classes want the same ones."""
    model = classifier.model_
    shares, costs = model.shares_, model.costs_
    order = np.argsort(-shares.mean(axis=0), kind="stable")
    largest = shares.argmax(axis=0)
    report.text(
        "Every kernel is a way to say how alike two images are, and each has its own invariance. For every class "
        "their weights were learned, so that the class is told from the others; a kernel that errs on held-out "
        "training images costs more. A share is no measure of quality: of two kernels that say the same, one may get "
        "all."
    ).figure(weights_figure(model), "Shares of the kernels in the weights.").table(
        ("kernel", "mean share", "largest share", "where", "cost of its weight"),
        [
            (
                model.kernel_names_[k],
                f"{shares[:, k].mean():.0%}",
                f"{shares[:, k].max():.0%}",
                model.task_names_[largest[k]] if shares[:, k].any() else "–",
                float(costs[k]),
            )
            for k in order
        ],
        "The kernels by their mean share.",
    )
    if len(model.task_names_) <= 1:
        return
    if len(model.task_names_) <= MAX_TASKS_SHOWN:
        similarity, names = task_similarity(model), model.task_names_
    else:
        by_class = class_shares(model)
        similarity, names = np.minimum(by_class[:, None], by_class[None]).sum(axis=2), list(map(str, model.classes_))
    report.figure(
        similarity_figure(similarity, names), "Which classes want the same kernels: dark is the same weights."
    )


SHOW: dict[str, Show] = {
    "jungle": show_jungle,
    "codebook": show_codebook,
    "hierarchy": show_hierarchy,
    "tradeoff": show_tradeoff,
    "tangent": show_tangent,
    "texture": show_texture,
    "objects": show_objects,
}


def _telling_words(classifier: ImageClassifier, photos: list[np.ndarray]) -> list[tuple[int, str]]:
    """Words that occur in the images and speak for a class, the strongest of each of some classes."""
    model = classifier.model_
    strength = model.svm_.coef_ if len(model.svm_.coef_) > 1 else np.concatenate([-model.svm_.coef_, model.svm_.coef_])
    heard = strength * model.bag_.transform(photos).mean(axis=0)
    words = heard.argmax(axis=1)
    strongest = np.argsort(-heard.max(axis=1), kind="stable")[:N_WORDS]
    return [(int(words[code]), str(classifier.classes_[code])) for code in strongest if heard[code, words[code]] > 0]


def _without_single_channel(image: np.ndarray) -> np.ndarray:
    return image[..., 0] if image.shape[2] == 1 else image
