"""`invariance advise` and `invariance compare` on folders of drawings: what they print, write and refuse."""

import json
import re
import shutil

import numpy as np
import pytest
from PIL import Image

from invariance.cli import main
from invariance.datasets import make_glyphs


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Hooks, and hooks upside down, with one file that is no image."""
    root = tmp_path_factory.mktemp("images") / "two words"
    drawings = make_glyphs(40, rotation=15, shift=0, scale=0.1, random_state=0)
    hooks = drawings.images[drawings.labels == drawings.class_names.index("hook")]
    for number, hook in enumerate(hooks):
        name, image = ("six", hook) if number < 20 else ("nine", hook[::-1, ::-1])
        (root / name).mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.rint(255 * image).astype(np.uint8)).save(root / name / f"{number:02d}.png")
    (root / "six" / "broken.png").write_bytes(b"no image")
    return root


def test_advise_says_what_hurts_and_writes_report_and_figure(folder, tmp_path, capsys):
    report, figure = tmp_path / "advice.html", tmp_path / "advice.png"
    assert main(["advise", str(folder), "-o", str(report), "--figure", str(figure), "--jobs", "1"]) == 0
    out, err = capsys.readouterr()
    assert "broken.png" in err
    assert re.search(r"^all rotations .* hurts *$", out, re.MULTILINE)
    assert f"  invariance fit '{folder}' -o model.inv" in out
    page = report.read_text()
    assert "What does not matter?" in page
    assert "predicted nine" not in page  # titles of images are drawn, not written
    assert "all rotations" in page
    assert Image.open(figure).width > 400
    assert sorted(path.name for path in tmp_path.iterdir()) == ["advice.html", "advice.png"]


def test_advise_as_json_is_one_document_and_the_same_for_the_same_seed(folder, capsys):
    documents = []
    for _ in range(2):
        assert main(["advise", str(folder), "--json", "--seed", "3", "--jobs", "1"]) == 0
        document = json.loads(capsys.readouterr().out)
        documents.append({name: value for name, value in document.items() if name != "seconds"})
    assert documents[0] == documents[1]
    verdicts = {finding["invariant_to"]: finding["verdict"] for finding in document["findings"]}
    assert verdicts["rotations:24"] == "hurts"
    assert document["compared"] == document["images"] == 40
    option = f" --invariant-to {document['invariant_to']}" if document["invariant_to"] != "identity" else ""
    assert document["command"].endswith(f"-o model.inv{option}")


@pytest.fixture(scope="module")
def small_folder(folder, tmp_path_factory):
    root = tmp_path_factory.mktemp("few")
    for name in ("six", "nine"):
        (root / name).mkdir()
        for path in sorted((folder / name).glob("[0-9]*.png"))[:3]:
            shutil.copy(path, root / name)
    return root


COMPARE = ["--methods", "tangent", "--invariant-to", "reflections", "--jobs", "1"]


def test_compare_ranks_and_ends_with_the_command_for_the_winner(small_folder, capsys):
    assert main(["compare", str(small_folder), *COMPARE]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("tangent") for line in lines) == 2
    assert any(line.startswith("nearest neighbour") for line in lines)
    assert lines[-1].startswith(f"  invariance fit {small_folder} -o model.inv --method tangent")


def test_compare_as_json(small_folder, capsys):
    assert main(["compare", str(small_folder), "--json", *COMPARE]) == 0
    document = json.loads(capsys.readouterr().out)
    assert len(document["contestants"]) == 6  # with three baselines and the pretrained network
    assert all(contestant["judged"] == 6 for contestant in document["contestants"])
    assert document["contestants"][0]["among_the_best"]


MISTAKES = {
    "missing folder": (["advise", "no-such-folder"], "no-such-folder"),
    "unreadable image": (["advise", "FOLDER", "--strict"], "broken.png"),
    "report of unknown kind": (["advise", "FOLDER", "-o", "advice.docx"], "advice.docx"),
    "figure of unknown kind": (["advise", "FOLDER", "--figure", "advice.xyz"], "advice.xyz"),
    "no time": (["advise", "FOLDER", "--budget", "0"], "--budget"),
    "unknown method": (["compare", "FOLDER", "--methods", "jungle,oak"], "'oak'"),
    "unknown invariance": (["compare", "FOLDER", "--invariant-to", "rotatoins:3"], "'rotatoins'"),
    "missing folder to compare": (["compare", "no-such-folder"], "no-such-folder"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line_and_writes_nothing(mistake, folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    arguments, named = MISTAKES[mistake]
    assert main([str(folder) if argument == "FOLDER" else argument for argument in arguments]) == 2
    out, err = capsys.readouterr()
    last = err.splitlines()[-1]
    assert out == ""
    assert last.startswith("Error: ")
    assert named in last
    assert list(tmp_path.iterdir()) == []
