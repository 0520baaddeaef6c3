"""Largest responses over Φ by transforming the filters, against transforming the patches.

Usage, from the repository: python -m benchmarks.transformations
"""

import cv2
import numpy as np

from benchmarks.timing import best
from invariance.transformations import Rotations, largest_responses

N_PATCHES, SIZE, N_ROTATIONS, N_FILTERS, N_REPEATS = 5000, 31, 24, 1, 5


def main():
    rng = np.random.default_rng(0)
    patches = rng.random((N_PATCHES, SIZE, SIZE), dtype=np.float32)
    filters = rng.standard_normal((N_FILTERS, SIZE, SIZE)).astype(np.float32)
    operators = Rotations(N_ROTATIONS).operators((SIZE, SIZE))

    def through_adjoint():
        return largest_responses(patches, filters, operators)

    def through_apply():
        blocks = (operators.apply(patches[i : i + 500]) for i in range(0, N_PATCHES, 500))
        return np.concatenate([np.einsum("nthw,khw->nkt", block, filters, optimize=True).max(2) for block in blocks])

    centre = (SIZE - 1) / 2
    turns = [cv2.getRotationMatrix2D((centre, centre), 360 * t / N_ROTATIONS, 1.0) for t in range(N_ROTATIONS)]

    def through_opencv():
        largest = np.full((N_PATCHES, N_FILTERS), -np.inf, np.float32)
        flat = filters.reshape(N_FILTERS, -1).T
        for turn in turns:
            turned = np.stack([cv2.warpAffine(patch, turn, (SIZE, SIZE), flags=cv2.INTER_LINEAR) for patch in patches])
            np.maximum(largest, turned.reshape(N_PATCHES, -1) @ flat, out=largest)
        return largest

    fast, scores = best(through_adjoint, N_REPEATS)
    print(f"{N_PATCHES} patches {SIZE}x{SIZE}, {N_ROTATIONS} rotations, {N_FILTERS} filter(s)")
    print(f"filters transformed (adjoint)      {fast * 1e3:9.2f} ms")
    peers = {"patches transformed (apply)": through_apply, "patches transformed (OpenCV)": through_opencv}
    for name, method in peers.items():
        slow, expected = best(method, N_REPEATS)
        deviation = np.abs(scores - expected).max() / np.abs(expected).max()
        print(f"{name:34s} {slow * 1e3:9.2f} ms   {slow / fast:7.1f} times slower, deviation {deviation:.1e}")


if __name__ == "__main__":
    main()
