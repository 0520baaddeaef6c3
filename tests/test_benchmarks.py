"""The benchmarks can be imported, so that they follow the names of the library, and their timing is right."""

import importlib
import itertools
from pathlib import Path

import pytest

from benchmarks import timing

MODULES = sorted(path.stem for path in Path(timing.__file__).parent.glob("*.py"))


@pytest.mark.parametrize("name", MODULES)
def test_a_benchmark_can_be_imported(name):
    assert importlib.import_module(f"benchmarks.{name}").__doc__


def test_the_best_time_is_the_shortest_and_the_result_the_last(monkeypatch):
    clock = iter([0.0, 3.0, 10.0, 11.0, 20.0, 22.0])
    monkeypatch.setattr(timing.time, "perf_counter", lambda: next(clock))
    calls = itertools.count()
    assert timing.best(lambda: next(calls)) == (1.0, 2)
