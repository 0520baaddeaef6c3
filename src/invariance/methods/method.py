"""A method: one way to classify images, and what it does with every part of Φ.

`plan(phi)` is a promise: for every part of Φ it says whether predictions are invariant by a maximum, minimum or sum
over the set, by features pooled over it, by tangents, by transformed training copies, by the descriptor, by
normalization, anyway, or not at all.
`make` builds an estimator that keeps the promise. A test checks it for every method and kind of transformation.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from invariance.methods.exhibits import Exhibit
from invariance.methods.preparation import SIDE, Facts
from invariance.transformations import Identity, Illumination, TransformationSet
from invariance.transformations.parsing import format_transformations
from invariance.transformations.sets import factors_of, parts_of, product_of, split_normalizing

if TYPE_CHECKING:
    from invariance.methods.classifier import ImageClassifier
    from invariance.methods.evaluation import Evaluation


class Treatment(StrEnum):
    """What a method does with a part of Φ."""

    EXACT = "exact"  # maximum, minimum or sum over the members
    POOLED = "pooled"  # mean or maximum of the features of all members
    TANGENT = "tangent"  # minimum over the members and along their tangents
    COPIES = "copies"  # the model is trained on transformed copies
    DESCRIPTOR = "descriptor"  # the descriptor has this invariance
    NORMALIZED = "normalized"  # removed from every image before anything else
    BUILT_IN = "built-in"  # the method has this invariance whether asked for or not
    REFUSED = "refused"  # the method cannot ignore it


class PartPlan(NamedTuple):
    """What a method does with one part of Φ.

    Attributes
    ----------
    part : TransformationSet
    treatment : Treatment
    sentence : str
        The treatment in words.
    """

    part: TransformationSet
    treatment: Treatment
    sentence: str

    @property
    def text(self) -> str:
        """The part as for `--invariant-to`, whatever its border."""
        return format_transformations(self.part, getattr(self.part, "border", None))

    def as_json(self) -> dict[str, str]:
        """The part, its treatment and the sentence as strings."""
        return {"part": self.text, "treatment": str(self.treatment), "sentence": self.sentence}


class Plan(NamedTuple):
    """What a method does with Φ.

    Attributes
    ----------
    phi : TransformationSet
        The whole set: the one requested, or the default of the method.
    is_default : bool
        Whether `phi` is the default of the method.
    parts : tuple of PartPlan
    computed : TransformationSet
        What is left for the estimator to compute with: Φ without the factors that are normalized, built in, or left
        to the descriptor.
    illumination_width : float or None
        Width of the blur that every image is divided by.
    """

    phi: TransformationSet
    is_default: bool
    parts: tuple[PartPlan, ...]
    computed: TransformationSet
    illumination_width: float | None

    def count_members(self) -> int:
        """Number of members of `computed` for the squares that whole-image methods use."""
        return len(self.computed.members((SIDE, SIDE)))

    def has(self, treatment: Treatment) -> bool:
        """Whether a part is treated so."""
        return any(part.treatment == treatment for part in self.parts)

    def amounts_to(self, other: "Plan") -> bool:
        """Return whether a method does the same for another plan, so that trying both tells nothing new."""
        return self._essence() == other._essence()

    def _essence(self) -> tuple:
        settled = {type(part.part) for part in self.parts if part.treatment == Treatment.DESCRIPTOR}
        return repr(self.computed), settled, self.illumination_width

    def check(self, name: str) -> "Plan":
        """Return the plan, or raise if a part is refused.

        Raises
        ------
        ValueError
            With the part and the reason.
        """
        for part in self.parts:
            if part.treatment == Treatment.REFUSED:
                raise ValueError(f"method '{name}' cannot ignore {part.text}: {part.sentence}")
        return self


MAX_RANK = 100  # larger than any rank


class Method(ABC):
    """A way to classify images.

    Subclasses set the attributes and implement `make`, and `treat` and `explain` where needed.

    Attributes
    ----------
    name : str
        As in `--method`.
    summary : str
        One line: how it works.
    purpose : str
        What it is for, and what not.
    default_phi : TransformationSet
        What it ignores if Φ is not given.
    exact_sentence : str
        How it computes with the members of a set; empty if it cannot.
    built_in_sentence : str
        What it ignores whatever Φ is; empty if there is nothing.
    max_learned : int or None
        The number of images that it learns from at most; of more, so many are drawn in proportion to the classes. None
        learns from all.
    min_side : int
        The smallest median side of the images, in pixels, that it accepts.
    auto_min_side : int
        Automatic selection tries it from this median side on.
    is_grey : bool
        Whether it ignores colour.
    takes_squares : bool
        Whether it sees images as squares of one size (32 pixels) or as they are.
    growth : int
        The power of the number of images that the time to fit grows with.
    startup : float
        Share of the time to fit some dozens of images that does not depend on their number.
    rank : int
        Methods with a lower rank are tried first.
    always_compared : bool
        Whether `compare` shows it beside whatever is compared, as what is offered elsewhere.
    takes_encoder : bool
        Whether `make` takes a pretrained network, as its parameter `encoder`.
    is_weighed : bool
        Whether a method made of all others has kernels of this one.
    combines : float
        For a method made of all others, how many times as long it takes as these together; 0 for the others.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    purpose: ClassVar[str]
    default_phi: ClassVar[TransformationSet] = Identity()
    exact_sentence: ClassVar[str] = ""
    built_in_sentence: ClassVar[str] = ""
    max_learned: ClassVar[int | None] = None
    min_side: ClassVar[int] = 1
    auto_min_side: ClassVar[int] = 1
    is_grey: ClassVar[bool] = False
    takes_squares: ClassVar[bool] = True
    growth: ClassVar[int] = 1
    startup: ClassVar[float] = 0.0
    rank: ClassVar[int] = 50
    always_compared: ClassVar[bool] = False
    takes_encoder: ClassVar[bool] = False
    is_weighed: ClassVar[bool] = True
    combines: ClassVar[float] = 0.0

    def treat(self, part: TransformationSet) -> tuple[Treatment, str]:
        """Return the treatment of a factor of Φ, which is neither `Identity` nor `Illumination`, and a sentence."""
        if self.exact_sentence:
            return Treatment.EXACT, self.exact_sentence
        return Treatment.REFUSED, "it has no way to do so. Choose another method."

    @abstractmethod
    def make(self, plan: Plan, facts: Facts, common: dict[str, Any]) -> Any:
        """Return an unfitted classifier that follows the plan.

        Parameters
        ----------
        plan : Plan
            `plan.computed` is the set that the classifier itself must handle.
        facts : Facts
            What is known of the training images.
        common : dict
            `random_state` and `n_jobs`.
        """

    def explain(
        self, classifier: "ImageClassifier", evaluation: "Evaluation | None", rng: np.random.Generator
    ) -> Iterable[Exhibit]:
        """Yield what a report shows of a fitted model: texts, tables, images and figures."""
        return ()

    def missing(self) -> str:
        """Return what must be installed for the method, and what it would add; empty if nothing is missing."""
        return ""

    def rank_for(self, facts: Facts) -> tuple[int, str]:
        """Return where the method comes in the order of trying; those made for large images come first of these."""
        return self.rank - MAX_RANK * (self.auto_min_side > 1), self.name

    def suits(self, facts: Facts) -> bool:
        """Return whether images are of the kind that the method is best for; `fit` then needs less proof of it."""
        return False

    def cost(self, plan: Plan) -> float:
        """Return the time that a plan takes, in any unit."""
        return float(plan.count_members())

    def plan(self, phi: TransformationSet | None = None) -> Plan:
        """Return what the method does with every part of Φ; None means its default.

        A given Φ replaces the default: nothing is added to it, nothing left out.
        """
        whole = self.default_phi if phi is None else phi
        factors, (normalizing, _) = factors_of(whole), split_normalizing(whole)
        treated = [part for factor in factors for part in self._plan_factor(factor)]
        if phi is not None:
            treated[0] = treated[0]._replace(sentence=treated[0].sentence + self._replaced(whole))
        settled = {id(part.part) for part in treated if part.treatment in SETTLED_BEFORE}
        left = [factor for factor in factors if id(factor) not in settled]
        computed = whole if len(left) == len(factors) else product_of(left)
        width = float(normalizing.width) if isinstance(normalizing, Illumination) else None
        return Plan(whole, phi is None, tuple(treated), computed, width)

    def _plan_factor(self, factor: TransformationSet) -> list[PartPlan]:
        if isinstance(factor, Identity):
            if self.built_in_sentence:
                return [PartPlan(factor, Treatment.BUILT_IN, f"Nothing else is ignored. {self.built_in_sentence}")]
            return [PartPlan(factor, Treatment.EXACT, "Nothing is ignored.")]
        if isinstance(factor, Illumination):
            sentence = "Every image is divided by its own blur and standardized before anything else."
            return [PartPlan(factor, Treatment.NORMALIZED, sentence)]
        parts = parts_of(factor)
        if parts == [factor]:
            return [PartPlan(factor, *self.treat(factor))]
        # A union, closure or sample is a set of its own: no part of it can be settled by itself.
        return [PartPlan(part, *Method.treat(self, part)) for part in parts]

    def _replaced(self, phi: TransformationSet) -> str:
        """What of the default a given Φ gives up."""
        given = {type(part) for part in parts_of(phi)}
        lost = [part for part in parts_of(self.default_phi) if type(part) not in given | {Identity}]
        if not lost:
            return ""
        listed = " and ".join(format_transformations(part, getattr(part, "border", None)) for part in lost)
        return f" Φ replaces the default of the method: {listed} {'is' if len(lost) == 1 else 'are'} no longer ignored."


# Treatments that leave nothing of a factor for the estimator to compute.
SETTLED_BEFORE = (Treatment.NORMALIZED, Treatment.DESCRIPTOR, Treatment.BUILT_IN)


def weakest(treatments: Iterable[Treatment]) -> Treatment:
    """Return the treatment that promises least of those of several parts of one model."""
    order = [
        Treatment.EXACT, Treatment.POOLED, Treatment.NORMALIZED, Treatment.DESCRIPTOR, Treatment.BUILT_IN,
        Treatment.TANGENT, Treatment.COPIES, Treatment.REFUSED,
    ]  # fmt: skip
    return max(treatments, key=order.index)
