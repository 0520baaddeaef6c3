"""README and the documentation quote stored results: every number is looked up again here, without the generator."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ttest_rel

from experiments import figures
from experiments.catalogue import EXPERIMENTS
from experiments.figures import BLOCK, PAGES, ROOT, block_of, measured, read_results, rewrite
from experiments.outcome import Found, Outcome, Table
from experiments.quotations import QUOTATIONS, Quotation
from experiments.results import Result
from experiments.verdicts import judge_claim

README = Path("README.md")
NUMBER = r"-?\d+\.\d"
PRINTED = 0.05 + 1e-6  # half of the last digit


def read(page):
    return (ROOT / page).read_text(encoding="utf-8")


def rows_of(text):
    """The cells of all rows in all blocks of figures of a page, without heads."""
    lines = [line for block in BLOCK.finditer(text) for line in block["text"].splitlines() if line.startswith("| ")]
    rows = [line.strip("| ").split(" | ") for line in lines]
    return [row for row in rows if "python -m experiments" in row[-1]]


def stored_tables(row):
    """The tables of the result that a row names, as they are stored: {title: (better, {method: (figures, paper)})}."""
    name, command = re.fullmatch(r"\[(\w+)\]\(.*\), `python -m experiments (\w+) --runs \d+.*`", row[-1]).groups()
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


def _wrong_in_table(row, better, stored):
    quoted, wrong = [], []
    for cell in row[1:3]:
        for method, mean, _, paper in re.findall(
            rf"(.+?): ({NUMBER})( % \(paper ({NUMBER}) %\))?(?: %)?(?:; |$)", cell
        ):
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


DOCS = sorted(path.relative_to(ROOT) for pattern in ("docs/*.md", "docs/methods/*.md") for path in ROOT.glob(pattern))
PROSE = [README, *(page for page in DOCS if page.stem != "reproductions")]


@pytest.mark.parametrize("page", PROSE, ids=str)
def test_no_measured_figure_stands_outside_the_tables(page):
    prose = re.sub(r"```.*?```", "", BLOCK.sub("", read(page)), flags=re.DOTALL)
    prose = prose.replace("t-test at 5 %", "").replace("95 % interval", "")
    assert re.findall(r"\d[\d.,]* ?%|\d+ times|in \d+ seconds", prose) == []


def test_readme_shows_every_claim_that_is_not_reached():
    shown = {(row[0].rpartition(" [")[0], re.search(r"\w+", row[-1])[0]) for row in rows_of(read(README))}
    results = read_results()
    failed = {
        (claim.sentence, name)
        for name, result in results.items()
        for claim in EXPERIMENTS[name].claims
        if judge_claim(claim, result.found.tables, EXPERIMENTS[name].has_independent_runs)[0] == "not reached"
    }
    assert failed
    assert failed <= shown


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
    assert ours == "ours: 10.0 % (paper 9.0 %)"
    assert peer == "strong: 12.3 %"
    assert lead == "2.3 (1.3 to 3.3), better in 5 runs"
    assert source.startswith("[yale_faces](docs/reproductions/results/yale_faces.json), ")
    assert source.endswith("`python -m experiments yale_faces --runs 5 --seed 3`")
    assert "| weak: 17.3 % | -7.3 (-8.3 to -6.3), worse in 5 runs |" in measured(
        [QUOTED], made(better="higher"), README
    )


def test_few_runs_or_a_lead_within_chance_are_undecided():
    assert "2.5, undecided (3 runs)" in measured([QUOTED], made((10,) * 3, (13, 12.5, 12)), README)
    assert "), undecided in 5 runs" in measured([QUOTED], made((10, 15, 9, 14, 12)), README)


def test_the_documentation_links_to_its_own_page_of_results():
    assert "[yale_faces](../reproductions.md#yale_faces)" in measured([QUOTED], made(), Path("docs/methods/jungles.md"))


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
    with pytest.raises(ValueError, match="'README.md' has a block of figures named 'nonsense'. Try one of: measured"):
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
