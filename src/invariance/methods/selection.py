"""Select a method for a set of images by a race, and fit it, within a budget of seconds or a number of trials."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from invariance._core.checks import check_count, check_number
from invariance._core.progress import track
from invariance._core.randomness import make_rng
from invariance.encoders import OnnxEncoder
from invariance.images import encode_labels
from invariance.methods.classifier import ImageClassifier
from invariance.methods.decisions import Cause, LeftOut, Selection, Step
from invariance.methods.heats import draw_heats
from invariance.methods.kept_trials import KeptTrials
from invariance.methods.limits import Budget, MaxTrials
from invariance.methods.method import Method
from invariance.methods.preparation import MAX_SIDE, Facts, learn_facts
from invariance.methods.race import Race
from invariance.methods.registry import get_methods
from invariance.methods.runner import Runner
from invariance.methods.trial import MIN_PER_CLASS
from invariance.transformations import TransformationSet

BUDGET = 60.0  # seconds: an answer in a minute


def select_method(
    images: Sequence[np.ndarray],
    labels: Any,
    transformations: TransformationSet | None = None,
    budget: float = BUDGET,
    random_state: int = 0,
    n_jobs: int | None = None,
    encoder: OnnxEncoder | None = None,
    max_trials: int | None = None,
    max_side: int | None = MAX_SIDE,
    scale: str = "dtype",
) -> Selection:
    """Select a method for images by a race, and fit it.

    All methods are tried on the same held-out images: first with 40 training images (or 4 per class), then with 240,
    1440, ..., and at last on five folds of all images, which are drawn again where images are few. After every fold,
    methods that are clearly worse than another on the same images are dropped, and so is what cannot be tried and
    fitted in the time left. At the end the most accurate is chosen; of those within a quarter of a per cent, the
    fastest to classify.

    What is tried within a budget depends on the speed of the machine. With `max_trials` no decision does: the same seed
    selects the same method on every machine, and of equals the first in the order of trying.

    Trials are kept, as descriptions of images are: a second race of the same images with the same settings repeats the
    decisions of the first in little time, and one with a larger budget goes on where the first one ended.

    Parameters
    ----------
    images : sequence of ndarray of shape (h, w) or (h, w, c)
    labels : array-like of shape (n,)
    transformations : TransformationSet or None, default=None
        Φ; methods that refuse a part of it are left out.
    budget : float, default=60
        Seconds to select and fit a method; fitting one that is ahead by a standard error may take a quarter more.
    random_state : int, default=0
    n_jobs : int or None, default=None
    encoder : OnnxEncoder or None, default=None
        The pretrained network of methods that take one; None is the default one.
    max_trials : int or None, default=None
        How often a method is fitted to some of the images and judged on others, instead of a budget.
    max_side : int or None, default=320
    scale : {"dtype", "image", "percentile"}, default="dtype"
        As for `ImageClassifier`.

    Returns
    -------
    selection : Selection
        With a fitted classifier.
    """
    race = race_methods(
        images, labels, transformations, budget, random_state, n_jobs, encoder, max_trials, max_side, scale
    )
    *_, selection = (event for event in track(race, "selecting a method") if isinstance(event, Selection))
    return selection


def race_methods(
    images: Sequence[np.ndarray],
    labels: Any,
    transformations: TransformationSet | None = None,
    budget: float = BUDGET,
    random_state: int = 0,
    n_jobs: int | None = None,
    encoder: OnnxEncoder | None = None,
    max_trials: int | None = None,
    max_side: int | None = MAX_SIDE,
    scale: str = "dtype",
) -> Iterator[Step | Selection]:
    """Select a method as `select_method` does, step by step.

    A first model is fitted after the first trial, with fewer images where all would take long.

    Parameters
    ----------
    images, labels, transformations, budget, random_state, n_jobs, encoder, max_trials, max_side, scale
        As for `select_method`.

    Yields
    ------
    event : Step or Selection
        A step before it is begun; a selection, with a fitted classifier, whenever there is a better model. The last
        event is the final selection.
    """
    check_number("budget", budget, 0)
    if max_trials is not None:
        check_count("max_trials", max_trials)
    limit = Budget(budget) if max_trials is None else MaxTrials(max_trials)
    _, codes = encode_labels(labels, len(images))
    facts = learn_facts(images, codes)
    candidates, left_out = find_candidates(facts, transformations)
    if not candidates:
        raise ValueError(f"no method is suitable: {'; '.join(f'{out.method}: {out.detail}' for out in left_out)}")
    kept = KeptTrials(images, labels, encoder)
    runners = [
        Runner(
            method,
            ImageClassifier(method.name, transformations, max_side, n_jobs, random_state, scale, encoder),
            len(images),
            kept,
            limit,
            method.suits(facts),
        )
        for method in candidates
    ]
    race = Race(images, labels, runners, left_out, limit, make_rng(random_state))
    if np.bincount(codes).max() <= MIN_PER_CLASS:
        return race.run_untried()
    return race.run(draw_heats(labels, random_state))


def find_candidates(facts: Facts, phi: TransformationSet | None) -> tuple[list[Method], list[LeftOut]]:
    """Return the methods that suit the images, in the order to try them, and why others do not."""
    candidates: list[Method] = []
    left_out = []
    for method in sorted(get_methods(), key=lambda method: method.rank_for(facts)):
        if facts.side < max(method.min_side, method.auto_min_side):
            detail = f"images of {facts.height} x {facts.width} pixels are too small for it"
            left_out.append(LeftOut(method.name, Cause.IMAGES_TOO_SMALL, detail))
        elif method.missing():
            left_out.append(LeftOut(method.name, Cause.NOT_INSTALLED, method.missing()))
        else:
            try:
                method.plan(phi).check(method.name)
                candidates.append(method)
            except ValueError as error:
                left_out.append(LeftOut(method.name, Cause.REFUSES, str(error)))
    return candidates, left_out
