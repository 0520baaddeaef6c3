"""Compiled extremely randomized trees: growing, pruning and routing, for codebooks (words) and classifiers (shares)."""

from invariance.trees.classifier import TreesClassifier, join_trees
from invariance.trees.forest import class_shares, find_leaves, grow_forest
from invariance.trees.growing import Growth
from invariance.trees.tree import Tree

__all__ = ["Growth", "Tree", "TreesClassifier", "class_shares", "find_leaves", "grow_forest", "join_trees"]
