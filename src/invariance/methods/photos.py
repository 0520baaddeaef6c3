"""A pretrained network and the kernels of the method `objects` together, for photographs: the trade-off of both."""

from collections.abc import Iterable

from invariance.methods.encoder import MAX_POOLED, Encoder, encoder_kernels, limit_pooled
from invariance.methods.exhibits import Drawing, Exhibit, Text
from invariance.methods.method import Method, Plan, Treatment
from invariance.methods.objects import MIN_SIDE, object_kernels
from invariance.methods.preparation import Facts
from invariance.tradeoff import TradeoffClassifier
from invariance.transformations import TransformationSet

POOLED_SENTENCE = (
    "The network's features are averaged and words are counted over all transformed copies of an image; the places of "
    "edges are not compared."
)
# With a penalty of the weights themselves (norm 1) the network gets nearly all of the weight. Chosen on the validation
# part of split 1 of the flowers, where it differs from other choices by a few images of 340.
NORM = 2.0


class Photos(Method):
    """Kernels of a pretrained network and of words, weighed for each class."""

    name = "photos"
    summary = "a pretrained network, words of shapes and colours and the places of edges, weighed for each class"
    purpose = "objects in photographs of at least 64 pixels per side, where accuracy counts more than seconds"
    max_learned = 3000
    min_side = auto_min_side = MIN_SIDE
    takes_squares = False
    startup = 0.45  # a little less than that of the method "objects", which takes most of the time
    rank = 58
    takes_encoder = True
    is_weighed = False  # its kernels are those of others

    def missing(self) -> str:
        """Return that the packages of the method `encoder` are missing; that method says which, once."""
        return f"it needs the same packages as '{Encoder.name}'" if Encoder().missing() else ""

    def suits(self, facts: Facts) -> bool:
        """Images in colour: on few flowers it is level with other methods, on many far ahead."""
        return facts.n_channels > 1

    def treat(self, part: TransformationSet) -> tuple[Treatment, str]:
        """Both kinds of kernels are pooled over every set."""
        return Treatment.POOLED, POOLED_SENTENCE

    def plan(self, phi: TransformationSet | None = None) -> Plan:
        """Return what is done with every part of Φ: pooled, or refused where it has more than `MAX_POOLED` members."""
        sentence = f"Φ has more than {MAX_POOLED} members. Take fewer, or the method '{Encoder.name}'."
        return limit_pooled(super().plan(phi), Treatment.REFUSED, sentence)

    def make(self, plan, facts, common, encoder=None):
        """Costs of the weights are cross-validated, and weights spread."""
        kernels = [*encoder_kernels(plan.computed, common, encoder), *object_kernels(plan.computed, facts, common)]
        return TradeoffClassifier(kernels, "ova", sigma="cv", norm=NORM, probability=True, **common)

    def explain(self, classifier, evaluation, rng) -> Iterable[Exhibit]:
        """The weights of the network and of the words."""
        model = classifier.model_
        encoder = model.base_kernels_[0].transformer_
        yield Text(
            f"Images are compared by the features of the network '{encoder.path}' (SHA-256 "
            f"{encoder.fingerprint_[:12]}...), by their histograms of words of shapes and colours and, where no "
            f"transformations are ignored, by the places of edges. How much each counts was learned for every class."
        )
        yield Drawing("weights_figure", (model,), "Shares of the network and of the kinds of words in the weights.")
