"""Paper 5 as a method: kernels of all rooms together, weighed for each class."""

from collections.abc import Iterable

import numpy as np

from invariance.methods.encoder import MAX_POOLED, encoder_kernels
from invariance.methods.encoder import MIN_SIDE as MIN_ENCODED
from invariance.methods.exhibits import Drawing, Exhibit, Table, Text
from invariance.methods.method import Method, Plan, Treatment, weakest
from invariance.methods.objects import MIN_SIDE, object_kernels
from invariance.methods.registry import get_methods
from invariance.tradeoff import TradeoffClassifier, default_kernels
from invariance.tradeoff.reasoning import class_shares, task_similarity
from invariance.transformations import Illumination, Rotations, Shifts, TransformationSet
from invariance.transformations.sets import factors_of, product_of

MAX_TASKS = 30  # of a legible matrix of similarities


class Tradeoff(Method):
    """Kernels of all rooms, weighed by how well they separate each class."""

    name = "tradeoff"
    summary = "kernels of all methods together, weighed for each class"
    purpose = "when you do not know which method or invariance suits the images; not when seconds count"
    # Without Φ, kernels with these invariances and kernels without are weighed.
    default_phi = Rotations(16) * Shifts(2)
    built_in_sentence = "Some of the kernels do not know where in an image something is."
    max_learned = 1500
    takes_squares = False
    growth = 2
    rank = 90
    # 1 to 4 were measured on flowers, textures, faces and digits, where some of the others had not been tried.
    combines = 4.0
    takes_encoder = True

    def treat(self, part: TransformationSet) -> tuple[Treatment, str]:
        """Return the treatment of the kernel that promises least."""
        parts = {method.name: method.treat(part)[0] for method in _combined()}
        listed = ", ".join(f"{name} {treatment}" for name, treatment in parts.items())
        return weakest(parts.values()), f"Every kernel ignores it in its own way: {listed}."

    def plan(self, phi: TransformationSet | None = None) -> Plan:
        """Return what the kernels do with every part of Φ; each handles Φ itself, but for illumination."""
        plan = super().plan(phi)
        computed = product_of([factor for factor in factors_of(plan.phi) if not isinstance(factor, Illumination)])
        if phi is None:
            weighed = "Kernels that ignore it and kernels that do not are weighed against each other."
            return plan._replace(computed=computed, parts=tuple(p._replace(sentence=weighed) for p in plan.parts))
        return plan._replace(computed=computed)

    def make(self, plan, facts, common, encoder=None):
        """Kernels of photographs are added where images are large enough; costs are cross-validated."""
        kernels = default_kernels(None if plan.is_default else plan.computed, **common)
        if facts.side >= MIN_SIDE:
            phi = product_of([]) if plan.is_default else plan.computed
            kernels += object_kernels(phi, facts, common)
        if facts.side >= MIN_ENCODED and _is_encoded() and (plan.is_default or plan.count_members() <= MAX_POOLED):
            kernels += encoder_kernels(None if plan.is_default else plan.computed, common, encoder)
        return TradeoffClassifier(kernels, "ova", sigma="cv", probability=True, **common)

    def explain(self, classifier, evaluation, rng) -> Iterable[Exhibit]:
        """The weights of the kernels, what they cost, and which classes want the same ones."""
        model = classifier.model_
        shares, costs = model.shares_, model.costs_
        largest = shares.argmax(axis=0)
        yield Text(
            "Every kernel measures in its own way, with its own invariance, how similar two images are. Their weights "
            "were learned for every class, so that the class is separated from the others; a kernel that errs on "
            "held-out training images costs more. A share is no measure of quality: of two kernels that say the same, "
            "one may get all of the weight."
        )
        yield Drawing("weights_figure", (model,), "Shares of the kernels in the weights.")
        yield Table(
            ("kernel", "mean share", "largest share", "where", "cost of its weight"),
            [
                (
                    model.kernel_names_[k],
                    f"{shares[:, k].mean():.0%}",
                    f"{shares[:, k].max():.0%}",
                    model.task_names_[largest[k]] if shares[:, k].any() else "–",
                    float(costs[k]),
                )
                for k in np.argsort(-shares.mean(axis=0), kind="stable")
            ],
            "The kernels by their mean share.",
        )
        if len(model.task_names_) > 1:
            similarity, names = _similarities(model)
            caption = "Which classes want the same kernels: dark is the same weights."
            yield Drawing("similarity_figure", (similarity, names), caption)


def _combined() -> list[Method]:
    """The methods whose kernels are weighed: those of this library."""
    package = __name__.partition(".")[0]
    weighed = [method for method in get_methods() if method.is_weighed and not method.combines]
    return [m for m in weighed if type(m).__module__.partition(".")[0] == package and not m.missing()]


def _is_encoded() -> bool:
    """Whether pretrained networks are installed."""
    return any(method.takes_encoder for method in _combined())


def _similarities(model: TradeoffClassifier) -> tuple[np.ndarray, list[str]]:
    """Similarities of the weights of tasks, or of classes where there are too many tasks; and their names."""
    if len(model.task_names_) <= MAX_TASKS:
        return task_similarity(model), model.task_names_
    by_class = class_shares(model)
    return np.minimum(by_class[:, None], by_class[None]).sum(axis=2), [str(name) for name in model.classes_]
