"""Kernels: `k(X, Y=None)` is the Gram matrix (n, m), `k.diag(X)` the diagonal of `k(X)`.

A kernel is a scikit-learn estimator, so that `SVC(kernel=k)`, `clone` and `GridSearchCV` work on it; tests/laws checks
what all kernels have in common.
"""

from sklearn.base import BaseEstimator


class LearnedKernel(BaseEstimator):
    """A kernel that learns something in `fit`, and whose clone keeps it.

    `SVC(kernel=k)` clones its kernel in every cross-validation; without its fitted attributes the clone would be of no
    use there.
    """

    def __sklearn_clone__(self):
        copied = super().__sklearn_clone__()
        for name, value in vars(self).items():
            if name.endswith("_") and not name.startswith("_"):
                setattr(copied, name, value)
        return copied
