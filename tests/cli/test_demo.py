"""The demonstration says what it found beside its baselines, also where they are better, and writes a whole report."""

import os
import re
from types import SimpleNamespace

import numpy as np
import pytest

from invariance.cli import demo, main
from invariance.datasets import make_membranes
from invariance.report.demo import images, pixels


@pytest.fixture
def reduced(monkeypatch):
    """The same with fewer and smaller images."""
    monkeypatch.setattr(pixels, "SIDE", 128)
    monkeypatch.setattr(pixels, "N_NEW", 1)
    monkeypatch.setattr(images, "N_LABELLED", 6)
    monkeypatch.setattr(images, "N_NEW", 30)
    monkeypatch.setattr(images, "BUDGET", 1.0)


def test_the_command_writes_a_whole_report_and_a_line_per_part(reduced, capsys, tmp_path):
    assert main(["demo", "-o", str(tmp_path)]) == 0
    out = capsys.readouterr().out.splitlines()
    assert [line.partition(" ")[0] for line in out] == ["Pixels:", "Images:", "What", "Next:"]
    page = (tmp_path / demo.FILE_NAME).read_text(encoding="utf-8")
    assert re.findall(r"<h2>(.*?)</h2>", page) == [
        "Pixels from strokes",
        "Images: which invariance helps",
        "What does not matter to it",
        "What was learned",
        "Where it is right and wrong",
        "What to run next",
        "Settings",
        "Software",
    ]
    assert page.count("pixel forest") >= 3


def test_what_to_type_next_is_found_by_a_shell(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [str(tmp_path / ".venv" / "bin" / "invariance"), "demo"])
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert demo._command() == os.path.join(".venv", "bin", "invariance")
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    assert demo._command() == "invariance"


def test_strokes_show_the_truth_and_the_same_seed_paints_the_same():
    mask = np.asarray(make_membranes(1, (256, 256), random_state=3).masks)[0]
    strokes = pixels.paint_strokes(mask, np.random.default_rng(0))
    assert np.array_equal(strokes, pixels.paint_strokes(mask, np.random.default_rng(0)))
    assert 0 < np.mean(strokes > 0) < 0.05
    assert np.array_equal(strokes[strokes > 0] == pixels.MEMBRANE, mask[strokes > 0])


def test_digits_are_turned_and_new_ones_are_not_among_the_labelled():
    labelled, new = images.draw_digits(np.random.default_rng(0))
    assert np.bincount(labelled.labels).tolist() == [images.N_LABELLED] * 9
    assert len(new) == images.N_NEW
    assert images.LEFT_OUT not in {*labelled.labels, *new.labels}
    flat = {image.tobytes() for image in labelled.images}
    assert len(flat) == len(labelled)
    assert not flat & {image.tobytes() for image in new.images}
    once = images.turn(np.eye(8, dtype=np.float32), 90)
    assert np.allclose(once, np.rot90(images.turn(np.eye(8, dtype=np.float32), 0)), atol=0.05)


@pytest.mark.parametrize(
    ("peer", "verdict"), [(0.7, "less accurate: 70.0%"), (0.8, "as accurate: 80.0%"), (0.9, "more accurate: 90.0%")]
)
def test_a_baseline_that_is_better_is_said_to_be(peer, verdict):
    found = images.ImageDemo(
        None, range(10), SimpleNamespace(advised=SimpleNamespace(name="all rotations")), SimpleNamespace(method="m"),
        SimpleNamespace(accuracy=0.8), SimpleNamespace(accuracy=0.6), {"weak": 0.1, "strong": peer},
    )  # fmt: skip
    assert found.sentence.endswith(f"The best simple baseline, strong, is {verdict}.")
    assert "rises from 60.0% to 80.0%" in found.sentence
