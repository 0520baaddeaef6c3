"""The studio: a local web page to paint labels on images and to label whole images."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submod_attrs={"server": ["serve"]})
