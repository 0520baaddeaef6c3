"""Corrupt and odd inputs: each ends in one clear line on standard error and exit code 2, with nothing written."""

import io

import numpy as np
import pytest
import tifffile
from PIL import Image

from invariance.cli import main


def png_bytes() -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (64, 64), dtype=np.uint8)).save(buffer, "png")
    return buffer.getvalue()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with one good image and several bad ones."""
    (tmp_path / "good.png").write_bytes(png_bytes())
    (tmp_path / "text.png").write_text("this is not an image\n")
    (tmp_path / "truncated.png").write_bytes(png_bytes()[:200])
    (tmp_path / "empty.png").write_bytes(b"")
    (tmp_path / "random.jpg").write_bytes(np.random.default_rng(1).bytes(500))
    (tmp_path / "notes.txt").write_text("hello\n")
    tifffile.imwrite(tmp_path / "nan.tif", np.full((8, 8), np.nan, dtype=np.float32))
    tifffile.imwrite(tmp_path / "infinite.tif", np.full((8, 8), np.inf, dtype=np.float32))
    tifffile.imwrite(tmp_path / "complex.tif", np.ones((8, 8), np.complex64))
    tifffile.imwrite(tmp_path / "channels.tif", np.zeros((9, 8, 7), np.uint8), planarconfig="contig", photometric="rgb")
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


BAD_IMAGES = {
    "missing file": "missing.png",
    "text named .png": "text.png",
    "truncated image": "truncated.png",
    "file of no bytes": "empty.png",
    "random bytes named .jpg": "random.jpg",
    "not an image file": "notes.txt",
    "NaN": "nan.tif",
    "infinity": "infinite.tif",
    "complex numbers": "complex.tif",
    "seven channels": "channels.tif",
    "folder instead of a file": "folder",
}

# description -> (arguments, a word that the message must hold)
MISTAKES = {
    **{name: (["transformations", file, "-o", "out.png"], file) for name, file in BAD_IMAGES.items()},
    "unknown set": (["transformations", "good.png", "--invariant-to", "rotatoin:8"], "'rotatoin'"),
    "empty set": (["transformations", "good.png", "--invariant-to", ""], "''"),
    "unknown set after a comma": (["transformations", "good.png", "--invariant-to", "shifts:1,"], "''"),
    "negative count": (["transformations", "good.png", "--invariant-to", "rotations:-3"], "-3"),
    "count that is no number": (["transformations", "good.png", "--invariant-to", "rotations:many"], "'many'"),
    "NaN as a limit": (["transformations", "good.png", "--invariant-to", "gamma:3:nan"], "nan"),
    "too many values": (["transformations", "good.png", "--invariant-to", "shifts:1:2:3"], "'shifts:1:2:3'"),
    "unknown operation": (["transformations", "good.png", "--invariant-to", "morphology:melt"], "'melt'"),
    "size of zero": (["transformations", "good.png", "--size", "0"], "--size"),
    "output folder missing": (["transformations", "good.png", "-o", "no/such/out.png"], "no/such"),
    "output is a folder": (["transformations", "good.png", "-o", "folder"], "folder"),
    "output of unknown kind": (["transformations", "good.png", "-o", "out.xyz"], "out.xyz"),
    "output without ending": (["transformations", "good.png", "-o", "out"], ".png"),
    "report folder missing": (["demo", "-o", "no/such/demo.html"], "no/such"),
    "report of unknown kind": (["demo", "-o", "demo.docx"], "demo.docx"),
    "negative seed": (["demo", "--seed", "-1"], "--seed"),
    "seed that is no number": (["demo", "--seed", "many"], "--seed"),
    "unknown command": (["demmo"], "demmo"),
    "unknown option": (["demo", "--nonsense"], "--nonsense"),
    "too many arguments": (["transformations", "good.png", "text.png"], "text.png"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_ends_in_one_clear_line_and_writes_nothing(mistake, folder, capfd):
    arguments, named = MISTAKES[mistake]
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    assert main(arguments) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("Error: ")
    assert err.count("\n") == 1
    assert err.endswith("\n")
    assert named in err
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def test_a_failed_write_leaves_the_old_file_whole(folder, monkeypatch, capsys):
    (folder / "out.png").write_bytes(b"old")

    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", fail)
    assert main(["transformations", "good.png", "-o", "out.png", "--overwrite"]) == 2
    assert capsys.readouterr().err.startswith("Error: cannot write 'out.png': No space left on device")
    assert (folder / "out.png").read_bytes() == b"old"
    assert not list(folder.glob(".out*"))
