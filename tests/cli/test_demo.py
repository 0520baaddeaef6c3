"""The demonstration gains from invariance, compares itself with its peers, and is reproducible."""

import re
import time
from types import SimpleNamespace

import numpy as np
import pytest

from invariance.cli import demo, main
from invariance.report import demo_experiment as experiment
from invariance.report.demo_page import compare_with_peers


@pytest.fixture
def reduced(monkeypatch):
    """The same with fewer windows, draws and jungles."""
    monkeypatch.setattr(experiment, "LABEL_COUNTS", (5,))
    monkeypatch.setattr(experiment, "JUNGLES", {**experiment.JUNGLES, "n_jungles": 4})
    monkeypatch.setattr(experiment, "DEEP_JUNGLES", {**experiment.DEEP_JUNGLES, "n_jungles": 2, "max_depth": 3})
    monkeypatch.setattr(experiment, "N_TRIALS", 1)
    monkeypatch.setattr(experiment, "N_WINDOWS", 20)


def test_the_command_writes_a_whole_report_the_same_every_time(reduced, capsys, tmp_path):
    assert main(["demo", "-o", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    accuracies = dict(re.findall(r"^(\S.*?) +([\d.]+)% accuracy", out, flags=re.MULTILINE))
    assert list(accuracies) == list(experiment.CLASSIFIERS)
    assert float(accuracies[experiment.INVARIANT]) > float(accuracies[experiment.PLAIN]) + 5
    assert "best of the other classifiers" in out
    page = (tmp_path / demo.FILE_NAME).read_text(encoding="utf-8")
    headings = re.findall(r"<h2>(.*?)</h2>", page)
    assert headings == [
        "Task",
        "Invariance",
        "Accuracy",
        "Confusions",
        "Examples",
        "What was learned",
        "A jungle",
        "Depth",
        "Settings",
        "Software",
    ]
    assert main(["demo", "-o", str(tmp_path / "again.html")]) == 0
    assert (tmp_path / "again.html").read_text(encoding="utf-8") == page


def test_labels_are_drawn_from_the_training_windows_alone(reduced):
    result = experiment.run_demo()
    (trial,) = result.trials[5]
    assert np.bincount(result.train.labels[trial.labelled]).tolist() == [5, 5, 5]
    assert len(np.unique(trial.labelled)) == 15
    assert {len(predicted) for predicted in trial.predictions.values()} == {len(result.test.labels)}


@pytest.mark.parametrize(
    ("ours", "verdict"), [([0.5, 0.7], r"-10.0 points.*0 of 2"), ([0.9, 0.9], r"\+20.0 points.*2 of 2")]
)
def test_the_comparison_is_right_for_a_better_and_a_worse_peer(ours, verdict):
    values = {name: np.array([0.1, 0.1]) for name in experiment.CLASSIFIERS}
    values |= {experiment.INVARIANT: np.array(ours), "SVM": np.array([0.6, 0.8])}
    text = compare_with_peers(SimpleNamespace(accuracies=lambda n_labels: values))
    assert "“SVM” with 70.0%" in text
    assert re.search(verdict, text)


def test_a_rotated_patch_is_the_patch_of_the_rotated_window():
    windows = np.random.default_rng(0).random((2, experiment.PATCH_SIZE, experiment.PATCH_SIZE)).astype(np.float32)
    patches = experiment.cut_patches(windows)
    assert patches.shape == (2, 1, experiment.PATCH_SIZE**2)
    assert np.abs(patches.sum(axis=2)).max() < 1e-5
    assert np.linalg.norm(patches, axis=2).max() < 1
    rotated = np.rot90(patches.reshape(windows.shape), axes=(1, 2))
    assert np.allclose(
        experiment.cut_patches(np.rot90(windows, axes=(1, 2))).reshape(windows.shape), rotated, atol=1e-5
    )


def test_binary_patterns_ignore_rotations_by_90_degrees():
    windows = np.random.default_rng(0).random((3, 32, 32))
    histograms = experiment.count_binary_patterns(windows)
    assert np.allclose(histograms, experiment.count_binary_patterns(np.rot90(windows, axes=(1, 2))), atol=0.02)
    assert np.allclose(histograms.sum(axis=1), len(experiment.RINGS))


def test_a_notice_is_printed_for_slow_work_only(monkeypatch, capsys):
    monkeypatch.setattr(demo, "PATIENCE_SECONDS", 0.01)
    with demo._notice("slow"):
        time.sleep(0.2)
    monkeypatch.setattr(demo, "PATIENCE_SECONDS", 100)
    with demo._notice("fast"):
        pass
    assert capsys.readouterr().err == "slow\n"
