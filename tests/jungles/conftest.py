import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from invariance.datasets import make_glyphs


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """As inside the library's parallel map: small products are much slower on two threads of a busy machine."""
    with threadpool_limits(limits=1):
        yield


@pytest.fixture(scope="session")
def glyphs():
    """Six classes of drawings, turned at random: (images, labels) to learn from and to be tested on."""
    data = make_glyphs(60, size=16, shift=0.5, scale=0.05, random_state=0)
    order = np.random.default_rng(0).permutation(len(data.labels))
    images, labels = data.images[order], data.labels[order]
    return (images[:180], labels[:180]), (images[180:], labels[180:])
