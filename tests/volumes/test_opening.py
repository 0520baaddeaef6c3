"""Volumes of every kind are read in parts, as they are stored; what is damaged or hostile is refused in a sentence."""

import json

import cv2
import numpy as np
import pytest
import tifffile
import zarr

from invariance.images import open_stack
from invariance.volumes import VolumeError, open_volume

RNG = np.random.default_rng(0)


def make_ome(path, version, letters="czyx", shape=(2, 3, 40, 50), scale=(1, 5, 2, 2), **changes):
    """An OME-Zarr image of two levels with random pixels, whose metadata can be changed."""
    pixels = RNG.integers(0, 255, shape, dtype=np.uint8)
    zarr_format = 2 if version == "0.4" else 3
    group = zarr.open_group(path, mode="w", zarr_format=zarr_format)
    for level, part in enumerate((pixels, pixels[..., ::2, ::2])):
        array = zarr.create_array(
            path,
            name=str(level),
            shape=part.shape,
            dtype="uint8",
            chunks=(1, 2, 16, 16)[-len(shape) :],
            zarr_format=zarr_format,
        )
        array[:] = part
    units = {"z": "nanometer", "y": "nanometer", "x": "nanometer"}
    multiscale = {
        "axes": [{"name": axis, "type": "space", "unit": units.get(axis)} for axis in letters],
        "datasets": [
            {"path": str(level), "coordinateTransformations": [{"type": "scale", "scale": [
                *scale[:-2], *(one * 2**level for one in scale[-2:])]}]}
            for level in (0, 1)
        ],
    } | changes  # fmt: skip
    group.attrs.update(
        {"multiscales": [multiscale]} if version == "0.4" else {"ome": {"version": "0.5", "multiscales": [multiscale]}}
    )
    return pixels


@pytest.mark.parametrize("version", ["0.4", "0.5"])
def test_ome_zarr(tmp_path, version):
    pixels = make_ome(tmp_path / "a.zarr", version)
    volume = open_volume(tmp_path / "a.zarr")
    assert (volume.axes, volume.shape, volume.n_channels, volume.dtype) == ("zyx", (3, 40, 50), 2, np.uint8)
    assert volume.pixel_size == (5, 2, 2)
    assert volume.units == ("nanometer",) * 3
    assert list(volume.indices()) == [(0,), (1,), (2,)]
    np.testing.assert_array_equal(np.asarray(volume.section((1,))), np.moveaxis(pixels[:, 1], 0, -1))
    np.testing.assert_array_equal(volume.section((2,))[3:9, 10:20], np.moveaxis(pixels[:, 2, 3:9, 10:20], 0, -1))
    one = open_volume(tmp_path / "a.zarr", level=1, channel=1)
    assert (one.shape, one.n_channels, one.pixel_size) == ((3, 20, 25), None, (5, 4, 4))
    np.testing.assert_array_equal(np.asarray(one.section((0,))), pixels[1, 0, ::2, ::2])


def test_a_volume_is_sent_to_another_process_by_its_path(tmp_path):
    import pickle

    pixels = make_ome(tmp_path / "a.zarr", "0.4")
    sent = pickle.dumps(open_volume(tmp_path / "a.zarr", channel=0))
    assert len(sent) < 1000
    np.testing.assert_array_equal(np.asarray(pickle.loads(sent).section((2,))), pixels[0, 2])


@pytest.mark.parametrize(
    ("shape", "axes", "n_channels"),
    [((30, 40), "yx", None), ((5, 30, 40), "zyx", None), ((30, 40, 3), "yx", 3), ((5, 30, 40, 3), "zyx", 3),
     ((2, 5, 30, 40), "tzyx", None)],
)  # fmt: skip
def test_plain_arrays(tmp_path, shape, axes, n_channels):
    pixels = RNG.random(shape).astype(np.float32)
    zarr.create_array(tmp_path / "a.zarr", shape=shape, dtype="float32", chunks=shape)[:] = pixels
    volume = open_volume(tmp_path / "a.zarr")
    assert (volume.axes, volume.n_channels) == (axes, n_channels)
    index = tuple(length - 1 for length in volume.shape[:-2])
    np.testing.assert_array_equal(np.asarray(volume.section(index)), pixels[index])


def test_names_of_dimensions_are_used(tmp_path):
    pixels = RNG.integers(0, 255, (3, 30, 4, 40), dtype=np.uint8)
    array = zarr.create_array(
        tmp_path / "a.zarr", shape=pixels.shape, dtype="uint8", chunks=pixels.shape, dimension_names=tuple("zycx")
    )
    array[:] = pixels
    volume = open_volume(tmp_path / "a.zarr")
    assert (volume.axes, volume.shape, volume.n_channels) == ("zyx", (3, 30, 40), 4)
    np.testing.assert_array_equal(np.asarray(volume.section((1,))), np.moveaxis(pixels[1], 1, -1))


def test_stacks_and_folders(tmp_path):
    pixels = RNG.integers(0, 255, (4, 30, 40), dtype=np.uint8)
    sizes = {"PhysicalSizeZ": 5.0, "PhysicalSizeX": 0.5, "PhysicalSizeXUnit": "nm"}
    tifffile.imwrite(tmp_path / "a.ome.tif", pixels, metadata={"axes": "ZYX", **sizes})
    volume = open_volume(tmp_path / "a.ome.tif")
    assert (volume.axes, volume.shape) == ("zyx", (4, 30, 40))
    assert volume.pixel_size == (5, 1, 0.5)
    assert volume.units[2] == "nanometer"
    np.testing.assert_array_equal(np.asarray(volume.section((3,))), open_stack(tmp_path / "a.ome.tif")[3])
    (tmp_path / "pages").mkdir()
    for number, page in enumerate(pixels):
        cv2.imwrite(str(tmp_path / "pages" / f"{number}.png"), page)
    folder = open_volume(tmp_path / "pages")
    assert (folder.axes, folder.shape) == ("zyx", (4, 30, 40))
    np.testing.assert_array_equal(np.asarray(folder.section((3,))), np.asarray(volume.section((3,))))
    cv2.imwrite(str(tmp_path / "pages" / "9.png"), pixels[0, :20])
    with pytest.raises(VolumeError, match="single sections of one size"):
        open_volume(tmp_path / "pages").section((4,))[:, :]


def test_the_identity_of_a_file_changes_with_it(tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", np.zeros((4, 30, 40), np.uint8), photometric="minisblack")
    before = open_volume(tmp_path / "a.tif").identity
    assert open_volume(tmp_path / "a.tif").identity == before
    tifffile.imwrite(tmp_path / "a.tif", np.zeros((5, 30, 40), np.uint8), photometric="minisblack")
    assert open_volume(tmp_path / "a.tif").identity != before


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"datasets": []}, "has the levels 0 to -1"),
        ({"datasets": [{"path": "../../etc"}]}, "which is not in it"),
        ({"datasets": [{"path": "/etc"}]}, "which is not in it"),
        ({"datasets": "0"}, "list no datasets"),
        ({"datasets": [{"name": "0"}]}, "list no datasets"),
        ({"axes": [{"name": "a"}] * 4}, "must be among"),
        ({"axes": [{"name": "y"}, {"name": "x"}]}, "must be among"),
        ({"axes": [{"name": one} for one in "xyzc"]}, "y and x must be the last ones"),
    ],
)
def test_hostile_metadata(tmp_path, changes, message):
    make_ome(tmp_path / "a.zarr", "0.4", **changes)
    with pytest.raises(VolumeError, match=message):
        open_volume(tmp_path / "a.zarr")


@pytest.mark.parametrize("stated", [None, "nm", [], [{"scale": [1, 2]}], [{"scale": [0, -1, float("inf"), "2"]}], [5]])
def test_an_implausible_scale_counts_as_one(tmp_path, stated):
    make_ome(tmp_path / "a.zarr", "0.4", datasets=[{"path": "0", "coordinateTransformations": stated}])
    assert open_volume(tmp_path / "a.zarr").pixel_size == (1, 1, 1)


def test_damaged_stores(tmp_path):
    (tmp_path / "a.zarr").mkdir()
    (tmp_path / "a.zarr" / "zarr.json").write_text("{")
    with pytest.raises(VolumeError, match="cannot be read as a Zarr store"):
        open_volume(tmp_path / "a.zarr")
    (tmp_path / "a.zarr" / "zarr.json").write_text(json.dumps({"zarr_format": 3, "node_type": "group"}))
    with pytest.raises(VolumeError, match="no metadata of OME-Zarr"):
        open_volume(tmp_path / "a.zarr")
    (tmp_path / "empty").mkdir()
    with pytest.raises(VolumeError, match="holds no image"):
        open_volume(tmp_path / "empty")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        open_volume(tmp_path / "missing")


@pytest.mark.parametrize("level", [-1, 2])
def test_levels_that_do_not_exist(tmp_path, level):
    make_ome(tmp_path / "a.zarr", "0.5")
    with pytest.raises(VolumeError, match="levels 0 to 1"):
        open_volume(tmp_path / "a.zarr", level)


class Evil:
    """Unpickled, it makes a folder."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        import os

        return os.mkdir, (self.path,)


@pytest.mark.parametrize("part", ["compressor", "filters"])
def test_chunks_are_never_unpickled(tmp_path, part):
    import pickle

    zarr.create_array(tmp_path / "a.zarr", shape=(4, 4), dtype="uint8", chunks=(4, 4), zarr_format=2, compressors=None)
    metadata = json.loads((tmp_path / "a.zarr" / ".zarray").read_text())
    metadata[part] = {"id": "pickle"} if part == "compressor" else [{"id": "pickle"}]
    (tmp_path / "a.zarr" / ".zarray").write_text(json.dumps(metadata))
    (tmp_path / "a.zarr" / "0.0").write_bytes(pickle.dumps(Evil(tmp_path / "executed")))
    with pytest.raises(VolumeError, match="packed by pickle, which is not read|cannot be read as a Zarr store"):
        open_volume(tmp_path / "a.zarr").section(())[:, :]
    assert not (tmp_path / "executed").exists()


def test_chunks_that_unpack_to_too_much_and_links_to_devices(tmp_path):
    from numcodecs import Blosc, Zlib, Zstd

    for codec in (Zlib(), Blosc(), Zstd()):
        bomb = codec.encode(bytes(10**6))
        path = tmp_path / f"{codec.codec_id}.zarr"
        array = zarr.create_array(
            path, shape=(8, 4), dtype="uint8", chunks=(4, 4), zarr_format=2, compressors=[codec], fill_value=7
        )
        array[:] = 3
        (path / "1.0").write_bytes(bomb)
        section = open_volume(path).section(())
        assert (section[:4, :] == 3).all()
        with pytest.raises(VolumeError, match="unpacks to more than the shape of a chunk"):
            section[2:6, :]
        (path / "1.0").unlink()
        (path / "1.0").symlink_to("/dev/zero")
        with pytest.raises(VolumeError, match="is no plain file"):
            section[2:6, :]
        (path / "1.0").unlink()
        assert (section[4:, :] == 7).all()
    (path / ".zattrs").unlink(missing_ok=True)
    (path / ".zattrs").symlink_to("/dev/zero")
    with pytest.raises(VolumeError, match="is no plain file"):
        open_volume(path)


@pytest.mark.parametrize("shape", [(10**12, 10**12), (0, 5), (10**10, 10**3, 10**3)])
def test_implausible_shapes(tmp_path, shape):
    zarr.create_array(tmp_path / "a.zarr", shape=shape, dtype="uint8", chunks=(10,) * len(shape))
    with pytest.raises(VolumeError, match="no pixels|no volume has"):
        open_volume(tmp_path / "a.zarr")


def test_large_tiled_tiffs_are_read_by_region(tmp_path, monkeypatch):
    from invariance.images import tiff_pages

    monkeypatch.setattr(tiff_pages, "MAX_WHOLE_BYTES", 0)
    pixels = RNG.integers(0, 255, (3, 90, 80, 3), dtype=np.uint8)
    with tifffile.TiffWriter(tmp_path / "a.ome.tif", ome=True) as writer:
        settings = {"tile": (16, 16), "compression": "zlib", "photometric": "rgb"}
        writer.write(pixels, subifds=1, metadata={"axes": "ZYXS", "PhysicalSizeX": 0.5}, **settings)
        writer.write(pixels[:, ::2, ::2], subfiletype=1, **settings)
    monkeypatch.setattr(tifffile.TiffPage, "asarray", None)  # what decodes whole pages
    volume = open_volume(tmp_path / "a.ome.tif", channel=1)
    np.testing.assert_array_equal(
        volume.section((2,))[20:70, 3:50], (pixels[2, 20:70, 3:50, 1] / np.float32(255)).astype(np.float32)
    )
    low = open_volume(tmp_path / "a.ome.tif", level=1)
    assert (low.shape, low.level, low.pixel_size) == ((3, 45, 40), 1, (1, 2, 1))
