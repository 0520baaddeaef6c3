"""A model is trained on the labelled sections of a volume, and only these are read."""

import numpy as np
import pytest
import tifffile
import zarr

from invariance import load
from invariance.cli import main
from invariance.images.layout import Layout
from invariance.studio.exports import write_pages
from invariance.volumes import VolumeError, open_volume, read_labelled_sections


@pytest.fixture
def labels(tmp_path, membranes):
    """Strokes in one section of three, as sparse labels 1 and 2."""
    path = tmp_path / "labels.zarr"
    array = zarr.create_array(path, shape=membranes[0].shape, dtype="uint8", chunks=(1, 64, 64), fill_value=0)
    array[1, 40:60, 20:200] = 1 + membranes[1][1, 40:60, 20:200]
    return path


def test_only_labelled_sections_are_read(source, labels, membranes):
    assert [open_volume(labels).is_stored((number,)) for number in range(3)] == [False, True, False]
    data = read_labelled_sections(source, labels, 0)
    assert len(data.images) == 1
    np.testing.assert_array_equal(data.images[0], membranes[0][1])
    assert set(np.unique(data.masks[0])) == {0, 1, 2}
    assert data.paths == [source / "1"]
    assert len(read_labelled_sections(source, labels).images) == 3, "without an unlabelled value all pixels are labels"


def test_a_store_that_is_not_0_where_nothing_is_stored_is_read(tmp_path):
    zarr.create_array(tmp_path / "a.zarr", shape=(2, 30, 30), dtype="uint8", chunks=(1, 30, 30), fill_value=3)
    assert open_volume(tmp_path / "a.zarr").is_stored((0,))


def test_the_command_trains_on_a_volume(source, labels, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = ["--unlabelled", "0", "--rounds", "1", "--pixels", "400", "--patch-size", "7"]
    assert main(["fit-pixels", "source.zarr", "labels.zarr", "-o", "m.inv", *settings]) == 0
    assert load("m.inv").classes_.tolist() == [1, 2]


def test_labels_of_napari_in_a_tiff_or_a_folder(source, labels, membranes, tmp_path, monkeypatch):
    """napari saves a layer of labels as a TIFF of its integers, or in a plain Zarr array of Zarr 2."""
    monkeypatch.chdir(tmp_path)
    strokes = np.asarray(zarr.open_array(labels)[:]).astype(np.int32)
    tifffile.imwrite("layer.tif", strokes, compression="zlib", photometric="minisblack")
    zarr.create_array("layer.zarr", shape=strokes.shape, dtype="int32", chunks=strokes.shape, zarr_format=2)[:] = (
        strokes
    )
    (tmp_path / "pages").mkdir()
    for number, page in enumerate(strokes):
        tifffile.imwrite(tmp_path / "pages" / f"{number}.tif", page.astype(np.uint8))
    for name in ("layer.tif", "layer.zarr", "pages"):
        data = read_labelled_sections(source, name, 0)
        assert data.paths == [source / "1"]
        np.testing.assert_array_equal(data.masks[0], strokes[1])
    settings = ["--unlabelled", "0", "--rounds", "1", "--pixels", "400", "--patch-size", "7"]
    assert main(["fit-pixels", "source.zarr", "layer.tif", "-o", "m.inv", *settings]) == 0
    assert load("m.inv").classes_.tolist() == [1, 2]
    tifffile.imwrite("short.tif", strokes[:2], photometric="minisblack")
    with pytest.raises(VolumeError, match="must be as large"):
        read_labelled_sections(source, "short.tif", 0)
    with pytest.raises(VolumeError, match="holds no image"):
        read_labelled_sections(source, tmp_path / "labels.zarr" / "c", 0)


def test_masks_as_the_studio_exports_them(membranes, tmp_path, monkeypatch):
    """A folder of masks named as the images, beside a table of the classes."""
    monkeypatch.chdir(tmp_path)
    for name, pages in zip(("images", "masks"), membranes, strict=True):
        (tmp_path / name).mkdir()
        write_pages(tmp_path / name / "stack.tif", Layout("Z", (3,)), pages + np.uint8(name == "masks"))
    (tmp_path / "masks" / "classes.csv").write_text("value,name\n1,inside\n2,membrane\n")
    settings = ["--rounds", "1", "--pixels", "400", "--patch-size", "7"]
    assert main(["fit-pixels", "images", "masks", "-o", "m.inv", *settings]) == 0
    assert load("m.inv").classes_.tolist() == [1, 2]


def test_mistakes(source, labels, tmp_path):
    zarr.create_array(tmp_path / "none.zarr", shape=(3, 300, 330), dtype="uint8", chunks=(1, 64, 64))
    with pytest.raises(VolumeError, match="all are 0"):
        read_labelled_sections(source, tmp_path / "none.zarr", 0)
    zarr.create_array(tmp_path / "small.zarr", shape=(3, 30, 33), dtype="uint8", chunks=(1, 64, 64))
    with pytest.raises(VolumeError, match="must be as large"):
        read_labelled_sections(source, tmp_path / "small.zarr", 0)
    zarr.create_array(tmp_path / "float.zarr", shape=(3, 300, 330), dtype="float32", chunks=(1, 64, 64))
    with pytest.raises(VolumeError, match="whole numbers"):
        read_labelled_sections(source, tmp_path / "float.zarr", 0)
