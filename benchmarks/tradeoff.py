"""Learning weights of kernels: speed against MKLpy's EasyMKL, libsvm and a conic solver; duality gaps; growth.

Usage, from the repository: python -m benchmarks.tradeoff
MKLpy and cvxpy are peers (pip install '.[bench]'); if one is missing, its lines are left out. Kernels are computed from
scikit-learn's digits, so nothing is downloaded; every ratio compares two figures of the same run.
"""

import warnings

import numpy as np
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from benchmarks.timing import best, timed
from invariance.tradeoff import TradeoffClassifier
from invariance.tradeoff._jit import solve_dual
from invariance.tradeoff.solver import check_terms, learn_machine

N_EACH, C = 20, 1000.0
N_TIMES = 20  # the best of these counts, for both: a fit takes milliseconds only


def make_kernels(n_each, n_kernels=8, seed=0):
    """Gram matrices (k, n, n) of several features of digits, some of them noise, and the labels."""
    digits, rng = load_digits(), np.random.default_rng(seed)
    chosen = np.concatenate([rng.permutation(np.flatnonzero(digits.target == c))[:n_each] for c in range(10)])
    images, labels = digits.images[chosen] / 16, digits.target[chosen]
    rows = images.reshape(len(images), -1)
    views = [rows, np.sort(rows, axis=1), images.sum(axis=1), images.sum(axis=2)]
    views += [images.reshape(-1, 4, 2, 4, 2).mean(axis=(2, 4)).reshape(len(images), -1)]
    while len(views) < n_kernels:
        views.append(rows[:, rng.permutation(64)[:8]] if len(views) % 2 else rng.standard_normal((len(rows), 5)))
    squared = [np.square(view[:, None] - view[None]).sum(axis=-1) for view in views[:n_kernels]]
    return np.stack([np.exp(-D / D.mean()) for D in squared]), labels


def compare_with_easymkl(Ks, labels):
    import torch
    from MKLpy.algorithms import EasyMKL

    tensors = [torch.tensor(K) for K in Ks]
    for scheme, name in (("ovo", "1-vs-1"), ("ova", "1-vs-all")):
        ours, _ = best(
            lambda scheme=scheme: TradeoffClassifier("precomputed", scheme, n_jobs=2).fit(Ks, labels), N_TIMES
        )
        strategy = "ovo" if scheme == "ovo" else "ovr"
        theirs, _ = best(lambda s=strategy: EasyMKL(lam=0.1, multiclass_strategy=s).fit(tensors, labels), N_TIMES)
        print(
            f"{name}, {len(labels)} samples, {len(Ks)} kernels, gap 1e-3: ours {ours:.3f} s, "
            f"EasyMKL {theirs:.3f} s, {theirs / ours:.1f} times"
        )


def compare_with_libsvm(Ks, labels):
    K = Ks.mean(axis=0)
    pairs = [(a, b) for a in range(10) for b in range(a + 1, 10)]
    parts = [np.flatnonzero((labels == a) | (labels == b)) for a, b in pairs]
    problems = [
        (np.ascontiguousarray(K[np.ix_(part, part)]), np.where(labels[part] == b, 1.0, -1.0))
        for part, (_, b) in zip(parts, pairs, strict=True)
    ]
    everyone = [(K, np.where(labels == code, 1.0, -1.0)) for code in range(10)]

    def solve_all(tasks):
        values = []
        for gram, y in tasks:
            alpha, gradient = np.zeros(len(y)), np.empty(len(y))
            solve_dual(gram, y, C, 1e-3, 10**7, alpha, gradient)
            values.append(0.5 * alpha @ (gradient - 1))
        return np.array(values)

    def libsvm_all(tasks):
        return [SVC(C=C, kernel="precomputed", tol=1e-3).fit(gram, y) for gram, y in tasks]

    for name, tasks in (("1-vs-1", problems), ("1-vs-all", everyone)):
        solve_all(tasks)
        ours, values = best(lambda tasks=tasks: solve_all(tasks))
        theirs, machines = best(lambda tasks=tasks: libsvm_all(tasks))
        others = []
        for machine, (gram, y) in zip(machines, tasks, strict=True):
            v = np.zeros(len(y))
            v[machine.support_] = machine.dual_coef_[0]
            others.append(0.5 * v @ gram @ v - np.abs(v).sum())
        deviation = np.max(np.abs(values - others) / np.abs(others))
        print(
            f"Inner machine, {name}, {len(tasks)} problems of {len(tasks[0][1])}: ours {1e3 * ours:.2f} ms, libsvm "
            f"{1e3 * theirs:.1f} ms, {theirs / ours:.1f} times; objectives agree to {deviation:.0e}"
        )


def compare_with_conic(Ks, labels):
    import cvxpy as cp

    deviations, seconds = [], []
    terms = check_terms(1.0, 1.0, 0.0, None, len(Ks))
    for a, b in ((0, 1), (3, 8), (4, 9), (1, 7)):
        part = np.flatnonzero((labels == a) | (labels == b))
        gram, y = np.ascontiguousarray(Ks[:, part[:, None], part]), np.where(labels[part] == b, 1.0, -1.0)
        machine = learn_machine(gram, y, C, terms, 1e-7)
        alpha = cp.Variable(len(y))
        roots = [square_root(K) for K in gram]
        limits = [alpha >= 0, alpha <= C, y @ alpha == 0]
        limits += [cp.norm(root @ cp.multiply(y, alpha)) <= np.sqrt(2) for root in roots]
        dual = cp.Problem(cp.Maximize(cp.sum(alpha)), limits)
        # The block-l1 form: d_k = |w_k| / sqrt(2) is optimal for given w_k, which leaves the sum of their lengths.
        w, b = [cp.Variable(len(y)) for _ in roots], cp.Variable()
        decisions = sum(root.T @ part for root, part in zip(roots, w, strict=True)) + b
        lengths = sum(cp.norm(part) for part in w)
        primal = cp.Problem(cp.Minimize(np.sqrt(2) * lengths + C * cp.sum(cp.pos(1 - cp.multiply(y, decisions)))))
        for problem in (dual, primal):
            seconds.append(timed(lambda problem=problem: problem.solve(solver=cp.CLARABEL))[0])
            deviations.append(abs(machine.upper - problem.value) / abs(problem.value))
    print(f"Objective against a conic solver (Clarabel), four pairs: deviations up to {max(deviations[::2]):.1e}, from "
          f"the block-l1 form up to {max(deviations[1::2]):.1e}; it takes {1e3 * np.mean(seconds[::2]):.0f} and "
          f"{1e3 * np.mean(seconds[1::2]):.0f} ms per pair")  # fmt: skip


def square_root(K):
    values, vectors = np.linalg.eigh(K)
    return (vectors * np.sqrt(np.maximum(values, 0))).T


def close_gaps(Ks, labels):
    for scheme in ("ovo", "ova"):
        for tolerance in (1e-3, 1e-6):
            seconds, model = best(
                lambda s=scheme, t=tolerance: TradeoffClassifier("precomputed", s, tolerance=t, n_jobs=2).fit(
                    Ks, labels
                ),
                1,
            )
            print(f"  {scheme}, gap {tolerance:g}: {seconds:.3f} s, largest gap left {model.gaps_.max():.1e}")


def show_growth():
    print("Growth, 1-vs-all, gap 1e-3, seconds")
    for n_kernels in (5, 20, 50, 200):
        Ks, labels = make_kernels(N_EACH, n_kernels)
        seconds, _ = best(lambda K=Ks, y=labels: TradeoffClassifier("precomputed", "ova", n_jobs=2).fit(K, y), 1)
        print(f"  {n_kernels:>3} kernels, {len(labels)} samples: {seconds:.2f}")
    for n_each in (10, 20, 40, 80):
        Ks, labels = make_kernels(n_each)
        seconds, _ = best(lambda K=Ks, y=labels: TradeoffClassifier("precomputed", "ova", n_jobs=2).fit(K, y), 1)
        print(f"    8 kernels, {len(labels)} samples: {seconds:.2f}")


if __name__ == "__main__":
    warnings.filterwarnings("ignore", category=UserWarning)
    Ks, labels = make_kernels(N_EACH)
    TradeoffClassifier("precomputed").fit(Ks, labels)  # compile
    for compare in (compare_with_easymkl, compare_with_libsvm, compare_with_conic):
        try:
            compare(Ks, labels)
        except ImportError as error:
            print(f"left out: {error}. pip install '.[bench]'")
    print("Gaps")
    close_gaps(Ks, labels)
    show_growth()
