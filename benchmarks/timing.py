"""Timing for all benchmarks."""

import time


def timed(function, *arguments):
    """(seconds, result) of one call."""
    started = time.perf_counter()
    result = function(*arguments)
    return time.perf_counter() - started, result


def best(function, n_repeats=3):
    """The shortest time of several calls, which other processes disturb least, and the last result."""
    calls = [timed(function) for _ in range(n_repeats)]
    return min(seconds for seconds, _ in calls), calls[-1][1]
