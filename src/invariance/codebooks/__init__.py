"""Paper 2: vectors of windows or grids turned into visual words, and images into bags of them, over Φ."""

from invariance.codebooks.bag import BagOfFeatures
from invariance.codebooks.classifier import CodebookClassifier, equal_error_rate
from invariance.codebooks.forest import ClusteringForest
from invariance.codebooks.kernel import BagKernel, histogram_distances
from invariance.codebooks.kmeans import KMeansCodebook
from invariance.codebooks.samplers import Grid, RandomWindows

__all__ = [
    "BagKernel",
    "BagOfFeatures",
    "ClusteringForest",
    "CodebookClassifier",
    "Grid",
    "KMeansCodebook",
    "RandomWindows",
    "equal_error_rate",
    "histogram_distances",
]
