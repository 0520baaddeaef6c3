"""`python -m experiments`: it lists, runs what has no current result, stores results, and refuses what cannot run."""

import json
import re

import numpy as np
import pytest

from experiments import catalogue
from experiments.__main__ import main
from experiments.catalogue import EXPERIMENTS
from experiments.experiment import Experiment
from experiments.outcome import Found, Outcome, Table


@pytest.fixture
def small(monkeypatch):
    """A catalogue of three: one that counts its calls, one whose data are not available, one that may fail."""
    calls = []

    def count(runs, seed, is_quick):
        print("chatter")
        calls.append((runs, seed, is_quick))
        return Found([Table("error in %", "lower", [Outcome("ours", np.full(runs, 9.0 + seed), 12.0, 0.1)])])

    def fail(runs, seed, is_quick):
        raise RuntimeError("broken inside")

    chosen = (
        Experiment("slow", "Laptev15", "table 1", "A sentence.", ("digits",), count, 2, 9),
        Experiment("fixed", "Varma07", "table 2", "A sentence.", ("digits",), count, 2, 1, has_seed=False),
        Experiment("lost", "Moosmann06", "sec. 4", "A sentence.", unavailable="the horses"),
    )
    broken = Experiment("broken", "Laptev15", "table 3", "A sentence.", ("digits",), fail, 1, 2)
    known = {experiment.name: experiment for experiment in chosen}
    monkeypatch.setattr(catalogue, "EXPERIMENTS", known)
    monkeypatch.setattr("experiments.reproduction_page.EXPERIMENTS", known)
    return calls, known, broken


@pytest.mark.parametrize("arguments", [[], ["--list"]])
def test_the_list_names_every_experiment(arguments, capsys):
    assert main(arguments) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in EXPERIMENTS)


def test_the_list_as_json_tells_which_data_are_missing(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("INVARIANCE_DATA", str(tmp_path))
    monkeypatch.setattr("invariance.datasets._sources.cache_folder", lambda: tmp_path)
    assert main(["--list", "--json"]) == 0
    entries = {entry["name"]: entry for entry in json.loads(capsys.readouterr().out)}
    assert set(entries) == set(EXPERIMENTS)
    assert entries["yale_faces"]["data_missing"] == ["yale"]
    assert entries["horses"]["data_missing"] == ["inria_horses"]
    assert entries["graz02"]["unavailable"].startswith("GRAZ-02's own background")


def test_one_experiment_prints_its_table_and_verdict_and_writes_nothing(small, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["slow", "--runs", "5"]) == 0
    out, err = capsys.readouterr()
    assert "beaten" in out
    assert "9.00" in out
    assert "chatter" in err
    assert small[0] == [(5, 0, False)]
    assert list(tmp_path.iterdir()) == []


def test_json_is_one_document_with_verdicts(small, capsys):
    assert main(["slow", "--json", "--seed", "2"]) == 0
    document = json.loads(capsys.readouterr().out)
    [row] = document["result"]["found"]["tables"][0]["outcomes"]
    assert row["verdict"] == "reached"  # 11 beside 12
    assert document["verdict"] == "figures: 1 reached"
    assert document["result"]["seed"] == 2


def test_all_runs_the_cheapest_first_and_goes_on_where_it_was(small, capsys, tmp_path):
    calls, *_ = small
    command = ["--all", "-o", str(tmp_path)]
    assert main(command) == 0
    err = capsys.readouterr().err
    assert err.index("fixed,") < err.index("slow,")
    page = (tmp_path / "reproductions.md").read_text()
    assert "data missing: the horses" in page
    kept = tmp_path / "reproductions" / "results"
    assert {path.name for path in kept.iterdir()} == {"slow.json", "fixed.json"}
    (kept / "slow.json").unlink()
    assert main(command) == 0
    assert len(calls) == 3  # only what was missing
    assert main([*command, "--runs", "5"]) == 0
    assert calls[3:] == [(5, 0, False), (5, 0, False)]  # changed
    assert main([*command, "--runs", "5", "--force"]) == 0
    assert len(calls) == 7
    assert (tmp_path / "reproductions" / "slow.png").exists()


def test_a_rehearsal_is_kept_apart(small, capsys, tmp_path):
    assert main(["--all", "--quick", "-o", str(tmp_path)]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"reproductions-quick", "reproductions-quick.md"}
    assert "beaten" not in capsys.readouterr().out


def test_a_failure_is_shown_and_the_others_are_kept(small, capsys, tmp_path):
    _, known, broken = small
    known["broken"] = broken
    assert main(["--all", "-o", str(tmp_path)]) == 1
    err = capsys.readouterr().err
    assert "broken inside" in err
    assert "Failed, see above: broken" in err
    assert {path.stem for path in (tmp_path / "reproductions" / "results").iterdir()} == {"slow", "fixed"}


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["nosuch"], "'nosuch'"),
        (["slow", "--all"], "--all"),
        (["--list", "--all"], "--list"),
        (["slow", "--runs", "0"], "--runs"),
        (["slow", "-o", "no/such"], "no/such"),
        (["--all", "-o", "no/such"], "no/such"),
        (["lost"], "the horses"),
        (["fixed", "--seed", "3"], "--seed 3"),
    ],
)
def test_a_mistake_ends_in_one_line(arguments, named, small, capsys):
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("Error: ")
    assert err.count("\n") == 1
    assert named in err
    assert small[0] == []


def test_outdated_results_are_confirmed_by_one_run(small, capsys, tmp_path):
    calls, _, _ = small
    assert main(["--all", "--runs", "3", "-o", str(tmp_path)]) == 0
    stored = tmp_path / "reproductions" / "results" / "slow.json"
    stored.write_text(re.sub(r'"fingerprint": "\w+"', '"fingerprint": "0"', stored.read_text()))
    del calls[:]
    assert main(["--all", "--confirm", "-o", str(tmp_path)]) == 0
    assert calls == [(1, 0, False)]  # the other one is current
    assert "Confirmed: slow" in capsys.readouterr().err
    assert "the same figures" in (tmp_path / "reproductions.md").read_text()
    assert main(["slow", "--confirm", "-o", str(tmp_path)]) == 0
    assert calls == [(1, 0, False)]
    stored.write_text(
        stored.read_text().replace("9.0", "8.0").replace(json.loads(stored.read_text())["fingerprint"], "0")
    )
    assert main(["slow", "--confirm", "-o", str(tmp_path)]) == 1
    assert "Not confirmed: slow: 1 of 1 figures" in capsys.readouterr().err
    assert main(["slow", "--confirm", "--force", "-o", str(tmp_path)]) == 2
