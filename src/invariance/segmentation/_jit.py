"""Compiled loops of the segmentation; each has its plain twin in tests/reference.py."""

import numpy as np

from invariance._core.compilation import compiled

# Columns processed together, so that their masks and features stay in the fastest cache.
GROUP = 512
# Position of the single set bit of x: DE_BRUIJN[(x * 0x077CB531 mod 2^32) >> 27].
# fmt: off
DE_BRUIJN = np.array([
    0, 1, 28, 2, 29, 14, 24, 3, 30, 22, 20, 15, 25, 17, 4, 8,
    31, 27, 13, 23, 21, 19, 16, 7, 26, 12, 18, 6, 11, 5, 10, 9,
])
# fmt: on


@compiled
def add_trees(features, first_test, feature, threshold, kept, first_leaf, value, scores):
    """Add to scores (n,) the value of the leaf that every column of features (F, n) float32 reaches in every tree.

    Paths are not followed: the leaves of a tree are bits, from left to right, and every test that sends a column to the
    right clears the bits of the leaves on its left; the lowest remaining bit is the leaf. All columns do the same work,
    so that the compiler can vectorise it.
    """
    n_columns = features.shape[1]
    leaves = np.empty(GROUP, np.uint32)
    for start in range(0, n_columns, GROUP):
        stop = min(start + GROUP, n_columns)
        for tree in range(len(first_leaf)):
            for i in range(stop - start):
                leaves[i] = np.uint32(0xFFFFFFFF)
            for test in range(first_test[tree], first_test[tree + 1]):
                values, limit, rest = features[feature[test], start:stop], threshold[test], kept[test]
                for i in range(stop - start):
                    leaves[i] &= rest if values[i] > limit else np.uint32(0xFFFFFFFF)
            for i in range(stop - start):
                lowest = np.uint64(leaves[i] & (~leaves[i] + np.uint32(1)))
                place = DE_BRUIJN[((lowest * np.uint64(0x077CB531)) & np.uint64(0xFFFFFFFF)) >> np.uint64(27)]
                scores[start + i] += value[first_leaf[tree] + place]
