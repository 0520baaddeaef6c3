"""Filters learned so that their largest response over Φ separates classes, in trees and jungles, [Laptev15]."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
