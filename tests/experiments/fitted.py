"""Everything that an experiment fits, for tests that poison its test data."""

import numpy as np


def watch_fits(monkeypatch, attributes):
    """A list that grows with every fit of the classes {class: attribute}: X, y, and the attribute that was found."""
    found = []

    def watch(kind, attribute):
        fit = kind.fit

        def watched(self, X, y=None, **options):
            fit(self, X, y, **options)
            found.extend([np.array(X), np.array([] if y is None else y), np.array(getattr(self, attribute))])
            return self

        monkeypatch.setattr(kind, "fit", watched)

    for kind, attribute in attributes.items():
        watch(kind, attribute)
    return found


def are_equal(first, second):
    """Whether two lists of arrays are the same, bit for bit."""
    return len(first) == len(second) and all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
