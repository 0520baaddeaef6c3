"""Neural responses: encoding against the bare matrix products, low rank against full, growth, and memory.

Usage, from the repository: python -m benchmarks.hierarchies
Images are MNIST's if available, else generated; every ratio compares two figures of the same run.
"""

import resource

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.timing import best, timed
from invariance.datasets import DatasetMissing, load_mnist
from invariance.hierarchies import Layer, NeuralResponse

N_IMAGES, N_TEMPLATES, N_REPEATS = 1000, 500, 3
MNIST_SIZES = (12, 20)


def load_images(n):
    try:
        return np.asarray(load_mnist(n=n).images, np.float32) / 255
    except DatasetMissing:
        return np.random.default_rng(0).random((n, 28, 28), np.float32)


def make_response(sizes=MNIST_SIZES, n_templates=N_TEMPLATES, rank=None, kernel="inner", hop=1):
    embedding = None if rank is None else "pca"
    layers = [Layer(size, n_templates, embedding, rank) for size in sizes]
    return NeuralResponse(layers, kernel=kernel, hop=hop, n_jobs=2, random_state=0)


def time_products(n_images, side=28, sizes=MNIST_SIZES, n_templates=N_TEMPLATES):
    """Seconds of the matrix products alone: all positions of all images by all templates, layer by layer.

    Images are processed in blocks whose responses fit into 64 MB, on two BLAS threads.
    """
    rng = np.random.default_rng(0)
    depth, total = sizes[0] ** 2, 0.0
    for size in sizes:
        positions = (side - size + 1) ** 2
        n_together = max(1, 64 * 2**20 // (4 * positions * n_templates))
        vectors = rng.random((n_together * positions, depth), np.float32)
        templates = rng.random((n_templates, depth), np.float32)
        out = np.empty((len(vectors), n_templates), np.float32)
        with threadpool_limits(limits=2, user_api="blas"):
            seconds, _ = best(lambda v=vectors, t=templates, o=out: np.matmul(v, t.T, out=o), 5)
        total += seconds * n_images / n_together
        depth = n_templates
    return total


def compare_with_products(images):
    full = make_response().fit(images)
    full.transform(images[:20])
    ours, bare = [], []
    for _ in range(N_REPEATS):  # alternately, so that other load on the machine affects both
        ours.append(best(lambda: full.transform(images), 1)[0])
        bare.append(time_products(len(images)))
    seconds, products = min(ours), min(bare)
    print(
        f"MNIST architecture, {len(images)} images: encoding {seconds:.3f} s "
        f"({len(images) / seconds:,.0f} per second), bare products {products:.3f} s, ratio {seconds / products:.2f}"
    )
    for kernel, rank in (("inner", 25), ("histogram", None), ("histogram", 25)):
        other = make_response(rank=rank, kernel=kernel).fit(images)
        taken, _ = best(lambda other=other: other.transform(images))
        name = kernel if rank is None else f"{kernel}, rank {rank}"
        print(f"  {name}: {taken:.3f} s, {seconds / taken:.2f} times as fast as the full inner product")


def show_growth(images):
    print("Growth, microseconds per image")
    some = images[:200]

    def row(name, response, photos):
        response.fit(photos)
        taken, _ = best(lambda: response.transform(photos), 2)
        print(f"  {name}: {1e6 * taken / len(images):,.0f}")

    for n_templates in (125, 250, 500, 1000):
        row(f"{n_templates} templates per layer", make_response(n_templates=n_templates), some)
    for sizes in ((12,), (12, 20), (12, 16, 20), (12, 15, 18, 21)):
        row(f"patches {sizes}", make_response(sizes), some)
    for factor in (1, 2, 3):
        larger = np.kron(some[:50], np.ones((1, factor, factor), np.float32))
        row(f"images {28 * factor} x {28 * factor}", make_response(), larger)


def measure_memory():
    """Peak memory beyond the images, for 1,000 colour images of 100 x 100 in the Caltech architecture."""
    photos = np.random.default_rng(0).random((1000, 100, 100, 3), np.float32)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds, _ = timed(lambda: make_response((24, 60), hop=3).fit(photos[:200]).transform(photos))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"1,000 colour images 100 x 100, patches 24 and 60, hop 3: {seconds:.1f} s, "
        f"{peak / 2**20:.2f} GB resident at the peak, {(peak - before) / 2**20:.2f} GB more than before"
    )


if __name__ == "__main__":
    images = load_images(N_IMAGES)
    measure_memory()
    compare_with_products(images)
    show_growth(images)
