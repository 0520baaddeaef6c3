"""Select a method for a set of images by cross-validation, within a budget of seconds."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from invariance._core.checks import check_number
from invariance.encoders import OnnxEncoder
from invariance.images import encode_labels
from invariance.methods.contest import N_FOLDS, TIMES_MORE, Contest
from invariance.methods.decisions import Cause, LeftOut, Selection
from invariance.methods.method import Method
from invariance.methods.preparation import Facts, learn_facts
from invariance.methods.registry import get_methods
from invariance.methods.trial import draw_folds
from invariance.transformations import TransformationSet

N_FIRST = 40  # images of the first round, mostly to see how long methods take


def select_method(
    images: Sequence[np.ndarray],
    labels: Any,
    transformations: TransformationSet | None = None,
    budget: float = 300.0,
    random_state: int = 0,
    n_jobs: int | None = None,
    encoder: OnnxEncoder | None = None,
) -> Selection:
    """Select a method for images, so that fitting it ends within the budget.

    Methods are tried in rounds of 40, 240, 1440, ... images and finally all. A method goes on if it is not clearly
    worse than the best and if trying and fitting it are expected to fit into the rest of the budget; if it is alone, it
    goes straight to the last round, where it meets the methods that combine others. Of those of the last round, the
    most accurate is chosen; of those within one standard error of it (of the difference, on the same images), the
    fastest to classify.

    What is tried depends on the speed of the machine, so the same seed may select another method elsewhere.

    Parameters
    ----------
    images : sequence of ndarray of shape (h, w) or (h, w, c)
    labels : array-like of shape (n,)
    transformations : TransformationSet or None, default=None
        Φ; methods that refuse a part of it are left out.
    budget : float, default=300
        Seconds.
    random_state : int, default=0
    n_jobs : int or None, default=None
    encoder : OnnxEncoder or None, default=None
        The pretrained network of methods that take one; None is the default one.

    Returns
    -------
    selection : Selection
    """
    check_number("budget", budget, 0)
    _, codes = encode_labels(labels, len(images))
    facts = learn_facts(images, codes)
    candidates, left_out = _find_candidates(facts, transformations)
    if not candidates:
        raise ValueError(f"no method is suitable: {'; '.join(f'{out.method}: {out.detail}' for out in left_out)}")
    contest = Contest(images, labels, candidates, left_out, budget, (transformations, random_state, n_jobs, encoder))
    if np.bincount(codes).max() < 3:
        return contest.end_untried()
    for size in _round_sizes(facts):
        if contest.is_settled and size < len(images):
            continue
        if not contest.hold_round(draw_folds(labels, N_FOLDS, size, random_state), is_last=size == len(images)):
            break
    return contest.end()


def _find_candidates(facts: Facts, phi: TransformationSet | None) -> tuple[list[Method], list[LeftOut]]:
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


def _round_sizes(facts: Facts) -> list[int]:
    """Numbers of images in the rounds; the last has all."""
    sizes, size = [], max(N_FIRST, 4 * facts.n_classes)
    while 1.5 * size < facts.n_images:
        sizes.append(size)
        size *= TIMES_MORE
    return [*sizes, facts.n_images]
