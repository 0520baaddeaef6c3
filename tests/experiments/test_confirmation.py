"""Confirming a stored result: equal figures of the first two runs make it current, anything else does not."""

import numpy as np
import pytest

from experiments import confirmation, results
from experiments.confirmation import confirm
from experiments.experiment import Experiment
from experiments.outcome import Curve, Found, Outcome, Plot, Table


def make_experiment(offset=0.0, methods=("ours", "theirs"), per_run=True, reuses_seed=False, n_parts=1):
    """An experiment whose figures are the seeds of its runs plus a number, `n_parts` figures per run."""

    def run(runs, seed, is_quick):
        figures = (np.full(runs, float(seed)) if reuses_seed else np.arange(seed, seed + runs)) / 3 + offset
        figures = (figures[:, None] + np.arange(n_parts)).ravel()
        rows = [Outcome(method, figures if per_run else figures[:1].repeat(7), None, 1.0) for method in methods]
        over_all = Table("over all runs", "lower", [Outcome("ours", np.array([figures.mean()] * 9), None, 1.0)])
        plot = Plot("a plot", "places", "rates", [Curve("ours", (1, 2), figures[:, None] + np.arange(2.0))])
        return Found([Table("error in %", "lower", rows), over_all], [plot] if per_run else [])

    return Experiment("small", "Laptev15", "nowhere", "A sentence.", ("digits",), run, 4, 1)


@pytest.fixture
def outdated(tmp_path):
    """A stored result of four runs from seed 5 on, of earlier code."""
    result = results.perform(make_experiment(), seed=5)._replace(fingerprint="0" * 16)
    results.write_result(result, tmp_path)
    return results.read_result("small", tmp_path)


def test_equal_figures_of_the_first_runs_make_a_result_current(outdated, tmp_path):
    experiment = make_experiment()
    assert results.is_outdated(outdated, experiment)
    confirmed = confirm(outdated, experiment)
    assert not results.is_outdated(confirmed, experiment)
    assert confirmed.confirmed is not None
    assert confirmed.runs == 4
    results.write_result(confirmed, tmp_path)
    assert results.as_json(results.read_result("small", tmp_path)) == results.as_json(confirmed)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (make_experiment(offset=0.001), "3 of 3 rows"),
        (make_experiment(methods=("ours",)), "'theirs' of 'error in %'"),
        (make_experiment(methods=("ours", "theirs", "others")), "'others' of 'error in %'"),
    ],
    ids=["figure", "row removed", "row added"],
)
def test_anything_else_is_refused_with_the_command_that_runs_it_again(outdated, changed, message):
    with pytest.raises(ValueError, match=f"small.*({message}).*--runs 4 --force"):
        confirm(outdated, changed)


def test_code_that_draws_the_same_data_in_every_run_is_not_confirmed(outdated):
    changed = make_experiment(reuses_seed=True)
    first = results.perform(changed, 1, 5).found.tables[0].outcomes[0].figures
    assert first == pytest.approx(outdated.found.tables[0].outcomes[0].figures[:1], abs=1e-4)  # one run does not tell
    with pytest.raises(ValueError, match="3 of 3 rows of the first 2 runs differ"):
        confirm(outdated, changed)


@pytest.mark.parametrize("runs", [1, 2, 5])
def test_several_figures_of_a_run_are_all_compared(runs):
    experiment = make_experiment(n_parts=3)
    stored = results.perform(experiment, runs)._replace(fingerprint="0" * 16)
    assert len(stored.found.tables[0].outcomes[0].figures) == 3 * runs
    assert not results.is_outdated(confirm(stored, experiment), experiment)
    for changed in (make_experiment(0.01, n_parts=3), make_experiment(n_parts=2)):
        with pytest.raises(ValueError, match="rows of the first"):
            confirm(stored, changed)


def test_no_more_than_two_runs_are_repeated(outdated, monkeypatch):
    asked = []
    monkeypatch.setattr(confirmation, "perform", lambda *given: asked.append(given[1:]) or results.perform(*given))
    experiment = make_experiment()
    confirm(outdated, experiment)
    confirm(results.perform(experiment, 1, 7), experiment)
    assert asked == [(2, 5), (1, 7)]


def test_figures_over_all_runs_alone_confirm_nothing():
    experiment = make_experiment(per_run=False)
    with pytest.raises(ValueError, match="no figure of a single run"):
        confirm(results.perform(experiment)._replace(fingerprint=""), experiment)


def test_figures_of_plots_are_compared_too(outdated, monkeypatch):
    again = results.perform(make_experiment(), 2, 5)
    [plot] = again.found.plots
    moved = plot._replace(curves=[plot.curves[0]._replace(rates=plot.curves[0].rates + np.array([0, 0.01]))])
    monkeypatch.setattr(confirmation, "perform", lambda *_: again._replace(found=again.found._replace(plots=[moved])))
    with pytest.raises(ValueError, match="1 of 3 rows.*'ours' of 'a plot, curve'"):
        confirm(outdated, make_experiment())
