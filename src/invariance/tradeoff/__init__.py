"""Paper 5: learning how much of which invariance a task wants, over descriptors and over the library's methods."""

from invariance.tradeoff.base import FeatureKernel, ImageKernel
from invariance.tradeoff.classifier import TradeoffClassifier
from invariance.tradeoff.defaults import SIDE, default_kernels
from invariance.tradeoff.kernel import TradeoffKernel
from invariance.tradeoff.reasoning import class_shares, prior_from, task_similarity, weights_by_size

__all__ = [
    "SIDE",
    "FeatureKernel",
    "ImageKernel",
    "TradeoffClassifier",
    "TradeoffKernel",
    "class_shares",
    "default_kernels",
    "prior_from",
    "task_similarity",
    "weights_by_size",
]
