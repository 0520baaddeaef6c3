"""Paper 2: local windows turned into visual words, by clustering forests or k-means, and images into bags of them."""

from invariance.codebooks.bag import BagOfFeatures
from invariance.codebooks.classifier import CodebookClassifier, equal_error_rate
from invariance.codebooks.forest import ClusteringForest
from invariance.codebooks.kernel import BagKernel
from invariance.codebooks.kmeans import KMeansCodebook
from invariance.codebooks.words import WordHistograms, histogram_distances

__all__ = [
    "BagKernel",
    "BagOfFeatures",
    "ClusteringForest",
    "CodebookClassifier",
    "KMeansCodebook",
    "WordHistograms",
    "equal_error_rate",
    "histogram_distances",
]
