"""Every command that writes files refuses, before any work, to replace what is not its own or what it reads."""

import os
from pathlib import Path
from typing import Any, get_args, get_type_hints

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from invariance import models, segmentation
from invariance.cli import main
from invariance.cli.commands import COMMANDS as MODULES
from invariance.cli.commands import build_command
from invariance.images import read_mask
from invariance.report import Report, save_figure
from invariance.transformations import Rotations

COMMANDS = {name: build_command(name) for name in MODULES}
# A project is opened and continued, never replaced: tests/studio/test_project.py.
READ_OPTIONS = {("explain", "data"), ("studio", "project"), ("fit", "encoder"), ("compare", "encoder")}

# (command, option) -> arguments whose inputs are missing, and a name for the output
FILES = {
    ("fit", "output"): (["fit", "missing"], "x.inv"),
    ("fit-pixels", "output"): (["fit-pixels", "missing", "missing"], "x.inv"),
    ("predict", "output"): (["predict", "m.inv", "missing"], "x.csv"),
    ("explain", "output"): (["explain", "missing"], "x.html"),
    ("advise", "output"): (["advise", "missing"], "x.html"),
    ("advise", "figure"): (["advise", "missing"], "x.png"),
    ("advise-pixels", "output"): (["advise-pixels", "missing", "missing"], "x.html"),
    ("advise-pixels", "figure"): (["advise-pixels", "missing", "missing"], "x.png"),
    ("demo", "output"): (["demo"], "x.html"),
    ("transformations", "output"): (["transformations", "missing"], "x.png"),
}
FOLDERS = {("segment", "output")}
TABLE = "path,label,a,b\na.png,a,0.75,0.25\n"


class Darkness:
    """Stands in for a segmenter: every pixel is of class 7."""

    classes_ = np.array([3, 7], np.uint8)
    n_channels_ = 1

    def predict_proba(self, image):
        return np.broadcast_to(np.float32([0.25, 0.75]), (*image.shape, 2))


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def end(*arguments):
        raise ValueError("the demonstration is missing")

    monkeypatch.setattr("invariance.report.demo.pixels.run_pixels", end)
    return tmp_path


@pytest.fixture
def segment(here, monkeypatch):
    """`segment` with a model in no time, of the images mix/a.png, mix/b.jpg and other/c.png."""
    monkeypatch.setattr(segmentation, "JungleSegmenter", Darkness, raising=False)
    monkeypatch.setattr(models, "load", lambda path: Darkness())
    (here / "model.inv").touch()
    for name in ("mix/a.png", "mix/b.jpg", "other/c.png"):
        put_image(here / name)
    return lambda *arguments: main(["segment", "model.inv", *map(str, arguments)])


def put_image(path: Path, level: int = 9) -> bytes:
    path.parent.mkdir(exist_ok=True, parents=True)
    Image.new("L", (8, 8), level).save(path)
    return path.read_bytes()


def write_ours(path: Path) -> None:
    """A file of ours, of the kind that its ending says."""
    if path.suffix == ".inv":
        models.save(Rotations(3), path)
    elif path.suffix == ".csv":
        path.write_text(TABLE)
    elif path.suffix == ".html":
        Report("ours").save(path)
    else:
        save_figure(Figure(), path)


def takes_path(kind: Any) -> bool:
    return kind is Path or Path in get_args(kind)


def flag(option: str) -> str:
    return f"--{option}"


def test_the_outputs_of_all_commands_are_known_and_can_be_overwritten_on_request():
    options = {
        (name, option.name)
        for name, command in COMMANDS.items()
        for option in command.params
        if option.param_type_name == "option" and takes_path(get_type_hints(command.callback)[option.name])
    }
    assert options - READ_OPTIONS == {*FILES, *FOLDERS}
    for name, _ in (*FILES, *FOLDERS):
        assert "--overwrite" in [text for option in COMMANDS[name].params for text in option.opts]


@pytest.mark.parametrize("use", FILES, ids=" ".join)
def test_a_foreign_file_is_refused_before_any_work_and_replaced_on_request_only(use, here, capsys):
    arguments, name = FILES[use]
    (here / name).write_text("<p>somebody's own</p>")
    assert main([*arguments, flag(use[1]), name]) == 2
    error = capsys.readouterr().err
    assert f"cannot write '{name}': it exists" in error
    assert "--overwrite" in error
    assert main([*arguments, flag(use[1]), name, "--overwrite"]) == 2
    assert "missing" in capsys.readouterr().err  # the work began
    assert (here / name).read_text() == "<p>somebody's own</p>"


@pytest.mark.parametrize("use", FILES, ids=" ".join)
def test_a_file_of_ours_is_replaced_and_one_of_another_kind_is_not(use, here, capsys):
    arguments, name = FILES[use]
    write_ours(here / name)
    assert main([*arguments, flag(use[1]), name]) == 2
    assert "missing" in capsys.readouterr().err
    for other in {".inv", ".csv", ".html", ".png"} - {Path(name).suffix}:
        write_ours(here / f"other{other}")
        (here / f"other{other}").replace(here / name)
        assert main([*arguments, flag(use[1]), name]) == 2
        assert "--overwrite" in capsys.readouterr().err


@pytest.mark.parametrize("ending", ["png", "svg", "pdf", "jpg", "jpeg"])
def test_figures_of_all_formats_are_recognized(ending, here):
    arguments = ["transformations", "--invariant-to", "rotations:2", "--size", "8", "-o", f"x.{ending}"]
    assert main(arguments) == 0
    assert main(arguments) == 0
    (here / f"x.{ending}").write_bytes(put_image(here / "photo.png"))
    assert main(arguments) == 2


@pytest.mark.parametrize(
    "text",
    [
        "",
        "path,label\na.png,a\n",
        "path,label,split\na.png,a,train\n",
        "path,label,x,y\na.png,a,12,40\n",
        "name,label,a,b\na.png,a,0.75,0.25\n",
        "path,label,a,b\n",
        '"',
    ],
)
def test_a_table_with_other_columns_is_not_ours(text, here, capsys):
    (here / "x.csv").write_text(text)
    assert main(["predict", "m.inv", "missing", "-o", "x.csv"]) == 2
    assert "--overwrite" in capsys.readouterr().err


def test_a_damaged_model_is_not_ours(here, capsys):
    write_ours(here / "x.inv")
    (here / "x.inv").write_bytes((here / "x.inv").read_bytes()[:-30])
    assert main(["fit", "missing", "-o", "x.inv"]) == 2
    assert "--overwrite" in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes have names there")
def test_what_is_no_regular_file_is_never_replaced(here, capsys):
    os.mkfifo(here / "x.csv")
    (here / "y.csv").symlink_to("nowhere.csv")
    for name in ("x.csv", "y.csv"):
        assert main(["predict", "m.inv", "missing", "-o", name]) == 2
        assert f"'{name}'" in capsys.readouterr().err
        assert os.path.lexists(here / name)


@pytest.mark.parametrize("alias", ["photo.png", "./photo.png", "link.png", "hard.png", "mix/../photo.png"])
def test_no_command_writes_its_own_input(alias, here, capsys):
    before = put_image(here / "photo.png")
    (here / "mix").mkdir()
    (here / "link.png").symlink_to("photo.png")
    os.link(here / "photo.png", here / "hard.png")
    assert main(["transformations", "photo.png", "-o", alias, "--overwrite"]) == 2
    assert f"cannot write '{Path(alias)}': it is read by this command" in capsys.readouterr().err
    assert (here / "photo.png").read_bytes() == before
    assert (here / "link.png").is_symlink()


@pytest.mark.parametrize("name", ["photos/level/0.png", "photos/level/new.png", "photos/figure.jpg"])
def test_a_figure_does_not_become_an_image_of_the_next_run(name, here, capsys):
    put_image(here / "photos" / "level" / "0.png")
    assert main(["advise", "photos", "--figure", name, "--overwrite"]) == 2
    assert "the images in 'photos' are read by this command" in capsys.readouterr().err
    assert os.listdir(here / "photos" / "level") == ["0.png"]


def test_a_folder_of_masks_is_not_replaced(segment, here, capsys, monkeypatch):
    before = {name: put_image(here / "masks" / name, 1) for name in ("a.png", "b.png", "z.png")}
    with monkeypatch.context() as patch:
        patch.setattr(Darkness, "predict_proba", None)  # no work may begin
        assert segment("mix", "-o", "masks") == 2
    error = capsys.readouterr().err
    assert "2 of the 2 files to write exist, the first is 'masks/a.png'" in error
    assert "--overwrite" in error
    assert {path.name: path.read_bytes() for path in (here / "masks").iterdir()} == before
    assert segment("mix", "-o", "masks", "--overwrite") == 0
    assert {name: read_mask(here / "masks" / name).max() for name in before} == {"a.png": 7, "b.png": 7, "z.png": 1}


def test_one_existing_file_of_many_is_enough(segment, here, capsys):
    put_image(here / "results" / "b-overlay.png", 1)
    assert segment("mix", "-o", "results", "--overlay", "--probabilities") == 2
    assert "1 of the 6 files to write exist, the first is 'results/b-overlay.png'" in capsys.readouterr().err
    assert os.listdir(here / "results") == ["b-overlay.png"]


@pytest.mark.parametrize("overwrite", [[], ["--overwrite"]], ids=["", "overwrite"])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mix", "-o", "mix"], "'mix/a.png': it is read by this command"),
        (["mix/b.jpg", "mix", "-o", "link"], "'link/b.png': the images in 'mix' are read by this command"),
        (["other", "mix", "-o", "other"], "'other/c.png': it is read by this command"),
        (["mix/a.png", "-o", "mix"], "'mix/a.png': it is read by this command"),
    ],
)
def test_results_do_not_go_among_the_images(arguments, message, overwrite, segment, here, capsys):
    (here / "link").symlink_to("mix")
    before = {path: path.read_bytes() for path in here.rglob("*.*") if path.is_file()}
    assert segment(*arguments, *overwrite) == 2
    assert message in capsys.readouterr().err
    assert {path: path.read_bytes() for path in here.rglob("*.*") if path.is_file()} == before


def test_a_neighbour_of_an_image_is_replaced_on_request_only(segment, here, capsys):
    before = put_image(here / "mix" / "b.png", 1)
    assert segment("mix/b.jpg", "-o", "mix") == 2
    assert "1 of the 1 files to write exist, the first is 'mix/b.png'" in capsys.readouterr().err
    assert (here / "mix" / "b.png").read_bytes() == before
    assert segment("mix/b.jpg", "-o", "mix/results") == 0  # a sub-folder, which is not read


def test_a_name_that_a_suffix_makes_too_long_is_found_before_any_work(segment, here, capsys, monkeypatch):
    name = f"{'ü' * 122}.png"  # 248 bytes; with -probabilities.tif 262
    put_image(here / "mix" / name)
    monkeypatch.setattr(Darkness, "predict_proba", None)
    assert segment("mix", "-o", "results", "--probabilities") == 2
    error = capsys.readouterr().err
    assert "262 bytes" in error
    assert "shorter" in error
    assert not (here / "results").exists()
    assert main(["fit", "missing", "-o", f"{'x' * 252}.inv"]) == 2
    assert "256 bytes" in capsys.readouterr().err
