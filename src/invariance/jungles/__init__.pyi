from .classifier import JungleClassifier as JungleClassifier
from .features import InvariantFeatures as InvariantFeatures
from .tree import TreeClassifier as TreeClassifier
