"""Volumes and images larger than memory: read in parts, labelled in blocks, on this machine or on a cluster."""

import lazy_loader

# The names and their modules are listed once, in __init__.pyi, where type checkers look too.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
