"""The demonstration gains from invariance, says how it stands to its peers, and is the same every time."""

import re
import time
from types import SimpleNamespace

import numpy as np
import pytest

from invariance.cli import demo, main
from invariance.report import demo_job as job
from invariance.report.demo_page import compare_with_peers


@pytest.fixture
def reduced(monkeypatch):
    """The same with fewer windows, draws and jungles."""
    monkeypatch.setattr(job, "LABEL_COUNTS", (5,))
    monkeypatch.setattr(job, "JUNGLES", {**job.JUNGLES, "n_jungles": 4})
    monkeypatch.setattr(job, "WATCHED", {**job.WATCHED, "n_jungles": 2, "max_depth": 3})
    monkeypatch.setattr(job, "N_TRIALS", 1)
    monkeypatch.setattr(job, "N_WINDOWS", 20)


def test_the_command_writes_a_whole_report_the_same_every_time(reduced, capsys, tmp_path):
    assert main(["demo", "-o", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    shares = dict(re.findall(r"^(\S.*?) +([\d.]+)% right", out, flags=re.MULTILINE))
    assert list(shares) == list(job.CONTESTANTS)
    assert float(shares[job.TOLD]) > float(shares[job.PLAIN]) + 5
    assert "Of the other methods the best is" in out
    page = (tmp_path / demo.FILE_NAME).read_text(encoding="utf-8")
    headings = re.findall(r"<h2>(.*?)</h2>", page)
    assert headings == [
        "The task",
        "What the learner was told",
        "How well it does",
        "What is confused with what",
        "Right and wrong",
        "What was learned",
        "A jungle",
        "How deep to grow",
        "Settings",
        "Software",
    ]
    assert main(["demo", "-o", str(tmp_path / "again.html")]) == 0
    assert (tmp_path / "again.html").read_text(encoding="utf-8") == page


def test_labels_are_drawn_from_the_training_windows_alone(reduced):
    result = job.run_demo()
    (trial,) = result.trials[5]
    assert np.bincount(result.train.labels[trial.labelled]).tolist() == [5, 5, 5]
    assert len(np.unique(trial.labelled)) == 15
    assert {len(predicted) for predicted in trial.predictions.values()} == {len(result.test.labels)}


@pytest.mark.parametrize(
    ("ours", "verdict"), [([0.5, 0.7], r"-10.0 points.*0 of 2"), ([0.9, 0.9], r"\+20.0 points.*2 of 2")]
)
def test_the_comparison_says_who_is_better_whichever_way_it_is(ours, verdict):
    values = {name: np.array([0.1, 0.1]) for name in job.CONTESTANTS}
    values |= {job.TOLD: np.array(ours), "SVM": np.array([0.6, 0.8])}
    text = compare_with_peers(SimpleNamespace(accuracies=lambda n_labels: values))
    assert "“SVM” with 70.0%" in text
    assert re.search(verdict, text)


def test_a_patch_turned_is_the_patch_of_the_turned_window():
    windows = np.random.default_rng(0).random((2, job.PATCH_SIZE, job.PATCH_SIZE)).astype(np.float32)
    patches = job.cut_patches(windows)
    assert patches.shape == (2, 1, job.PATCH_SIZE**2)
    assert np.abs(patches.sum(axis=2)).max() < 1e-5
    assert np.linalg.norm(patches, axis=2).max() < 1
    turned = np.rot90(patches.reshape(windows.shape), axes=(1, 2))
    assert np.allclose(job.cut_patches(np.rot90(windows, axes=(1, 2))).reshape(windows.shape), turned, atol=1e-5)


def test_binary_patterns_ignore_quarter_turns():
    windows = np.random.default_rng(0).random((3, 32, 32))
    assert np.allclose(
        job.count_binary_patterns(windows), job.count_binary_patterns(np.rot90(windows, axes=(1, 2))), atol=0.02
    )
    assert np.allclose(job.count_binary_patterns(windows).sum(axis=1), len(job.RINGS))


def test_a_slow_start_is_explained_and_a_fast_one_is_not(monkeypatch, capsys):
    monkeypatch.setattr(demo, "PATIENCE_SECONDS", 0.01)
    with demo._notice("slow"):
        time.sleep(0.2)
    monkeypatch.setattr(demo, "PATIENCE_SECONDS", 100)
    with demo._notice("fast"):
        pass
    assert capsys.readouterr().err == "slow\n"
