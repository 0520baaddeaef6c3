"""What the commands say of images that they leave out, of masks that are none, and of another range of intensities."""

import json
from pathlib import Path

import numpy as np
import pytest
import tifffile
from PIL import Image

from invariance import models
from invariance.cli import main
from invariance.cli.options import MAX_SKIPPED_SHOWN, Scale, report_skipped
from invariance.images import SCALES
from invariance.images import memory as image_memory

METHOD = ["--method", "texture"]


def draw(kind, rng):
    """An image of level or upright stripes, uint8."""
    rows, columns = np.mgrid[:24, :30]
    wave = np.sin((rows if kind == "level" else columns) / 1.5)
    return (127 + 90 * wave + rng.normal(0, 10, wave.shape)).clip(0, 255).astype(np.uint8)


def fill(folder, n=4, seed=0, factor=1, dtype=np.uint8):
    rng = np.random.default_rng(seed)
    for kind in ("level", "upright"):
        (folder / kind).mkdir(parents=True, exist_ok=True)
        for i in range(n):
            tifffile.imwrite(folder / kind / f"{i}.tif", draw(kind, rng).astype(dtype) * dtype(factor))
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Training images, the same images as 12 bits in 16, and a model; the tests must not change them."""
    folder = tmp_path_factory.mktemp("options")
    fill(folder / "train")
    fill(folder / "twelve", factor=16, dtype=np.uint16)
    assert main(["fit", str(folder / "train"), "-o", str(folder / "m.inv"), *METHOD]) == 0
    return folder


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_choices_of_scale_are_those_of_the_library():
    assert tuple(Scale) == SCALES


@pytest.mark.filterwarnings("always::invariance.images.RangeWarning")
def test_predict_warns_once_of_12_bits_in_16_and_evaluate_too(folder, capsys, monkeypatch):
    monkeypatch.setattr("invariance.cli.predict.N_TOGETHER", 2)  # several blocks, one warning
    for command in ("predict", "evaluate"):
        assert main([command, str(folder / "m.inv"), str(folder / "twelve")]) == 0
        [line] = capsys.readouterr().err.splitlines()
        assert line.startswith("Warning: the images hold float32 values from")
        assert "as if 12 bits were stored in 16" in line
        assert "--scale percentile" in line
    assert main(["predict", str(folder / "m.inv"), str(folder / "train")]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("scale", ["image", "percentile"])
def test_a_model_fitted_with_scale_needs_no_option_afterwards(scale, folder, here, capsys):
    assert main(["fit", str(folder / "train"), "-o", "s.inv", *METHOD, "--scale", scale]) == 0
    assert models.load(here / "s.inv").scale == scale
    capsys.readouterr()
    tables = []
    for images in ("train", "twelve"):
        assert main(["predict", "s.inv", str(folder / images), "--json"]) == 0
        out, err = capsys.readouterr()
        assert err == ""
        tables.append([list(entry["probabilities"].values()) for entry in json.loads(out)["predictions"]])
    np.testing.assert_allclose(*tables, atol=1e-3)


def test_scale_can_be_changed_for_a_model(folder, capsys):
    arguments = [str(folder / "m.inv"), str(folder / "twelve"), "--scale", "image"]
    assert main(["evaluate", *arguments]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "100.0%" in out
    assert main(["predict", *arguments[:2], "--scale", "bits"]) == 2
    assert "dtype" in capsys.readouterr().err


def test_fit_and_predict_agree_about_deeper_sub_folders(here, capsys):
    fill(here / "train", n=3)
    fill(here / "deeper", n=2, seed=1)
    (here / "deeper").rename(here / "train" / "level" / "old")
    assert main(["fit", "train", "-o", "m.inv", *METHOD, "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["facts"]["n_images"] == 10
    assert err.startswith("Note: 4 of 10 images lie in sub-folders of class folders")
    assert "train/level/old/level/0.tif" in err
    assert main(["predict", "m.inv", "train", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["predictions"]) == 10


def lock(monkeypatch, folder):
    """Make a folder unreadable, also for a superuser."""
    iterdir = Path.iterdir

    def refuse(path):
        if path.name == folder:
            raise PermissionError(13, "Permission denied")
        return iterdir(path)

    monkeypatch.setattr(Path, "iterdir", refuse)


@pytest.mark.parametrize("command", ["fit", "predict", "evaluate"])
def test_what_is_left_out_is_counted_and_strict_refuses(command, folder, here, capsys, monkeypatch):
    fill(here / "new", n=2)
    for i in range(3):
        (here / "new" / "level" / f"{i}.heic").touch()
    (here / "new" / "upright" / "locked").mkdir()
    lock(monkeypatch, "locked")
    arguments = ["fit", "new", "-o", "m.inv", *METHOD] if command == "fit" else [command, str(folder / "m.inv"), "new"]
    assert main([*arguments, "--json"]) == 0
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert len(lines) == 2
    assert "level/0.heic' is a .heic file" in lines[0]
    assert lines[0].endswith("The same for 2 more: '1.heic', '2.heic'.")
    assert "locked' cannot be read (Permission denied)" in lines[1]
    assert len(json.loads(out)["skipped"]) == 4
    assert main([*arguments, "--strict"]) == 2
    assert "0.heic' is a .heic file" in capsys.readouterr().err


def test_a_folder_of_unsupported_images_says_so(folder, here, capsys):
    (here / "new").mkdir()
    (here / "new" / "a.heic").touch()
    assert main(["predict", str(folder / "m.inv"), "new"]) == 2
    assert "a.heic' is a .heic file, which is not read" in capsys.readouterr().err


def test_a_large_image_is_skipped_and_named(folder, here, capsys, monkeypatch):
    fill(here / "new", n=1)
    Image.fromarray(np.zeros((200, 300, 4), np.uint8)).save(here / "new" / "large.png")
    monkeypatch.setattr(image_memory, "MAX_IMAGE_BYTES", 100_000)
    assert main(["predict", str(folder / "m.inv"), "new", "--json"]) == 0
    out, err = capsys.readouterr()
    assert len(json.loads(out)["predictions"]) == 2
    assert "large.png' of 200 x 300 pixels would take" in err
    assert main(["predict", str(folder / "m.inv"), "new", "--strict"]) == 2


def test_memory_that_runs_out_skips_the_image(folder, here, capsys, monkeypatch):
    fill(here / "new", n=1)
    monkeypatch.setattr("invariance.images.tiff.reads_by_itself", lambda page: _run_out(page))
    assert main(["predict", str(folder / "m.inv"), "new"]) == 2
    assert "needs more memory than there is. Shrink it" in capsys.readouterr().err


def _run_out(_):
    raise MemoryError


def test_nan_in_an_image_is_named_and_skipped(folder, here, capsys):
    fill(here / "new", n=1)
    tifffile.imwrite(here / "new" / "bad.tif", np.full((24, 30), np.nan, np.float32))
    assert main(["predict", str(folder / "m.inv"), "new", "--json"]) == 0
    assert "bad.tif' holds NaN or infinity at 720 of 720 values" in capsys.readouterr().err


def test_names_and_counts_of_many_reasons(capsys):
    skipped = [(Path(f"a{i}\x1b[31m.png"), f"image 'a{i}\x1b[31m.png' has defect {i}.") for i in range(8)]
    report_skipped(skipped)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == MAX_SKIPPED_SHOWN + 1
    assert lines[0] == "Skipped: image 'a0\\x1b[31m.png' has defect 0."
    assert lines[-1] == "Skipped: 3 more that cannot be read, for other reasons."


@pytest.fixture
def cells(here):
    """An image and a mask of 225 numbered objects."""
    rng = np.random.default_rng(0)
    Image.fromarray(rng.integers(0, 256, (60, 60), dtype=np.uint8)).save(here / "cell.png")
    ids = np.arange(225, dtype=np.uint8).reshape(15, 15).repeat(4, axis=0).repeat(4, axis=1)
    Image.fromarray(ids).save(here / "ids.png")
    return here


def test_fit_pixels_refuses_numbered_objects_and_jpeg_masks(cells, capsys):
    assert main(["fit-pixels", "cell.png", "ids.png", "-o", "m.inv"]) == 2
    err = capsys.readouterr().err
    assert "mask of 'cell.png' hold 225 classes (0, 1, 2, 3, ..., 224); at most 32 are expected" in err
    assert "numbers of objects" in err
    assert "--max-classes" in err
    Image.fromarray(np.asarray(Image.open("ids.png")) % 2 * 255).resize((60, 60)).save("mask.jpg", quality=50)
    assert main(["fit-pixels", "cell.png", "mask.jpg", "-o", "m.inv"]) == 2
    assert "because JPEG changes labels" in capsys.readouterr().err
    assert not (cells / "m.inv").exists()


def test_fit_pixels_and_segment_take_scale_and_max_classes(cells, capsys):
    mask = np.arange(3600).reshape(60, 60) // 900
    Image.fromarray(mask.astype(np.uint8)).save("mask.png")
    quick = ["--pixels", "200", "--rounds", "1", "--patch-size", "5"]
    assert main(["fit-pixels", "cell.png", "mask.png", "-o", "m.inv", *quick, "--max-classes", "3"]) == 2
    assert "hold 4 classes" in capsys.readouterr().err
    assert main(["fit-pixels", "cell.png", "mask.png", "-o", "m.inv", *quick, "--scale", "percentile"]) == 0
    assert models.load("m.inv").scale == "percentile"
    (cells / "new").mkdir()
    Image.open("cell.png").save(cells / "new" / "a.png")
    (cells / "new" / "b.czi").touch()
    (cells / "new" / "deeper").mkdir()
    Image.open("cell.png").save(cells / "new" / "deeper" / "c.png")
    assert main(["segment", "m.inv", "new", "-o", "out", "--scale", "image"]) == 0
    err = capsys.readouterr().err
    assert "b.czi' is a .czi file" in err
    assert "deeper' holds images, but sub-folders are not read" in err
    assert [path.name for path in (cells / "out").iterdir()] == ["a.png"]
