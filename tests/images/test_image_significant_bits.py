"""12 bits of a camera stored in 16 are read right where the TIFF says so, and only there."""

import json

import numpy as np
import pytest
import tifffile

from invariance.images import open_stack, read_image, read_mask, read_stack

from .written_tiffs import BLACK_IS_ZERO, LZW, write_tiff

TWELVE = np.random.default_rng(0).integers(0, 4096, (3, 7, 9), dtype=np.uint16)
MAX_SAMPLE_VALUE, S_MAX_SAMPLE_VALUE = 281, 341


def tag(number, value):
    return {"photometric": "minisblack", "extratags": [(number, 3, 1, value, False)]}


def ome(bits):
    return {"ome": True, "photometric": "minisblack", "metadata": {"axes": "ZYX", "SignificantBits": bits}}


STATED = {
    "OME": ome(12),
    "OME, compressed": ome(12) | {"compression": "zlib"},
    "MaxSampleValue": tag(MAX_SAMPLE_VALUE, 4095),
    "SMaxSampleValue": tag(S_MAX_SAMPLE_VALUE, 4095),
}


@pytest.mark.parametrize("name", STATED)
def test_stated_bits_are_used_by_every_reader(tmp_path, name):
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, TWELVE, **STATED[name])
    expected = TWELVE.astype(np.float32) / np.float32(4095)
    np.testing.assert_array_equal(read_stack(path), expected)
    np.testing.assert_array_equal(open_stack(path)[:], expected)
    tifffile.imwrite(path, TWELVE[0], **STATED[name] | ({"metadata": {"SignificantBits": 12}} if "OME" in name else {}))
    np.testing.assert_array_equal(read_image(path), expected[0])
    np.testing.assert_array_equal(read_mask(path), TWELVE[0])


def damaged():
    raise KeyError("Summary")


@pytest.mark.parametrize(
    ("read", "white"),
    [
        (lambda: {"Summary": {"BitDepth": 12}}, 4095),
        (lambda: {"Summary": {"BitDepth": "12"}}, 4095),
        (lambda: {"Summary": None}, 65535),
        (lambda: None, 65535),
        (damaged, 65535),
    ],
)
def test_bits_that_micro_manager_states(tmp_path, monkeypatch, read, white):
    tifffile.imwrite(tmp_path / "a.tif", TWELVE[0])
    monkeypatch.setattr(tifffile.TiffFile, "is_micromanager", True, raising=False)
    monkeypatch.setattr(tifffile.TiffFile, "micromanager_metadata", property(lambda file: read()))
    np.testing.assert_array_equal(read_image(tmp_path / "a.tif"), TWELVE[0].astype(np.float32) / np.float32(white))


def test_stated_bits_of_a_tiff_that_pillow_decodes(tmp_path):
    write_tiff(tmp_path / "a.tif", TWELVE[0], 16, BLACK_IS_ZERO, LZW, [(MAX_SAMPLE_VALUE, 3, 4095)])
    np.testing.assert_allclose(read_image(tmp_path / "a.tif"), TWELVE[0] / 4095, atol=1e-6)


UNUSABLE = {
    "nothing": {"photometric": "minisblack"},
    "the largest value of the image": tag(MAX_SAMPLE_VALUE, 3000),
    "the largest value of the dtype": tag(MAX_SAMPLE_VALUE, 65535),
    "fewer bits than are used": ome(8),
    "no number": ome("many"),
    "the display range of ImageJ": {"imagej": True, "metadata": {"axes": "ZYX", "min": 0.0, "max": 4095.0}},
    "the description of another program": {
        "photometric": "minisblack", "description": json.dumps({"BitDepth": 12}), "metadata": None
    },
}  # fmt: skip


@pytest.mark.parametrize("name", UNUSABLE)
def test_other_statements_change_nothing(tmp_path, name):
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, TWELVE, **UNUSABLE[name])
    expected = TWELVE.astype(np.float32) / np.float32(65535)
    np.testing.assert_array_equal(read_stack(path), expected)
    np.testing.assert_array_equal(open_stack(path)[:], expected)


def test_one_page_beyond_the_stated_bits_leaves_all_pages_alike(tmp_path):
    bright = TWELVE.copy()
    bright[2, 3, 4] = 5000
    tifffile.imwrite(tmp_path / "a.tif", bright, **ome(12))
    np.testing.assert_array_equal(read_stack(tmp_path / "a.tif"), bright.astype(np.float32) / np.float32(65535))
    np.testing.assert_array_equal(open_stack(tmp_path / "a.tif")[:], read_stack(tmp_path / "a.tif"))
