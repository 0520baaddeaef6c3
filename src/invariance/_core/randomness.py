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


def draw_stratified(codes: np.ndarray, n_drawn: int, rng: np.random.Generator, min_each: int = 1) -> np.ndarray:
    """Draw samples in proportion to their classes.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Classes as indices.
    n_drawn : int
        About how many; all if there are no more.
    rng : Generator
    min_each : int, default=1
        At least so many of every class, or all that it has.

    Returns
    -------
    rows : ndarray of shape (m,)
        Sorted indices.
    """
    if len(codes) <= n_drawn:
        return np.arange(len(codes))
    counts = np.bincount(codes)
    shares = np.maximum(min_each, np.floor(counts * (n_drawn / len(codes)))).astype(int)
    chosen = [rng.permutation(np.flatnonzero(codes == code))[:share] for code, share in enumerate(shares)]
    return np.sort(np.concatenate(chosen))
