"""The initial kernel, on the smallest patches: what it is invariant to, the whole hierarchy is invariant to.

"inner" and "histogram" are those of [Wibisono10] sec. 6: products of vectors of length 1, which can be embedded like
those of any layer above. "gaussian" and functions k(P, T) -> (n, m) of flat patches compare the patches themselves.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import rbf_kernel

from invariance._core import loaded
from invariance.hierarchies._jit import Scratch, cut_histograms, cut_patches

KERNELS = ("inner", "histogram", "gaussian")
N_BINS = 101  # [Wibisono10] sec. 6.2: bins centered at 0, 0.01, ..., 1


def check_kernel(kernel: Any) -> str | Callable:
    """Return the kernel if it is one of `KERNELS` or a function of two arrays of patches."""
    if not callable(kernel) and not (isinstance(kernel, str) and kernel in KERNELS):
        raise ValueError(f"kernel must be one of {', '.join(map(repr, KERNELS))} or a function; got {kernel!r}.")
    return kernel


def describe_patches(
    image: np.ndarray, size: tuple[int, int], hop: int, kernel: str | Callable, scratch: Scratch
) -> np.ndarray:
    """Describe all patches of an image (h, w, c), `hop` pixels apart, by vectors (rows, cols, d) for the kernel.

    "inner": the patch scaled to length 1; a blank patch is zero. "histogram": the histogram of each channel, together
    of length 1. Otherwise: the values of the patch.
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
    """A kernel that is not a product of vectors: a Gaussian with factor `gamma`, or a given function."""

    gamma: float | None
    function: Callable | None

    def check_loaded(self) -> None:
        """Raise ValueError if the kernel, read from a file, is neither a Gaussian nor a function."""
        gaussian = self.function is None
        loaded.check_values(
            self,
            gamma=loaded.number(0, 1e12) if gaussian else loaded.one_of(None),
            function=loaded.one_of(None) if gaussian else loaded.able("__call__"),
        )

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
    """Make the kernel of flat patches; the width of a Gaussian is found on the templates (m, d)."""
    if callable(kernel):
        return PatchKernel(None, kernel)
    return PatchKernel(nearest_neighbour_gamma(templates), None)


def nearest_neighbour_gamma(vectors: np.ndarray) -> float:
    """1 / (2 d²) for the mean distance d of a vector to its nearest neighbour; 1 if all vectors are equal."""
    distances = cdist(vectors, vectors)
    np.fill_diagonal(distances, np.inf)
    nearest = distances.min(axis=1)
    nearest = nearest[np.isfinite(nearest)]
    mean = nearest.mean() if len(nearest) else 0.0
    return float(1 / (2 * mean**2)) if mean > 0 else 1.0
