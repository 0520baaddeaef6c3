"""The stages of learning to label pixels: borrowing pixels, learning filters, fitting a head for every round."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import log_loss
from threadpoolctl import threadpool_limits

from invariance._core.parallel import map_jobs
from invariance._core.progress import track
from invariance.jungles import InvariantFeatures
from invariance.jungles.final_estimators import fit_final_estimator as fit_head
from invariance.segmentation.boosted import fast_predictor
from invariance.segmentation.dense import BANK_ALONE, context_of, predict_maps
from invariance.segmentation.description import Description
from invariance.segmentation.inputs import Labelled
from invariance.segmentation.sampling import N_FOLDS, Pixels
from invariance.segmentation.standard import StandardImage
from invariance.segmentation.tiles import Tile, cut
from invariance.segmentation.windows import cut_windows, window_reach

# A first guess is believed where its best class leads by this much.
SURE = 0.3
# Candidates for the patch size are compared on so many pixels at most.
N_COMPARED = 6000

MakeHead = Callable[[int], Any]


def describe_pixels(
    description: Description, images: list[StandardImage], pixels: Pixels, n_jobs: int | None
) -> np.ndarray:
    """Features (n, F) of drawn pixels."""
    parts = [
        description.at(images[index], pixels.rows[places], pixels.cols[places], n_jobs)
        for index, places in track(list(pixels.by_image()), "describing pixels")
    ]
    return np.concatenate(parts)


def borrow_pixels(labelled: Labelled, pixels: Pixels, n_wanted: int, make_head: MakeHead, rng, n_jobs) -> Pixels:
    """The pixels, and as many others as `n_wanted` asks for, with the classes that a first guess is sure of.

    The first guess is a head on the bank alone. Others are taken from the images that have labels.
    """
    n_others = n_wanted - len(pixels.codes)
    sizes = [mask.size for mask in labelled.masks]
    chosen = np.flatnonzero(labelled.counts.sum(axis=1) < sizes)
    if n_others <= 0 or len(chosen) == 0:
        return pixels
    guess = _fit(make_head, describe_pixels(BANK_ALONE, labelled.images, pixels, n_jobs), pixels.codes)
    parts = [pixels]
    for index in chosen:
        image, mask = labelled.images[index], labelled.masks[index]
        places = np.unique(rng.integers(mask.size, size=2 * n_others // len(chosen) + 1))
        places = places[~np.isin(mask.ravel()[places], labelled.classes)]
        if len(places) == 0:
            continue
        rows, cols = np.divmod(places, mask.shape[1])
        probabilities = fast_predictor(guess).predict_columns(BANK_ALONE.at(image, rows, cols, n_jobs).T)
        ranked = np.sort(probabilities, axis=1)
        sure = rng.permutation(np.flatnonzero(ranked[:, -1] - ranked[:, -2] > SURE))[: n_others // len(chosen) + 1]
        codes = guess.classes_[probabilities[sure].argmax(axis=1)]
        parts.append(Pixels(np.full(len(sure), index), rows[sure], cols[sure], codes))
    together = Pixels(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    return together.take(np.argsort(together.image, kind="stable"))


def cut_examples(images: list[StandardImage], pixels: Pixels, size: int) -> np.ndarray:
    """Flat patches (n, d) float32 around drawn pixels."""
    parts = []
    for index, places in pixels.by_image():
        rows, cols = pixels.rows[places], pixels.cols[places]
        box = Tile(int(rows.min()), int(rows.max()) + 1, int(cols.min()), int(cols.max()) + 1)
        reach = window_reach(size)
        parts.append(cut_windows(cut(images[index], box, reach), rows - box.top + reach, cols - box.left + reach, size))
    return np.concatenate(parts)


def fit_rounds(
    labelled: Labelled,
    pixels: Pixels,
    folds: np.ndarray | None,
    description: Description,
    make_head: MakeHead,
    n_rounds: int,
    n_jobs: int | None,
) -> list[Any]:
    """One fitted head a round; a single one if the pixels cannot be parted into folds that hold all classes."""
    own = describe_pixels(description, labelled.images, pixels, n_jobs)
    features, heads = own, []
    if folds is None:
        return [_fit(make_head, own, pixels.codes)]
    fold_heads: list[list[Any]] = [[] for _ in range(N_FOLDS)]
    for _ in range(n_rounds - 1):
        seen = [np.full(len(own), True), *(folds != fold for fold in range(N_FOLDS))]
        fitted = map_jobs(partial(_fit_some, make_head, features, pixels.codes), seen, n_jobs)
        heads.append(fitted[0])
        for chain, head in zip(fold_heads, fitted[1:], strict=True):
            chain.append(head)
        judged = [np.flatnonzero(folds == fold) for fold in range(N_FOLDS)]
        contexts = [
            _describe_context(labelled, pixels.take(places), description, chain, n_jobs)
            for places, chain in zip(judged, fold_heads, strict=True)
        ]
        context = np.empty((len(own), contexts[0].shape[1]), np.float32)
        context[np.concatenate(judged)] = np.concatenate(contexts)
        features = np.concatenate([own, context], axis=1)
    return [*heads, _fit(make_head, features, pixels.codes)]


def _fit_some(make_head: MakeHead, features: np.ndarray, codes: np.ndarray, rows: np.ndarray) -> Any:
    return _fit(make_head, features[rows], codes[rows])


def _fit(make_head: MakeHead, features: np.ndarray, codes: np.ndarray) -> Any:
    # Boosting on two threads saves a third of the time on an idle machine, and takes twenty times as long on a busy
    # one, where its threads wait for each other; so heads are fitted beside each other instead.
    with threadpool_limits(limits=1, user_api="openmp"):
        return fit_head(make_head(len(codes)), features, codes, np.ones(len(codes)))


def _describe_context(labelled: Labelled, pixels: Pixels, description, heads, n_jobs) -> np.ndarray:
    """The bank on the maps of `heads`, at pixels that these have not seen."""
    parts = []
    for index, places in track(list(pixels.by_image()), "a round of context"):
        maps = predict_maps(description, heads, labelled.images[index], len(labelled.classes), n_jobs)
        parts.append(BANK_ALONE.at(context_of(maps), pixels.rows[places], pixels.cols[places], n_jobs))
    return np.concatenate(parts)


def compare_patch_sizes(
    images: list[StandardImage],
    pixels: Pixels,
    folds: np.ndarray,
    sizes: tuple[int, ...],
    make_filters: Callable[[int, int], InvariantFeatures],
    make_head: MakeHead,
) -> int | None:
    """The patch size whose filters, learned on one fold, let a head tell apart the pixels of the other best.

    None if the pixels of a class are too few for that.
    """
    chosen = np.arange(0, len(pixels.codes), max(1, len(pixels.codes) // N_COMPARED))
    pixels, is_first = pixels.take(chosen), folds[chosen] == 0
    learn = np.flatnonzero(is_first)
    judge = np.flatnonzero(~is_first & np.isin(pixels.codes, pixels.codes[learn]))
    if len(np.unique(pixels.codes[learn])) < 2 or len(np.unique(pixels.codes[judge])) < 2:
        return None
    losses = {}
    for size in track(sizes, "choosing the patch size"):
        patches = cut_examples(images, pixels, size)
        filters = make_filters(size, len(learn)).fit(patches[learn], pixels.codes[learn])
        responses = filters.transform(patches)
        if responses.shape[1]:
            head = _fit(make_head, responses[learn], pixels.codes[learn])
            losses[size] = log_loss(pixels.codes[judge], head.predict_proba(responses[judge]), labels=head.classes_)
    return min(losses, key=lambda size: losses[size]) if losses else None
