"""fit-pixels and segment: what they write, what they keep of the images, and what they refuse."""

import os
import signal

import numpy as np
import pytest
import tifffile
from PIL import Image
from sklearn.base import BaseEstimator

from invariance import models, segmentation
from invariance.cli import main
from invariance.images import open_stack, read_image, read_mask, read_mask_stack
from invariance.transformations import Rotations

RNG = np.random.default_rng(0)


class Thresholds(BaseEstimator):
    """Stands in for the segmenter where only the commands are tested: darker pixels are of earlier classes."""

    def __init__(self, classes=(0, 255), n_channels=1, n_jobs=None):
        self.classes = classes
        self.n_channels = n_channels
        self.n_jobs = n_jobs

    @property
    def classes_(self):
        return np.array(
            self.classes, dtype=np.uint8 if min(self.classes) >= 0 and max(self.classes) < 256 else np.int64
        )

    @property
    def n_channels_(self):
        return self.n_channels

    def predict_proba(self, image):
        grey = image if image.ndim == 2 else image.mean(axis=2)
        codes = np.minimum(grey * len(self.classes), len(self.classes) - 1).astype(int)
        return np.eye(len(self.classes), dtype=np.float32)[codes] * np.float32(0.8) + np.float32(0.1)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def use_model(folder, monkeypatch):
    """Makes `model.inv` hold a stand-in."""

    def use(**settings):
        (folder / "model.inv").touch()
        monkeypatch.setattr(segmentation, "JungleSegmenter", Thresholds, raising=False)
        monkeypatch.setattr(models, "load", lambda path: Thresholds(**settings))

    return use


def grey(*shape):
    return RNG.integers(0, 256, shape, dtype=np.uint8)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def expected_labels(image):
    return np.where(image >= 128, 255, 0)


def test_every_image_gets_a_label_map_of_its_stem_with_the_masks_values(folder, use_model, capsys):
    use_model()
    images = {"a.png": grey(7, 9), "b.bmp": grey(5, 6)}
    for name, image in images.items():
        Image.fromarray(image).save(name)
    (folder / "more").mkdir()
    Image.fromarray(images["a.png"]).save("more/c.tif")
    assert main(["segment", "model.inv", "a.png", "b.bmp", "more", "-o", "out"]) == 0
    assert names(folder / "out") == ["a.png", "b.png", "c.tif"]
    for name, image in (("a.png", images["a.png"]), ("b.png", images["b.bmp"]), ("c.tif", images["a.png"])):
        labels = read_mask(folder / "out" / name)
        assert labels.dtype == np.uint8
        np.testing.assert_array_equal(labels, expected_labels(image))
    lines = capsys.readouterr().out.splitlines()
    assert (
        lines[0]
        == f"out/a.png: class 0 {np.mean(images['a.png'] < 128):.1%}, class 255 {np.mean(images['a.png'] >= 128):.1%}"
    )


IMAGEJ = {"imagej": True, "resolution": (4.0, 5.0), "metadata": {"axes": "TZYX", "unit": "um", "spacing": 0.3}}
OME = {"ome": True, "metadata": {"axes": "TZYX", "PhysicalSizeX": 0.25, "PhysicalSizeXUnit": "µm"}}
PLAIN = {"metadata": {"axes": "TZYX"}, "resolution": (300, 150), "resolutionunit": "CENTIMETER"}


@pytest.mark.parametrize("options", [IMAGEJ, OME, PLAIN], ids=["imagej", "ome", "plain"])
def test_stacks_stay_stacks_with_axes_and_pixel_size(options, folder, use_model):
    use_model()
    stack = grey(2, 3, 7, 9)
    tifffile.imwrite("a.tif", stack, photometric="minisblack", **options)
    assert main(["segment", "model.inv", "a.tif", "-o", "out", "--probabilities", "--overlay"]) == 0
    assert names(folder / "out") == ["a-overlay.tif", "a-probabilities.tif", "a.tif"]
    layout = open_stack("a.tif").layout
    for name, axes in (("a", "TZYX"), ("a-probabilities", "TZCYX"), ("a-overlay", "TZYXS")):
        assert open_stack(f"out/{name}.tif").layout == layout
        with tifffile.TiffFile(f"out/{name}.tif") as file:
            assert file.series[0].axes == axes
    np.testing.assert_array_equal(read_mask_stack("out/a.tif"), expected_labels(stack.reshape(6, 7, 9)))
    probabilities = tifffile.imread("out/a-probabilities.tif")
    assert probabilities.dtype == np.float32
    np.testing.assert_allclose(probabilities[:, :, 1], np.where(stack >= 128, 0.9, 0.1), rtol=1e-6)


def test_only_one_page_at_a_time_is_in_memory(folder, use_model, monkeypatch):
    use_model()
    tifffile.imwrite("a.tif", grey(5, 7, 9), photometric="minisblack", compression="zlib")
    monkeypatch.setattr(tifffile.TiffPageSeries, "asarray", None)
    shapes = []
    predict = Thresholds.predict_proba
    monkeypatch.setattr(
        Thresholds, "predict_proba", lambda self, page: shapes.append(page.shape) or predict(self, page)
    )
    assert main(["segment", "model.inv", "a.tif", "-o", "out"]) == 0
    assert shapes == [(7, 9)] * 5


def test_overlay_draws_the_boundary_and_nothing_else(folder, use_model):
    use_model()
    image = np.zeros((9, 12), np.uint8)
    image[2:7, 3:9] = 255
    Image.fromarray(image).save("a.png")
    assert main(["segment", "model.inv", "a.png", "-o", "out", "--overlay"]) == 0
    photo = np.rint(read_image("out/a-overlay.png") * 255)
    drawn = (photo == (255, 255, 0)).all(axis=2)
    ring = np.zeros((9, 12), bool)
    ring[2:7, 3:9] = True
    ring[3:6, 4:8] = False
    np.testing.assert_array_equal(drawn, ring)
    np.testing.assert_array_equal(photo[~drawn], np.repeat(image[..., None], 3, axis=2)[~drawn])


@pytest.mark.parametrize("n_channels", [2, 3, 4, 5])
def test_overlay_of_any_number_of_channels(n_channels, folder, use_model):
    use_model(n_channels=n_channels)
    tifffile.imwrite("a.tif", grey(n_channels, 7, 9), photometric="minisblack", metadata={"axes": "CYX"})
    assert main(["segment", "model.inv", "a.tif", "-o", "out", "--overlay"]) == 0
    assert read_image("out/a-overlay.png").shape == (7, 9, 3)
    assert read_mask("out/a.tif").shape == (7, 9)


@pytest.mark.parametrize(
    ("classes", "file", "dtype"),
    [((1, 2, 3), "a.png", np.uint8), ((0, 1000), "a.png", np.uint16), ((-1, 1), "a.tif", np.int64)],
    ids=["three", "16 bits", "negative"],
)
def test_label_maps_hold_any_values_of_masks(classes, file, dtype, folder, use_model):
    use_model(classes=classes)
    image = grey(7, 9)
    Image.fromarray(image).save("a.png")
    assert main(["segment", "model.inv", "a.png", "-o", "out", "--probabilities"]) == 0
    labels = read_mask(folder / "out" / file)
    assert labels.dtype == dtype
    assert set(np.unique(labels)) == set(classes)
    assert tifffile.imread("out/a-probabilities.tif").shape == (len(classes), 7, 9)


def test_an_interrupted_run_leaves_whole_files_only(folder, use_model, monkeypatch):
    use_model()
    Image.fromarray(grey(7, 9)).save("a.png")
    tifffile.imwrite("b.tif", grey(3, 7, 9), photometric="minisblack")
    n_pages = []
    predict = Thresholds.predict_proba

    def interrupted(self, page):
        n_pages.append(1)
        if len(n_pages) == 3:
            raise KeyboardInterrupt
        return predict(self, page)

    monkeypatch.setattr(Thresholds, "predict_proba", interrupted)
    assert main(["segment", "model.inv", "a.png", "b.tif", "-o", "out", "--probabilities"]) == 130
    assert names(folder / "out") == ["a-probabilities.tif", "a.png"]


@pytest.fixture
def heeded_interrupt():
    """Ctrl-C is heeded, even where a shell started the tests in the background, which ignores it for them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeded_interrupt")
@pytest.mark.skipif(os.name != "posix", reason="signals are others there")
@pytest.mark.parametrize(
    ("number", "code", "word"), [(signal.SIGINT, 130, "Interrupted"), (signal.SIGTERM, 143, "Terminated")]
)
def test_a_signal_ends_the_command_and_a_line_says_what_was_kept(
    number, code, word, folder, use_model, monkeypatch, capsys
):
    use_model()
    Image.fromarray(grey(7, 9)).save("a.png")
    tifffile.imwrite("b.tif", grey(3, 7, 9), photometric="minisblack")
    arguments = ["segment", "model.inv", "a.png", "b.tif", "-o", "out", "--probabilities"]
    predict = Thresholds.predict_proba
    handlers = [signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)]

    def send_at(last_page):
        pages = []

        def interrupted(self, page):
            pages.append(page)
            if len(pages) == last_page:
                os.kill(os.getpid(), number)
                os.kill(os.getpid(), number)  # impatient, which changes nothing
            return predict(self, page)

        monkeypatch.setattr(Thresholds, "predict_proba", interrupted)

    send_at(1)
    assert main(arguments) == code
    assert capsys.readouterr() == ("", f"{word}: nothing was written.\n")
    assert not (folder / "out").exists()
    send_at(3)
    assert main(arguments) == code
    kept = "2 of 4 files were written and are complete, the last is 'out/a-probabilities.tif'."
    assert capsys.readouterr().err == f"{word}: {kept}\n"
    assert names(folder / "out") == ["a-probabilities.tif", "a.png"]
    before = (folder / "out" / "a.png").read_bytes()
    send_at(1)
    assert main([*arguments, "--overwrite"]) == code
    assert capsys.readouterr().err == f"{word}: nothing was written, 'out/a.png' is as before.\n"
    assert (folder / "out" / "a.png").read_bytes() == before
    assert [signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)] == handlers


# description -> (arguments after the model, what the message holds)
SEGMENT_MISTAKES = {
    "missing image": (["a.png", "none.png", "-o", "out"], "'none.png' does not exist"),
    "empty folder": (["empty", "-o", "out"], "'empty' holds no images"),
    "not an image": (["model.inv", "-o", "out"], "'model.inv'"),
    "same stem": (
        ["a.png", "more/a.png", "-o", "out"],
        "'a.png' and 'more/a.png' would both be written to 'out/a.png'",
    ),
    "same stem, other kind": (["a.png", "more/a.tif", "-o", "out"], "'a.png' and 'more/a.tif' would both"),
    "stem that a result takes": (["a.png", "a-overlay.png", "--overlay", "-o", "out"], "'out/a-overlay.png'"),
    "result over an image": (["a.png", "-o", "."], "it is read by this command"),
    "other number of channels": (["a.png", "rgb.png", "-o", "out"], "'rgb.png' has 3 channels, but the model was"),
    "NaN": (["a.png", "nan.tif", "-o", "out"], "'nan.tif' holds NaN"),
    "output is a file": (["a.png", "-o", "rgb.png"], "'rgb.png': it is a file"),
    "output in no folder": (["a.png", "-o", "no/out"], "'no' does not exist"),
    "no output": (["a.png"], "--output"),
}


@pytest.mark.parametrize("mistake", SEGMENT_MISTAKES)
def test_a_mistake_is_found_before_any_work(mistake, folder, use_model, capfd, monkeypatch):
    use_model()
    (folder / "more").mkdir()
    (folder / "empty").mkdir()
    for name in ("a.png", "more/a.png", "more/a.tif", "a-overlay.png"):
        Image.fromarray(grey(7, 9)).save(name)
    Image.fromarray(grey(7, 9, 3)).save("rgb.png")
    tifffile.imwrite("nan.tif", np.full((8, 8), np.nan, dtype=np.float32))
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    monkeypatch.setattr(Thresholds, "predict_proba", None)
    arguments, words = SEGMENT_MISTAKES[mistake]
    assert main(["segment", "model.inv", *arguments]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("Error: ")
    assert err.count("\n") == 1
    assert words in err
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def test_a_model_of_another_kind_is_refused(folder, monkeypatch, capsys):
    monkeypatch.setattr(segmentation, "JungleSegmenter", Thresholds, raising=False)
    models.save(Rotations(5), "model.inv")
    Image.fromarray(grey(7, 9)).save("a.png")
    assert main(["segment", "model.inv", "a.png", "-o", "out"]) == 2
    assert "'model.inv' is a Rotations, which does not label pixels" in capsys.readouterr().err
    assert main(["segment", "none.inv", "a.png", "-o", "out"]) == 2
    assert "none.inv" in capsys.readouterr().err
    assert not (folder / "out").exists()


class Recorder(BaseEstimator):
    """Stands in for the segmenter in training: keeps what it is given."""

    def __init__(self, **settings):
        self.settings = settings
        self.max_pixels = settings.get("max_pixels", 50_000)

    def fit(self, images, masks):
        self.images, self.masks = images, masks
        labels, counts = np.unique(np.concatenate([mask.ravel() for mask in masks]), return_counts=True)
        self.classes_, self.n_labelled_, self.patch_size_ = labels, counts, 25
        return self


@pytest.fixture
def saved(folder, monkeypatch):
    """What fit-pixels saved, as (path, model)."""
    calls = []
    monkeypatch.setattr(segmentation, "JungleSegmenter", Recorder, raising=False)
    monkeypatch.setattr(models, "save", lambda model, path: calls.append((path, model)))
    return calls


def write_pairs(folder):
    """Two images in `cells`, their masks in `masks`."""
    for name in ("cells", "masks"):
        (folder / name).mkdir()
    for stem in ("a", "b"):
        Image.fromarray(grey(7, 9)).save(f"cells/{stem}.jpg")
        Image.fromarray(np.repeat(np.uint8([[0] * 4 + [255] * 5]), 7, axis=0)).save(f"masks/{stem}.png")


def test_fit_pixels_pairs_folders_and_says_what_it_learned_from(folder, saved, capsys):
    write_pairs(folder)
    assert main(["fit-pixels", "cells", "masks", "-o", "model.inv"]) == 0
    ((path, model),) = saved
    assert str(path) == "model.inv"
    assert model.settings == {"random_state": 0}  # otherwise the defaults of the segmenter
    for stem, image, mask in zip("ab", model.images, model.masks, strict=True):
        np.testing.assert_array_equal(image, read_image(f"cells/{stem}.jpg"))
        np.testing.assert_array_equal(mask, read_mask(f"masks/{stem}.png"))
    out = capsys.readouterr().out
    assert [line.split() for line in out.splitlines()[:2]] == [
        ["class", "0", "56", "labelled", "pixels"],
        ["class", "255", "70", "labelled", "pixels"],
    ]
    assert "2 images" in out
    assert "25 pixels wide" in out
    assert str(folder / "model.inv") in out


def test_fit_pixels_takes_two_stacks_and_passes_its_settings(folder, saved):
    tifffile.imwrite("a.tif", grey(3, 7, 9), photometric="minisblack")
    tifffile.imwrite("m.tif", grey(3, 7, 9) % 2, photometric="minisblack")
    options = ["--unlabelled", "7", "--patch-size", "31", "--pixels", "900", "--rounds", "2", "--jobs", "1"]
    more = ["--seed", "5", "--invariant-to", "rotations:5,reflections"]
    assert main(["fit-pixels", "a.tif", "m.tif", "-o", "model.inv", *options, *more]) == 0
    ((_, model),) = saved
    assert len(model.images) == len(model.masks) == 3
    assert repr(model.settings.pop("transformations")) == "Rotations(n=5) * Reflections()"
    assert model.settings == {
        "unlabelled": 7,
        "patch_size": 31,
        "max_pixels": 900,
        "n_rounds": 2,
        "random_state": 5,
    }


# description -> (arguments, what the message holds)
FIT_MISTAKES = {
    "missing image": (["none.png", "masks/a.png"], "'none.png' does not exist"),
    "missing mask": (["cells/a.jpg", "none.png"], "'none.png' does not exist"),
    "file and folder": (["cells", "masks/a.png"], "'masks/a.png' is a file"),
    "folder and file": (["cells/a.jpg", "masks"], "'masks' is a folder"),
    "mask of other size": (
        ["cells/a.jpg", "small.png"],
        "mask 'small.png' is 5 x 9, but its image 'cells/a.jpg' is 7 x 9",
    ),
    "image without mask": (["cells", "some"], "has no mask 'b.*' in 'some'"),
    "mask in colour": (["cells/a.jpg", "rgb.png"], "mask 'rgb.png' is in colour"),
    "grey beside colour": (["mixed", "masks"], "'mixed/b.png' has 3 channels, but 'mixed/a.png' has 1"),
    "NaN": (["nan.tif", "masks/a.png"], "'nan.tif' holds NaN"),
    "unknown set": (["cells", "masks", "--invariant-to", "rotatoin:3"], "'rotatoin'"),
    "no rounds": (["cells", "masks", "--rounds", "0"], "--rounds"),
    "unlabelled value that is no integer": (["cells", "masks", "--unlabelled", "none"], "--unlabelled"),
}


@pytest.mark.parametrize("mistake", FIT_MISTAKES)
def test_a_mistake_in_training_is_one_line_and_nothing_is_written(mistake, folder, saved, capfd):
    write_pairs(folder)
    (folder / "some").mkdir()
    (folder / "mixed").mkdir()
    Image.fromarray(grey(7, 9)).save("mixed/a.png")
    Image.fromarray(grey(7, 9, 3)).save("mixed/b.png")
    Image.fromarray(grey(7, 9, 3)).save("rgb.png")
    Image.fromarray(grey(7, 9)).save("some/a.png")
    Image.fromarray(grey(5, 9)).save("small.png")
    tifffile.imwrite("nan.tif", np.full((7, 9), np.nan, dtype=np.float32))
    arguments, words = FIT_MISTAKES[mistake]
    assert main(["fit-pixels", *arguments, "-o", "model.inv"]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("Error: ")
    assert err.count("\n") == 1
    assert words in err
    assert saved == []


@pytest.mark.parametrize("output", ["model.txt", "cells", "no/model.inv"])
def test_a_model_that_cannot_be_written_is_refused_before_training(output, folder, saved, capfd):
    write_pairs(folder)
    assert main(["fit-pixels", "cells", "masks", "-o", output]) == 2
    assert output in capfd.readouterr().err
    assert saved == []


def stripes(angle):
    """A page of which the left half is striped and the right half is even, with noise."""
    rows, cols = np.mgrid[:48, :48]
    waves = 0.5 + 0.4 * np.sin(1.6 * (rows * np.cos(angle) + cols * np.sin(angle)))
    image = np.where(cols < 24, waves, 0.5) + RNG.normal(0, 0.03, (48, 48))
    return np.rint(255 * image.clip(0, 1)).astype(np.uint8)


@pytest.fixture
def scribbled(folder):
    """Three striped pages in `a.tif`; `m.tif` labels some pixels of two of them as 10 (stripes) and 20, else 0."""
    tifffile.imwrite("a.tif", np.stack([stripes(angle) for angle in (0.2, 1.1, 2.3)]), photometric="minisblack")
    mask = np.zeros((3, 48, 48), np.uint8)
    mask[:2, 6:42, 6:18] = 10
    mask[:2, 6:42, 30:42] = 20
    tifffile.imwrite("m.tif", mask, photometric="minisblack")
    return ["fit-pixels", "a.tif", "m.tif", "-o", "model.inv", "--patch-size", "9", "--pixels", "600", "--rounds", "1"]


def test_from_scribbles_to_label_maps_and_the_same_every_time(folder, scribbled, capsys):
    assert main([*scribbled, "--unlabelled", "0", "--invariant-to", "rotations:8"]) == 0
    assert [line.split()[:3] for line in capsys.readouterr().out.splitlines()[:2]] == [
        ["class", "10", "864"],
        ["class", "20", "864"],
    ]
    Image.fromarray(stripes(2.0)).save("new.png")
    for output, jobs in (("out", "1"), ("again", "2")):
        assert main(["segment", "model.inv", "new.png", "a.tif", "-o", output, "--probabilities", "--jobs", jobs]) == 0
    labels = read_mask("out/new.png")
    right = np.where(np.arange(48) < 24, 10, 20)
    assert np.mean(labels[:, 6:18] == 10) > 0.9
    assert np.mean(labels == right) > 0.85
    assert read_mask_stack("out/a.tif").shape == (3, 48, 48)
    np.testing.assert_allclose(tifffile.imread("out/a-probabilities.tif").sum(axis=1), 1, atol=1e-5)
    for name in names(folder / "out"):
        np.testing.assert_array_equal(read_back(folder / "out" / name), read_back(folder / "again" / name))
    np.testing.assert_array_equal(models.load("model.inv").predict(read_image("new.png")), labels)


def test_masks_of_nearly_nothing_but_zeros_are_noted(folder, scribbled, capsys):
    note = "% of the mask pixels are 0. If these have no label, add --unlabelled 0."
    mask = tifffile.imread("m.tif")
    assert main(scribbled) == 0  # 74 % of the pixels are 0
    assert note not in capsys.readouterr().err
    mask[:, 12:] = 0
    tifffile.imwrite("m.tif", mask, photometric="minisblack")
    assert main(scribbled) == 0
    assert f"Note: {np.mean(mask == 0):.1%}{note[1:]}" in capsys.readouterr().err
    assert main([*scribbled, "--unlabelled", "0"]) == 0
    assert note not in capsys.readouterr().err


def read_back(path):
    return tifffile.imread(path) if path.suffix == ".tif" else read_mask(path)


@pytest.mark.parametrize(
    ("value", "unlabelled", "words"), [(0, "0", "unlabelled"), (7, "0", "class")], ids=["nothing labelled", "one class"]
)
def test_masks_that_teach_nothing_are_refused(value, unlabelled, words, folder, scribbled, capfd):
    tifffile.imwrite("m.tif", np.full((3, 48, 48), value, np.uint8), photometric="minisblack")
    assert main([*scribbled, "--unlabelled", unlabelled]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("Error: ")
    assert err.count("\n") == 1
    assert words in err
    assert names(folder) == ["a.tif", "m.tif"]


def test_masks_of_one_class_beside_the_unlabelled_value_are_refused_with_the_cure(folder, scribbled, capfd):
    mask = np.zeros((3, 48, 48), np.uint8)
    mask[:, 24:] = 255
    tifffile.imwrite("m.tif", mask, photometric="minisblack")
    assert main([*scribbled, "--unlabelled", "0"]) == 2
    assert "one class only, 255: --unlabelled 0 leaves 0 out. Omit it" in capfd.readouterr().err
    assert names(folder) == ["a.tif", "m.tif"]


def test_an_even_patch_size_is_refused_in_one_line(folder, scribbled, capfd):
    assert main([*scribbled, "--patch-size", "8"]) == 2
    assert "patch_size must be odd" in capfd.readouterr().err
    assert names(folder) == ["a.tif", "m.tif"]
