"""The studio: a local web page to paint labels on images and to label whole images."""

import lazy_loader

# Loaded when it is used: the command says what is missing if the extra is not installed.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
