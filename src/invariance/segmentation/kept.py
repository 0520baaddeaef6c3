"""The features of whole tiles, computed once in a fit: rows are taken from them, and the maps of rounds predicted."""

import numpy as np

from invariance._core.parallel import map_jobs
from invariance.segmentation.description import Describes, Description, Planes, tile_side, tiles_with
from invariance.segmentation.standard import StandardImage
from invariance.segmentation.tiles import Tile

# Images whose features take more than this are described where pixels are labelled, and again for every round.
MAX_KEPT_BYTES = 256 * 2**20


class KeptDescription:
    """A description that keeps the features of the tiles of images; its methods are those of `Description`.

    Parameters
    ----------
    description : Description
        Computes the features.
    """

    def __init__(self, description: Description):
        self.description = description
        self._kept: dict[tuple[int, Tile], np.ndarray] = {}

    def prepare(self, side: int) -> None:
        """Compute what all tiles need once, before several threads use it."""
        self.description.prepare(side)

    def n_features(self, n_channels: int) -> int:
        """Compute the number of features of a pixel of an image with some number of channels."""
        return self.description.n_features(n_channels)

    def everywhere(self, image: Planes, tile: Tile, side: int, features: np.ndarray | None = None) -> np.ndarray:
        """Compute or recall features (F, h, w) float32 of all pixels of a tile; written to `features` if given."""
        kept = self._kept.get((id(image), tile))
        if kept is None:
            kept = self._kept[id(image), tile] = self.description.everywhere(image, tile, side)
        if features is None:
            return kept
        features[...] = kept
        return features

    def at(self, image: Planes, rows: np.ndarray, cols: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """Compute features (n, F) float32 of some pixels."""
        result = np.empty((len(rows), self.n_features(image.shape[2])), np.float32)
        side = tile_side(image)
        self.prepare(side)

        def describe(task):
            tile, inside = task
            features = self.everywhere(image, tile, side)
            result[inside] = features[:, rows[inside] - tile.top, cols[inside] - tile.left].T

        map_jobs(describe, tiles_with(image, rows, cols), n_jobs)
        return result


def keep_features(description: Description, images: list[StandardImage]) -> Describes:
    """Return a description that keeps features, if those of all images fit into `MAX_KEPT_BYTES`."""
    sizes = [4 * image.shape[0] * image.shape[1] * description.n_features(image.shape[2]) for image in images]
    return KeptDescription(description) if sum(sizes) <= MAX_KEPT_BYTES else description
