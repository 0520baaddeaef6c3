"""Paper 3 as a method: responses to templates, layer upon layer, pooled over translations and Φ."""

from collections.abc import Iterable

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from invariance.hierarchies import NeuralResponse
from invariance.methods.exhibits import Exhibit, Images, Text
from invariance.methods.method import Method

N_TEMPLATES = 24
MAX_CLASSES = 24
TILE = 72  # pixels on the page


class Hierarchy(Method):
    """Neural responses with a logistic regression."""

    name = "hierarchy"
    summary = "responses to templates, layer upon layer, pooled over Φ"
    purpose = "features without labels; where there are enough labels, other methods are more accurate"
    built_in_sentence = "Responses are pooled over all positions in an image."
    exact_sentence = "Responses are pooled by their maximum over all members of the set."
    rank = 35

    def make(self, plan, facts, common):
        """A strongly regularized regression: there are as many responses as templates, 500."""
        response = NeuralResponse(transformations=plan.computed, **common)
        return make_pipeline(response, StandardScaler(), LogisticRegression(C=0.01, max_iter=2000))

    def explain(self, classifier, evaluation, rng) -> Iterable[Exhibit]:
        """Templates of every layer, and those with the largest weight for each class."""
        response, _, regression = (step for _, step in classifier.model_.steps)
        yield Text(
            "A layer measures how well the best-placed part of an image matches each of its templates, which are parts "
            "of training images drawn at random; the next layer compares these responses. Labels are used only for "
            "the weights of the responses of the last layer."
        )
        for number, templates in enumerate(response.templates_, start=1):
            height, width = templates.shape[1:3]
            yield Images(
                [_drop_single_channel(template) for template in templates[:N_TEMPLATES]],
                caption=f"Some of {len(templates)} templates of layer {number}: {height} x {width} pixels.",
                side=TILE,
            )
        templates, weights = response.templates_[-1], regression.coef_
        weights = weights if len(weights) > 1 else np.concatenate([-weights, weights])
        if weights.shape[1] != len(templates):
            return  # an embedding mixes the responses, so that a weight belongs to no template
        classes = classifier.classes_[:MAX_CLASSES]
        best = weights[: len(classes)].argmax(axis=1)
        yield Images(
            [_drop_single_channel(templates[place]) for place in best],
            [str(name) for name in classes],
            "For each class, the template of the last layer with the largest weight. It need not be a part of an image "
            "of this class.",
            side=TILE,
        )


def _drop_single_channel(image: np.ndarray) -> np.ndarray:
    return image[..., 0] if image.shape[2] == 1 else image
