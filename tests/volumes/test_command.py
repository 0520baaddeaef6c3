"""`invariance segment MODEL VOLUME -o OUT.zarr`, with workers in processes of their own."""

import os
import signal
import subprocess
import sys
import threading
import time
from urllib.error import HTTPError
from urllib.request import urlopen

import numpy as np
import pytest
import zarr

from invariance import models
from invariance.cli import interruption, main
from invariance.cli.cluster import _answers, open_client
from invariance.cli.volume_output import parse_bytes, parse_roi
from invariance.volumes import open_volume
from invariance.volumes import segmentation as stages


@pytest.fixture
def folder(tmp_path, model, source, monkeypatch):
    models.save(model, tmp_path / "m.inv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_volume_is_labelled_by_two_workers(folder, expected, capsys):
    assert main(["segment", "m.inv", "source.zarr", "-o", "out.zarr", "--workers", "2", "--memory", "4GB"]) == 0
    np.testing.assert_array_equal(zarr.open_array(folder / "out.zarr", path="0")[:], expected[0])
    assert capsys.readouterr().out.startswith("out.zarr: class 3 ")


def test_a_dry_run_says_what_would_be_done_and_writes_nothing(folder, capsys):
    before = sorted(os.listdir(folder))
    assert main(["segment", "m.inv", "source.zarr", "-o", "out.zarr", "--dry-run"]) == 0
    assert sorted(os.listdir(folder)) == before
    printed = capsys.readouterr().out
    assert "volume: 3 x 300 x 330 (zyx), uint8" in printed
    assert "blocks: 3 of 1 x 300 x 330" in printed
    assert "memory per worker: at most" in printed
    assert "expected time: about" in printed


@pytest.mark.parametrize(
    ("arguments", "expected_line"),
    [
        (["source.zarr", "-o", "source.zarr"], "is read by this command"),
        (["source.zarr", "-o", "source.zarr/out.zarr"], "is read by this command"),
        (["source.zarr", "m.inv", "-o", "out.zarr"], "takes one volume"),
        (["source.zarr", "-o", "out.zarr", "--roi", "1:2"], "must have 3 ranges"),
        (["source.zarr", "-o", "out.zarr", "--roi", "a"], "one range per axis"),
        (["source.zarr", "-o", "out.zarr", "--roi", "2:9,:,:"], "got 2:9 of 3"),
        (["source.zarr", "-o", "out.zarr", "--scheduler", "tcp://127.0.0.1:9", "--workers", "2"], "Omit one of them"),
        (["source.zarr", "-o", "out.zarr", "--memory", "4 potatoes"], "--memory must be"),
        (["source.zarr", "-o", "out.zarr", "--memory", "1MB"], "more than the memory of a worker"),
        (["source.zarr", "-o", "out.zarr", "--level", "2"], "level 0 only"),
        (["source.zarr", "-o", "out.zarr", "--channel", "5"], "has 1 channels"),
        (["source.zarr", "-o", "out.zarr", "--ome-version", "0.3"], "must be one of 0.4, 0.5"),
        (["missing.zarr", "-o", "out.zarr"], "does not exist"),
        (["source.zarr", "-o", "out", "--roi", ":"], "--roi is for volumes"),
        (["source.zarr", "-o", "out.zarr", "--scheduler", "tcp://127.0.0.1:9"], "does not answer"),
        (["source.zarr", "-o", "out.zarr", "--scheduler", "tls://127.0.0.1:9"], "needs certificates"),
        (["source.zarr", "-o", "out.zarr", "--scheduler", "http://127.0.0.1:9"], "the address of a dashboard"),
        (["source.zarr", "-o", "out.zarr", "--overlay"], "--overlay is for results in a folder"),
        (["source.zarr", "-o", "out.zarr", "--overwrite"], "Take --restart"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line(folder, arguments, expected_line, capsys, monkeypatch):
    monkeypatch.setattr("invariance.cli.cluster.SECONDS_TO_CONNECT", 0.5)
    before = sorted(os.listdir(folder))
    assert main(["segment", "m.inv", *arguments]) == 2
    printed = capsys.readouterr().err.splitlines()
    assert printed[-1].startswith("Error: ")
    assert expected_line in printed[-1]
    assert sorted(os.listdir(folder)) == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_command_says_how_to_go_on(folder, expected, number):
    arguments = ["segment", "m.inv", "source.zarr", "-o", "out.zarr"]
    command = [sys.executable, "-m", "invariance", *arguments, "--workers", "2"]
    process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True, preexec_fn=restore_signals)
    while not (folder / "out.zarr" / "0").exists() and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(number)
    printed = process.communicate(timeout=120)[1]
    assert process.returncode == 128 + number
    assert "Run the same command again to go on" in printed
    assert "Traceback" not in printed
    assert not list((folder / "out.zarr").rglob("*.partial"))
    assert main(arguments) == 0
    np.testing.assert_array_equal(zarr.open_array(folder / "out.zarr", path="0")[:], expected[0])


def restore_signals():
    """A shell that starts tests in the background ignores Ctrl-C for them."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_threads_that_serve_a_loop_are_not_waited_for(source):
    """zarr and Dask keep theirs until the process ends, which would make every interruption last for its patience."""
    np.asarray(open_volume(source).section((0,)))  # starts those of zarr
    serving = [thread.name for thread in threading.enumerate() if thread.name.startswith(interruption.SERVING_THREADS)]
    assert "zarr_io" in serving
    over = threading.Event()
    computing = threading.Thread(target=over.wait, name="computing")
    computing.start()
    assert [thread.name for thread in interruption.computing_threads()].count("computing") == 1
    assert not {thread.name for thread in interruption.computing_threads()} & set(serving)
    over.set()
    computing.join()


def test_workers_of_this_machine_show_nothing_by_http(monkeypatch):
    """Dask would serve logs and names of tasks to all users of the machine."""
    with open_client(2, None) as client:
        link = client.cluster.dashboard_link
        for page in ("info/main/workers.html", "json/counts.json", "health", "status"):
            with pytest.raises(HTTPError, match="404"):
                urlopen(link.removesuffix("status") + page, timeout=10)
    assert not _answers(link)
    assert not _answers(None)


def test_failed_blocks_are_listed_and_the_exit_code_is_1(folder, monkeypatch, capsys):
    def fail(self):
        raise OSError("no such luck")

    monkeypatch.setattr(stages.LabelBlock, "__call__", fail)
    assert main(["segment", "m.inv", "source.zarr", "-o", "out.zarr"]) == 1
    printed = capsys.readouterr().err
    assert "Failed: label, block 0: OSError: no such luck" in printed
    assert "3 of 3 blocks failed" in printed


def test_numbers_of_bytes_and_regions():
    assert parse_bytes("4GB") == 4 * 10**9
    assert parse_bytes("1.5 GiB") == 3 * 2**29
    assert parse_bytes("1000") == 1000
    assert parse_roi("0:10,:,7") == [slice(0, 10), slice(None), slice(7, 8)]
