"""The catalogue of reproductions, what is kept of a run, and the page."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

from experiments import results
from experiments.catalogue import EXPERIMENTS, find_experiment
from experiments.experiment import Experiment, missing_data
from experiments.outcome import Curve, Found, Outcome, Plot, Table
from experiments.reproduction_page import page_text, table_figure, verdict_on, write_page
from experiments.verdicts import judge_claim, judge_figure

ROOT = Path(__file__).parents[2]
STORED = {path.stem for path in (ROOT / "docs" / "reproductions" / "results").iterdir()}
needs_data = pytest.mark.skipif("INVARIANCE_DATA" not in os.environ, reason="INVARIANCE_DATA is not set")


def outcome(figures, paper=10.0, method="ours"):
    return Outcome(method, np.array(figures, float), paper, 1.0)


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=list(EXPERIMENTS))
def test_every_experiment_says_what_it_is(experiment):
    assert f"{{{experiment.paper}," in (ROOT / "docs" / "references.bib").read_text()
    assert experiment.protocol.endswith(".")
    assert experiment.place
    if experiment.run is None:
        assert experiment.unavailable or experiment.differs
        assert not experiment.claims
    else:
        assert experiment.data
        assert experiment.runs >= 1
        assert experiment.minutes > 0
        assert experiment.run.__name__ == experiment.name


def test_an_unknown_name_is_answered_with_the_known_ones():
    assert find_experiment("yale_faces").paper == "Laptev15"
    with pytest.raises(ValueError, match="'yale'.*yale_faces.*uiuc_textures"):
        find_experiment("yale")


def test_missing_data_is_the_verdict_where_a_data_set_is_not_here(monkeypatch, tmp_path):
    monkeypatch.setenv("INVARIANCE_DATA", str(tmp_path))
    monkeypatch.setattr("invariance.datasets._sources.cache_folder", lambda: tmp_path)
    assert missing_data(EXPERIMENTS["graz02"]) == ["graz02", "caltech101", "mnist"]
    assert verdict_on(EXPERIMENTS["graz02"], None) == "data missing: graz02, caltech101, mnist"
    assert verdict_on(EXPERIMENTS["horses"], None) == "data missing: inria_horses"


@pytest.mark.parametrize("is_installed", [False, True])
def test_packages_and_minutes_are_named_whatever_is_installed(is_installed, monkeypatch):
    monkeypatch.setattr("experiments.experiment.find_spec", lambda name: name if is_installed else None)
    monkeypatch.setattr("experiments.experiment.missing_data", lambda experiment: [])
    assert verdict_on(EXPERIMENTS["isbi_unet"], None) == (
        "not run: needs torch, and 1 run would take about 10 min on two cores"
    )
    assert verdict_on(EXPERIMENTS["isbi_few"], None) == "not run: 2 runs would take about 4 min on two cores"


def test_the_page_says_why_a_result_has_fewer_runs_than_the_paper_or_the_default():
    result = results.perform(SMALL)
    runs = {"low_rank_30": 10, "isbi_patches": 1, "yale_faces": 50, "graz02": 10, "flowers17": 3, "all_methods": 2}
    stored = {name: result._replace(name=name, runs=n) for name, n in runs.items()}
    sections = dict(section.split("\n", 1) for section in page_text(stored, images={}).split("\n## ")[1:])
    expected = {
        "low_rank_30": "\n10 runs, where the paper has 50 and the default is 20: a run takes about 0.8 min",
        "isbi_patches": "\n1 run, where a verdict on a claim needs 5 and the default is 3: a run takes about 4 min",
        "flowers17": "\nBy default 3 runs, where the paper has 20 and a verdict on a claim needs 5: the flowers come",
        "all_methods": "\n2 runs, where a verdict on a claim needs 5 and the default is 5: a run takes about 2.6 min",
    }
    assert {name: text in sections[name] for name, text in expected.items()} == dict.fromkeys(expected, True)
    assert not [name for name in ("yale_faces", "graz02") if ", where " in sections[name]]
    assert "\n1 run, seed 0, " in sections["isbi_patches"]


def test_no_experiment_is_left_out_without_a_reason():
    page = page_text({}, images={})
    sections = dict(section.split("\n", 1) for section in page.split("\n## ")[1:])
    assert [name for name in EXPERIMENTS if not re.search(r"\*\*(not run|data missing): .+\*\*", sections[name])] == []


def test_the_page_says_why_there_are_few_runs_and_why_they_are_not_independent():
    page = page_text({}, images={})
    sections = dict(section.split("\n", 1) for section in page.split("\n## ")[1:])
    assert (
        "By default 20 runs, where the paper has 50: a run takes about 0.8 min on two cores." in sections["low_rank_30"]
    )
    assert "By default 1 run, where a verdict on a claim needs 5: a run takes" in sections["caltech_objects"]
    assert (
        "paper has 20 and a verdict on a claim needs 5: the flowers come with three official" in sections["flowers17"]
    )
    assert "By default" not in sections["yale_faces"]
    assert "same six sections: the runs are not independent." in sections["scribbles"]
    assert "not independent" not in sections["sample_complexity"]


def test_settings_that_were_chosen_on_the_tested_images_are_admitted():
    assert "Our settings were chosen on splits of other seeds" in EXPERIMENTS["yale_faces"].differs
    assert "the same 165 images" in EXPERIMENTS["yale_faces"].differs
    assert "test images are among them" in EXPERIMENTS["tangent_faces"].differs


@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if name.startswith(("isbi", "scribbles"))])
def test_a_threshold_that_is_chosen_on_the_test_labels_is_admitted(name):
    assert "at the threshold that is best on the test labels" in EXPERIMENTS[name].differs


DEFAULT_RUNS = {
    **dict.fromkeys(("yale_faces", "rotated_images", "sample_complexity", "low_rank_5"), 50),
    **dict.fromkeys(("low_rank_30", "uiuc_textures"), 20),
    "tangent_faces": 10,
    **dict.fromkeys(("tangent_digits", "tangent_digits_sizes", "mnist_digits", "object_weights", "caltech_few"), 5),
    **dict.fromkeys(("texture_weights", "all_methods", "graz02", "graz02_windows", "graz02_forests"), 5),
    **dict.fromkeys(("graz02_features", "graz02_trials", "graz02_pruning", "graz02_votes", "graz02_descriptors"), 5),
    "all_methods_textures": 4,
    **dict.fromkeys(("tangent_digits_1000", "word_maps", "flowers17", "isbi_patches"), 3),
    **dict.fromkeys(("scribbles", "scribbles_cells"), 3),
    **dict.fromkeys(("isbi_sections", "isbi_few", "graz02_8000"), 2),
    "caltech_objects": 1,
}


def test_the_default_numbers_of_runs_are_those_of_the_table():
    assert {name: EXPERIMENTS[name].runs for name in DEFAULT_RUNS} == DEFAULT_RUNS


# One component of normalized responses is nearly the same for all images: one of eight classes by chance in every run.
CHANCE = {
    ("low_rank_30", "pca, 1"): 12.5,
    **{("low_rank_5", f"pca, {n} layers, 1"): 12.5 for n in (2, 3)},
}


@pytest.mark.parametrize("name", sorted(STORED))
def test_no_stored_row_is_a_constant(name):
    result = results.read_result(name, ROOT / "docs" / "reproductions" / "results")
    rows = [(table, row) for table in result.found.tables for row in table.outcomes if len(row.figures) > 2]
    constant = [
        (table.title, row.method)
        for table, row in rows
        if np.ptp(row.figures) == 0
        and not (row.mean == 0 and "share" in table.title)
        and row.mean != CHANCE.get((name, row.method))
    ]
    assert constant == []


def small_run(runs, seed, is_quick):
    print("on the way")
    figures = np.random.default_rng(seed).random(runs)
    curve = Curve("ours", (1, 2), np.stack([figures, figures + 1], axis=1))
    table = Table("error in %", "lower", [Outcome("ours", figures, 0.4, float("nan")), outcome([float("nan")])])
    return Found([table], [Plot("a plot", "places", "rates", [curve], True)])


SMALL = Experiment("small", "Laptev15", "nowhere", "A sentence.", ("digits",), small_run, 3, 1)


def test_a_result_is_read_as_it_was_written(tmp_path, capsys):
    result = results.perform(SMALL, seed=5)
    assert capsys.readouterr().out == ""  # what an experiment prints is not the command's answer
    file = results.write_result(result, tmp_path)
    assert "NaN" not in file.read_text()
    again = results.read_result("small", tmp_path)
    assert results.as_json(again) == results.as_json(result)
    assert again.found.tables[0].outcomes[0].figures == pytest.approx(np.random.default_rng(5).random(3), abs=1e-4)
    assert np.isnan(again.found.tables[0].outcomes[0].seconds)
    assert [path.name for path in tmp_path.iterdir()] == ["small.json"]


def test_a_damaged_result_is_named_with_the_cure(tmp_path):
    (tmp_path / "small.json").write_text('{"name": "small"}')
    with pytest.raises(ValueError, match="small.json.*Delete it"):
        results.read_result("small", tmp_path)
    assert results.read_result("other", tmp_path) is None


def test_a_result_is_current_until_settings_or_code_change():
    result = results.perform(SMALL, seed=5)
    assert results.is_current(result, SMALL, 3, 5, False)
    assert not results.is_current(result, SMALL, 4, 5, False)
    assert not results.is_current(result, SMALL, 3, 6, False)
    assert not results.is_current(result, SMALL, 3, 5, True)
    assert not results.is_current(result, SMALL._replace(run=run_otherwise), 3, 5, False)
    assert results.is_current(
        results.perform(SMALL._replace(has_seed=False)), SMALL._replace(has_seed=False), 3, 9, False
    )


def test_an_outdated_result_is_marked_on_the_page(tmp_path):
    result = results.perform(SMALL)
    assert not results.is_outdated(result, SMALL)
    assert results.is_outdated(result._replace(fingerprint="0" * 16), SMALL)
    page = write_page({"yale_faces": result._replace(name="yale_faces")}, tmp_path).read_text()
    assert "(outdated) |" in page
    assert "Outdated: the code" in page.split("## yale_faces\n")[1].split("\n## ")[0]


def test_every_stored_result_belongs_to_an_experiment():
    assert set(EXPERIMENTS) >= STORED


@pytest.mark.parametrize("name", sorted(STORED))
def test_claims_find_their_methods_in_the_stored_results(name):
    result = results.read_result(name, ROOT / "docs" / "reproductions" / "results")
    if results.is_outdated(result, EXPERIMENTS[name]):
        pytest.skip("the result is outdated: rows may have been added since")
    for claim in EXPERIMENTS[name].claims:
        if name.startswith("scribbles") and claim.second.startswith("U-Net"):
            continue  # left out where PyTorch is not installed
        assert judge_claim(claim, result.found.tables)[1] != "one of the methods was not run"


@needs_data
def test_the_page_in_the_documentation_is_made_from_the_stored_results():
    found = {name: results.read_result(name, ROOT / "docs" / "reproductions" / "results") for name in STORED}
    assert page_text(found, images={}) == re.sub(r"!\[.*\n\n", "", (ROOT / "docs" / "reproductions.md").read_text())


def run_otherwise(runs, seed, is_quick):
    return small_run(runs, seed, is_quick)


def test_the_fingerprint_changes_with_the_code_that_is_reached(monkeypatch):
    result = results.perform(SMALL)
    reached = results.source_of(SMALL.run)
    monkeypatch.setattr(results, "source_of", lambda function: {**reached, "invariance.jungles.growing": "x = 1"})
    assert results.is_outdated(result, SMALL)


def test_no_more_runs_than_there_are_splits():
    assert results.check_runs(EXPERIMENTS["flowers17"], 20) == 3
    assert results.check_runs(SMALL, None) == 3
    assert results.check_runs(SMALL, None, is_quick=True) == 1


def test_the_page_shows_every_experiment_its_figures_and_images_that_exist(tmp_path):
    result = results.perform(SMALL)._replace(name="yale_faces")
    page = write_page({"yale_faces": result}, tmp_path).read_text()
    assert all(f"## {name}\n" in page for name in EXPERIMENTS)
    [table_row] = re.findall(r"^\| ours \| 0.4 \|.*$", page, re.M)
    verdict = judge_figure(result.found.tables[0].outcomes[0], result.found.tables[0])
    assert table_row.split(" | ")[5] == f"{verdict} (3 runs)"
    images = re.findall(r"!\[.*\]\((.*)\)", page)
    assert images == ["reproductions/yale_faces.png"]
    assert all((tmp_path / image).stat().st_size > 5000 for image in images)


def test_a_rehearsal_is_marked_and_never_judged(tmp_path):
    result = results.perform(SMALL, is_quick=True)._replace(name="yale_faces")
    page = write_page({"yale_faces": result}, tmp_path, "reproductions-quick").read_text()
    assert "figures mean nothing" in page
    section = page.split("## yale_faces\n")[1].split("\n## ")[0]
    assert not any(word in section for word in ("reached", "beaten"))


def test_the_plot_of_a_table_shows_the_papers_figures_where_they_are():
    table = Table("error in %", "lower", [outcome([1.0, 2.0], paper=3.0), outcome([4.0], paper=None, method="new")])
    [axes] = table_figure(table).axes
    [papers] = [line.get_xdata() for line in axes.lines if line.get_label() == "paper"]
    assert np.array_equal(papers, [np.nan, 3.0], equal_nan=True)  # the first row is on top
    assert [label.get_text() for label in axes.get_yticklabels()] == ["new", "ours"]


@needs_data
@pytest.mark.data
@pytest.mark.parametrize("name", ["sample_complexity", "low_rank_5", "tangent_digits_sizes"])
def test_a_rehearsal_runs_and_can_be_kept(name):
    result = results.perform(EXPERIMENTS[name], is_quick=True)
    assert json.loads(json.dumps(results.as_json(result)))["found"]["tables"]
    assert result.found.plots
