"""Filters learned so that their largest response over Φ separates classes, in trees and jungles, [Laptev15]."""

from invariance.jungles.classifier import JungleClassifier
from invariance.jungles.features import InvariantFeatures
from invariance.jungles.tree import TreeClassifier

__all__ = ["InvariantFeatures", "JungleClassifier", "TreeClassifier"]
