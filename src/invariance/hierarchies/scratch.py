"""Memory that is used again for every image of a job: asking the system for it each time costs more than filling it."""

import numpy as np


class Scratch:
    """Float32 arrays by name and shape; what is asked for again is the same array, still full of what was in it."""

    def __init__(self):
        self._arrays: dict[tuple, np.ndarray] = {}

    def array(self, name: str, *shape: int) -> np.ndarray:
        """The array of a name and shape, with anything in it."""
        key = (name, *shape)
        if key not in self._arrays:
            self._arrays[key] = np.empty(shape, np.float32)
        return self._arrays[key]
