"""A pretrained network as a method: its features, pooled over Φ, and logistic regression."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.base import clone

from invariance.encoders import EncoderClassifier, OnnxEncoder, default_encoder
from invariance.encoders.finding import DEFAULT, missing_packages
from invariance.encoders.networks import EXTRA
from invariance.methods.exhibits import Exhibit, Text
from invariance.methods.method import Method, Plan, Treatment
from invariance.methods.preparation import SIDE
from invariance.tradeoff import FeatureKernel
from invariance.transformations import Identity, TransformationSet, invariance_profile

MIN_SIDE = 64  # pixels from which automatic selection expects photographs, as for the method "objects"
MAX_POOLED = 32  # members of Φ that features are pooled over; each takes as long as an image
MAX_PROFILED = 20  # images whose transformed copies are compared for a report
POOLED_SENTENCE = "The mean of the features of all transformed copies is taken, of training images and of new ones."
COPIES_SENTENCE = f"Φ has more than {MAX_POOLED} members: the model is trained on some transformed copies instead."


class Encoder(Method):
    """Features of a pretrained network with logistic regression."""

    name = "encoder"
    summary = "features of a pretrained network, with logistic regression"
    purpose = "photographs like those the network was trained on; not for faces or digits"
    auto_min_side = MIN_SIDE
    takes_squares = False
    rank = 45
    takes_encoder = always_compared = True

    def missing(self) -> str:
        """Return the packages of the extra that are not installed."""
        missing = missing_packages()
        if not missing:
            return ""
        return f"a pretrained network, which helps with photographs, needs {', '.join(missing)}: {EXTRA}"

    def treat(self, part: TransformationSet) -> tuple[Treatment, str]:
        """Features are pooled over every set."""
        return Treatment.POOLED, POOLED_SENTENCE

    def plan(self, phi: TransformationSet | None = None) -> Plan:
        """Return what is done with every part of Φ: pooled as long as this takes no more than `MAX_POOLED` copies."""
        return limit_pooled(super().plan(phi), Treatment.COPIES, COPIES_SENTENCE)

    def cost(self, plan: Plan) -> float:
        """Return the number of images that the network sees instead of one."""
        return 1.0 if plan.has(Treatment.COPIES) else float(plan.count_members())

    def make(self, plan, facts, common, encoder=None):
        """The encoder pools over Φ, unless the model is trained on copies."""
        phi = None if plan.has(Treatment.COPIES) else plan.computed
        return EncoderClassifier(pooled_encoder(encoder, phi), common["n_jobs"])

    def explain(self, classifier, evaluation, rng) -> Iterable[Exhibit]:
        """Which network, and how much of Φ it ignores with and without pooling."""
        model = classifier.model_
        encoder = model.encoder_
        yield Text(
            f"The network '{encoder.path}' (SHA-256 {encoder.fingerprint_[:12]}...) describes every image by "
            f"{len(model.mean_)} values; logistic regression (C = {model.C_:g}, cross-validated) weighs them for each "
            f"class. Nothing but these weights was learned from the images."
        )
        phi = encoder.transformations
        if evaluation is None or phi is None or len(phi.members((SIDE, SIDE))) < 2 or len(evaluation.images) < 2:
            return
        rows = np.sort(rng.permutation(len(evaluation.images))[:MAX_PROFILED])
        squares = classifier.squares([evaluation.images[row] for row in rows])
        for name, some in (("As it is", clone(encoder).set_params(transformations=None)), ("Pooled over Φ", encoder)):
            yield Text(f"{name}: {invariance_profile(some, squares, phi).sentence}")


def limit_pooled(plan: Plan, treatment: Treatment, sentence: str) -> Plan:
    """Return a plan that pools over at most `MAX_POOLED` members; parts of larger sets get another treatment."""
    if plan.count_members() <= MAX_POOLED:
        return plan
    parts = [
        part._replace(treatment=treatment, sentence=sentence) if part.treatment == Treatment.POOLED else part
        for part in plan.parts
    ]
    return plan._replace(parts=tuple(parts))


def pooled_encoder(encoder: OnnxEncoder | None, phi: TransformationSet | None) -> OnnxEncoder:
    """Return an encoder, the default one if None, whose features are pooled over Φ."""
    made = default_encoder() if encoder is None else clone(encoder)
    return made.set_params(transformations=None if isinstance(phi, Identity) else phi)


def encoder_kernels(
    phi: TransformationSet | None, common: dict[str, Any], encoder: OnnxEncoder | None = None
) -> list[FeatureKernel]:
    """Return the kernels of a pretrained network that the trade-off weighs.

    The features of the default network are none of them negative; on the validation parts of the flowers, χ² suits them
    better than Euclidean distances.
    """
    made = pooled_encoder(encoder, phi).set_params(n_jobs=common["n_jobs"])
    distance = "chi2" if made.path == DEFAULT and made.layer is None else "euclidean"
    return [FeatureKernel(made, distance, None, "pretrained network", labelled=False)]
