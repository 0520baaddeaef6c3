"""A command that is killed leaves the old file or a whole new one, and nothing that gathers or disturbs."""

import multiprocessing
import os
import signal
import time
from contextlib import suppress

import numpy as np
import pytest

from invariance._core.files import atomic_path
from invariance.cli import main
from tests.cli.sudden_death import BROKEN, NEW, OLD, prepare_fit, prepare_segment, wait_until_it_writes

PREPARE = {"fit": prepare_fit, "segment": prepare_segment}
KILLS = (("SIGKILL", False), ("SIGKILL", True), ("SIGTERM", True), ("SIGINT", True))  # signal, while it writes

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are others there")


@pytest.fixture(scope="module")
def processes():
    """Processes that have imported all but done nothing; `python -m benchmarks.sudden_death` kills the real command."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["skops.io", "invariance.methods.classifier", "invariance.segmentation"])
    return context


@pytest.fixture(scope="module", params=PREPARE)
def victim(request, tmp_path_factory):
    return PREPARE[request.param](tmp_path_factory.mktemp(request.param))


def test_a_killed_command_leaves_the_old_file_or_a_whole_new_one(victim, processes):
    rng = np.random.default_rng(0)
    for name, is_writing in KILLS:
        victim.restore()
        process = processes.Process(target=main, args=(victim.arguments,))
        process.start()
        if is_writing:
            wait_until_it_writes(victim, process.is_alive)
        time.sleep(rng.uniform(0, 0.02 if is_writing else 0.5))
        with suppress(ProcessLookupError):  # it may have ended
            os.kill(process.pid, getattr(signal, name))
        process.join()
        assert victim.state != BROKEN
        assert len(victim.unfinished) <= 1
    process = processes.Process(target=main, args=(victim.arguments,))
    process.start()
    process.join()
    assert victim.state == NEW
    assert victim.unfinished == set()


def test_the_judge_knows_a_broken_file(victim):
    victim.restore()
    assert victim.state == OLD
    victim.target.write_bytes(victim.old[:-9])
    assert victim.state == BROKEN


def test_what_killed_runs_left_goes_and_what_others_write_or_own_stays(tmp_path):
    fcntl = pytest.importorskip("fcntl")
    for name in (".m-abcdefgh.unfinished.inv", ".other-12345678.unfinished.png", ".m-alive_00.unfinished.inv"):
        (tmp_path / name).write_text("half of it")
    (tmp_path / ".m-original.inv").write_text("somebody's own")
    with open(tmp_path / ".m-alive_00.unfinished.inv") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with atomic_path(tmp_path / "m.inv") as neighbour:
            neighbour.write_text("new")
    assert sorted(os.listdir(tmp_path)) == [".m-alive_00.unfinished.inv", ".m-original.inv", "m.inv"]


def test_the_longest_name_that_a_file_can_have_can_be_written(tmp_path):
    path = tmp_path / f"{'ü' * 125}.inv"
    with atomic_path(path) as neighbour:
        neighbour.write_text("new")
    assert os.listdir(tmp_path) == [path.name]
