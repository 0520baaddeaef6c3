"""The library's methods ready for folders of images: choosing one, comparing them, and what should not matter."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
