from .classifier import TreesClassifier as TreesClassifier
from .classifier import join_trees as join_trees
from .forest import class_shares as class_shares
from .forest import find_leaves as find_leaves
from .forest import grow_forest as grow_forest
from .growing import Growth as Growth
from .tree import Tree as Tree
