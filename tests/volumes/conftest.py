"""A small model, and volumes whose sections have more than one tile of 256 pixels."""

import numpy as np
import pytest
import zarr

from invariance.datasets import make_membranes
from invariance.segmentation import JungleSegmenter
from invariance.transformations import Rotations

QUICK = {
    "patch_size": 7, "max_pixels": 400, "n_trees": 20, "max_depth": 2, "rank": 12, "n_pseudo_labels": 0,
    "random_state": 0,
}  # fmt: skip


@pytest.fixture(scope="session")
def membranes():
    """Three sections of 300 x 330 pixels as uint8, each with another brightness, and their masks."""
    made = make_membranes(3, (300, 330), cell_size=40, random_state=0)
    images = np.asarray(made.images) * np.array([0.6, 0.8, 1.0])[:, None, None]
    return np.rint(255 * images).astype(np.uint8), np.asarray(made.masks).astype(np.uint8)


@pytest.fixture(scope="session")
def model(membranes):
    """A segmenter of two rounds, whose classes are 3 and 7."""
    images, masks = membranes
    return JungleSegmenter(Rotations(4), n_rounds=2, n_jobs=1, **QUICK).fit(images[:1], np.where(masks[:1], 7, 3))


@pytest.fixture
def source(tmp_path, membranes):
    """The sections as a plain Zarr array with chunks that fit nothing."""
    path = tmp_path / "source.zarr"
    array = zarr.create_array(path, shape=membranes[0].shape, dtype="uint8", chunks=(2, 77, 91), zarr_format=3)
    array[:] = membranes[0]
    return path


@pytest.fixture(scope="session")
def expected(model, membranes):
    """Labels and probabilities of whole sections in memory."""
    maps = np.stack([model.predict_proba(section) for section in membranes[0]])
    return model.classes_[maps.argmax(axis=3)], maps
