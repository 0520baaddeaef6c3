"""A model is trained on the labelled sections of a volume, and only these are read."""

import numpy as np
import pytest
import zarr

from invariance import load
from invariance.cli import main
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
