"""Killed workers and killed jobs lose nothing; `python -m tests.volumes.kills` does it many times."""

import random

import pytest

from tests.volumes import kills


@pytest.mark.parametrize("run", [kills.run_workers, kills.run_everything], ids=lambda run: run.__name__)
def test_a_job_survives(run, tmp_path):
    expected = kills.prepare(tmp_path)
    n_kills, n_repeated = run(tmp_path, expected, 1, random.Random(0))
    assert n_kills >= 1
    assert n_repeated < kills.N_SECTIONS
