"""`invariance segment MODEL VOLUME -o OUT.zarr`, with workers in processes of their own."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import zarr

from invariance import models
from invariance.cli import main
from invariance.cli.volume_output import parse_bytes, parse_roi
from invariance.volumes import segmentation as stages


@pytest.fixture
def folder(tmp_path, model, source, monkeypatch):
    models.save(model, tmp_path / "m.inv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_volume_is_labelled_by_two_workers(folder, expected, capsys):
    assert main(["segment", "m.inv", "source.zarr", "-o", "out.zarr", "--workers", "2", "--memory", "4GB"]) == 0
    np.testing.assert_array_equal(zarr.open_array(folder / "out.zarr", path="0")[:], expected[0])
    assert capsys.readouterr().out.startswith("out.zarr: 3 ")


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
        (["source.zarr", "-o", "out.zarr", "--memory", "4 potatoes"], "--memory must be"),
        (["source.zarr", "-o", "out.zarr", "--memory", "1MB"], "more than the memory of a worker"),
        (["source.zarr", "-o", "out.zarr", "--level", "2"], "level 0 only"),
        (["source.zarr", "-o", "out.zarr", "--channel", "5"], "has 1 channels"),
        (["source.zarr", "-o", "out.zarr", "--ome-version", "0.3"], "must be one of 0.4, 0.5"),
        (["missing.zarr", "-o", "out.zarr"], "does not exist"),
        (["source.zarr", "-o", "out", "--roi", ":"], "--roi is for volumes"),
        (["source.zarr", "-o", "out.zarr", "--scheduler", "tcp://127.0.0.1:9"], "does not answer"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line(folder, arguments, expected_line, capsys, monkeypatch):
    monkeypatch.setattr("invariance.cli.volume_output.SECONDS_TO_CONNECT", 0.5)
    before = sorted(os.listdir(folder))
    assert main(["segment", "m.inv", *arguments]) == 2
    printed = capsys.readouterr().err.splitlines()
    assert printed[-1].startswith("Error: ")
    assert expected_line in printed[-1]
    assert sorted(os.listdir(folder)) == before


def test_an_interrupted_command_says_how_to_go_on(folder, expected):
    command = [
        sys.executable,
        "-m",
        "invariance",
        "segment",
        "m.inv",
        "source.zarr",
        "-o",
        "out.zarr",
        "--workers",
        "2",
    ]
    process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
    while not (folder / "out.zarr" / "0").exists() and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    printed = process.communicate(timeout=120)[1]
    assert process.returncode == 130
    assert "Run the same command again to go on" in printed
    assert "Traceback" not in printed
    assert main(command[3:-2]) == 0
    np.testing.assert_array_equal(zarr.open_array(folder / "out.zarr", path="0")[:], expected[0])


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
