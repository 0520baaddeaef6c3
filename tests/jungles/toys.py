"""Small sets and settings that the tests of the jungles share."""

import numpy as np
from scipy import ndimage

from invariance.jungles import JungleClassifier
from invariance.jungles.orbits import Orbits
from invariance.jungles.splitting import Samples
from invariance.transformations import reduce_operators

GROWTH = JungleClassifier(max_depth=6, max_width=4, max_steps=20)._growth(n_classes=6)
# Small enough that a fit takes a blink.
QUICK = {"n_jungles": 2, "max_depth": 4, "max_steps": 15, "rank": 24, "random_state": 0}


def textured_patches(n, shape, seed=0):
    """Patches (n, *shape) float32 with stripes across or without, and their targets +1 or -1."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((n, *shape))
    images = 0.5 + 0.5 * ndimage.gaussian_filter(noise, (0, 1, 1, *(0,) * (len(shape) - 2)))
    targets = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    stripes = np.sin(np.arange(shape[0]) * 1.5)[:, None] * np.ones(shape[1])
    images[targets > 0] += 0.3 * stripes.reshape(*stripes.shape, *(1,) * (len(shape) - 2))
    return images.astype(np.float32), targets


def samples_of(images, labels, phi, rank=24, weights=None, held_out=None):
    """`Samples` and the reduced Φ of labelled images."""
    reduced = reduce_operators(phi, images, rank)
    codes = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    weights = np.ones(len(codes)) if weights is None else weights
    held_out = np.zeros(len(codes), bool) if held_out is None else held_out
    return Samples(Orbits.of(reduced, images), codes, weights, held_out, int(codes.max()) + 1), reduced
