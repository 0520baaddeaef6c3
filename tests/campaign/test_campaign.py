"""The campaign reports what is planted in it, repeats its cases exactly, and finds nothing in a short run."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import invariance
from campaign.arguments import all_parameters, draw
from campaign.commands import start_command
from campaign.damage import damaged_image, whole_images
from campaign.part import case_rng
from invariance.cli import COMMANDS
from invariance.images import read_stack
from tests.campaign.planted import EVIL, PLANTED

REPOSITORY = Path(__file__).parents[2]
SOURCE = Path(invariance.__file__).parents[1]

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the campaign forks")


def run_module(*arguments):
    path = os.pathsep.join([str(SOURCE), str(REPOSITORY)])
    return subprocess.run(
        [sys.executable, "-m", *map(str, arguments)],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=1800,
    )


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """The end of a campaign full of faults, and what it wrote."""
    output = tmp_path_factory.mktemp("planted") / "campaign.json"
    ended = run_module("tests.campaign.planted", output)
    return ended, json.loads(output.read_text())


@pytest.mark.parametrize("name", [name for name, (_, said) in PLANTED.items() if said])
def test_a_planted_fault_is_reported_with_its_case(planted, name):
    _, report = planted
    (failure,) = [failure for failure in report["failures"] if failure["part"] == name]
    assert failure["case"] == EVIL
    assert failure["seed"] == 5
    assert PLANTED[name][1] in failure["fault"]
    assert failure["repeat"] == f"python -m campaign {name} --seed 5 --case {EVIL}"


@pytest.mark.parametrize("name", [name for name, (_, said) in PLANTED.items() if not said])
def test_what_is_well_is_not_reported(planted, name):
    _, report = planted
    assert [failure for failure in report["failures"] if failure["part"] == name] == []


def test_a_fault_ends_neither_the_campaign_nor_the_other_cases(planted):
    ended, report = planted
    assert ended.returncode == 1
    assert {part["cases"] for part in report["parts"].values()} == {3}
    assert f"repeat: python -m campaign abort --seed 5 --case {EVIL}" in ended.stdout


def test_a_short_campaign_finds_nothing(tmp_path):
    output = tmp_path / "campaign.json"
    # All but `kills`, for which every victim has to be run first; `tests/cli/test_sudden_death.py` kills some.
    names = ["models", "images", "arguments", "disks", "concurrent", "memory", "volumes"]
    ended = run_module("campaign", *names, "--short", "--scale", "0.003", "--jobs", "2", "--seed", "1", "-o", output)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    parts = json.loads(output.read_text())["parts"]
    assert list(parts) == names
    assert all(part["cases"] > 0 and sum(part["counts"].values()) >= part["cases"] for part in parts.values())


@pytest.mark.parametrize("kind", whole_images())
def test_what_is_damaged_was_whole(kind, tmp_path):
    suffix, content = whole_images()[kind]
    (tmp_path / f"image{suffix}").write_bytes(content)
    assert np.ptp(read_stack(tmp_path / f"image{suffix}")) > 0


def test_a_case_depends_on_the_seed_the_part_and_its_number():
    def drawn(*place):
        rng = case_rng(*place)
        return damaged_image(rng), draw(rng, ["a.png"])

    assert drawn("images", 3, 7) == drawn("images", 3, 7)
    others = [("images", 3, 8), ("images", 4, 7), ("arguments", 3, 7)]
    assert all(drawn("images", 3, 7) != drawn(*place) for place in others)


def test_arguments_of_every_command_are_drawn():
    drawn = [draw(np.random.default_rng(number), ["a.png"])[0] for number in range(6000)]
    assert {arguments[0] for arguments in drawn} == set(COMMANDS)
    for name, parameters in all_parameters().items():
        given = {word.partition("=")[0] for arguments in drawn if arguments[0] == name for word in arguments}
        assert all(not parameter.spellings or given & set(parameter.spellings) for parameter in parameters), name


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_command_that_is_killed_at_once_has_ended_without_a_word(number, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    running = start_command(["planted"], tmp_path, target=lambda: time.sleep(60) or 0)
    running.send(number)
    ended = running.wait()
    assert (ended.code, ended.out) == (-number, "")
