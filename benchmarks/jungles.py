"""Learning filters and growing jungles: speed against the literal algorithm, growth with N and T, trees, memory.

Usage, from the repository: python -m benchmarks.jungles
Uses the ISBI 2012 sections if available, else generated membranes; every ratio compares two figures of the same run.
"""

import resource
import tracemalloc

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.timing import best, timed
from invariance.datasets import DatasetMissing, load_isbi2012, make_membranes
from invariance.images import patches_at
from invariance.jungles import JungleClassifier, TreeClassifier
from invariance.jungles.filters import learn_filter, measure_geometry
from invariance.jungles.orbits import Orbits
from invariance.transformations import Rotations, reduce_operators
from tests import reference

SIZE, SMOOTHNESS, RANK = 31, 1.0, 160


def membrane_patches(n_patches, seed=0):
    """Patches (n, 31, 31) float32 and whether their middle is cell (1) or membrane (0)."""
    try:
        data = load_isbi2012()
    except DatasetMissing:
        data = make_membranes(8, (512, 512))
    rng, n_sections = np.random.default_rng(seed), len(data.images)
    patches, labels = [], []
    for section in range(n_sections):
        n_here = n_patches // n_sections + (section < n_patches % n_sections)
        rows, cols = rng.integers(data.images.shape[1], size=(2, n_here))
        image = np.asarray(data.images[section], np.float32)
        patches.append(patches_at(image / 255 if image.max() > 1 else image, rows, cols, SIZE))
        labels.append(~data.masks[section][rows, cols])
    return np.concatenate(patches), np.concatenate(labels).astype(int)


class Problem:
    """One filter to learn: membrane against cell, both orders."""

    def __init__(self, n_patches, n_rotations, rank=RANK):
        self.images, labels = membrane_patches(n_patches)
        self.targets = np.where(labels == 1, -1.0, 1.0)
        self.phi = Rotations(n_rotations)
        self.rank = rank

    def prepare(self):
        """Compute the reduced basis and the samples in it, once for all filters of an ensemble."""
        self.reduced = reduce_operators(self.phi, self.images, self.rank)
        self.orbits = Orbits.of(self.reduced, self.images)
        self.geometry = measure_geometry(self.orbits, self.reduced.basis, self.images.shape[1:])

    def learn(self):
        """Our filter."""
        weights, rng = np.ones(len(self.targets)), np.random.default_rng(0)
        return learn_filter(self.orbits, self.targets, weights, self.geometry, SMOOTHNESS, 200, 1, rng)


def compare_with_literal():
    """Same objective value within 1 %, at least 20 times faster, at 5,000 patches and 24 rotations."""
    problem = Problem(5000, 24)
    problem.prepare()
    problem.learn()
    once, _ = timed(problem.prepare)
    fast, learned = timed(problem.learn)
    gamma = reference.differences_matrix((SIZE, SIZE))
    # λ on pixels, as in Geometry: smoothness tr(cov z) / tr(BᵀΓᵀΓB), with the ridge that is part of the penalty.
    photos = problem.reduced.basis.astype(np.float64)
    trace = np.sum((gamma @ photos) ** 2)
    ridge = 1e-3 * trace / problem.reduced.rank
    weight = SMOOTHNESS * problem.geometry.variance.sum() / (trace * (1 + 1e-3))
    transforming, transformed = timed(lambda: reference.transform_patches(problem.images, problem.phi))
    literal = [
        timed(
            lambda order=order: reference.learn_filter_literally(
                problem.images,
                order * problem.targets,
                problem.phi,
                weight,
                ridge=ridge,
                transformed=transformed,
            )
        )
        for order in (1.0, -1.0)
    ]
    slow = transforming + sum(seconds for seconds, _ in literal)
    objective = min(found.objective for _, found in literal)
    print("One filter, both orders: 5,000 patches 31x31, 24 rotations")
    print(f"  literal   {slow:8.2f} s   E = {objective:.4f}   (transforming patches {transforming:.2f} s of it)")
    basis = f"basis of rank {problem.reduced.rank}, once: {once:.2f} s"
    print(f"  reduced   {fast:8.2f} s   E = {learned.objective:.4f}   ({basis})")
    deviation = learned.objective / objective - 1
    print(f"  {slow / fast:.0f} times faster ({slow / (fast + once):.0f} with the basis), E {deviation:+.2%}")


def show_growth():
    """Seconds of one evaluation-bound filter against N and T."""
    print("Seconds per filter, 30 L-BFGS iterations (linear growth: the last column is constant)")
    sizes = [(2500, 24), (5000, 24), (10_000, 24), (20_000, 24), (10_000, 8), (10_000, 16), (10_000, 48)]
    for n_patches, n_rotations in sizes:
        problem = Problem(n_patches, n_rotations, rank=96)
        problem.prepare()
        weights, rng = np.ones(n_patches), np.random.default_rng(0)

        def learn(problem=problem, weights=weights, rng=rng):
            return learn_filter(problem.orbits, problem.targets, weights, problem.geometry, SMOOTHNESS, 30, 1, rng)

        learn()
        seconds, _ = best(learn)
        each = 1e9 * seconds / n_patches / n_rotations
        print(f"  N {n_patches:6d}  T {n_rotations:3d}  {seconds:7.3f} s  {each:7.1f} ns per sample and member")


def compare_with_tree():
    """Nodes of a jungle and of a tree at about the same error."""
    images, labels = membrane_patches(30_000)
    training, test = slice(0, 20_000), slice(20_000, None)
    order = np.random.default_rng(0).permutation(len(images))
    images, labels = images[order], labels[order]
    print("Jungle and tree: 20,000 patches, error on 10,000 others")
    for name, model in [
        ("jungle", JungleClassifier(Rotations(24), n_jungles=1, random_state=0)),
        ("tree", TreeClassifier(Rotations(24), random_state=0)),
    ]:
        seconds, _ = timed(lambda model=model: model.fit(images[training], labels[training]))
        error = 100 * np.mean(model.predict(images[test]) != labels[test])
        dag = model.dags_[0]
        widths = [(layer.n_leaves, layer.max_width) for layer in model.growth_curves_[0]]
        within = all(leaves <= width for leaves, width in widths) if name == "jungle" else "-"
        size = f"{dag.n_nodes:5d} nodes  {len(dag.filters):5d} filters"
        print(f"  {name:6s}  {error:5.2f} %  {size}  {seconds:5.1f} s  never more than M leaves: {within}")


def show_memory():
    """Peak memory of growing on 50,000 patches."""
    images, labels = membrane_patches(50_000)
    model = JungleClassifier(Rotations(24), n_jungles=2, n_jobs=2, random_state=0)
    tracemalloc.start()
    model.fit(images, labels)
    peak = tracemalloc.get_traced_memory()[1] / 2**30
    tracemalloc.stop()
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"50,000 patches: fit allocates {peak:.2f} GB at its peak beyond the patches ({images.nbytes / 2**30:.2f} GB)"
    )
    print(f"  largest resident size of this whole run: {resident:.2f} GB")


if __name__ == "__main__":
    with threadpool_limits(1, "blas"):
        show_memory()
        compare_with_literal()
        show_growth()
    compare_with_tree()
