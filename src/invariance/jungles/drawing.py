"""Which images, weights, members of Φ and validation images a jungle is grown with."""

from numbers import Real

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.utils import check_array
from sklearn.utils.class_weight import compute_sample_weight


def weigh_samples(sample_weight, class_weight, labels: np.ndarray) -> np.ndarray:
    """Multiply sample weights (a number, (n,) or None) by class weights: (n,) float64, not negative."""
    if sample_weight is None or isinstance(sample_weight, Real):
        sample_weight = np.full(len(labels), 1.0 if sample_weight is None else sample_weight)
    weights = check_array(
        sample_weight, dtype=np.float64, ensure_2d=False, ensure_non_negative=True, input_name="sample_weight"
    )
    if weights.shape != (len(labels),):
        raise ValueError(f"sample_weight must have shape ({len(labels)},), one weight per image; got {weights.shape}.")
    return weights if class_weight is None else weights * compute_sample_weight(class_weight, labels)


def drop_weightless(images, codes, weights):
    """Keep the images of positive weight, their codes and weights; weights are scaled to mean 1 over all images."""
    kept = np.flatnonzero(weights)
    if len(np.unique(codes[kept])) < 2:
        raise ValueError(
            f"sample_weight must be above zero for images of at least two classes; got {len(kept)} such images in all. "
            f"Images of weight zero are ignored."
        )
    if len(kept) < len(weights):
        images, codes, weights = images[kept], codes[kept], weights[kept]
    return images, codes, weights * (len(weights) / weights.sum())


def draw_share(n: int, share: float, rng: np.random.Generator, keep_first: bool = False) -> np.ndarray:
    """Draw a random share of the indices below n, at least one: sorted, and with index 0 if `keep_first`."""
    n_drawn = max(1, round(share * n))
    if n_drawn == n:
        return np.arange(n)
    first = int(keep_first)
    drawn = first + rng.permutation(n - first)[: n_drawn - first]
    return np.sort(np.concatenate([np.arange(first), drawn]))


def hold_out(codes: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Choose validation samples: (n,) bool, a share of every class; none if some class has too few samples."""
    held_out = np.zeros(len(codes), bool)
    counts = np.unique_counts(codes).counts
    n_held = round(share * len(codes))
    if n_held < len(counts) or len(codes) - n_held < len(counts) or counts.min() < 2:
        return held_out
    splitter = StratifiedShuffleSplit(1, test_size=n_held, random_state=int(rng.integers(2**31)))
    held_out[next(splitter.split(codes, codes))[1]] = True
    # A class that is held out entirely could not be learned: one of its samples goes back.
    for code in np.setdiff1d(codes[held_out], codes[~held_out]):
        held_out[np.flatnonzero(codes == code)[0]] = False
    return held_out
