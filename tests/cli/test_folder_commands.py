"""fit, predict and evaluate: what they write and print of a folder of images, and what they refuse."""

import csv
import json
import os

import numpy as np
import pytest
from PIL import Image
from sklearn.linear_model import LogisticRegression

from invariance import models
from invariance.cli import fit as fit_command
from invariance.cli import main
from invariance.cli import predict as predict_command
from invariance.cli.interruption import Interrupted
from invariance.images import as_float32
from invariance.methods import ImageClassifier, Selection, method_names, selection
from invariance.transformations import Reflections


def draw(kind, rng):
    """An image of level or upright stripes, uint8."""
    rows, columns = np.mgrid[:24, :30]
    wave = np.sin((rows if kind == "level" else columns) / 1.5)
    return (127 + 90 * wave + rng.normal(0, 10, wave.shape)).clip(0, 255).astype(np.uint8)


def fill(folder, kinds=("level", "upright"), n=4, seed=0):
    rng = np.random.default_rng(seed)
    for kind in kinds:
        (folder / kind).mkdir(parents=True, exist_ok=True)
        for i in range(n):
            Image.fromarray(draw(kind, rng)).save(folder / kind / f"{i}.png")
    return folder


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A folder with `train/`, `new/` and a model `m.inv` made by the command; the tests must not change it."""
    folder = tmp_path_factory.mktemp("fitted")
    fill(folder / "train")
    fill(folder / "new", n=3, seed=1)
    arguments = ["fit", str(folder / "train"), "-o", str(folder / "m.inv"), "--method", "codebook"]
    assert main(arguments) == 0
    return folder


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows_of(text):
    return list(csv.reader(text.splitlines()))


def test_fit_says_what_it_read_and_took_and_that_nothing_was_measured(here, capsys):
    fill(here / "train")
    (here / "train" / "level" / "broken.png").write_text("no image")
    assert main(["fit", "train", "-o", "m.inv", "--method", "codebook", "--invariant-to", "reflections"]) == 0
    out, err = capsys.readouterr()
    assert "8 grey images of 2 classes" in out
    assert "1 could not be read" in out
    assert "codebook: visual words" in out
    assert "reflections (exact)" in out
    assert "not measured" in out
    assert str(here / "m.inv") in out
    assert err.count("\n") == 1
    assert "broken.png" in err
    model = models.load(here / "m.inv")
    assert isinstance(model, ImageClassifier)
    assert isinstance(model.transformations, Reflections)


def test_fit_checks_by_cross_validation_if_asked(here, capsys):
    fill(here / "train")
    assert main(["fit", "train", "-o", "m.inv", "--method", "codebook", "--cross-validate", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["method"] == "codebook"
    assert found["held_out"]["n_images"] == 8
    low, high = found["held_out"]["interval"]
    assert low <= found["held_out"]["accuracy"] <= high
    assert found["facts"]["n_images"] == 8
    assert found["seconds"]["fit"] > 0


def test_fit_races_within_what_reading_left_of_the_budget(here, monkeypatch):
    fill(here / "train", n=6)
    budgets = []

    def note(images, labels, phi, budget, *settings):
        budgets.append(budget)
        return selection.race_methods(images, labels, phi, budget, *settings)

    monkeypatch.setattr("invariance.methods.race_methods", note)
    assert main(["fit", "train", "-o", "m.inv", "--budget", "2"]) == 0
    assert 1 <= budgets[0] < 2


def test_fit_chooses_and_says_why(here, capsys):
    fill(here / "train", n=6)
    assert main(["fit", "train", "-o", "m.inv", "--max-trials", "3", "--seed", "3"]) == 0
    out, err = capsys.readouterr()
    out = " ".join(out.split())
    assert "Why: Held-out images classified correctly" in out
    assert "95 % interval" in out
    assert err == ""
    assert models.load(here / "m.inv").random_state == 3


def test_events_are_lines_of_json_and_the_last_is_that_of_json(here, capsys):
    fill(here / "train", n=6)
    arguments = ["fit", "train", "-o", "m.inv", "--max-trials", "4"]
    assert main([*arguments, "--events"]) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    kinds = [event["event"] for event in events]
    assert kinds[:3] == ["trying", "fitting", "written"]
    assert kinds.count("trying") == 4
    assert kinds[-1] == "done"
    assert events[2]["model"] == str(here / "m.inv")
    assert events[2]["basis"] == "so_far"
    assert events[-1]["method"] == [event["method"] for event in events if event["event"] == "written"][-1]
    assert main([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found.keys() == events[-1].keys() - {"event"}
    assert found["method"] == events[-1]["method"]


def test_an_interrupted_fit_keeps_the_best_model_so_far_and_names_it(here, capsys, monkeypatch):
    fill(here / "train", n=6)

    def interrupted(*settings):
        for event in selection.race_methods(*settings):
            yield event
            if isinstance(event, Selection):
                raise Interrupted

    monkeypatch.setattr("invariance.methods.race_methods", interrupted)
    assert main(["fit", "train", "-o", "m.inv", "--max-trials", "9"]) == 130
    out, err = capsys.readouterr()
    model = models.load(here / "m.inv")
    assert out == ""
    assert err.startswith(f"Interrupted: 'm.inv' was written and is complete: method '{model.method_name}', the best ")
    assert err.count("\n") == 1
    assert len(model.predict([draw("level", np.random.default_rng(0))])) == 1


def test_the_names_of_methods_are_those_of_the_library():
    assert {str(name) for name in fit_command.MethodName} == {"auto", *method_names()}


def test_unreadable_images_are_counted_by_reason_with_the_first_names(here, capsys):
    fill(here / "train", n=3)
    for i in range(8):
        (here / "train" / "level" / f"broken{i}.png").write_text("no image")
    (here / "train" / "level" / "empty.png").touch()
    assert main(["fit", "train", "-o", "m.inv", "--method", "codebook"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert "level/broken0.png' is not a PNG" in lines[0]
    assert lines[0].endswith("The same for 7 more: 'broken1.png', 'broken2.png', 'broken3.png', ...")
    assert "empty.png' is an empty file" in lines[1]


def test_a_failed_fit_leaves_the_old_model_whole(here, capsys, monkeypatch):
    fill(here / "train")
    (here / "m.inv").write_bytes(b"old")

    def fail(self, X, y):
        raise ValueError("too hard.")

    monkeypatch.setattr(ImageClassifier, "fit", fail)
    assert main(["fit", "train", "-o", "m.inv", "--method", "jungle", "--overwrite"]) == 2
    assert capsys.readouterr().err == "Error: too hard.\n"
    assert (here / "m.inv").read_bytes() == b"old"


def test_predict_prints_a_table_of_path_label_and_probabilities(fitted, capsys):
    assert main(["predict", str(fitted / "m.inv"), str(fitted / "new")]) == 0
    out, err = capsys.readouterr()
    header, *rows = rows_of(out)
    assert err == ""
    assert header == ["path", "label", "level", "upright"]
    assert [row[0] for row in rows] == [
        str(fitted / "new" / kind / f"{i}.png") for kind in ("level", "upright") for i in range(3)
    ]
    for _, label, *values in rows:
        assert sum(map(float, values)) == pytest.approx(1, abs=1e-5)
        assert label == header[2 + int(np.argmax(list(map(float, values))))]


def test_predict_writes_the_same_for_blocks_of_any_size(fitted, here, capsys, monkeypatch):
    arguments = ["predict", str(fitted / "m.inv"), str(fitted / "new")]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    monkeypatch.setattr(predict_command, "N_TOGETHER", 2)
    assert main([*arguments, "-o", "out.csv"]) == 0
    assert (here / "out.csv").read_text() == printed
    assert "Classified 6 images" in capsys.readouterr().out


def test_predict_takes_files_and_nested_folders_each_once(fitted, here, capsys):
    fill(here / "a" / "deep", kinds=["level"], n=2)
    assert main(["predict", str(fitted / "m.inv"), "a/deep/level/1.png", "a", "a/deep"]) == 0
    rows = rows_of(capsys.readouterr().out)[1:]
    assert [row[0] for row in rows] == ["a/deep/level/1.png", "a/deep/level/0.png"]


@pytest.mark.parametrize("name", ['a,b "c".png', "=1+1.png", "two\nlines.png", " blank .png", "ünï.png"])
def test_odd_file_names_come_back_whole(name, fitted, here):
    Image.fromarray(draw("level", np.random.default_rng(0))).save(here / name)
    assert main(["predict", str(fitted / "m.inv"), ".", "-o", "out.csv"]) == 0
    with open(here / "out.csv", newline="", encoding="utf-8") as file:
        assert [row[0] for row in csv.reader(file)][1:] == [name]


@pytest.mark.skipif(os.name != "posix", reason="file names are text elsewhere")
def test_a_file_name_that_is_no_text_is_written_as_its_bytes(fitted, here):
    Image.fromarray(draw("level", np.random.default_rng(0))).save(here / "good.png")
    os.rename(here / "good.png", os.fsencode(here) + b"/\xff.png")
    assert main(["predict", str(fitted / "m.inv"), ".", "-o", "out.csv"]) == 0
    assert (here / "out.csv").read_bytes().splitlines()[1].startswith(b"\xff.png,level,")


def test_predict_skips_what_it_cannot_read(fitted, here, capsys):
    fill(here / "new", kinds=["level"], n=2)
    (here / "new" / "broken.png").write_text("no image")
    assert main(["predict", str(fitted / "m.inv"), "new"]) == 0
    out, err = capsys.readouterr()
    assert len(rows_of(out)) == 3
    assert err.count("\n") == 1
    assert "broken.png" in err


@pytest.mark.parametrize("to", [[], ["-o", "out.csv"], ["--json"]])
def test_strict_stops_at_an_unreadable_image_and_writes_nothing(to, fitted, here, capsys, monkeypatch):
    fill(here / "new", kinds=["level"], n=3)
    (here / "new" / "level" / "2broken.png").write_text("no image")
    monkeypatch.setattr(predict_command, "N_TOGETHER", 1)  # answers are there before the broken one is read
    assert main(["predict", str(fitted / "m.inv"), "new", "--strict", *to]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("Error: ")
    assert "2broken.png" in err
    assert [path.name for path in here.iterdir()] == ["new"]


@pytest.mark.parametrize("to", [[], ["-o", "out.csv"], ["--json"]])
def test_if_no_image_can_be_read_the_exit_code_says_so(to, fitted, here, capsys):
    for name in ("a.png", "b.png"):
        (here / name).write_text("no image")
    assert main(["predict", str(fitted / "m.inv"), "a.png", "b.png", *to]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("Error: no image could be read: ")
    assert err.count("\n") == 1
    assert not (here / "out.csv").exists()


def test_predict_as_json_is_one_document(fitted, here, capsys):
    fill(here / "new", n=1)
    (here / "new" / "broken.png").write_text("no image")
    assert main(["predict", str(fitted / "m.inv"), "new", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [entry["path"] for entry in found["predictions"]] == ["new/level/0.png", "new/upright/0.png"]
    assert set(found["predictions"][0]["probabilities"]) == {"level", "upright"}
    assert [entry["path"] for entry in found["skipped"]] == ["new/broken.png"]


class ByBrightness(ImageClassifier):
    """Stands in where only the figures are tested: the mean of an image decides, with a known probability."""

    def predict_proba(self, X):
        codes = [int(as_float32(image).mean() * 3) for image in X]
        return np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])[codes]


@pytest.fixture
def grey_model(here, monkeypatch):
    """`m.inv` calls images dark, middle or light; `put(class, grey level, n)` adds images to `folder/`."""
    model = ByBrightness()
    model.classes_ = np.array(["dark", "light", "middle"])
    monkeypatch.setattr(models, "load", lambda path: model)

    def put(name, level, n):
        (here / "folder" / name).mkdir(parents=True, exist_ok=True)
        for i in range(n):
            Image.fromarray(np.full((4, 4), level, np.uint8)).save(here / "folder" / name / f"{level}-{i}.png")

    return put


def test_evaluate_measures_what_it_should(grey_model, capsys):
    grey_model("dark", 10, 3)  # the classes are dark, light, middle by the alphabet: 130 is given light, 250 middle
    grey_model("dark", 130, 1)
    grey_model("light", 130, 4)
    assert main(["evaluate", "m.inv", "folder", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["n_images"] == 8
    assert found["accuracy"] == 7 / 8
    assert found["interval"] == pytest.approx([0.529112, 0.977583], abs=1e-5)  # Wilson's for 7 of 8
    assert found["log_loss"] == pytest.approx(-(7 * np.log(0.8) + np.log(0.1)) / 8)
    assert found["calibration_error"] == pytest.approx(7 / 8 - 0.8)
    assert found["confusion"] == {"classes": ["dark", "light", "middle"], "counts": [[3, 1, 0], [0, 4, 0], [0, 0, 0]]}
    assert [list(entry.values()) for entry in found["classes"]] == [
        ["dark", 4, 3, 0.75, 1.0],
        ["light", 4, 5, 1.0, 0.8],
    ]
    assert main(["evaluate", "m.inv", "folder"]) == 0
    text = capsys.readouterr().out
    assert "87.5%, 7 of 8 images" in text
    assert "52.9% to 97.8%" in text
    assert any(line.split() == ["1", "dark", "3", "1", "."] for line in text.splitlines())
    [mistake] = found["mistakes"]
    assert mistake == {"file": "folder/dark/130-0.png", "true": "dark", "predicted": "light", "probability": 0.8}
    assert any(line.split() == ["folder/dark/130-0.png", "dark", "light", "80.0%"] for line in text.splitlines())


def test_of_many_classes_the_most_frequent_confusions_are_listed(grey_model, monkeypatch, capsys):
    monkeypatch.setattr("invariance.cli.evaluate.MAX_CLASSES_SHOWN", 2)
    grey_model("dark", 130, 2)
    grey_model("light", 10, 1)
    grey_model("middle", 10, 3)
    assert main(["evaluate", "m.inv", "folder"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.partition("Most frequent confusions")[2].splitlines()]
    assert lines[2:5] == [["middle", "dark", "3"], ["dark", "light", "2"], ["light", "dark", "1"]]


def test_classes_that_the_model_does_not_know_are_named(grey_model, capsys):
    grey_model("dark", 10, 1)
    grey_model("zebra", 10, 1)
    grey_model("apple", 10, 1)
    assert main(["evaluate", "m.inv", "folder"]) == 2
    err = capsys.readouterr().err
    assert "'apple', 'zebra', which the model was not trained on; it knows 'dark', 'light', 'middle'" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("command", [["predict", "other.inv", "a.png"], ["evaluate", "other.inv", "train"]])
def test_a_model_of_another_kind_is_refused_with_a_cure(command, here, capsys):
    fill(here / "train", n=2)
    Image.fromarray(draw("level", np.random.default_rng(0))).save("a.png")
    models.save(LogisticRegression().fit([[0.0], [1.0]], [0, 1]), here / "other.inv")
    assert main(command) == 2
    err = capsys.readouterr().err
    assert "is a LogisticRegression" in err
    assert "invariance fit" in err


# description -> (arguments, a word that the message must hold)
MISTAKES = {
    "folder missing": (["fit", "missing", "-o", "m.inv"], "missing"),
    "file instead of a folder": (["fit", "a.png", "-o", "m.inv"], "a.png"),
    "no classes": (["fit", "empty", "-o", "m.inv"], "empty"),
    "one class": (["fit", "one", "-o", "m.inv"], "one class only"),
    "one image of a class": (["fit", "lonely", "-o", "m.inv"], "one image only"),
    "unreadable and strict": (["fit", "broken", "-o", "m.inv", "--strict"], "broken.png"),
    "model of another ending": (["fit", "train", "-o", "m.pkl"], ".inv"),
    "model in no folder": (["fit", "train", "-o", "no/m.inv"], "no"),
    "unknown method": (["fit", "train", "-o", "m.inv", "--method", "deep"], "deep"),
    "unknown invariance": (["fit", "train", "-o", "m.inv", "--invariant-to", "tides"], "tides"),
    "budget for one method": (["fit", "train", "-o", "m.inv", "--method", "jungle", "--budget", "9"], "--budget"),
    "trials for one method": (
        ["fit", "train", "-o", "m.inv", "--method", "jungle", "--max-trials", "9"],
        "--max-trials",
    ),
    "trials and a budget": (["fit", "train", "-o", "m.inv", "--max-trials", "9", "--budget", "9"], "Leave one out"),
    "no trials": (["fit", "train", "-o", "m.inv", "--max-trials", "0"], "--max-trials"),
    "budget of nothing": (["fit", "train", "-o", "m.inv", "--budget", "0"], "--budget"),
    "budget that is no number": (["fit", "train", "-o", "m.inv", "--budget", "nan"], "budget"),
    "no model": (["predict", "missing.inv", "a.png"], "missing.inv"),
    "an image as the model": (["predict", "a.png", "a.png"], "a.png"),
    "image missing": (["predict", "MODEL", "missing.png"], "missing.png"),
    "folder without images": (["predict", "MODEL", "empty"], "empty"),
    "table of another ending": (["predict", "MODEL", "a.png", "-o", "out.xlsx"], ".csv"),
    "evaluating a missing folder": (["evaluate", "MODEL", "missing"], "missing"),
    "evaluating an image": (["evaluate", "MODEL", "a.png"], "a.png"),
    "evaluating unreadable images strictly": (["evaluate", "MODEL", "broken", "--strict"], "broken.png"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_ends_in_one_clear_line_and_writes_nothing(mistake, fitted, here, capfd):
    fill(here / "train", n=2)
    fill(here / "one", kinds=["level"])
    fill(here / "lonely", kinds=["level"])
    fill(here / "lonely", kinds=["upright"], n=1)
    (fill(here / "broken", n=2) / "level" / "broken.png").write_text("no image")
    (here / "empty").mkdir()
    Image.fromarray(draw("level", np.random.default_rng(0))).save("a.png")
    arguments, named = MISTAKES[mistake]
    before = sorted(here.rglob("*"))
    assert main([str(fitted / "m.inv") if word == "MODEL" else word for word in arguments]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("Error: ")
    assert err.count("\n") == 1
    assert named in err
    assert sorted(here.rglob("*")) == before


def test_a_folder_of_one_class_can_be_evaluated(grey_model, capsys):
    grey_model("dark", 10, 3)
    assert main(["evaluate", "m.inv", "folder", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["accuracy"] == 1
