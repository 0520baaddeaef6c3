"""Seeded random streams, drawn before any parallel loop so that results never depend on `n_jobs`."""

import numpy as np

RandomState = None | int | np.integer | np.random.Generator | np.random.RandomState


def make_rng(random_state: RandomState = None) -> np.random.Generator:
    """Turn the `random_state` of scikit-learn into a numpy generator.

    Parameters
    ----------
    random_state : None, int, Generator or RandomState, default=None
        An int always gives the same stream; a Generator is returned itself.

    Returns
    -------
    rng : numpy.random.Generator
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**31 - 1, size=4))
    return np.random.default_rng(random_state)


def spawn_rngs(random_state: RandomState, n_streams: int) -> list[np.random.Generator]:
    """Spawn independent generators.

    Parameters
    ----------
    random_state : None, int, Generator or RandomState
    n_streams : int

    Returns
    -------
    rngs : list of numpy.random.Generator
        Stream i does not depend on the number of streams.
    """
    return list(make_rng(random_state).spawn(n_streams))
