"""The rule of the verdicts: noise, few runs, shared training data and rows of zeros never count as reached."""

import numpy as np
import pytest
from scipy.stats import ttest_rel

from experiments.catalogue import EXPERIMENTS
from experiments.outcome import Outcome, Table
from experiments.verdicts import RULE, Claim, judge_claim, judge_figure, summarize

CLAIM = Claim("a is better", "t", "a", "b")
LEVEL = CLAIM._replace(relation="level")


def outcome(figures, paper=10.0, method="ours"):
    return Outcome(method, np.array(figures, float), paper, 1.0)


def verdict_on_leads(leads, claim=CLAIM, **settings):
    """The verdict where the error of "a" is smaller than that of "b" by these leads (n,)."""
    runs = np.linspace(20, 60, len(leads))
    table = Table("t", "lower", [outcome(runs - leads, method="a"), outcome(runs, method="b")])
    return judge_claim(claim, [table], **settings)[0]


@pytest.mark.parametrize(
    ("figures", "better", "verdict"),
    [
        ([10.9], "lower", "reached once"),
        ([9.1], "lower", "reached once"),
        ([10.8, 11.0], "lower", "reached"),
        ([11.1], "lower", "not reached"),
        ([8.9], "lower", "undecided"),  # better, but in one run only
        ([11.1], "higher", "undecided"),
        ([11.1] * 4, "higher", "undecided"),
        ([11.1, 11.2, 11.3, 11.2, 11.1], "higher", "beaten"),
        ([8.9, 8.8, 8.7, 8.8, 8.9], "lower", "beaten"),
        ([20, 1, 25, 0, 11], "higher", "undecided"),  # better by 1.4 on average, by chance
        ([8.9], "higher", "not reached"),
        ([9.0, 15.0], "lower", "not reached"),  # noise does not help
        ([float("nan")], "lower", "not reached"),
        ([11.1] * 5, "neither", "not reached"),
        ([8.9] * 5, "neither", "not reached"),
        ([9.1], "neither", "reached once"),
        ([9.1, 9.3], "neither", "reached"),
    ],
)
def test_a_figure_is_reached_within_one_point_and_beaten_beyond_chance(figures, better, verdict):
    assert judge_figure(outcome(figures), Table("t", better, [])) == verdict


def test_figures_of_other_data_or_without_a_paper_are_not_judged():
    assert judge_figure(outcome([10.0]), Table("t", "lower", [], is_papers_task=False)) == "data missing"
    assert judge_figure(outcome([10.0], paper=None), Table("t", "lower", [])) is None


def test_zero_against_zero_is_no_achievement():
    table = Table("t", "neither", [outcome([0.0] * 5, paper=0.0, method="a"), outcome([0.0] * 5, method="b")])
    assert judge_figure(table.outcomes[0], table) == "not judged"
    assert judge_figure(outcome([0.0, 1.5], paper=0.0), table) == "not judged"
    assert judge_figure(outcome([1.5, 1.5], paper=0.0), table) == "not reached"
    assert judge_figure(outcome([0.0, 0.0], paper=0.5), table) == "reached"
    assert judge_claim(CLAIM, [table])[0] == "not judged"
    assert judge_claim(LEVEL, [table])[0] == "not judged"


def test_a_mean_above_zero_alone_is_not_better():
    leads = np.array([6.0, -5.0, 4.0, -4.0, 3.0, 1.0])
    assert leads.mean() > 0
    assert verdict_on_leads(leads) == "undecided"
    above_its_error = np.array([4.0, -1.0, 3.0, -0.5, 0.5])  # a lead of 1.3 standard errors
    assert above_its_error.mean() > above_its_error.std(ddof=1) / np.sqrt(5)
    assert verdict_on_leads(above_its_error) == "undecided"


def test_better_is_said_of_equal_methods_in_one_of_forty_cases():
    rng = np.random.default_rng(0)
    verdicts = [verdict_on_leads(rng.normal(0, 3, 8)) for _ in range(2000)]
    assert 0.015 < verdicts.count("reached") / 2000 < 0.035
    assert 0.015 < verdicts.count("not reached") / 2000 < 0.035


def test_better_is_the_paired_test_of_scipy():
    rng = np.random.default_rng(1)
    seen = set()
    for _ in range(200):
        leads = rng.normal(1, 2, 6)
        verdict = verdict_on_leads(leads)
        assert (verdict == "undecided") == (ttest_rel(leads, np.zeros(6)).pvalue >= 0.05)
        seen.add(verdict)
    assert seen >= {"reached", "undecided"}


def test_better_needs_five_runs_and_the_right_direction():
    leads = np.array([0.5, 0.6, 0.4, 0.5, 0.6])
    assert verdict_on_leads(leads) == "reached"
    assert verdict_on_leads(-leads) == "not reached"
    assert verdict_on_leads(leads[:4]) == "undecided"
    assert verdict_on_leads(leads[:1]) == "undecided"
    table = Table("t", "higher", [outcome(leads, method="a"), outcome(0 * leads, method="b")])
    assert judge_claim(CLAIM, [table])[0] == "reached"
    assert judge_claim(CLAIM, [table._replace(better="lower")])[0] == "not reached"


def test_runs_that_share_their_training_data_show_no_lead():
    leads = np.array([0.5, 0.6, 0.4, 0.5, 0.6])
    assert verdict_on_leads(leads, has_independent_runs=False) == "undecided"
    assert verdict_on_leads(leads, LEVEL, has_independent_runs=False) == "undecided"
    assert verdict_on_leads(-leads, has_independent_runs=False) == "not reached"


SHARED_DATA = ("isbi_patches", "isbi_sections", "isbi_few", "scribbles", "learned_weights")


@pytest.mark.parametrize("name", SHARED_DATA)
def test_experiments_whose_runs_share_data_say_so(name):
    experiment = EXPERIMENTS[name]
    assert not experiment.has_independent_runs
    assert len(experiment.dependence.split()) > 5
    assert EXPERIMENTS["yale_faces"].has_independent_runs
    assert EXPERIMENTS["sample_complexity"].has_independent_runs  # every run draws templates and training images


def test_pairs_are_not_called_runs():
    leads = np.array([0.5, 0.6, 0.4, 0.5, 0.6])
    table = Table("t", "higher", [outcome(leads, method="a"), outcome(0 * leads, method="b")])
    assert judge_claim(CLAIM, [table], unit="pair")[1].endswith("5 pairs")
    assert judge_claim(CLAIM, [table])[1].endswith("5 runs")
    of_pairs = EXPERIMENTS["learned_weights"]
    assert {of_pairs.unit_of(claim.table) for claim in of_pairs.claims} == {"pair"}
    assert {EXPERIMENTS["yale_faces"].unit_of("error in %")} == {"run"}


def test_level_needs_the_whole_interval_within_a_point():
    assert verdict_on_leads(np.array([0.5, -0.4, 0.1, 0.3, -0.2]), LEVEL) == "reached"
    assert verdict_on_leads(np.array([0.5, -0.4, 0.1, 0.3]), LEVEL) == "undecided"
    noisy = np.array([9.0, -9.0, 5.0, -5.0, 0.5])  # noise does not make methods level
    assert verdict_on_leads(noisy, LEVEL) == "undecided"
    assert verdict_on_leads(np.array([3.0, 3.1, 2.9, 3.0, 3.1]), LEVEL) == "not reached"
    assert verdict_on_leads(-np.array([3.0, 3.1, 2.9, 3.0, 3.1]), LEVEL) == "not reached"


def test_a_claim_without_its_methods_or_without_pairs_is_not_run():
    table = Table("t", "lower", [outcome([1.0], method="a"), outcome([2.0, 3.0], method="b")])
    assert judge_claim(CLAIM, [table])[0] == "not run"
    assert judge_claim(CLAIM._replace(second="c"), [table])[0] == "not run"
    assert judge_claim(CLAIM._replace(table="other"), [table])[0] == "not run"


def test_the_summary_counts_every_verdict():
    rows = [outcome([10.0]), outcome([12.0]), outcome([5.0] * 5), outcome([5.0]), outcome([5.0], paper=None)]
    text = summarize([Table("t", "lower", rows)], [Claim("s", "t", "x", "y")])
    assert text == "figures: 1 reached once, 1 beaten, 1 not reached, 1 undecided; claims: 1 not run"
    leads = [outcome(np.arange(5.0) - 1, method="a"), outcome(np.arange(5.0), method="b")]
    assert summarize([Table("t", "lower", leads)], [CLAIM]).endswith("claims: 1 reached")
    assert summarize([Table("t", "lower", leads)], [CLAIM], has_independent_runs=False).endswith("claims: 1 undecided")


def test_claims_of_ours_are_not_counted_as_the_papers():
    leads = [outcome(np.arange(5.0) - 1, None, "a"), outcome(np.arange(5.0), None, "b")]
    claims = [CLAIM, CLAIM._replace(is_papers=False), CLAIM._replace(first="b", second="a", is_papers=False)]
    assert summarize([Table("t", "lower", leads)], claims[1:]) == "claims of ours: 1 reached, 1 not reached"
    assert summarize([Table("t", "lower", leads)], claims).startswith("claims: 1 reached; claims of ours: ")


def test_the_page_states_the_numbers_of_the_rule():
    words = ("within 1 point", "at least two runs", "reached once", "at least 5 runs", "95 % interval", "t-test at 5 %")
    assert [some for some in words if some not in RULE] == []
