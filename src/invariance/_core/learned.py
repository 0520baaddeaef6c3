"""Kernels that learn something, and keep it when an estimator that they are an argument of is cloned."""

from sklearn.base import BaseEstimator


class LearnedKernel(BaseEstimator):
    """A kernel whose clone has what was learned: `SVC(kernel=k)` clones its kernel in every cross-validation."""

    def __sklearn_clone__(self):
        copied = super().__sklearn_clone__()
        for name, value in vars(self).items():
            if name.endswith("_") and not name.startswith("_"):
                setattr(copied, name, value)
        return copied
