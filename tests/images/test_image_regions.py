"""Regions of large TIFF pages are those of the whole page, and only strips or tiles that meet them are decoded."""

import lzma
import pickle
import tracemalloc
import zlib

import numpy as np
import pytest
import tifffile

from invariance.images import ImageError, open_stack, read_stack, tiff_pages
from tests.images.test_image_lazy import FILES, integers

GREY = {"photometric": "minisblack"}
MORE = {
    "strips": (integers(3, 50, 40), {**GREY, "rowsperstrip": 7, "compression": "zlib"}),
    "strips, predicted": (
        integers(50, 40, dtype=np.uint16), {**GREY, "rowsperstrip": 7, "compression": "zlib", "predictor": True},
    ),
    "big-endian tiles in BigTIFF": (
        integers(50, 70, dtype=np.uint16), {**GREY, "tile": (16, 32), "bigtiff": True, "byteorder": ">"},
    ),
    "coloured tiles, predicted": (
        integers(50, 70, 3), {"photometric": "rgb", "tile": (32, 16), "compression": "zlib", "predictor": True},
    ),
    "planar tiles": (
        integers(3, 50, 70),
        {"photometric": "rgb", "planarconfig": "separate", "tile": (16, 16), "compression": "zlib"},
    ),
    "inverted tiles": (integers(50, 70), {"photometric": "miniswhite", "tile": (16, 16), "compression": "zlib"}),
    "tiles of 1 bit": (integers(50, 70) > 99, {**GREY, "tile": (16, 16)}),
    "transparent tiles": (
        integers(50, 70, 4), {"photometric": "rgb", "tile": (16, 16), "extrasamples": ["unassalpha"]},
    ),
    "lzma tiles, signed": (integers(50, 70, dtype=np.int16) - 9, {**GREY, "tile": (16, 16), "compression": "lzma"}),
    "12 bits in 16": (
        integers(50, 70, dtype=np.uint16) >> 4,
        {"ome": True, "tile": (16, 16), **GREY, "metadata": {"axes": "YX", "SignificantBits": 12}},
    ),
    "OME channels in tiles": (
        integers(2, 3, 50, 70), {"ome": True, "tile": (16, 16), **GREY, "metadata": {"axes": "CZYX"}},
    ),
}  # fmt: skip
PLACES = [
    (slice(0, 1), slice(0, 1)), (slice(None), slice(None)), (slice(3, 6), slice(2, 9)), (slice(-5, None), slice(1, 9)),
    (slice(20, 900), slice(17, 33)), (slice(1, None, 3), slice(None, None, 2)), (slice(4, 4), slice(0, 3)),
]  # fmt: skip


def open_by_region(path, monkeypatch, **options):
    monkeypatch.setattr(tiff_pages, "MAX_WHOLE_BYTES", 0)
    return open_stack(path, regions=True, **options)


@pytest.mark.parametrize("name", FILES | MORE)
def test_a_region_is_that_of_the_page(name, tmp_path, monkeypatch):
    values, options = (FILES | MORE)[name]
    tifffile.imwrite(tmp_path / "a.tif", values, **options)
    whole = read_stack(tmp_path / "a.tif")
    stack = open_by_region(tmp_path / "a.tif", monkeypatch)
    assert stack.is_by_region or name in ("lying on its side", "volume in one frame")
    assert stack.shape == whole.shape
    for rows, cols in PLACES:
        for number in (0, len(whole) - 1):
            region = stack.region(number, rows, cols)
            assert region.dtype == np.float32
            np.testing.assert_array_equal(region, whole[number][rows, cols])


def test_small_pages_are_read_whole(tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", integers(50, 70), tile=(16, 16))
    assert not open_stack(tmp_path / "a.tif", regions=True).is_by_region


def test_only_tiles_that_meet_the_region_are_decoded(tmp_path, monkeypatch):
    tifffile.imwrite(tmp_path / "a.tif", integers(2, 160, 160), tile=(16, 16), compression="zlib", **GREY)
    stack = pickle.loads(pickle.dumps(open_by_region(tmp_path / "a.tif", monkeypatch)))
    decoded = []
    decompress = zlib.decompress
    monkeypatch.setattr(zlib, "decompress", lambda data: decoded.append(len(data)) or decompress(data))
    stack.region(1, slice(20, 40), slice(30, 35))
    assert len(decoded) == 4  # two rows of tiles, two columns


def test_a_region_of_a_large_page_takes_little_memory(tmp_path):
    """Of 64 MB as stored, tiles of 512 x 512 pixels."""
    tile = zlib.compress(integers(512, 512).tobytes(), 1)
    with tifffile.TiffWriter(tmp_path / "a.tif") as writer:
        writer.write((tile for _ in range(256)), shape=(8192, 8192), dtype=np.uint8, tile=(512, 512), compression=8)
    tracemalloc.start()
    try:
        stack = open_stack(tmp_path / "a.tif", regions=True)
        opened = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        region = stack.region(0, slice(1000, 1512), slice(5000, 5512))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert stack.is_by_region
    assert region.shape == (512, 512)
    assert peak < 8 * 2**20
    assert opened < 160 * 2**20  # a band of 32 MB and what is made of it


def test_a_large_packed_page_is_read_by_region_only(tmp_path, monkeypatch):
    monkeypatch.setattr("PIL.Image.MAX_IMAGE_PIXELS", 100)
    tifffile.imwrite(tmp_path / "a.tif", np.zeros((160, 160), np.uint8), tile=(16, 16), compression="zlib")
    stack = open_by_region(tmp_path / "a.tif", monkeypatch)
    assert not stack.region(0, slice(0, 20), slice(0, 20)).any()
    for read in (lambda: stack[0], lambda: open_stack(tmp_path / "a.tif")):
        with pytest.raises(ImageError, match="bomb"):
            read()


@pytest.mark.parametrize(
    ("code", "pack"), [(8, zlib.compress), (34925, lzma.compress), (32773, lambda data: b"\x81\0" * (len(data) // 128))]
)
def test_a_tile_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch, code, pack):
    tiles = [pack(bytes(256))] * 15 + [pack(bytes(10**6))]
    with tifffile.TiffWriter(tmp_path / "a.tif") as writer:
        writer.write(iter(tiles), shape=(64, 64), dtype=np.uint8, tile=(16, 16), compression=8, **GREY)
    with tifffile.TiffFile(tmp_path / "a.tif", mode="r+") as file:
        file.pages[0].tags["Compression"].overwrite(code)
    stack = open_by_region(tmp_path / "a.tif", monkeypatch)
    assert not stack.region(0, slice(0, 16), slice(0, 16)).any()
    with pytest.raises(ImageError, match="unpacks to more than its size allows"):
        stack.region(0, slice(60, 64), slice(60, 64))


def test_levels_of_a_pyramid(tmp_path, monkeypatch):
    values = integers(3, 64, 80)
    with tifffile.TiffWriter(tmp_path / "a.ome.tif", ome=True) as writer:
        settings = {"tile": (16, 16), "compression": "zlib", **GREY}
        writer.write(values, subifds=2, metadata={"axes": "ZYX"}, **settings)
        writer.write(values[:, ::2, ::2], subfiletype=1, **settings)
        writer.write(values[:, ::4, ::4], subfiletype=1, **settings)
    for regions in (False, True):
        monkeypatch.setattr(tiff_pages, "MAX_WHOLE_BYTES", 0)
        for level, step in enumerate((1, 2, 4)):
            stack = open_stack(tmp_path / "a.ome.tif", level=level, regions=regions)
            expected = (values[2, ::step, ::step] / np.float32(255)).astype(np.float32)
            np.testing.assert_array_equal(stack.region(2, slice(None), slice(None)), expected)
    with pytest.raises(ImageError, match="levels 0 to 2; got 3"):
        open_stack(tmp_path / "a.ome.tif", level=3)
