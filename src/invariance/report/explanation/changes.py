"""What changes the predictions: images are rotated, shifted, scaled and made darker or brighter, and classified."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from invariance.methods import Evaluation, ImageClassifier, get_method
from invariance.methods.preparation import SIDE, as_squares
from invariance.report.evaluation_figures import response_figure
from invariance.report.profile_figures import profile_figure
from invariance.report.report import Report
from invariance.transformations import (
    Affine,
    Gamma,
    InvarianceProfile,
    Rotations,
    Scales,
    TransformationSet,
    invariance_profile,
)
from invariance.transformations.geometric import even_steps

N_IMAGES = 8
N_ANGLES = 18
N_STEPS = 5
MAX_SHIFT, MAX_SCALE, MAX_GAMMA = 0.15, 1.5, 2.0  # share of the side; factors
BORDER = "reflect"  # black corners would change the predictions as well
N_PROFILES = 2  # of the first changes; there is no room for more side by side


class Change(NamedTuple):
    """A kind of transformation in several degrees.

    Attributes
    ----------
    name : str
    label : str
        What the degrees are.
    phi : TransformationSet
    degrees : ndarray of shape (T,)
        The degree of each member of Φ; the first member is the identity.
    ticks : tuple of float
        Degrees that are labelled in a figure.
    """

    name: str
    label: str
    phi: TransformationSet
    degrees: np.ndarray
    ticks: tuple[float, ...]


class Response(NamedTuple):
    """Predictions for changed images.

    Attributes
    ----------
    change : Change
    probabilities : ndarray of shape (n, T)
        Probability of the true class of each image at each degree.
    is_right : ndarray of shape (n, T), bool
        Whether the predicted class is the true class.
    profile : InvarianceProfile
        Of the class probabilities.
    """

    change: Change
    probabilities: np.ndarray
    is_right: np.ndarray
    profile: InvarianceProfile


def show_changes(report: Report, classifier: ImageClassifier, evaluation: Evaluation, rng: np.random.Generator) -> None:
    """Add the probabilities of the true classes of changed images, and their invariance profiles."""
    rows = _draw_evenly(evaluation.codes, min(N_IMAGES, len(evaluation.codes)), rng)
    images = _same_size(classifier, [evaluation.images[row] for row in rows])
    report.section("What changes its predictions").text(
        f"{len(rows)} of the images, cut to squares of {images.shape[1]} pixels, are changed step by step and "
        f"classified again. Thin curves are images, the thick curve is their mean; where a curve is flat, the change "
        f"does not matter to the model. Images are reflected at their borders."
    )
    if len(rows) < 2:
        report.text("This needs at least two images.")
        return
    responses = respond(classifier, images, evaluation.codes[rows], list_changes(images.shape[1]))
    for (name, label, _, degrees, ticks), probabilities, _, _ in responses:
        report.figure(response_figure(degrees, probabilities, label, ticks), f"Images {name}.")
    report.table(
        ("change", "accuracy unchanged", "accuracy changed", "distance ratio", "closer than other images"),
        [_row(response) for response in responses],
        "Distances are between the probabilities of all classes. The ratio is the mean distance between versions of "
        "one image over that between different images: 0 if the change does not matter, about 1 if it matters as much "
        "as another image. The last column is how often two versions of one image are closer than two images.",
    ).figure(
        profile_figure({response.change.name: response.profile for response in responses[:N_PROFILES]}),
        "Invariance profiles: quantiles of the distances between different images against those between versions of "
        "one image. Above the diagonal, versions are closer to each other than to other images.",
    )


def list_changes(side: int) -> list[Change]:
    """Return the changes that are tried on squares of this side."""
    angles = np.arange(N_ANGLES) * 360.0 / N_ANGLES
    shares = _neutral_first(even_steps(N_STEPS, MAX_SHIFT), 0.0)
    factors = _neutral_first(np.exp(even_steps(N_STEPS, np.log(MAX_SCALE))), 1.0)
    exponents = _neutral_first(np.exp(even_steps(N_STEPS, np.log(MAX_GAMMA))), 1.0)
    shifts = Affine([[[1, 0, share * side], [0, 1, 0]] for share in shares], border=BORDER)
    rotated = Rotations(N_ANGLES, border=BORDER)
    scaled = Scales(N_STEPS, MAX_SCALE, border=BORDER)
    return [
        Change("rotated", "degrees, counter-clockwise", rotated, (angles + 180) % 360 - 180, (-180, -90, 0, 90, 180)),
        Change("shifted", "% of the side, to the right", shifts, 100 * shares, (-15, -10, -5, 0, 5, 10, 15)),
        Change("scaled", "factor", scaled, factors, (0.67, 0.8, 1, 1.25, 1.5)),
        Change(
            "made darker or brighter",
            "exponent; above 1 is darker",
            Gamma(N_STEPS, MAX_GAMMA),
            exponents,
            (0.5, 1, 1.5, 2),
        ),
    ]


def respond(
    classifier: ImageClassifier, images: np.ndarray, codes: np.ndarray, changes: Sequence[Change]
) -> list[Response]:
    """Classify images (n, h, w) or (n, h, w, c) of known classes at all degrees of all changes."""
    versions = [change.phi.operators(images.shape[1:]).apply(images) for change in changes]
    flat = [part.reshape(-1, *images.shape[1:]) for part in versions]
    bounds = np.cumsum([len(part) for part in flat])[:-1]
    probabilities = np.split(classifier.predict_proba(list(np.concatenate(flat))), bounds)
    return [_evaluate(images, codes, *parts) for parts in zip(changes, versions, probabilities, strict=True)]


def _evaluate(
    images: np.ndarray, codes: np.ndarray, change: Change, versions: np.ndarray, probabilities: np.ndarray
) -> Response:
    n, n_degrees = versions.shape[:2]
    profile = invariance_profile(lambda _: probabilities, images, lambda _: versions)
    by_degree = probabilities.reshape(n, n_degrees, -1)
    is_right = by_degree.argmax(axis=2) == codes[:, None]
    return Response(change, by_degree[np.arange(n), :, codes], is_right, profile)


def _row(response: Response) -> tuple:
    change, _, is_right, profile = response
    return (
        change.name,
        f"{is_right[:, 0].mean():.0%}",
        f"{is_right[:, 1:].mean():.0%}",
        round(profile.ratio, 2),
        f"{profile.separation:.0%}",
    )


def _neutral_first(values: np.ndarray, neutral: float) -> np.ndarray:
    """Values in the order of the members of a set: the identity comes first."""
    return np.concatenate([[neutral], values[~np.isclose(values, neutral)]])


def _draw_evenly(codes: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw `n` rows at random, from all classes in turn."""
    order = rng.permutation(len(codes))
    rank = np.empty(len(codes), int)  # within the class
    for code in np.unique(codes):
        own = order[codes[order] == code]
        rank[own] = np.arange(len(own))
    return order[np.argsort(rank[order], kind="stable")][:n]


def _same_size(classifier: ImageClassifier, images: list[np.ndarray]) -> np.ndarray:
    """Squares (n, side, side) or (n, side, side, 3) of the size that the model sees."""
    facts = classifier.facts_
    if get_method(classifier.method_name).takes_squares:
        return as_squares(images, SIDE, classifier.n_channels_)
    larger = max(facts.height, facts.width)
    shrunk = min(1.0, (classifier.max_side or larger) / larger)
    return as_squares(images, max(1, round(shrunk * facts.side)), classifier.n_channels_)
