"""Learn from few labelled images on an ordinary CPU, by saying what does not matter.

>>> from invariance import Rotations, Reflections
>>> what_does_not_matter = Rotations(8) * Reflections()

`ImageClassifier` classifies images of any sizes and `JungleSegmenter` labels pixels; both, and the estimators of every
method, follow the conventions of scikit-learn. `save` and `load` keep them in files.
"""

import lazy_loader

from invariance._version import __version__ as __version__

# The public names are listed in `__init__.pyi`, for type checkers and for this module alike. Each is imported when it
# is first used (SPEC 1), so that `import invariance` costs nothing. A new name is one line there.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
