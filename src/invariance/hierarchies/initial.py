"""The kernel on the smallest patches, on which the hierarchy stands; what it ignores, the whole hierarchy ignores.

"inner" and "histogram" are those of [Wibisono10] sec. 6: products of vectors of length 1, which can be embedded like
those of any layer above. "gaussian" and functions k(P, T) -> (n, m) of flat patches compare the patches themselves.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import rbf_kernel

from invariance.hierarchies._jit import cut_histograms, cut_patches
from invariance.hierarchies.scratch import Scratch

KERNELS = ("inner", "histogram", "gaussian")
N_BINS = 101  # centred at 0, 0.01, ..., 1


def check_kernel(kernel: Any) -> str | Callable:
    """One of the names, or a function of two arrays of patches."""
    if not callable(kernel) and not (isinstance(kernel, str) and kernel in KERNELS):
        raise ValueError(f"kernel must be one of {', '.join(map(repr, KERNELS))} or a function; got {kernel!r}.")
    return kernel


def describe_patches(
    image: np.ndarray, size: tuple[int, int], hop: int, kernel: str | Callable, scratch: Scratch
) -> np.ndarray:
    """All patches of an image (h, w, c), a hop apart, as vectors (rows, cols, d) that the kernel compares.

    "inner": the patch at length 1, a blank one zero. "histogram": the histogram of each channel at length 1. Else the
    patch as it is.
    """
    height, width = size
    rows, cols = (image.shape[0] - height) // hop + 1, (image.shape[1] - width) // hop + 1
    n_channels = image.shape[2]
    if kernel == "histogram":
        codes = np.clip(np.rint(image * (N_BINS - 1)), 0, N_BINS - 1).astype(np.uint8)
        out = scratch.array("patches", rows, cols, n_channels * N_BINS)
        cut_histograms(codes, height, width, hop, N_BINS, out)
        return out
    out = scratch.array("patches", rows, cols, height * width * n_channels)
    lines = np.ascontiguousarray(image).reshape(image.shape[0], -1)
    cut_patches(lines, height, width, n_channels, hop, kernel == "inner", out)
    return out


class PatchKernel(NamedTuple):
    """A kernel that is no product of vectors: a Gaussian of width `gamma`, or the user's function."""

    gamma: float | None
    function: Callable | None

    def compare(self, patches: np.ndarray, templates: np.ndarray) -> np.ndarray:
        """Normalised values (n, m) float32 for flat patches (n, d) and templates (m, d)."""
        if self.function is None:
            return rbf_kernel(patches, templates, self.gamma).astype(np.float32, copy=False)
        values = np.asarray(self.function(patches, templates), np.float32)
        if values.shape != (len(patches), len(templates)) or not np.isfinite(values).all():
            raise ValueError(
                f"kernel must give finite numbers of shape {(len(patches), len(templates))}; got {values.shape}."
            )
        if hasattr(self.function, "diag"):
            lengths = np.sqrt(self.function.diag(patches))[:, None] * np.sqrt(self.function.diag(templates))
            values = np.where(lengths > 0, values / np.where(lengths > 0, lengths, 1), 0).astype(np.float32)
        return values


def learn_patch_kernel(kernel: str | Callable, templates: np.ndarray) -> PatchKernel:
    """The Gaussian's width from the distances between nearest templates (m, d); a function stays what it is."""
    if callable(kernel):
        return PatchKernel(None, kernel)
    return PatchKernel(nearest_neighbour_gamma(templates), None)


def nearest_neighbour_gamma(vectors: np.ndarray) -> float:
    """1 / (2 d²) for the mean distance d of a vector to its nearest other one; 1 if all are the same."""
    distances = cdist(vectors, vectors)
    np.fill_diagonal(distances, np.inf)
    nearest = distances.min(axis=1)
    nearest = nearest[np.isfinite(nearest)]
    mean = nearest.mean() if len(nearest) else 0.0
    return float(1 / (2 * mean**2)) if mean > 0 else 1.0
