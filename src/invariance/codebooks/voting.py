"""Direct voting: an image has the class that the leaves of its windows vote for, without a vocabulary.

The method of Marée et al. (CVPR 2005), which [Moosmann06] sec. 4 compares with: every window reaches a leaf of every
tree, and the shares of the classes among the training windows of these leaves are averaged over windows and trees.
"""

from typing import Any

import numpy as np


def shares_of_words(codebook: Any, classes: np.ndarray) -> np.ndarray:
    """The share of every class among the training windows of every word, (n_words, n_classes).

    A class of the codebook that is not among `classes`, the background of masks, does not vote; one of `classes` that
    the codebook has not seen has no share.
    """
    posteriors = getattr(codebook, "posteriors_", None)
    if posteriors is None:
        raise ValueError(
            f"voting=True needs a codebook that knows the classes of its words, such as ClusteringForest; got "
            f"{codebook!r}."
        )
    known = codebook.classes_.tolist()
    shares = np.zeros((len(posteriors), len(classes)))
    for column, label in enumerate(classes.tolist()):
        if label in known:
            shares[:, column] = posteriors[:, known.index(label)]
    return shares


def average_shares(counts: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Mean class shares over all windows and trees of images.

    Parameters
    ----------
    counts : ndarray of shape (n_images, n_words)
        How often every word occurs.
    shares : ndarray of shape (n_words, n_classes)
        From `shares_of_words`.

    Returns
    -------
    ndarray of shape (n_images, n_classes), float64
        Rows sum to 1; equal shares where no class has a vote.
    """
    votes = counts.astype(np.float64) @ shares
    totals = votes.sum(axis=1, keepdims=True)
    return np.where(totals > 0, votes / np.where(totals > 0, totals, 1), 1 / shares.shape[1])
