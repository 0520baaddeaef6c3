"""Confirming a stored result: equal figures of the first run make it current, anything else does not."""

import numpy as np
import pytest

from experiments import confirmation, results
from experiments.confirmation import confirm
from experiments.experiment import Experiment
from experiments.outcome import Curve, Found, Outcome, Plot, Table


def make_experiment(offset=0.0, methods=("ours", "theirs"), per_run=True):
    """An experiment whose figures are the seeds of its runs plus a number."""

    def run(runs, seed, is_quick):
        figures = np.arange(seed, seed + runs) / 3 + offset
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


def test_equal_figures_of_the_first_run_make_a_result_current(outdated, tmp_path):
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
        (make_experiment(offset=0.001), "3 of 3 figures"),
        (make_experiment(methods=("ours",)), "'theirs' of 'error in %'"),
        (make_experiment(methods=("ours", "theirs", "others")), "'others' of 'error in %'"),
    ],
    ids=["figure", "row removed", "row added"],
)
def test_anything_else_is_refused_with_the_command_that_runs_it_again(outdated, changed, message):
    with pytest.raises(ValueError, match=f"small.*({message}).*--runs 4 --force"):
        confirm(outdated, changed)


def test_figures_over_all_runs_alone_confirm_nothing():
    experiment = make_experiment(per_run=False)
    with pytest.raises(ValueError, match="no figure of a single run"):
        confirm(results.perform(experiment)._replace(fingerprint=""), experiment)


def test_figures_of_plots_are_compared_too(outdated, monkeypatch):
    again = results.perform(make_experiment(), 1, 5)
    [plot] = again.found.plots
    moved = plot._replace(curves=[plot.curves[0]._replace(rates=plot.curves[0].rates + np.array([0, 0.01]))])
    monkeypatch.setattr(confirmation, "perform", lambda *_: again._replace(found=again.found._replace(plots=[moved])))
    with pytest.raises(ValueError, match="1 of 3 figures.*'ours' of 'a plot, curve'"):
        confirm(outdated, make_experiment())
