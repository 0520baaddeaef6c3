"""Edges compared with those of landmarks as a method, every image at its best alignment over Φ."""

from collections.abc import Iterable

from invariance.methods.exhibits import Exhibit, Text
from invariance.methods.method import Method
from invariance.methods.neighbours import N_NEAREST, NEAREST, show_neighbours, striking_rows
from invariance.methods.preparation import SIDE
from invariance.tangents import LandmarkClassifier
from invariance.transformations import Shifts

SMALL = 64  # pixels per side below which images are likely to be one centred thing, such as a digit


class Landmarks(Method):
    """A ridge regression on similarities to landmarks, which are training images."""

    name = "landmarks"
    summary = "edges compared with those of training images, at the best alignment over Φ"
    purpose = "digits, symbols and other centred shapes, at any angle, few or many; not for textures or scenes"
    default_phi = Shifts(1, border="edge")
    exact_sentence = "The distance to a landmark is the minimum over all members of the set."
    is_grey = True
    rank = 45
    is_weighed = False  # its similarities are no kernel

    def make(self, plan, facts, common):
        """The estimator with its own settings."""
        return LandmarkClassifier(plan.computed, **common)

    def rank_for(self, facts):
        """Small images are compared early."""
        return (1, self.name) if facts.side < SMALL else super().rank_for(facts)

    def explain(self, classifier, evaluation, rng) -> Iterable[Exhibit]:
        """Landmarks that are nearest to some of the images."""
        model = classifier.model_
        yield Text(
            f"Images are seen as grey squares of {SIDE} pixels and described by the orientations of their edges. Each "
            f"is compared with {len(model.images_)} training images, the landmarks, as well as the transformations "
            f"above let it match. How much every landmark counts for every class was learned by a regression."
        )
        if evaluation is None:
            yield Text("With images, the report shows the nearest landmarks.")
            return
        yield Text(f"{NEAREST} The images beside it are landmarks.")
        rows = striking_rows(evaluation, rng)
        squares = classifier.squares([evaluation.images[row] for row in rows])
        for row, square, similarity in zip(rows, squares, model.similarities(squares), strict=True):
            nearest = (-similarity).argsort(kind="stable")[:N_NEAREST]
            yield show_neighbours(
                evaluation, row, square, model.images_[nearest], model.codes_[nearest], similarity[nearest]
            )
