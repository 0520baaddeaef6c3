import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from invariance.datasets import make_glyphs, make_membranes
from tests.laws.catalogue import TASKS


@pytest.fixture(autouse=True)
def one_thread():
    """Small products are much slower on two threads of a busy machine; a law about threads asks for them itself."""
    with threadpool_limits(limits=1):
        yield


@pytest.fixture(scope="session")
def tasks():
    """What estimators learn from: (X, y) by the kind of task."""
    data = make_glyphs(10, size=16, random_state=0)
    kept = np.flatnonzero(data.labels < 3)
    kept = kept[np.random.default_rng(0).permutation(len(kept))]
    images, labels = data.images[kept], np.array(data.class_names)[data.labels[kept]]
    membranes = make_membranes(2, (48, 56), cell_size=20, random_state=0)
    masks = membranes.masks.astype(int)
    masks[:, :, 40:] = 9  # the right edge is not labelled
    return {
        "images": (images, labels),
        "rows": (images[:, 4:12:2, 4:12:2].reshape(len(images), -1), labels),
        "masks": (membranes.images, masks),
    }


@pytest.fixture
def task(estimator, tasks):
    """The task of an estimator: images with a label each, unless `TASKS` says otherwise."""
    return tasks[TASKS.get(type(estimator).__name__, "images")]
