"""Every image classified by all the others, from one matrix of distances and one decomposition of it."""

import numpy as np

from invariance._core.probabilities import learn_sharpness, scores_to_probabilities
from invariance.tradeoff.base import inverse_mean

SHARPNESS = 2.0  # of the kernel, over the mean distance
RIDGE = 0.3


def left_out_probabilities(distances: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Class probabilities (n, K) of each image by all others, for distances (n, n) and true classes (n,).

    Least-squares machines, one a class against all others, on the kernel exp(-2 D / mean D), made definite. With
    H = (K + ridge)⁻¹, less what the offsets take, and coefficients A = H Y, the decision of the machines that were
    learned without image i is y_i - a_i / h_ii: no machine is learned twice.

    Least distances over Φ are far from Euclidean, and machines that leave no room for that (support vectors with a
    large C, a small ridge) lose more by it than an invariance gains; with this ridge they do not.
    """
    values, vectors = np.linalg.eigh(np.exp(-SHARPNESS * inverse_mean(distances) * distances))
    inverse = (vectors / (np.maximum(values, 0) + RIDGE)) @ vectors.T
    sums = inverse.sum(axis=1)
    H = inverse - np.outer(sums, sums) / sums.sum()
    targets = np.where(codes[:, None] == np.arange(int(codes.max()) + 1), 1.0, -1.0)
    scores = targets - H @ targets / np.diag(H)[:, None]
    return scores_to_probabilities(scores, learn_sharpness(scores, codes))
