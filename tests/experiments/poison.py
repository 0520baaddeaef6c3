"""Poisoned test data: what is fitted must not notice it, and the figures must."""

import hashlib

import numpy as np


def watch_fits(monkeypatch, *classes):
    """A list that gets one entry per call of `fit` of these classes: the parameters, and a hash of all arguments."""
    fits = []

    def watch(kind):
        fit = kind.fit

        def watched(self, *arguments, **named):
            given = [_digest(argument) for argument in (*arguments, *named.values())]
            fits.append((type(self).__name__, repr(sorted(self.get_params(deep=False).items())), *given))
            return fit(self, *arguments, **named)

        monkeypatch.setattr(kind, "fit", watched)

    for kind in classes:
        watch(kind)
    return fits


def _digest(argument):
    arrays = argument if isinstance(argument, list | tuple) else [argument]
    text = "".join(f"{np.asarray(array).dtype}{np.shape(array)}" for array in arrays)
    joined = b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)
    return hashlib.sha256(text.encode() + joined).hexdigest()


def check_only_tested_on(run, fits, clean, *poisoned):
    """Assert that test data are used for nothing but testing.

    Parameters
    ----------
    run : callable
        Runs an experiment on some data and returns its figures.
    fits : list
        What `watch_fits` returned, or a list that `run` fills.
    clean : object
        The data.
    *poisoned : object
        The same data with other test images or test labels: nothing that is fitted may change, and if the experiment
        tests on these images at all, its figures do.
    """
    fits.clear()
    figures, fitted = np.array(run(clean), float), list(fits)
    assert fitted, "nothing was fitted"
    for data in poisoned:
        fits.clear()
        found = np.array(run(data), float)
        assert fits == fitted, "what is fitted depends on the test data"
        assert not np.array_equal(found, figures), "the figures do not depend on the test data"
