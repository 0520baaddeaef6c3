"""Paper 1 as a method: learned filters whose largest response over Φ separates the classes."""

from collections.abc import Iterable

from invariance.jungles import JungleClassifier
from invariance.methods.exhibits import Drawing, Exhibit, Text
from invariance.methods.method import Method
from invariance.transformations import Rotations, Shifts

N_EXAMPLES = 6
MAX_LAYERS = 4
# Many classes with few images each, such as people by their faces: more and shallower jungles, and a discriminant.
MIN_MANY_CLASSES, MAX_FEW_IMAGES = 10, 10
FOR_FEW_IMAGES = {"final_estimator": "discriminant", "n_jungles": 60, "max_depth": 2, "max_steps": 20}
FOR_MORE_IMAGES = {"final_estimator": "linear", "max_depth": 3}


class Jungle(Method):
    """Jungles of invariant filters with a linear classifier or a discriminant on all responses."""

    name = "jungle"
    summary = "learned filters whose maximum response over Φ separates the classes"
    purpose = "patches and small images with a known Φ, many images, filters to look at; not for faces or photographs"
    default_phi = Rotations(3, limit=15, border="edge") * Shifts(1, border="edge")
    exact_sentence = "A response is the maximum over all members of the set."
    rank = 30

    def make(self, plan, facts, common):
        """Shallow jungles without early stopping: the classifier on the responses regularizes."""
        has_few = facts.n_classes >= MIN_MANY_CLASSES and facts.n_images <= MAX_FEW_IMAGES * facts.n_classes
        settings = FOR_FEW_IMAGES if has_few else FOR_MORE_IMAGES
        return JungleClassifier(plan.computed, validation_fraction=0.0, **settings, **common)

    def cost(self, plan):
        """Eight members cost as much as all that does not depend on Φ."""
        return 1 + plan.count_members() / 8

    def explain(self, classifier, evaluation, rng) -> Iterable[Exhibit]:
        """Filters, how images respond to one of them, a graph, and how the jungles grew."""
        model = classifier.model_
        if not any((dag.feature >= 0).any() for dag in model.dags_):
            yield Text("There is nothing to show: no filter was found that separates classes. Add images.")
            return
        yield Text(
            f"Images are seen as squares of {model.image_shape_[0]} pixels. The response of a filter to an image is "
            f"the maximum over the transformations that do not matter; the classifier uses all responses."
        )
        colours = (
            "Colours are relative to a middle grey."
            if classifier.n_channels_ == 3
            else "Positive weights are red, negative ones blue; each filter has its own scale."
        )
        yield Drawing(
            "filters_figure",
            (model,),
            f"Filters of the nodes that most training images reached, named jungle.node, with their number. {colours}",
        )
        if evaluation is not None:
            rows = rng.permutation(len(evaluation.codes))[:N_EXAMPLES]
            yield Drawing(
                "winners_figure",
                (model, classifier.squares([evaluation.images[row] for row in rows])),
                "Top: some images. Middle: the version of each with the maximum response. Bottom: "
                "the filter and its response.",
            )
        yield Drawing(
            "jungle_figure",
            (model,),
            "One of the jungles. Training images start at the top; at a node their maximum response to its filter "
            "decides which way they go. Bars are the classes of the images that passed; the number below counts them.",
            {"max_layers": MAX_LAYERS},
        )
        yield Drawing(
            "growth_figure",
            (model,),
            "How the jungles grew, layer by layer, and, where images were held out, how well these are predicted.",
        )
