"""HDF5 datasets are read by region; what lies outside of the file, or would unpack without limit, is refused."""

import json
import os
import pickle
import zlib

import h5py
import numpy as np
import pytest

from invariance import load
from invariance.cli import main
from invariance.volumes import VolumeError, open_volume, read_labelled_sections

RNG = np.random.default_rng(0)
PIXELS = RNG.integers(0, 255, (3, 40, 50), dtype=np.uint8)


def tags(letters):
    return json.dumps({"axes": [{"key": one, "typeFlags": 2, "resolution": 0, "description": ""} for one in letters]})


def write(path, name="exported_data", pixels=PIXELS, axes=None, **settings):
    with h5py.File(path, "a") as file:
        dataset = file.create_dataset(name, data=pixels, **settings)
        if axes is not None:
            dataset.attrs["axistags"] = axes
    return path


@pytest.mark.parametrize(
    "settings",
    [{}, {"chunks": (1, 16, 16)}, {"chunks": (2, 16, 16), "compression": "gzip", "shuffle": True, "fletcher32": True},
     {"chunks": (1, 16, 16), "compression": "lzf"}],
)  # fmt: skip
def test_a_dataset(tmp_path, settings):
    path = write(tmp_path / "a.h5", "volume/data", **settings)
    for one in (open_volume(path), open_volume(path / "volume" / "data")):
        assert (one.axes, one.shape, one.n_channels, one.dtype) == ("zyx", (3, 40, 50), None, np.uint8)
        np.testing.assert_array_equal(np.asarray(one.section((1,))), PIXELS[1])
        np.testing.assert_array_equal(one.section((2,))[3:20, 10:33], PIXELS[2, 3:20, 10:33])
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(one)).section((2,))[::3, ::5], PIXELS[2, ::3, ::5])


@pytest.mark.parametrize(
    ("letters", "shape", "axes", "n_channels"),
    [("zyxc", (3, 40, 50, 1), "zyx", None), ("tzyxc", (2, 3, 20, 25, 1), "tzyx", None), ("yxc", (40, 50, 2), "yx", 2),
     ("czyx", (2, 3, 20, 50), "zyx", 2), ("zyx", (3, 40, 3), "zyx", None)],
)  # fmt: skip
def test_axes_of_ilastik(tmp_path, letters, shape, axes, n_channels):
    pixels = RNG.integers(0, 255, shape, dtype=np.uint16).astype(">u2")
    volume = open_volume(write(tmp_path / "a.h5", pixels=pixels, axes=tags(letters)))
    assert (volume.axes, volume.n_channels, volume.dtype) == (axes, n_channels, np.dtype(np.uint16))
    index = tuple(length - 1 for length in volume.shape[:-2])
    place = tuple(dict(zip(axes, index, strict=False)).get(axis, slice(None)) for axis in letters)
    expected = pixels[place]
    if "c" in letters:
        expected = np.moveaxis(expected, [axis for axis in letters if axis in "cyx"].index("c"), -1)
        expected = expected[..., 0] if n_channels is None else expected
    np.testing.assert_array_equal(np.asarray(volume.section(index)), expected)


@pytest.mark.parametrize("stated", ["{", "5", '{"axes": 3}', '{"axes": [{"key": "q"}]}', tags("yx"), tags("zzz"), 7])
def test_implausible_axes_count_as_none(tmp_path, stated):
    assert open_volume(write(tmp_path / "a.h5", axes=stated)).axes == "zyx"


def test_names_of_datasets(tmp_path):
    path = write(write(tmp_path / "a.h5", "raw"), "deep/labels")
    with pytest.raises(VolumeError, match=r"2 datasets: deep/labels, raw\. Name one: '.*a\.h5/deep/labels'"):
        open_volume(path)
    assert open_volume(path / "raw").shape == PIXELS.shape
    for name, message in {"none": "no dataset 'none'", "deep": "is no dataset", "raw/x": "no dataset"}.items():
        with pytest.raises(VolumeError, match=message):
            open_volume(path / name)
    with h5py.File(tmp_path / "empty.h5", "w") as file:
        file["itself"] = file["/"]  # a group that contains itself
    with pytest.raises(VolumeError, match="has no dataset"):
        open_volume(tmp_path / "empty.h5")


def test_nothing_outside_of_the_file_is_read(tmp_path):
    secret = write(tmp_path / "secret.h5", "data")
    (tmp_path / "raw.bin").write_bytes(bytes(100))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["external"] = h5py.ExternalLink(str(secret), "data")
        file["soft"] = h5py.SoftLink("/external")
        file["through"] = h5py.SoftLink("/group")
        layout = h5py.VirtualLayout((3, 40, 50), np.uint8)
        layout[:] = h5py.VirtualSource(str(secret), "data", shape=(3, 40, 50))
        file.create_virtual_dataset("virtual", layout)
        file.create_dataset("stored_outside", (10, 10), np.uint8, external=[(str(tmp_path / "raw.bin"), 0, 100)])
        file.create_group("group")["inner"] = h5py.ExternalLink(str(secret), "data")
    for name, message in {
        "external": "is a link", "soft": "is a link", "through/inner": "is a link", "group/inner": "is a link",
        "virtual": "not in '", "stored_outside": "not in '",
    }.items():  # fmt: skip
        with pytest.raises(VolumeError, match=message):
            open_volume(tmp_path / "a.h5" / name)
    with pytest.raises(VolumeError, match="2 datasets: stored_outside, virtual"):
        open_volume(tmp_path / "a.h5")


def test_other_filters_are_refused(tmp_path):
    path = write(tmp_path / "a.h5", chunks=(1, 16, 16), scaleoffset=True)
    with pytest.raises(VolumeError, match="filters that are not read"):
        open_volume(path)


def test_chunks_that_unpack_to_too_much(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        dataset = file.create_dataset("a", (32, 16), np.uint8, chunks=(16, 16), compression="gzip")
        dataset[:] = 3
        dataset.id.write_direct_chunk((16, 0), zlib.compress(bytes(10**6)))
        file.create_dataset("b", (10**5, 10**5), np.uint8, chunks=(10**4, 10**5), compression="gzip")
        file.create_dataset("c", (10**5, 10**5), np.uint8, chunks=(16, 16), compression="gzip", fillvalue=5)
    section = open_volume(tmp_path / "a.h5" / "a").section(())
    assert (section[:16, :] == 3).all()
    with pytest.raises(VolumeError, match="unpacks to more than its shape"):
        section[10:20, :]
    with pytest.raises(VolumeError, match="chunks of 1.0 GB"):
        open_volume(tmp_path / "a.h5" / "b")
    assert (open_volume(tmp_path / "a.h5" / "c").section(())[70_000:70_003, :4] == 5).all()


@pytest.mark.parametrize("content", [b"", b"text", b"\x89HDF\r\n\x1a\n" + bytes(100)])
def test_damaged_files(tmp_path, content):
    (tmp_path / "a.h5").write_bytes(content)
    with pytest.raises(VolumeError, match="cannot be read as an HDF5 file"):
        open_volume(tmp_path / "a.h5")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        open_volume(tmp_path / "b.h5" / "data")


def test_without_h5py_the_extra_is_named(tmp_path, monkeypatch):
    path = write(tmp_path / "a.h5")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(VolumeError, match=r"pip install '\.\[hdf5\]'"):
        open_volume(path)


@pytest.fixture
def ilastik_labels(tmp_path, membranes):
    """Strokes in one section of three, as ilastik exports them: with an axis of channels, in chunks."""
    labels = np.zeros((*membranes[0].shape, 1), np.uint8)
    labels[1, 40:60, 20:200, 0] = 1 + membranes[1][1, 40:60, 20:200]
    path = tmp_path / "labels.h5"
    with h5py.File(path, "w") as file:
        dataset = file.create_dataset(
            "exported_data", labels.shape, np.uint8, chunks=(1, 64, 64, 1), compression="gzip"
        )
        dataset[1] = labels[1]
        dataset.attrs["axistags"] = tags("zyxc")
    return path


def test_only_labelled_sections_are_read(source, ilastik_labels, membranes):
    assert [open_volume(ilastik_labels).is_stored((one,)) for one in range(3)] == [False, True, False]
    data = read_labelled_sections(source, ilastik_labels / "exported_data", 0)
    assert len(data.images) == 1
    np.testing.assert_array_equal(data.images[0], membranes[0][1])


def test_the_command_trains_on_labels_of_ilastik(source, ilastik_labels, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = ["--unlabelled", "0", "--rounds", "1", "--pixels", "400", "--patch-size", "7"]
    labels = os.path.join("labels.h5", "exported_data")
    assert main(["fit-pixels", "source.zarr", labels, "-o", "m.inv", *settings]) == 0
    assert load("m.inv").classes_.tolist() == [1, 2]
