"""One layer of a hierarchy: the size of its patches, how many templates it keeps, and how they are embedded."""

from sklearn.base import BaseEstimator


class Layer(BaseEstimator):
    """Patches of one size, and what is learned of them.

    Parameters
    ----------
    size : side of the square patches in pixels, or (height, width).
    n_templates : patches of the training images that others are compared with.
    embedding : the feature map of the layer, [Wibisono10] sec. 3 and 5: None compares the responses themselves; "pca"
        keeps their first principal components (not centred: a truncated SVD of the templates' responses); "kpca" those
        of a Gaussian kernel, whose width comes from the distances between nearest templates; or any scikit-learn
        transformer, which is fitted to the templates' responses.
    n_components : how many of them "pca" and "kpca" keep.
    """

    def __init__(self, size, n_templates=500, embedding=None, n_components=None):
        self.size = size
        self.n_templates = n_templates
        self.embedding = embedding
        self.n_components = n_components
