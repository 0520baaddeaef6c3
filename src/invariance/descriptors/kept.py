"""Descriptions that are made once: kept by the contents of the image and the settings of the descriptor."""

import json
from typing import Any

import numpy as np

from invariance._core.keeping import keep
from invariance.descriptors.protocol import Descriptor, Extracted, RegularDescriptor

NOT_SETTINGS = ("n_jobs",)  # that do not change a description


class KeptDescriptions:
    """Another descriptor, asked only for descriptions that are not kept.

    Parameters
    ----------
    descriptor : Descriptor
        Descriptions are kept if it is a `RegularDescriptor` whose class states a `kept_version` and whose parameters
        are numbers and texts; any other is asked each time.
    is_new : bool
        Whether new descriptions are kept, or only looked for.
    """

    def __init__(self, descriptor: Descriptor, is_new: bool):
        self.descriptor = descriptor
        self.is_new = is_new
        self._kind = describe_settings(descriptor)

    @property
    def invariances(self):
        """Those of the descriptor."""
        return self.descriptor.invariances

    def extract(self, image: np.ndarray, windows: np.ndarray | None = None) -> Extracted:
        """Return what the descriptor does; see `Descriptor`."""
        described, kind = self.descriptor, self._kind
        if kind is None or windows is not None or not isinstance(described, RegularDescriptor):
            return described.extract(image, windows)
        places = described._places(np.shape(image))
        values = keep(kind, np.asarray(image), lambda: described._describe(image), self.is_new)
        return described._expand(values), places


def describe_settings(descriptor: Any) -> str | None:
    """All that descriptions depend on besides the image, or None if that cannot be told.

    A class that inherits its version may compute something else: it must state its own.
    """
    kind = type(descriptor)
    version = vars(kind).get("kept_version")
    if version is None:
        return None
    settings = {name: value for name, value in descriptor.get_params().items() if name not in NOT_SETTINGS}
    try:
        return json.dumps([kind.__module__, kind.__qualname__, version, settings], sort_keys=True, default=_as_plain)
    except TypeError:
        return None


def _as_plain(value: Any) -> Any:
    """A NumPy number as one of Python; anything else is no plain setting."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} is neither a number nor a text")
