"""Saving and loading of fitted models, safely: one zip file, no pickle, trusted types only."""

import lazy_loader

# The names and their modules are listed once, in __init__.pyi, where type checkers look too.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
