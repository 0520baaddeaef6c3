"""Hostile inputs of every command: one clear line that names the culprit and a cure, exit code 2, nothing written."""

import os
import shutil
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from invariance.cli import main
from tests.cli.hostile_inputs import encoded, put_inputs

NOBODY = 65534


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Good and bad inputs; no test may change any of them."""
    world = tmp_path_factory.mktemp("world")
    put_inputs(world)
    return world


def snapshot(folder: Path) -> dict[Path, tuple[int, int]]:
    """All that is in a folder, hidden files too, with sizes and times."""
    return {path: (path.lstat().st_size, path.lstat().st_mtime_ns) for path in folder.rglob("*")}


def assert_one_clear_line(captured, named: str, cure: str) -> None:
    assert captured.out == ""
    *skipped, error, end = captured.err.split("\n")
    assert all(line.startswith("Skipped: ") for line in skipped)
    assert error.startswith("Error: ")
    assert error.isprintable()
    assert named in error
    assert cure in error
    assert end == ""


FIT = ["fit", "photos", "-o", "x.inv"]
PIXEL = ["fit-pixels", "images", "masks", "-o", "x.inv"]
PREDICT = ["predict", "m.inv"]
SEGMENT = ["segment", "p.inv"]
TO = ["-o", "x.inv"]
ON = ["explain", "m.inv", "-o", "x.html", "--data"]

# description -> (arguments, what the message must name, a word of the cure)
MALFORMED = {
    "one class": (["fit", "one", *TO], "'level'", "at least two"),
    "one image of one class": (["fit", "lonely", *TO], "'upright'", "add another"),
    "one image per class": (["compare", "single"], "'level'", "add another"),
    "two images per class, cross-validated": (
        ["fit", "pairs", *TO, "--cross-validate", "--method", "codebook"],
        "2",
        "Add images",
    ),
    "two images per class, advised": (["advise", "pairs"], "2", "Add images"),
    "no class": (["fit", "void", *TO], "'void'", "sub-folder"),
    "classes without images": (["advise", "hollow"], "hollow/level", "Add some"),
    "nested folders": (["compare", "deep"], "'deeper'", "Make one sub-folder per class"),
    "no folder": (["fit", "gone.png", *TO], "'gone.png'", "Check the path"),
    "folder in a circle": (["evaluate", "m.inv", "circle.png"], "'circle.png'", "Check the path"),
    "a broken image, strict": (["fit", "broken0", *TO, "--strict"], "broken0/level/9.png", "Convert it"),
    "a broken image, evaluated": (["evaluate", "m.inv", "broken1", "--strict"], "broken1/level/0.png", "again"),
    "a broken class": (["fit", "broken2", *TO], "broken2/level", "Repair it"),
    "a broken class, explained": ([*ON, "broken2"], "broken2/level", "Repair it"),
    "class of two lines": (["fit", "names/line", *TO, "--strict"], "two lines/9.png", "Convert it"),
    "class of an emoji": (["advise", "names/emoji", "--strict"], "🍃/9.png", "Convert it"),
    "class like an option": (["compare", "names/dash", "--strict"], "--level/9.png", "Convert it"),
    "class that rings": (["fit", "names/bell", *TO, "--strict"], r"\x07\x1b[31mred/9.png", "Convert it"),
    "class of odd bytes": (["evaluate", "m.inv", "names/bytes"], r"\udcff\udcfe", "Rename"),
    "class not learned, after a skipped file": ([*ON, "names/emoji"], "🍃", "Leave such images out"),
    "image of no bytes": ([*PREDICT, "empty.png"], "empty.png", "again"),
    "text as an image": ([*PREDICT, "text.png"], "text.png", "Convert it"),
    "image cut off": ([*PREDICT, "cut.png", "--json"], "cut.png", "again"),
    "header of a vast image": ([*PREDICT, "vast.png"], "vast.png", "MAX_IMAGE_PIXELS"),
    "header of a large image": ([*PREDICT, "large.png", "-o", "x.csv"], "large.png", "again"),
    "header of no pixels": ([*SEGMENT, "flat.png", "-o", "new"], "flat.png", "again"),
    "NaN": ([*PREDICT, "nan.tif"], "nan.tif", "Replace them"),
    "infinity": ([*SEGMENT, "infinite.tif", "-o", "new"], "infinite.tif", "Replace them"),
    "link to nowhere": ([*PREDICT, "gone.png"], "gone.png", "Check the path"),
    "name too long": ([*PREDICT, "x" * 300], "x" * 300, "too long"),
    "name like an option": ([*PREDICT, "-x.png"], "-x", "No such option"),
    "folder of no images": ([*PREDICT, "void"], "'void'", "Name another"),
    "colour for a grey model": ([*SEGMENT, "colour.png", "-o", "new"], "colour.png", "Convert it"),
    "image of one pixel": ([*SEGMENT, "dot.png", "-o", "new"], "1 x 1", "Remove it"),
    "bad image after a good one": ([*SEGMENT, "a.png", "cut.png", "-o", "new"], "cut.png", "again"),
    "model of no bytes": (["predict", "zero.inv", "a.png"], "zero.inv", "again"),
    "model cut off": (["segment", "cut.inv", "a.png", "-o", "new"], "cut.inv", "again"),
    "model without its beginning": (["predict", "headless.inv", "a.png"], "headless.inv", "again"),
    "model with one other bit": (["explain", "flipped.inv", "-o", "x.html"], "flipped.inv", "again"),
    "another zip": (["evaluate", "other.inv", "photos"], "other.inv", "again"),
    "zip bomb": (["predict", "bomb.inv", "a.png"], "bomb.inv", "limit"),
    "zip bomb in a model": (["predict", "nested-bomb.inv", "a.png"], "nested-bomb.inv", "limit"),
    "torn zip in a model": (["explain", "torn.inv", "-o", "x.html"], "torn.inv", "again"),
    "nonsense in a model": (["predict", "nonsense.inv", "a.png"], "nonsense.inv", "do not make a model"),
    "bottomless nesting in a model": (["predict", "deep.inv", "a.png"], "deep.inv", "train the model again"),
    "model of infinite format": (["predict", "endless.inv", "a.png"], "endless.inv", "again"),
    "model of no library": (["explain", "nameless.inv", "-o", "x.html"], "library", "again"),
    "model of tomorrow": (["predict", "future.inv", "a.png"], "99", "Upgrade"),
    "another estimator": (["predict", "linear.inv", "a.png"], "LogisticRegression", "invariance fit"),
    "another estimator, explained": (["explain", "linear.inv", "-o", "x.html"], "LogisticRegression", "invariance fit"),
    "model of pixels for images": (["evaluate", "p.inv", "photos"], "JungleSegmenter", "invariance fit"),
    "model of images for pixels": (["segment", "m.inv", "a.png", "-o", "new"], "ImageClassifier", "fit-pixels"),
    "image as a model": (["predict", "a.png", "a.png"], "a.png", "again"),
    "folder as a model": (["predict", "folder.inv", "a.png"], "folder.inv", "Name a file"),
    "no model": (["predict", "none.inv", "a.png"], "none.inv", "Check the path"),
    "mask of another size": (["fit-pixels", "images", "small", *TO], "small/a.png", "export it at that size"),
    "mask of one class": (["fit-pixels", "images", "plain", *TO], "0", "another class"),
    "mask in colour": (["fit-pixels", "images", "bright", *TO], "bright/a.png", "Save it as grey"),
    "mask missing": (["fit-pixels", "images", "strange", *TO], "images/a.png", "Add one"),
    "mask file for a folder": (["fit-pixels", "images", "a.png", *TO], "a.png", "Name the folder"),
    "even patches": ([*PIXEL, "--patch-size", "4"], "4", "Try 5"),
    "huge patches": ([*PIXEL, "--patch-size", "999999"], "999999", "at most 1023"),
    "everything unlabelled but one class": ([*PIXEL, "--unlabelled", "0"], "1", "another class"),
    "ending of another program": (["fit", "photos", "-o", "x.pkl"], "x.pkl", ".inv"),
    "model into no folder": (["fit", "photos", "-o", "no/x.inv"], "'no'", "Create it"),
    "model onto a folder": (["fit", "photos", "-o", "folder.inv"], "folder.inv", "Name a file"),
    "table into no folder": ([*PREDICT, "a.png", "-o", "no/x.csv"], "'no'", "Create it"),
    "table onto a folder": ([*PREDICT, "a.png", "-o", "folder.csv"], "folder.csv", "Name a file"),
    "report onto a folder": (["explain", "m.inv", "-o", "folder.html"], "folder.html", "Name a file"),
    "figure of another kind": (["advise", "photos", "--figure", "x.bmp"], "x.bmp", ".png"),
    "results onto a file": ([*SEGMENT, "a.png", "-o", "notes"], "'notes'", "Name a folder"),
    "result onto a folder": ([*SEGMENT, "a.png", "-o", "taken"], "taken/a.png", "Name a file"),
    "result onto its image": ([*SEGMENT, "a.png", "-o", "."], "a.png", "another folder"),
    "unknown invariance": ([*FIT, "--invariant-to", "tides"], "'tides'", "rotations"),
    "no invariance": (["compare", "photos", "--invariant-to", ""], "''", "rotations"),
    "too many rotations": ([*FIT, "--invariant-to", "rotations:99999999"], "99999999", "at most"),
    "shifts of half pixels": ([*PIXEL, "--invariant-to", "shifts:2.5"], "2.5", "whole number"),
    "unknown method": ([*FIT, "--method", "deep"], "--method", "jungle"),
    "unknown methods": (["compare", "photos", "--methods", "jungle,deep"], "'deep'", "jungle"),
    **{f"budget {budget}": ([*FIT, "--budget", budget], "--budget", "equal to 1") for budget in ("0", "-1", "nan")},
    "budget without end": (["compare", "photos", "--budget", "inf"], "inf", "budget must be a number"),
    "budget in words": (["advise", "photos", "--budget", "ten"], "--budget", "valid number"),
    **{
        f"no threads, {arguments[0]}": ([*arguments, "--jobs", "0"], "got 0", "-1 for all cores")
        for arguments in (
            [*FIT, "--method", "codebook"], PIXEL, [*PREDICT, "a.png"], [*SEGMENT, "a.png", "-o", "new"],
            ["evaluate", "m.inv", "photos"], [*ON, "photos"], ["compare", "photos"], ["advise", "photos"],
        )
    },
    "seed too large": ([*FIT, "--seed", str(2**32)], "--seed", str(2**32 - 1)),
}  # fmt: skip


@pytest.mark.parametrize("kind", MALFORMED)
def test_a_malformed_input_is_one_clear_line_and_writes_nothing(kind, world, monkeypatch, capfd):
    arguments, named, cure = MALFORMED[kind]
    monkeypatch.chdir(world)
    before = snapshot(world)
    capfd.readouterr()
    assert main(arguments) == 2
    assert_one_clear_line(capfd.readouterr(), named, cure)
    assert snapshot(world) == before


def test_memory_that_runs_out_is_one_clear_line(world, monkeypatch, capfd):
    def run_out(*_):
        np.empty(2**50)

    monkeypatch.chdir(world)
    monkeypatch.setattr("invariance.segmentation.JungleSegmenter.fit", run_out)
    before = snapshot(world)
    assert main(PIXEL) == 2
    assert_one_clear_line(capfd.readouterr(), "memory", "smaller")
    assert snapshot(world) == before


KINDS = ("png", "jpeg", "gif", "bmp", "webp", "tiff")
MODEL_USES = (["predict", "BAD", "a.png"], ["segment", "BAD", "a.png", "-o", "new"], ["explain", "BAD", "-o", "x.html"])
IMAGE_USES = (
    [*PREDICT, "BAD", "-o", "x.csv"],
    [*SEGMENT, "BAD", "-o", "new"],
    ["fit-pixels", "BAD", "masks/a.png", *TO],
    ["fit-pixels", "images/a.png", "BAD", *TO],
    ["transformations", "BAD", "-o", "x.png"],
)
VICTIMS = st.one_of(
    st.tuples(st.sampled_from(["m.inv", "p.inv"]), st.sampled_from(MODEL_USES)),
    st.tuples(st.sampled_from(KINDS), st.sampled_from(IMAGE_USES)),
)
PROPERTY = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def run_on(world: Path, victim, damage) -> tuple[int, str]:
    """The exit code of a command on a damaged file, and the file's name; what it wrote is gone again."""
    source, use = victim
    content = (world / source).read_bytes() if source.endswith(".inv") else encoded(source)
    bad = Path("bad.inv" if source.endswith(".inv") else f"bad.{source}")
    bad.write_bytes(damage(content))
    before = snapshot(Path())
    try:
        code = main([str(bad) if word == "BAD" else word for word in use])
        written = snapshot(Path()).keys() - before.keys()
        assert not written or code == 0
        assert not [path for path in written if path.name.startswith(".")]
    finally:
        for path in sorted(snapshot(Path()).keys() - before.keys() | {bad}, reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
    return code, bad.name


@PROPERTY
@given(victim=VICTIMS, kept=st.floats(0, 0.6), tail=st.binary(max_size=20))
def test_what_is_cut_off_or_overwritten_is_refused(world, monkeypatch, capfd, victim, kept, tail):
    monkeypatch.chdir(world)
    capfd.readouterr()
    code, name = run_on(world, victim, lambda content: content[: int(kept * len(content))] + tail)
    assert code == 2
    assert_one_clear_line(capfd.readouterr(), name, ". ")


@PROPERTY
@given(
    victim=VICTIMS,
    changes=st.lists(st.tuples(st.floats(0, 1), st.binary(min_size=1, max_size=8)), min_size=1, max_size=4),
)
def test_what_is_changed_somewhere_is_used_or_refused_and_never_crashes(world, monkeypatch, capfd, victim, changes):
    def damage(content):
        changed = bytearray(content)
        for place, new in changes:
            start = int(place * (len(content) - 1))
            changed[start : start + len(new)] = new
        return bytes(changed)

    monkeypatch.chdir(world)
    capfd.readouterr()
    code, _ = run_on(world, victim, damage)
    captured = capfd.readouterr()
    assert code in (0, 2)
    if code:
        assert_one_clear_line(captured, "", "")
    else:
        assert captured.err == ""


@contextmanager
def forbidden(path: Path):
    """A path that may be neither read nor written; root, whom nothing stops, becomes nobody for a while."""
    if os.geteuid() == 0:
        os.seteuid(NOBODY)
        try:
            yield
        finally:
            os.seteuid(0)
        return
    mode = path.stat().st_mode
    path.chmod(0)
    try:
        yield
    finally:
        path.chmod(mode)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="permissions are others there")
@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["compare", "photos", "--methods", "codebook", "--budget", "1"], "photos"),
        (["fit", "photos", "-o", "locked/x.inv", "--method", "codebook"], "locked"),
        (["evaluate", "m.inv", "photos"], "m.inv"),
        (["predict", "m.inv", "a.png"], "a.png"),
        (["segment", "p.inv", "a.png", "-o", "locked"], "locked"),
        (["explain", "m.inv", "-o", "locked/x.html"], "locked"),
    ],
)
def test_what_permissions_forbid_is_one_clear_line(arguments, named, world, tmp_path, monkeypatch, capfd):
    for name in ("photos", "m.inv", "p.inv", "a.png"):
        (shutil.copytree if (world / name).is_dir() else shutil.copy)(world / name, tmp_path / name)
    for name in ("locked", "open"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    assert main([word.replace("locked", "open") for word in arguments]) == 0  # imports what it needs
    before = snapshot(tmp_path)
    capfd.readouterr()
    with forbidden(tmp_path / named):
        assert main(arguments) == 2
    assert_one_clear_line(capfd.readouterr(), named, "Check" if named != "locked" else "")
    assert snapshot(tmp_path) == before


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="only Linux has a file that cannot be read by anybody")
def test_a_file_that_fails_while_it_is_read_is_named(world, tmp_path, capfd):
    (tmp_path / "failing.png").symlink_to("/proc/self/mem")
    capfd.readouterr()
    assert main(["predict", str(world / "m.inv"), str(tmp_path / "failing.png")]) == 2
    assert_one_clear_line(capfd.readouterr(), "failing.png", "Check")
