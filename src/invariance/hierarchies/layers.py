"""Layers of a hierarchy and the feature maps between them, [Wibisono10] sec. 3 and 5."""

from typing import Any

import numpy as np
from scipy.linalg import eigh, svd
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.metrics.pairwise import rbf_kernel

from invariance._core import loaded
from invariance._core.checks import check_count
from invariance.hierarchies.initial import nearest_neighbour_gamma


class Layer(BaseEstimator):
    """Specification of one layer: the size of its patches, the number of its templates and their embedding.

    Parameters
    ----------
    size : int or (int, int)
        Side of the square patches in pixels, or height and width.
    n_templates : int, default=500
        Number of patches drawn from the training images as templates.
    embedding : {"pca", "kpca"}, transformer or None, default=None
        Feature map of the layer, [Wibisono10] sec. 3 and 5, fitted to the responses of the templates. None compares
        the responses themselves. "pca" keeps their first principal components without centering (a truncated SVD).
        "kpca" keeps those of a Gaussian kernel whose width is the mean distance between nearest templates. Any
        scikit-learn transformer is accepted.
    n_components : int or None, default=None
        Number of components of "pca" (None means 25) and "kpca" (None means 150).
    normalize : bool, default=True
        Whether embedded vectors are scaled to length 1, as [Wibisono10] def. 3.1 does. False keeps the lengths that
        the embedding gives them, which for "pca" is the truncated kernel of sec. 5.
    measure : array-like of shape (rows, cols) or None, default=None
        Measure ρ_H, [Wibisono10] sec. 3: relative weights of the positions of this layer's patches inside a patch of
        the next layer, or inside the image for the last layer; there are (side of the larger - side of the
        smaller) // hop + 1 rows and columns. The mean and the p-norm are weighted by it; the maximum leaves out
        positions of weight 0. None weighs all positions alike.
    """

    def __init__(self, size, n_templates=500, embedding=None, n_components=None, normalize=True, measure=None):
        self.size = size
        self.n_templates = n_templates
        self.embedding = embedding
        self.n_components = n_components
        self.normalize = normalize
        self.measure = measure

    def check_loaded(self) -> None:
        """Raise ValueError if the size, read from a file, is none; what else was asked for is kept by the stages."""
        side = loaded.whole(1, loaded.MAX_SIDE)
        loaded.check_values(self, size=loaded.either(side, loaded.list_of(side, 2)))


class PrincipalSubspace(TransformerMixin, BaseEstimator):
    """Coordinates along the first right singular vectors of the training vectors, which are not centered.

    Parameters
    ----------
    n_components : int, default=25
        Number of coordinates; [Wibisono10] sec. 6.4 loses hardly any accuracy with the default.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, d), float32
        Orthonormal directions.
    """

    def __init__(self, n_components=25):
        self.n_components = n_components

    def fit(self, X, y=None):
        """Find the directions of vectors X (n, d)."""
        n_components = min(self.n_components, *X.shape)
        self.components_ = svd(X.astype(np.float64), full_matrices=False)[2][:n_components].astype(np.float32)
        return self

    def check_loaded(self) -> None:
        """Raise ValueError if the directions, read from a file, are none."""
        if hasattr(self, "components_"):
            loaded.check_values(self, components_=loaded.array((None, None), np.float32, -2, 2))

    def transform(self, X):
        """Coordinates (n, k) of vectors X (n, d)."""
        return X @ self.components_.T


class GaussianSubspace(TransformerMixin, BaseEstimator):
    """Kernel PCA with a Gaussian kernel, not centered: √σ_j φ_j(x) for the k largest eigenvalues σ_j.

    Parameters
    ----------
    n_components : int, default=150
        Number of coordinates; with the default [Wibisono10] sec. 6.4 reaches its stable accuracy.
    gamma : float or None, default=None
        Factor of the squared distance in the kernel; None takes it from the mean distance between nearest neighbours.

    Attributes
    ----------
    gamma_ : float
        Factor that is used.
    vectors_ : ndarray of shape (n, d), float32
        Training vectors.
    weights_ : ndarray of shape (n, k), float32
        Weights of the kernel values with the training vectors.
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
        # Smaller eigenvalues are rounding errors of float32, in which the coordinates are kept.
        is_significant = values > len(X) * np.finfo(np.float32).eps * values[-1]
        self.vectors_ = np.ascontiguousarray(X, np.float32)
        scaled = vectors[:, is_significant] / np.sqrt(values[is_significant])
        self.weights_ = scaled[:, ::-1].astype(np.float32)
        return self

    def check_loaded(self) -> None:
        """Raise ValueError if the training vectors and their weights, read from a file, do not go together."""
        if loaded.is_fitted(self, "gamma_", "vectors_", "weights_"):
            loaded.check_values(self, gamma_=loaded.number(0, 1e12), vectors_=loaded.array((None, None), np.float32))
            loaded.check_values(self, weights_=loaded.array((len(self.vectors_), None), np.float32))

    def transform(self, X):
        """Coordinates (n, k) of vectors X (n, d)."""
        return rbf_kernel(X, self.vectors_, self.gamma_).astype(np.float32, copy=False) @ self.weights_


def make_embedding(embedding: Any, n_components: Any, name: str = "n_components") -> Any:
    """Return the unfitted feature map of a layer or of the whole image, or None; `name` is that of the number."""
    if embedding is None:
        if n_components is not None:
            raise ValueError(f"{name}={n_components} needs an embedding: 'pca' or 'kpca'; got None.")
        return None
    if isinstance(embedding, str):
        kinds = {"pca": PrincipalSubspace, "kpca": GaussianSubspace}
        if embedding not in kinds:
            raise ValueError(f"embedding must be None, 'pca', 'kpca' or a transformer; got {embedding!r}.")
        kind = kinds[embedding]
        return kind() if n_components is None else kind(check_count(name, n_components))
    if n_components is not None:
        raise ValueError(f"{name}={n_components} is for 'pca' and 'kpca'; set it in {embedding!r}.")
    if not hasattr(embedding, "transform"):
        raise ValueError(f"embedding must be None, 'pca', 'kpca' or a transformer; got {embedding!r}.")
    return clone(embedding)


def check_normalize(normalize: Any) -> bool:
    """Return whether embedded vectors are normalized."""
    if not isinstance(normalize, bool | np.bool_):
        raise ValueError(f"normalize must be True or False; got {normalize!r}.")
    return bool(normalize)
