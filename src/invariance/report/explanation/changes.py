"""What changes the predictions: images are rotated, shifted, scaled and made darker, and classified again."""

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
REACH, ZOOM, POWER = 0.15, 1.5, 2.0  # share of the side; factors
BORDER = "reflect"  # black corners would be a change of their own


class Change(NamedTuple):
    """A transformation in several degrees: those (T,) of the members of Φ, of which the first changes nothing."""

    name: str
    label: str
    phi: TransformationSet
    degrees: np.ndarray
    ticks: tuple[float, ...]


class Response(NamedTuple):
    """Probabilities (n, T) of the true class of images in all degrees of a change, which are right, the profile."""

    change: Change
    probabilities: np.ndarray
    is_right: np.ndarray
    profile: InvarianceProfile


def show_changes(report: Report, classifier: ImageClassifier, evaluation: Evaluation, rng: np.random.Generator) -> None:
    """How the probability of the true class moves as images are changed, and the invariance profile of it."""
    rows = _draw_evenly(evaluation.codes, min(N_IMAGES, len(evaluation.codes)), rng)
    images = _same_size(classifier, [evaluation.images[row] for row in rows])
    report.section("What changes its predictions").text(
        f"{len(rows)} of the images, cut to squares of {images.shape[1]} pixels, are changed step by step and "
        f"classified again. A thin curve is an image, the thick one their mean; where a curve is flat, the change does "
        f"not matter to the model. Images are mirrored at their borders."
    )
    if len(rows) < 2:
        report.text("One image is too few for this.")
        return
    responses = respond(classifier, images, evaluation.codes[rows], list_changes(images.shape[1]))
    for (name, label, _, degrees, ticks), probabilities, _, _ in responses:
        report.figure(response_figure(degrees, probabilities, label, ticks), f"Images {name}.")
    report.table(
        ("change", "accuracy unchanged", "accuracy changed", "distance ratio", "closer than others"),
        [_row(response) for response in responses],
        "Distances are between the probabilities of all classes. The ratio is that of versions of one image to that of "
        "different images: 0 if a change does not matter, about 1 if it matters as much as another image; “closer” is "
        "how often two versions of one image are closer than versions of two images.",
    ).figure(
        profile_figure({response.change.name: response.profile for response in responses[:2]}),
        "Invariance profile: quantiles of the distances between different images over those of the versions of one. "
        "Above the diagonal versions are nearer to each other than to other images.",
    )


def list_changes(side: int) -> list[Change]:
    """What is tried on images of this side."""
    turns = np.arange(N_ANGLES) * 360.0 / N_ANGLES
    shares = _neutral_first(even_steps(N_STEPS, REACH), 0.0)
    zooms = _neutral_first(np.exp(even_steps(N_STEPS, np.log(ZOOM))), 1.0)
    powers = _neutral_first(np.exp(even_steps(N_STEPS, np.log(POWER))), 1.0)
    shifts = Affine([[[1, 0, share * side], [0, 1, 0]] for share in shares], border=BORDER)
    rotated = Rotations(N_ANGLES, border=BORDER)
    scaled = Scales(N_STEPS, ZOOM, border=BORDER)
    return [
        Change("rotated", "degrees, counter-clockwise", rotated, (turns + 180) % 360 - 180, (-180, -90, 0, 90, 180)),
        Change("shifted", "% of the side, to the right", shifts, 100 * shares, (-15, -10, -5, 0, 5, 10, 15)),
        Change("scaled", "factor", scaled, zooms, (0.67, 0.8, 1, 1.25, 1.5)),
        Change(
            "made darker or brighter", "exponent; above 1 is darker", Gamma(N_STEPS, POWER), powers, (0.5, 1, 1.5, 2)
        ),
    ]


def respond(
    classifier: ImageClassifier, images: np.ndarray, codes: np.ndarray, changes: Sequence[Change]
) -> list[Response]:
    """Classify images (n, h, w[, c]) of known classes in all degrees of all changes."""
    versions = [change.phi.operators(images.shape[1:]).apply(images) for change in changes]
    flat = [part.reshape(-1, *images.shape[1:]) for part in versions]
    bounds = np.cumsum([len(part) for part in flat])[:-1]
    probabilities = np.split(classifier.predict_proba(list(np.concatenate(flat))), bounds)
    return [_judge(images, codes, *parts) for parts in zip(changes, versions, probabilities, strict=True)]


def _judge(
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
    """Values in the order of a set's members: the identity comes first."""
    return np.concatenate([[neutral], values[~np.isclose(values, neutral)]])


def _draw_evenly(codes: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """`n` rows at random, from as many classes as there are, in turn."""
    order = rng.permutation(len(codes))
    turn = np.empty(len(codes), int)
    for code in np.unique(codes):
        own = order[codes[order] == code]
        turn[own] = np.arange(len(own))
    return order[np.argsort(turn[order], kind="stable")][:n]


def _same_size(classifier: ImageClassifier, images: list[np.ndarray]) -> np.ndarray:
    """Squares (n, side, side[, 3]) in which objects are as large as in the training images."""
    facts = classifier.facts_
    if get_method(classifier.method_name).takes_squares:
        return as_squares(images, SIDE, classifier.n_channels_)
    larger = max(facts.height, facts.width)
    shrunk = min(1.0, (classifier.max_side or larger) / larger)
    return as_squares(images, max(1, round(shrunk * facts.side)), classifier.n_channels_)
