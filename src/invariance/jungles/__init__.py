"""Paper 1: filters learned so that their largest response over Φ tells classes apart, in trees and jungles."""

from invariance.jungles.classifier import JungleClassifier, TreeClassifier
from invariance.jungles.features import InvariantFeatures

__all__ = ["InvariantFeatures", "JungleClassifier", "TreeClassifier"]
