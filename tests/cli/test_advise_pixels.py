"""`invariance advise-pixels`: what it prints, writes and refuses."""

import json
import re

import numpy as np
import pytest
from PIL import Image

from invariance.cli import main
from invariance.methods import pixel_advice
from invariance.methods.pixel_findings import CANDIDATES
from invariance.segmentation import trials
from tests.segmentation.pixel_tasks import striped_squares


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Stripes in `two words/cells`, their masks in `masks`, with masks of one class and of another size."""
    root = tmp_path_factory.mktemp("images") / "two words"
    for number, (image, mask) in enumerate(zip(*striped_squares(), strict=True)):
        save(root / "cells" / f"{number}.png", np.rint(255 * image))
        save(root / "masks" / f"{number}.png", mask)
        save(root / "plain" / f"{number}.png", 0 * mask)
        save(root / "small" / f"{number}.png", mask[:9])
    return root


def save(path, pixels):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels.astype(np.uint8)).save(path)


@pytest.fixture
def quick(folder, monkeypatch):
    """Few candidates, runs and trees, for time; the working folder holds images and masks."""
    chosen = [candidate for candidate in CANDIDATES if candidate.text in ("reflections", "rotations:16")]
    monkeypatch.setattr(pixel_advice, "CANDIDATES", chosen)
    monkeypatch.setattr(trials, "N_RUNS", 6)
    monkeypatch.setattr(trials, "N_TREES", 30)
    monkeypatch.chdir(folder)
    return ["advise-pixels", "cells", "masks", "--patch-size", "9", "--pixels", "900", "--jobs", "1"]


def test_it_says_what_hurts_and_writes_report_and_figure(quick, tmp_path, capsys):
    report, figure = tmp_path / "advice.html", tmp_path / "advice.png"
    assert main([*quick, "-o", str(report), "--figure", str(figure)]) == 0
    out, _ = capsys.readouterr()
    assert re.search(r"^all rotations .* hurts *$", out, re.MULTILINE)
    assert "  invariance fit-pixels cells masks -o model.inv --invariant-to identity --patch-size 9\n" in out
    assert "identity (built-in): Learned filters ignore nothing." in out
    assert "What does not matter to pixels?" in report.read_text()
    assert Image.open(figure).width > 400
    assert sorted(path.name for path in tmp_path.iterdir()) == ["advice.html", "advice.png"]


def test_json_is_one_document_and_the_same_for_the_same_seed(quick, capsys):
    documents = []
    for _ in range(2):
        assert main([*quick, "--json", "--seed", "3", "--unlabelled", "7", "--scale", "image"]) == 0
        document = json.loads(capsys.readouterr().out)
        documents.append({name: value for name, value in document.items() if name != "seconds"})
    assert documents[0] == documents[1]
    verdicts = {finding["invariant_to"]: finding["verdict"] for finding in document["findings"]}
    assert verdicts["rotations:16"] == "hurts"
    assert document["held_out"] == {"unit": "images", "count": 4}
    assert (document["images"], document["pixels"], document["classes"]) == (4, 900, [0, 1])
    assert document["command"].endswith(
        f"--invariant-to {document['invariant_to']} --unlabelled 7 --patch-size 9 --scale image"
    )
    assert all(len(finding["runs"]) == 6 for finding in document["findings"])


MISTAKES = {
    "missing images": (["none", "masks"], "'none'"),
    "mask of other size": (["cells", "small"], "'small/0.png'"),
    "one class": (["cells", "plain"], "another class"),
    "even patches": (["cells", "masks", "--patch-size", "8"], "--patch-size"),
    "huge patches": (["cells", "masks", "--patch-size", "1025"], "--patch-size"),
    "too few pixels": (["cells", "masks", "--pixels", "9"], "--pixels"),
    "report of unknown kind": (["cells", "masks", "-o", "advice.docx"], "advice.docx"),
    "figure of unknown kind": (["cells", "masks", "--figure", "advice.xyz"], "advice.xyz"),
    "figure among the masks": (["cells", "masks", "--figure", "masks/a.png"], "masks/a.png"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line_and_writes_nothing(mistake, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    before = sorted(folder.rglob("*"))
    arguments, named = MISTAKES[mistake]
    assert main(["advise-pixels", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("Error: ")
    assert err.count("\n") == 1
    assert named in err
    assert sorted(folder.rglob("*")) == before
