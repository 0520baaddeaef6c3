"""Feature maps between layers, [Wibisono10] sec. 3 and 5: the vectors of a layer in fewer coordinates."""

from typing import Any

import numpy as np
from scipy.linalg import eigh, svd
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.metrics.pairwise import rbf_kernel

from invariance._core.checks import check_count
from invariance.hierarchies.initial import nearest_neighbour_gamma
from invariance.hierarchies.layer import Layer


class PrincipalSubspace(TransformerMixin, BaseEstimator):
    """Coordinates along the first right singular vectors of what it is fitted to; nothing is centred."""

    def __init__(self, n_components=25):
        self.n_components = n_components

    def fit(self, X, y=None):
        """Find the directions of vectors X (n, d)."""
        n_components = min(self.n_components, *X.shape)
        self.components_ = svd(X.astype(np.float64), full_matrices=False)[2][:n_components].astype(np.float32)
        return self

    def transform(self, X):
        """Coordinates (n, k) of vectors X (n, d)."""
        return X @ self.components_.T


class GaussianSubspace(TransformerMixin, BaseEstimator):
    """Kernel PCA with a Gaussian kernel exp(-gamma |x - y|²), not centred: √σ_j φ_j(x) for the k largest σ_j.

    gamma None takes it from the mean distance between nearest neighbours.
    """

    def __init__(self, n_components=150, gamma=None):
        self.n_components = n_components
        self.gamma = gamma

    def fit(self, X, y=None):
        """Find the eigenfunctions on vectors X (n, d)."""
        self.gamma_ = nearest_neighbour_gamma(X) if self.gamma is None else self.gamma
        n_components = min(self.n_components, len(X))
        K = rbf_kernel(X.astype(np.float64), gamma=self.gamma_)
        values, vectors = eigh(K, subset_by_index=[len(X) - n_components, len(X) - 1])
        lasting = values > len(X) * np.finfo(np.float32).eps * values[-1]
        self.vectors_ = np.ascontiguousarray(X, np.float32)
        self.weights_ = (vectors[:, lasting] / np.sqrt(values[lasting]))[:, ::-1].astype(np.float32)
        return self

    def transform(self, X):
        """Coordinates (n, k) of vectors X (n, d)."""
        return rbf_kernel(X, self.vectors_, self.gamma_).astype(np.float32, copy=False) @ self.weights_


def make_embedding(layer: Layer) -> Any:
    """The unfitted feature map of a layer, or None."""
    if layer.embedding is None:
        if layer.n_components is not None:
            raise ValueError(f"n_components={layer.n_components} needs an embedding: 'pca' or 'kpca'; got None.")
        return None
    if isinstance(layer.embedding, str):
        kinds = {"pca": PrincipalSubspace, "kpca": GaussianSubspace}
        if layer.embedding not in kinds:
            raise ValueError(f"embedding must be None, 'pca', 'kpca' or a transformer; got {layer.embedding!r}.")
        kind = kinds[layer.embedding]
        return kind() if layer.n_components is None else kind(check_count("n_components", layer.n_components))
    if layer.n_components is not None:
        raise ValueError(f"n_components={layer.n_components} is for 'pca' and 'kpca'; set it in {layer.embedding!r}.")
    if not hasattr(layer.embedding, "transform"):
        raise ValueError(f"embedding must be None, 'pca', 'kpca' or a transformer; got {layer.embedding!r}.")
    return clone(layer.embedding)
