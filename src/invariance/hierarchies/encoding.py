"""Filtering and pooling, layer by layer, from the smallest patches to the whole image: [Wibisono10] eq. (5).

All patches of the smallest size are described once and shared by every larger patch that contains them. At each layer
the vectors of all positions are compared with the templates in one matrix product, pooled over the positions inside
each larger patch, and normalised. One image is encoded at a time: its grids stay in the processor's cache, and its
response cannot depend on other images.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from invariance._core import loaded
from invariance.hierarchies._jit import Scratch, normalize_rows
from invariance.hierarchies.initial import N_BINS, PatchKernel, describe_patches
from invariance.hierarchies.pooling import pool, pool_all, pool_parts

# Memory of the grids of one image; a larger image is encoded in bands of rows. Large enough for 1,000 x 1,000 pixels
# in few bands, small enough for one band per core on any machine.
BAND_BYTES = 256 * 2**20


class Architecture(NamedTuple):
    """What is known before anything is learned: patch sizes in ascending order, the hop, the p of the pooling.

    The measure of a layer (rows, cols) is over the positions of its patches in those of the next layer, or in the
    image; None is uniform.
    """

    sizes: list[tuple[int, int]]
    hop: int
    p: float
    kernel: str | Callable
    measures: list[np.ndarray | None]

    def check_loaded(self) -> None:
        """Raise ValueError if the sizes, read from a file, are not those of patches that grow."""
        side = loaded.whole(1, loaded.MAX_SIDE)
        loaded.check_values(
            self,
            sizes=loaded.list_of(loaded.list_of(side, 2), at_least=1),
            hop=side,
            p=loaded.either(loaded.number(1, 1e3), loaded.one_of(float("inf"))),
            kernel=loaded.either(loaded.one_of("inner", "histogram", "gaussian"), loaded.able("__call__")),
            measures=loaded.list_of(loaded.optional(loaded.array((None, None), np.float64, 0, 1)), len(self.sizes)),
        )
        for smaller, larger in pairwise(self.sizes):
            if smaller[0] > larger[0] or smaller[1] > larger[1]:
                raise ValueError(f"patches of layers must grow; got {smaller} before {larger}.")


class Stage(NamedTuple):
    """What is learned of a layer: its templates as columns (k, q), and how other vectors are compared with them.

    Contiguous rows of all templates make the product a fifth faster than contiguous templates do.
    """

    filters: np.ndarray
    embedding: Any
    patch_kernel: PatchKernel | None
    is_normalized: bool = False  # whether embedded vectors have length 1

    def check_loaded(self) -> None:
        """Raise ValueError if the templates, read from a file, are none."""
        loaded.check_values(
            self,
            filters=loaded.array((None, None), np.float32, -1e6, 1e6),
            embedding=loaded.optional(loaded.able("transform")),
            patch_kernel=loaded.optional(loaded.instance(PatchKernel)),
            is_normalized=loaded.FLAG,
        )
        if self.filters.size == 0:
            raise ValueError("a layer must have at least one template.")

    def compare(self, vectors: np.ndarray, scratch: Scratch) -> np.ndarray:
        """Return the layer's normalised kernel between vectors (n, d) and all templates: (n, q) float32."""
        if self.patch_kernel is not None:
            return self.patch_kernel.compare(vectors, self.filters.T)
        out = scratch.array("responses", len(vectors), self.filters.shape[1])
        return np.matmul(embed(vectors, self.embedding, self.is_normalized), self.filters, out=out)


def embed(vectors: np.ndarray, embedding: Any, is_normalized: bool) -> np.ndarray:
    """Vectors (n, d) in the coordinates of a fitted embedding, if there is one: (n, k) float32.

    They are scaled to length 1 where asked for, [Wibisono10] def. 3.1; vectors without an embedding have that length.
    """
    if embedding is None:
        return vectors
    embedded = np.ascontiguousarray(embedding.transform(vectors), np.float32)
    if is_normalized:
        normalize_rows(embedded)
    return embedded


def encode(
    versions: Iterable[np.ndarray],
    shares: Sequence[float],
    architecture: Architecture,
    stages: Sequence[Stage],
    scratch: Scratch,
) -> np.ndarray:
    """Encode an image by the normalised vector of its responses, pooled over its versions: (q,) float32.

    The versions φ(f) of an image f are (h, w, c), with shares of the measure above 0; an iterator holds one of them at
    a time. They all have the same positions, so that pooling the pooled responses of each is pooling over versions and
    positions together, under the product of both measures.
    """
    parts = [_pool_positions(version, architecture, stages, scratch) for version in versions]
    pooled = pool_parts(parts, shares, architecture.p)[None]
    normalize_rows(pooled)
    return pooled[0]


def describe_image(image: np.ndarray, architecture: Architecture, scratch: Scratch) -> np.ndarray:
    """Describe an image (h, w, c) as one patch for the initial kernel: (d,) float32."""
    return describe_patches(image, image.shape[:2], architecture.hop, architecture.kernel, scratch)[0, 0].copy()


def _pool_positions(
    image: np.ndarray, architecture: Architecture, stages: Sequence[Stage], scratch: Scratch
) -> np.ndarray:
    """Pool the responses of an image (h, w, c) over all positions, in bands of rows if it is large: (q,) float32."""
    size = architecture.sizes[len(stages) - 1]
    rows = (image.shape[0] - size[0]) // architecture.hop + 1
    n_bands = min(rows, _count_bands(image.shape, architecture, stages))
    edges = [rows * k // n_bands for k in range(n_bands + 1)]
    measure = architecture.measures[len(stages) - 1]
    parts, shares = [], []
    for begin, end in pairwise(edges):
        weights = None if measure is None else measure[begin:end].ravel()
        share = end - begin if weights is None else weights.sum()
        if share == 0:
            continue
        first, last = architecture.hop * begin, architecture.hop * (end - 1) + size[0]
        responses = _respond(image[first:last], architecture, stages, scratch)
        parts.append(pool_all(responses.reshape(-1, responses.shape[2]), architecture.p, weights))
        shares.append(share)
    return pool_parts(parts, shares, architecture.p)


def _respond(image: np.ndarray, architecture: Architecture, stages: Sequence[Stage], scratch: Scratch) -> np.ndarray:
    """Responses (r, c, q) of the last stage at all positions of its patches."""
    hop = architecture.hop
    vectors = describe_patches(image, architecture.sizes[0], hop, architecture.kernel, scratch)
    responses = _compare_grid(stages[0], vectors, scratch)
    sizes, measures = pairwise(architecture.sizes[: len(stages)]), architecture.measures[: len(stages) - 1]
    for stage, (smaller, size), measure in zip(stages[1:], sizes, measures, strict=True):
        window = ((size[0] - smaller[0]) // hop + 1, (size[1] - smaller[1]) // hop + 1)
        rows, cols = (image.shape[0] - size[0]) // hop + 1, (image.shape[1] - size[1]) // hop + 1
        # Where the hop does not divide the difference of two sizes, the last patches would reach beyond the image.
        inside = responses[: rows + window[0] - 1, : cols + window[1] - 1]
        vectors = pool(inside, window, architecture.p, scratch, measure)
        normalize_rows(vectors.reshape(-1, vectors.shape[2]))
        responses = _compare_grid(stage, vectors, scratch)
    return responses


def _compare_grid(stage: Stage, vectors: np.ndarray, scratch: Scratch) -> np.ndarray:
    """Compare a grid of vectors (r, c, d) with the templates of a stage: (r, c, q)."""
    rows, cols, d = vectors.shape
    return stage.compare(vectors.reshape(-1, d), scratch).reshape(rows, cols, -1)


def _count_bands(shape: tuple[int, ...], architecture: Architecture, stages: Sequence[Stage]) -> int:
    """Number of bands that keep the largest grid of an image, its vectors and their responses, within `BAND_BYTES`."""
    height, width = architecture.sizes[0]
    positions = ((shape[0] - height) // architecture.hop + 1) * ((shape[1] - width) // architecture.hop + 1)
    width_of_vector = N_BINS if architecture.kernel == "histogram" else height * width
    values = width_of_vector * shape[2] + 3 * max(stage.filters.shape[1] for stage in stages)
    return -(-4 * positions * values // BAND_BYTES)
