"""One stopwatch for all benchmarks."""

import time


def best(function, n_repeats=3):
    """The least of a few times, which is what the machine can do when nobody else is on it, and the last result."""
    times = []
    for _ in range(n_repeats):
        started = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - started)
    return min(times), result
