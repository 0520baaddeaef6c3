"""Compiled extremely randomized trees: growing, pruning and routing, for codebooks (words) and classifiers (shares)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
