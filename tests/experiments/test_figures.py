"""README and the documentation quote stored results: every number is looked up again here, without the generator."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ttest_rel

from experiments import figures
from experiments.catalogue import EXPERIMENTS
from experiments.figures import BLOCK, OUTDATED, PAGES, ROOT, block_of, measured, read_results, rewrite
from experiments.outcome import Found, Outcome, Table
from experiments.quotations import QUOTATIONS, Quotation
from experiments.results import Result, fingerprint
from experiments.verdicts import judge_claim

README = Path("README.md")
ALL_RESULTS = Path("docs", "results.md")
NUMBER = r"-?\d+\.\d"
PRINTED = 0.05 + 1e-6  # half of the last digit


def read(page):
    return (ROOT / page).read_text(encoding="utf-8")


def rows_of(text, is_missed=False):
    """The cells of all rows in all blocks of compared methods of a page, or of missed figures, without heads."""
    blocks = [block["text"] for block in BLOCK.finditer(text) if (block["name"] == "missed") == is_missed]
    lines = [line for block in blocks for line in block.splitlines() if line.startswith("| ")]
    rows = [line.strip("| ").split(" | ") for line in lines]
    return [row for row in rows if "python -m experiments" in row[-1]]


def stored_tables(row):
    """The tables of the result that a row names, as they are stored: {title: (better, {method: (figures, paper)})}."""
    name, command = re.match(r"\[(\w+)\]\(.*\), `python -m experiments (\w+) --runs \d+[^`]*`", row[-1]).groups()
    assert name == command
    stored = json.loads((ROOT / "docs" / "reproductions" / "results" / f"{name}.json").read_text())
    return {
        table["title"]: (
            table["better"],
            {row["method"]: (np.array(row["figures"], float), row["paper"]) for row in table["outcomes"]},
        )
        for table in stored["found"]["tables"]
    }


def wrong_numbers(row):
    """The numbers of a row that are not those of one table of its stored result."""
    complaints = [_wrong_in_table(row, *table) for table in stored_tables(row).values()]
    return min(complaints, key=len)


def quoted_in(cell):
    """(method, mean, the paper's figure or None) of all that a cell quotes; what was not run is left out."""
    parts = [part.removeprefix("ablation, ") for part in cell.split("; ") if not part.endswith(": not run")]
    pattern = rf"(.+): ({NUMBER})(?: %(?: \(paper ({NUMBER}) %\))?)?"
    return [re.fullmatch(pattern, part).groups() for part in parts]


def _wrong_in_table(row, better, stored):
    quoted, wrong = [], []
    for cell in row[1:3]:
        for method, mean, paper in quoted_in(cell):
            if method not in stored:
                return [mean, "no such row"] * 10
            figures, of_paper = stored[method]
            wrong += [mean] * (not abs(np.mean(figures) - float(mean)) <= PRINTED)
            wrong += [paper] * bool(paper and (of_paper is None or abs(of_paper - float(paper)) > PRINTED))
            quoted.append((cell, figures))
    first = quoted[0][1]
    second = next(figures for cell, figures in quoted if cell == row[2])
    first, second = (second, first) if better == "lower" else (first, second)
    expected = [np.mean(first - second), *ttest_rel(first, second).confidence_interval()]
    seen = [float(number) for number in re.findall(rf"(?<![\w.]){NUMBER}", row[3])]
    return wrong + [number for number, value in zip(seen, expected, strict=False) if abs(number - value) > PRINTED]


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_tables_of_figures_are_what_the_generator_writes(page):
    assert BLOCK.search(read(page))
    assert rewrite(read(page), read_results(), page) == read(page), "run `make figures`"


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of intervals of one run, and of equal leads
@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_number_is_in_the_stored_result_that_its_row_names(page):
    rows = rows_of(read(page))
    assert len(rows) > 2
    assert [wrong_numbers(row) for row in rows if wrong_numbers(row)] == []
    assert all(re.search(NUMBER, row[1]) and re.search(NUMBER, row[2]) for row in rows)


def test_figures_that_are_missed_by_most_are_those_of_their_stored_results():
    gaps = []
    for name, paper, ours, runs, source in rows_of(read(ALL_RESULTS), is_missed=True):
        method_and_title = name.rpartition(" [")[0]
        (figures, of_paper), *others = [
            found
            for title, (_, rows) in stored_tables([source]).items()
            for method, found in rows.items()
            if f"{method}, {title}" == method_and_title
        ]
        assert not others
        assert abs(np.mean(figures) - float(ours)) <= PRINTED
        assert of_paper == pytest.approx(float(paper), rel=1e-3)
        assert runs == f"{len(figures)} run{'s' * (len(figures) != 1)}"
        gaps.append(abs(np.mean(figures) - of_paper))
    assert gaps == sorted(gaps, reverse=True)
    assert min(gaps) > 1


@pytest.mark.parametrize("cell", [1, 2, 3])
def test_a_number_that_no_run_gave_is_found(cell):
    row = rows_of(read(README))[0]
    number = re.search(NUMBER, row[cell])[0]
    row[cell] = row[cell].replace(number, f"{float(number) + 0.2:.1f}", 1)
    assert len(wrong_numbers(row)) == 1


def test_readme_links_to_files_that_exist():
    links = {link for row in rows_of(read(README)) for link in re.findall(r"\]\((.*?)\)", row[-1])}
    assert links
    assert all((ROOT / link).exists() for link in links)


DOCS = sorted(
    path.relative_to(ROOT)
    for pattern in ("docs/*.md", "docs/methods/*.md", "docs/tasks/*.md")
    for path in ROOT.glob(pattern)
)
PROSE = [README, *(page for page in DOCS if page.stem != "reproductions")]


@pytest.mark.parametrize("page", PROSE, ids=str)
def test_no_measured_figure_stands_outside_the_tables(page):
    prose = re.sub(r"```.*?```", "", BLOCK.sub("", read(page)), flags=re.DOTALL)
    prose = prose.replace("t-test at 5 %", "").replace("95 % interval", "")
    assert re.findall(r"\d[\d.,]* ?%|\d+ times|in \d+ seconds", prose) == []


def test_the_page_of_results_shows_every_claim_that_is_not_reached_or_undecided():
    shown = {
        (row[0].rpartition(" [")[0], re.search(r"\w+", row[-1])[0]): row[4]
        for row in rows_of(read(ALL_RESULTS))
        if len(row) == 6
    }
    failed = {}
    for name, result in read_results().items():
        for claim in EXPERIMENTS[name].claims:
            verdict, _ = judge_claim(claim, result.found.tables, EXPERIMENTS[name].has_independent_runs)
            if verdict in ("not reached", "undecided"):
                failed[claim.sentence, name] = verdict
    assert {"not reached", "undecided"} <= set(failed.values())
    assert {key: shown.get(key) for key in failed} == failed
    assert "reached" not in shown.values()


def quotations_and_rows():
    """Every quotation with its row on the page of results or of README, and the table of its stored result, as JSON."""
    quoted = [quoted for room in QUOTATIONS.values() for quoted in room]
    headlines = [one._replace(task=one.headline, ours=one.ours[:1]) for one in quoted if one.headline]
    for page, name, expected in ((ALL_RESULTS, "measured", quoted), (README, "headlines", headlines)):
        [block] = [found["text"] for found in BLOCK.finditer(read(page)) if found["name"] == name]
        rows = [line.strip("| ").split(" | ") for line in block.splitlines() if "`python -m experiments" in line]
        assert [row[0] for row in rows] == [one.task for one in expected]
        for one, row in zip(expected, rows, strict=True):
            stored = json.loads((ROOT / "docs" / "reproductions" / "results" / f"{one.result}.json").read_text())
            [table] = [table for table in stored["found"]["tables"] if table["title"] == one.table]
            yield one, row, table


def test_readme_has_one_short_table_with_leads_and_a_row_in_which_a_peer_is_better():
    rows = rows_of(read(README))
    assert 5 <= len(rows) <= 8
    leads = [float(re.match(NUMBER, row[3])[0]) for row in rows]
    assert min(leads) < 0 < max(leads), "a selection without what failed would not be honest"


def test_pages_quote_the_rows_and_means_of_the_tables_that_they_should():
    for quoted, row, table in quotations_and_rows():
        means = {outcome["method"]: np.mean(outcome["figures"]) for outcome in table["outcomes"]}
        found = {method: float(mean) for method, mean, _ in quoted_in(row[1])}
        assert found == pytest.approx({name: means[name] for name in quoted.ours if name in means}, abs=PRINTED)
        absent = [name for name in (*quoted.ours, *quoted.peers, *quoted.ablations) if name not in means]
        assert [name for name in absent if f"{name}: not run" not in f"{row[1]}; {row[2]}"] == []


def test_pages_quote_the_strongest_row_that_is_not_ours():
    own = {}
    for quoted, row, table in quotations_and_rows():
        sign = -1 if table["better"] == "lower" else 1
        means = {outcome["method"]: sign * np.mean(outcome["figures"]) for outcome in table["outcomes"]}
        [(peer, *_)] = quoted_in(row[2])
        assert peer in (*quoted.peers, *quoted.ablations)
        assert row[2].startswith("ablation, ") == (peer in quoted.ablations)
        key = quoted.result, quoted.table, quoted.peers, quoted.ablations
        own[key] = own.get(key, set()) | {*quoted.ours, *quoted.variants}  # a headline has fewer rows of ours
        stronger = [name for name, mean in means.items() if mean > means[peer] and quoted.among in name]
        assert set(stronger) <= own[key], quoted.task


def test_ablations_are_rows_of_ours_and_peers_are_not():
    for quoted in (quoted for room in QUOTATIONS.values() for quoted in room):
        assert not [name for name in quoted.peers if name.startswith(("ours", "TIC", "jungles, no transformations"))]
        assert not {*quoted.peers, *quoted.ablations} & {*quoted.ours, *quoted.variants}
        assert not set(quoted.peers) & set(quoted.ablations)


def test_all_claims_are_counted_those_of_the_papers_apart_from_ours():
    text, results = figures.counts(read_results()), read_results()
    claims = [claim for experiment in EXPERIMENTS.values() for claim in experiment.claims]
    ours = [claim for claim in claims if not claim.is_papers]
    assert {claim.sentence.partition(":")[0].partition(",")[0] for claim in ours} >= {"the same for ours"}
    assert all(not claim.is_papers for claim in claims if claim.sentence.startswith("the same for ours"))
    beyond = [e for e in EXPERIMENTS.values() if e.place == "beyond the paper"]
    assert not any(claim.is_papers for experiment in beyond for claim in experiment.claims)
    assert f"Of {len(claims) - len(ours)} claims of the papers: " in text
    assert f"Of {len(ours)} claims of ours: " in text
    of_papers = re.search(r"claims of the papers: (.*?)\.", text)[1]
    assert sum(int(number) for number in re.findall(r"\d+", of_papers)) == len(claims) - len(ours)
    absent = sum(claim.is_papers for name, e in EXPERIMENTS.items() if name not in results for claim in e.claims)
    assert int(re.search(r"(\d+) not run", of_papers)[1]) >= absent > 0
    assert re.search(rf"Of {len(claims) - len(ours)} claims of the papers: (\d+) not run\.", figures.counts({}))


def test_quoted_tables_are_free_of_images_that_settings_were_chosen_on():
    results = read_results()
    for quoted in (quoted for room in QUOTATIONS.values() for quoted in room):
        titles = {table.title for table in results[quoted.result].found.tables}
        clean = {title for title in titles if "without images that settings were chosen on" in title}
        assert not clean or quoted.table in clean


QUOTED = Quotation("a task", "yale_faces", "error in %", ("new", "ours"), ("weak", "strong", "absent"))


def made(ours=(10.0,) * 5, peers=(13.0, 12.5, 12.0, 11.0, 13.0), better="lower"):
    rows = {"ours": ours, "weak": np.add(peers, 5.0), "strong": peers}
    outcomes = [
        Outcome(name, np.array(values, float), 9.0 if name == "ours" else None, 1.0) for name, values in rows.items()
    ]
    found = Found([Table("error in %", better, outcomes)])
    return {"yale_faces": Result("yale_faces", len(ours), 3, False, 1.0, 1.0, "now", "0", "here", "f", found)}


def test_the_strongest_peer_is_quoted_with_the_verdict_of_the_paired_test():
    [*_, row] = measured([QUOTED], made(), README).splitlines()
    _, ours, peer, lead, source = row.strip("| ").split(" | ")
    assert ours == "ours: 10.0 % (paper 9.0 %); new: not run"
    assert peer == "strong: 12.3 %; absent: not run"
    assert lead == "2.3 (1.3 to 3.3), better in 5 runs"
    assert source.startswith("[yale_faces](docs/reproductions/results/yale_faces.json), ")
    assert source.endswith("`python -m experiments yale_faces --runs 5 --seed 3`, outdated")
    assert "| weak: 17.3 %; absent: not run | -7.3 (-8.3 to -6.3), worse in 5 runs |" in measured(
        [QUOTED], made(better="higher"), README
    )


def test_an_ablation_is_called_one():
    quoted = QUOTED._replace(peers=("weak",), ablations=("strong",))
    assert "| ablation, strong: 12.3 % |" in measured([quoted], made(), README)
    assert "| weak: 17.3 % |" in measured([quoted._replace(ablations=())], made(), README)


def test_results_of_earlier_code_are_marked_in_every_table(monkeypatch):
    results = made()
    claim = EXPERIMENTS["yale_faces"].claims[0]._replace(first="ours", second="strong")
    experiment = EXPERIMENTS["yale_faces"]._replace(claims=(claim,))
    monkeypatch.setattr(figures, "EXPERIMENTS", {"yale_faces": experiment})
    text = "<!-- figures: measured -->\n<!-- end of figures -->\n"
    monkeypatch.setattr(figures, "QUOTATIONS", {"jungles": (QUOTED,)})
    current = fingerprint(experiment, 5, 3, False)
    new = {"yale_faces": results["yale_faces"]._replace(fingerprint=current)}
    for write in (
        lambda some: measured([QUOTED], some, README),
        lambda some: figures.claims(some, README, ("Laptev15",)),
        lambda some: rewrite(text, some, README),
    ):
        assert "`, outdated |" in write(results)
        assert "outdated" not in write(new)
    assert "the experiment or the library has changed since the run" in rewrite(text, results, README)


def test_claims_of_ours_are_not_called_the_papers(monkeypatch):
    claim = EXPERIMENTS["yale_faces"].claims[0]._replace(first="ours", second="strong")
    claims = (claim, claim._replace(sentence="we say so", is_papers=False))
    monkeypatch.setattr(figures, "EXPERIMENTS", {"yale_faces": EXPERIMENTS["yale_faces"]._replace(claims=claims)})
    for papers, named in ((("Laptev15",), claim.sentence), (("Laptev15", "Varma07"), f"{claim.sentence} [Laptev15]")):
        rows = figures.claims(made(), README, papers).splitlines()[2:]
        assert [row.strip("| ").split(" | ")[0] for row in rows] == [named, "we say so [ours]"]


def test_counts_say_how_many_results_are_of_earlier_code():
    results = made()
    current = fingerprint(EXPERIMENTS["yale_faces"], 5, 3, False)
    assert figures.counts(results).endswith("Counted among them are 1 of 1 stored results that are outdated.")
    assert OUTDATED not in figures.counts({"yale_faces": results["yale_faces"]._replace(fingerprint=current)})


def test_few_runs_or_a_lead_within_chance_are_undecided():
    assert "2.5, undecided (3 runs)" in measured([QUOTED], made((10,) * 3, (13, 12.5, 12)), README)
    assert "), undecided in 5 runs" in measured([QUOTED], made((10, 15, 9, 14, 12)), README)


def test_the_documentation_links_to_its_own_page_of_results():
    assert "[yale_faces](../reproductions.md#yale_faces)" in measured([QUOTED], made(), Path("docs/methods/jungles.md"))
    assert "[yale_faces](reproductions.md#yale_faces)" in measured([QUOTED], made(), ALL_RESULTS)


@pytest.mark.parametrize(
    ("quoted", "message"),
    [
        (QUOTED._replace(result="gone"), "'gone' is quoted but not stored"),
        (QUOTED._replace(table="gone"), "no table 'gone'; it has: 'error in %'"),
        (QUOTED._replace(ours=("gone",)), "none of the rows .*gone.*; it has: ours, weak, strong"),
        (QUOTED._replace(peers=("gone",)), "none of the rows .*gone.*"),
    ],
)
def test_what_is_not_stored_is_not_quoted(quoted, message):
    with pytest.raises(ValueError, match=message):
        measured([quoted], made(), README)


def test_blocks_with_mistakes_are_named():
    with pytest.raises(
        ValueError, match="'README.md' has a block of figures named 'nonsense'. Try one of: headlines, measured"
    ):
        block_of("nonsense", {}, README)
    with pytest.raises(ValueError, match="without an end"):
        rewrite("<!-- figures: measured -->\n", {}, README)


def test_the_command_writes_pages_that_changed_and_nothing_else(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(figures, "read_results", lambda root: read_results())
    for page in PAGES:
        (tmp_path / page).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / page).write_text(read(page))
    (tmp_path / README).write_text(re.sub(NUMBER, "0.0", read(README)))
    assert figures.write_figures(tmp_path) == [README]
    assert rows_of((tmp_path / README).read_text()) == rows_of(read(README))
    assert figures.write_figures(tmp_path) == []
