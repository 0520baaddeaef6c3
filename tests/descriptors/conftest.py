import numpy as np
import pytest
from scipy import ndimage


@pytest.fixture(scope="module")
def photo():
    """A colour image (50, 70, 3) uint8 with coarse and fine structure."""
    noise = np.random.default_rng(0).standard_normal((2, 50, 70, 3))
    mixed = noise[0] + 12 * ndimage.gaussian_filter(noise[1], (4, 4, 0))
    return np.clip(128 + 50 * mixed, 0, 255).astype(np.uint8)
