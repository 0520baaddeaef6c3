"""What to look at: vectors at places of an image, each descriptor with the transformations that it ignores."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
