"""Named real data sets, those that the dependencies ship, and generated ones; every loader returns a `Dataset`.

Real data sets are read from the folder `$INVARIANCE_DATA` or from the cache folder; nothing is downloaded without
`download=True`.
"""

import lazy_loader

# The names and their modules are listed once, in __init__.pyi, where type checkers look too.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
