"""Figures and self-contained HTML reports.

The figures need matplotlib, which takes a while to load, so that each name is imported when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
