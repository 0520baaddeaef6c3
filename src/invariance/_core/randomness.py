"""Seeded random streams, drawn before any parallel loop so that results never depend on `n_jobs`."""

import numpy as np

RandomState = None | int | np.integer | np.random.Generator | np.random.RandomState


def make_rng(random_state: RandomState = None) -> np.random.Generator:
    """Turn sklearn's `random_state` into a numpy generator; an int always gives the same stream."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**31 - 1, size=4))
    return np.random.default_rng(random_state)


def spawn_rngs(random_state: RandomState, n_streams: int) -> list[np.random.Generator]:
    """`n_streams` independent generators; stream i is the same however many are spawned."""
    return list(make_rng(random_state).spawn(n_streams))
