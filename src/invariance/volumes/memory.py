"""How much memory a block needs, by the formula of docs/memory.md, and how large blocks may be."""

from collections.abc import Sequence

from invariance.segmentation import JungleSegmenter
from invariance.segmentation.description import TILE_SIDE

# Python, the libraries and the model file; one tile in work per thread.
BASE_BYTES, THREAD_BYTES = 590_000_000, 200_000_000


def block_bytes(model: JungleSegmenter, block: Sequence[int], n_threads: int = 1) -> int:
    """Return how many bytes a process needs for one block (..., y, x) of a volume at the most."""
    n_rounds, n_classes = len(model.final_estimators_), len(model.classes_)
    margin = 2 * TILE_SIDE * n_rounds  # what is read around the block
    height, width = (side + margin for side in block[-2:])
    n_sections = 1
    for side in block[:-2]:
        n_sections *= side
    page = height * width * (16 * model.n_channels_ + 4 * n_classes * (n_rounds + 2) + 24)
    band = 1024 * n_rounds * model.final_estimators_[-1].n_features_in_ * (width + TILE_SIDE)
    results = 2 * n_sections * block[-1] * block[-2] * (n_classes + 2)
    return BASE_BYTES + n_threads * THREAD_BYTES + page + band + results
