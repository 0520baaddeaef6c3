"""What the words of a codebook say about the classes of the samples it was learned from."""

import numpy as np


def class_shares(words: np.ndarray, codes: np.ndarray, n_words: int, n_classes: int) -> np.ndarray:
    """Share of each class among the samples of each word: words (n, t), class codes (n,) -> (n_words, K).

    A word without samples has the shares of all samples together.
    """
    pairs = words.astype(np.int64) * n_classes + codes[:, None]
    counts = np.bincount(pairs.ravel(), minlength=n_words * n_classes).reshape(n_words, n_classes)
    counts = np.where(counts.any(axis=1, keepdims=True), counts, np.bincount(codes, minlength=n_classes))
    return counts / counts.sum(axis=1, keepdims=True)
