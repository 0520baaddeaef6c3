"""Paper 4 as a method: distances minimised over Φ and along its tangents."""

from collections.abc import Iterable

from invariance.methods.exhibits import Exhibit, Text
from invariance.methods.method import Method, Treatment
from invariance.methods.neighbours import NEAREST, show_neighbours, striking_rows
from invariance.methods.preparation import SIDE
from invariance.tangents import JitteredDistance, TangentDistance, tangent_parts
from invariance.tradeoff import ImageKernel, TradeoffClassifier
from invariance.transformations import Affine, Identity, Shifts

N_NEAREST = 5
SMALL = 64  # pixels per side below which images are likely to be aligned, such as digits and faces


class Tangent(Method):
    """A support vector machine on the jittered tangent distance."""

    name = "tangent"
    summary = "distances that ignore small transformations"
    purpose = "whole, roughly aligned images such as digits and faces, few per class; not for textures or scenes"
    # `Affine()` has no members but the generators of all affine maps: shift, rotation, scale, stretch and shear.
    default_phi = Shifts(1) * Affine()
    max_learned = 3000
    is_grey = True
    growth = 2
    exact_sentence = "The distance is the minimum over all members of the set."
    rank = 40

    def treat(self, part):
        """Sets with generators are followed along their tangents as well."""
        if isinstance(tangent_parts(part), Identity):
            return super().treat(part)
        if isinstance(part, Affine) and not len(part.matrices):
            return Treatment.TANGENT, "The distance is minimised along the tangents of all affine maps."
        return (
            Treatment.TANGENT,
            "The distance is the minimum over all members of the set and, around each, along its tangents.",
        )

    def make(self, plan, facts, common):
        """One kernel, weighed by nothing: the trade-off's machine is the fastest one-against-all machine here."""
        distance = JitteredDistance(
            plan.computed, TangentDistance(tangent_parts(plan.computed), n_jobs=common["n_jobs"])
        )
        return TradeoffClassifier([ImageKernel(distance, name="tangents")], "ova", probability=True, **common)

    def rank_for(self, facts):
        """Small images are compared first of all."""
        return (0, self.name) if facts.side < SMALL else super().rank_for(facts)

    def explain(self, classifier, evaluation, rng) -> Iterable[Exhibit]:
        """Training images that are nearest to some of the images."""
        kernel = classifier.model_.base_kernels_[0]
        yield Text(
            f"Images are compared as grey squares of {SIDE} pixels. The distance of two images is the smallest that "
            f"the transformations above can make it. The nearer a training image, the more it counts; how much was "
            f"learned by a support vector machine."
        )
        if evaluation is None:
            yield Text("With images, the report shows the nearest training images.")
            return
        yield Text(f"{NEAREST} The images beside it are training images.")
        codes = classifier.model_.codes_
        rows = striking_rows(evaluation, rng)
        squares = classifier.squares([evaluation.images[row] for row in rows])
        for row, square, similarity in zip(rows, squares, kernel.rows(squares), strict=True):
            nearest = (-similarity).argsort(kind="stable")[:N_NEAREST]
            yield show_neighbours(evaluation, row, square, kernel.images_[nearest], codes[nearest], similarity[nearest])
