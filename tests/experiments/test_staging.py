"""All experiments on a stage: their rows, draws, fits and figures of the papers, without an hour of fitting."""

import numpy as np
import pytest

from experiments import all_methods, isbi2012, isbi_patches, scribbles, uiuc_textures, yale_faces
from experiments.catalogue import EXPERIMENTS
from experiments.experiment import explain_few_runs
from experiments.figures import read_results
from experiments.quotations import QUOTATIONS
from experiments.results import is_outdated
from tests.experiments import paper_figures
from tests.experiments.staging import ARRANGEMENTS, Stage

NEED_TORCH = {"isbi_unet"}
RESULTS = read_results()
# Fits of one row in one run, where it is not one: of one and of three sections; of discs and of
# strokes in three images, by number.
FITS_PER_RUN = {
    "isbi_few": 2,
    "scribbles": 18,
    "scribbles_cells": 18,
    "all_methods": 3,
    "rotated_mnist": 3,
}


@pytest.fixture(params=sorted(ARRANGEMENTS))
def stage(request, monkeypatch):
    return Stage(request.param, monkeypatch)


def rows_of(tables):
    return {table.title: {row.method for row in table.outcomes} for table in tables}


def test_every_experiment_can_be_staged():
    assert set(EXPERIMENTS) - set(ARRANGEMENTS) == NEED_TORCH


def test_claims_and_quotations_name_rows_that_the_experiment_has(stage):
    rows = rows_of(stage.run(1)[0])
    claimed = [(c.table, name) for c in EXPERIMENTS[stage.name].claims for name in (c.first, c.second)]
    quoted = [
        (q.table, name)
        for q in (q for room in QUOTATIONS.values() for q in room)
        if q.result == stage.name
        for name in (*q.ours, *q.peers, *q.ablations, *q.variants)
    ]
    assert [(title, name) for title, name in claimed + quoted if name not in rows.get(title, ())] == []
    assert set(EXPERIMENTS[stage.name].units) <= set(rows)


def test_a_current_result_has_the_rows_that_its_experiment_gives(stage):
    if stage.name not in RESULTS:
        pytest.skip("there is no stored result")
    if is_outdated(RESULTS[stage.name], EXPERIMENTS[stage.name]):
        pytest.skip("the result is outdated: rows may have been added since")
    result = RESULTS[stage.name]
    if stage.name.startswith("scribbles") and not any("U-Net" in str(table) for table in result.found.tables):
        stage.set(scribbles, has_torch=lambda: False)  # the result is of a machine without PyTorch
    tables, _ = stage.run(min(result.runs, 3))
    assert rows_of(result.found.tables) == rows_of(tables)
    for stored, staged in zip(result.found.tables, tables, strict=True):
        assert (stored.title, stored.better, stored.is_papers_task) == staged._replace(outcomes=[])[:2] + staged[3:]
        assert [row.paper and round(row.paper, 4) for row in stored.outcomes] == [
            row.paper and round(row.paper, 4) for row in staged.outcomes
        ]


def test_every_run_of_every_row_learns_once_and_from_other_data(stage):
    n_runs = min(3, EXPERIMENTS[stage.name].max_runs or 3)
    _, learned = stage.run(n_runs)
    assert learned
    expected = n_runs * FITS_PER_RUN.get(stage.name, 1)
    for row, seen in learned.items():
        if stage.name == "graz02_forests" and len(seen) == 2 * expected:
            seen = seen[:expected]  # five trees of 1,000 leaves are in both of its tables
        assert len(seen) == expected, row
        assert len(set(seen)) == expected, row


def test_runs_go_on_from_the_seed(stage):
    experiment = EXPERIMENTS[stage.name]
    if not experiment.has_seed or experiment.max_runs:
        pytest.skip("its splits are fixed")
    _, three = stage.run(3)
    _, later = stage.run(2, seed=1)
    for row, seen in later.items():
        assert set(seen) < set(three[row])


@pytest.mark.parametrize(
    "name",
    [
        "yale_faces",
        "mnist_digits",
        "rotated_mnist",
        "isbi_patches",
        "tangent_digits",
        "uiuc_textures",
        "sample_complexity",
        "low_rank_5",
        "rotated_images",
    ],
)
def test_all_rows_learn_from_the_same_draws(name, monkeypatch):
    _, learned = Stage(name, monkeypatch).run(2)
    assert len(learned) > 3
    assert len({tuple(seen) for seen in learned.values()}) == 1


def test_the_best_of_several_seeds_would_be_noticed(monkeypatch):
    stage, draw_split = Stage("yale_faces", monkeypatch), yale_faces.draw_split
    for row, (paper, make) in list(yale_faces.METHODS.items()):
        monkeypatch.setitem(
            yale_faces.METHODS, row, (paper, lambda seed, make=make: [make(seed), make(seed).fit(*ONE)][0])
        )
    _, learned = stage.run(2)
    assert {len(seen) for seen in learned.values()} == {4}
    monkeypatch.setattr(yale_faces, "draw_split", lambda labels, seed: draw_split(labels, 0))
    assert {len(set(seen)) for seen in stage.run(2)[1].values()} == {2}  # ONE, and a single draw


ONE = np.zeros((1, 2, 2)), np.zeros(1)


def test_figures_of_the_papers_are_those_of_the_papers(stage):
    tables, _ = stage.run(1)
    found = {t.title: {row.method: row.paper for row in t.outcomes if row.paper is not None} for t in tables}
    expected = paper_figures.FIGURES.get(stage.name, {})
    assert {title for title, rows in found.items() if rows} == set(expected)
    for title, rows in expected.items():
        assert found[title] == pytest.approx(rows, abs=1e-9), title
    assert dict(EXPERIMENTS[stage.name].others) == paper_figures.OTHERS.get(stage.name, {})
    is_papers = stage.name not in paper_figures.ON_OTHER_DATA
    assert {table.is_papers_task for table in tables} == {is_papers}


@pytest.mark.parametrize(("name", "n_runs"), paper_figures.RUNS.items())
def test_fewer_runs_than_in_the_paper_are_explained(name, n_runs):
    experiment = EXPERIMENTS[name]
    assert experiment.paper_runs == n_runs
    explained = explain_few_runs(experiment)
    assert (f"the paper has {n_runs}" in explained) == (experiment.runs < n_runs)
    assert (": a run takes about" in explained) == (experiment.runs < n_runs and not experiment.why_fewer)


def test_draws_that_settings_were_chosen_on_are_not_tested_on():
    assert all_methods.FIRST_SEED == 200
    assert uiuc_textures.SETTINGS_SEED == 1000
    assert EXPERIMENTS["uiuc_textures"].runs < 1000
    assert isbi2012.FULL.few == ((0,), (0, 8, 16))
    for training, test in (
        (isbi_patches.TRAINING, isbi_patches.TEST),
        (isbi2012.FULL.training, isbi2012.FULL.test),
    ):
        assert list(training) == list(range(18))
        assert list(test) == list(range(18, 24))


def test_first_seed_is_where_draws_begin(monkeypatch):
    seeds = []
    stage = Stage("all_methods_textures", monkeypatch)
    draw = all_methods.draw_uiuc
    monkeypatch.setattr(all_methods, "draw_uiuc", lambda seed: seeds.append(seed) or draw(seed))
    stage.run(2, seed=3)
    assert seeds == [203, 204]
