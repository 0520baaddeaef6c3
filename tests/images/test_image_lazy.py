"""A lazily read stack is read_stack, page for page, whatever the file holds, and reads no more than it must."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import tifffile
from PIL import Image

from invariance.images import ImageError, open_stack, read_stack

RNG = np.random.default_rng(0)


def integers(*shape, dtype=np.uint8):
    return RNG.integers(0, np.iinfo(dtype).max, shape, dtype=dtype)


def palette():
    return np.repeat(np.arange(256, dtype=np.uint16)[::-1] * 257, 3).reshape(256, 3).T * np.uint16([[1], [0], [1]])


# name -> (array, how tifffile writes it)
FILES = {
    "grey": (integers(4, 7, 9), {"photometric": "minisblack"}),
    "one page": (integers(7, 9), {}),
    "one row": (integers(3, 1, 9), {"photometric": "minisblack"}),
    "16 bits, big-endian": (integers(4, 7, 9, dtype=np.uint16), {"photometric": "minisblack", "byteorder": ">"}),
    "compressed": (integers(4, 7, 9), {"photometric": "minisblack", "compression": "zlib"}),
    "compressed, big-endian": (
        integers(4, 7, 9, dtype=np.uint16),
        {"photometric": "minisblack", "compression": "zlib", "byteorder": ">"},
    ),
    "tiles": (integers(3, 40, 50), {"photometric": "minisblack", "tile": (16, 16), "compression": "zlib"}),
    "1 bit": (integers(4, 7, 9) > 99, {"photometric": "minisblack"}),
    "inverted": (integers(4, 7, 9), {"photometric": "miniswhite"}),
    "palette": (integers(4, 7, 9), {"photometric": "palette", "colormap": palette()}),
    "rgb": (integers(4, 7, 9, 3), {"photometric": "rgb"}),
    "planar rgb": (integers(4, 3, 7, 9), {"photometric": "rgb", "planarconfig": "separate", "compression": "zlib"}),
    "lying on its side": (integers(4, 7, 9), {"photometric": "minisblack", "extratags": [(274, 3, 1, 6, False)]}),
    "float in [0, 1]": (RNG.random((4, 7, 9), dtype=np.float32), {"photometric": "minisblack"}),
    "float beyond": (RNG.normal(size=(4, 7, 9)), {"photometric": "minisblack", "compression": "zlib"}),
    "signed": (integers(4, 7, 9, dtype=np.int16) - 9, {"photometric": "minisblack"}),
    "32 bits": (integers(4, 7, 9, dtype=np.uint32), {"photometric": "minisblack"}),
    "constant float": (np.full((3, 4, 5), 7.0), {"photometric": "minisblack"}),
    "first page only described": (integers(4, 7, 9), {"photometric": "minisblack", "truncate": True}),
    "ImageJ hyperstack": (integers(2, 3, 4, 7, 9), {"imagej": True, "metadata": {"axes": "TZCYX"}}),
    "ImageJ, compressed": (
        integers(2, 3, 4, 7, 9),
        {"imagej": True, "compression": "zlib", "metadata": {"axes": "TZCYX"}},
    ),
    "OME, channels first": (
        integers(2, 3, 7, 9),
        {"ome": True, "compression": "zlib", "photometric": "minisblack", "metadata": {"axes": "CZYX"}},
    ),
    "OME colour": (integers(3, 7, 9, 3), {"ome": True, "photometric": "rgb", "metadata": {"axes": "ZYXS"}}),
    "volume in one frame": (
        integers(3, 16, 32),
        {"photometric": "minisblack", "volumetric": True, "tile": (1, 16, 16), "compression": "zlib"},
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_every_page_is_that_of_read_stack_and_the_file_is_never_read_whole(name, tmp_path, monkeypatch):
    values, options = FILES[name]
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, values, **options)
    whole = read_stack(path)
    monkeypatch.setattr(tifffile.TiffPageSeries, "asarray", None)  # what reads a whole file
    stack = open_stack(path)
    assert stack.shape == whole.shape
    assert (stack.ndim, len(stack), stack.dtype) == (whole.ndim, len(whole), np.float32)
    assert stack.layout.n_pages == len(whole)
    for page, expected in zip(stack, whole, strict=True):
        assert page.dtype == np.float32
        np.testing.assert_array_equal(page, expected)
    np.testing.assert_array_equal(stack[-1], whole[-1])
    np.testing.assert_array_equal(stack[1:], whole[1:])


@pytest.mark.parametrize("name", ["grey", "tiles"])
def test_a_page_costs_no_more_memory_than_itself(name, tmp_path, monkeypatch):
    """Only the frame asked for is decoded, and no value of another page is touched."""
    values, options = FILES[name]
    tifffile.imwrite(tmp_path / "a.tif", values, **options)
    decoded = []
    decode = tifffile.TiffPage.asarray
    monkeypatch.setattr(tifffile.TiffPage, "asarray", lambda page: decoded.append(page.index) or decode(page))
    monkeypatch.setattr(tifffile.TiffFrame, "asarray", lambda page: decoded.append(page.index) or decode(page))
    stack = open_stack(tmp_path / "a.tif")
    decoded.clear()
    page = stack[2]
    assert decoded in ([], [2])  # values stored as in memory are copied, not decoded
    assert page.base is None or page.base.nbytes <= page.nbytes


@pytest.mark.parametrize("suffix", ["png", "jpg", "bmp", "webp", "gif"])
def test_other_formats_give_a_stack_of_one(suffix, tmp_path):
    path = tmp_path / f"a.{suffix}"
    Image.fromarray(integers(7, 9, 3)).save(path)
    stack = open_stack(path)
    np.testing.assert_array_equal(stack[0], read_stack(path)[0])
    assert (len(stack), stack.layout.axes) == (1, "")


def test_an_animation_is_a_stack(tmp_path):
    frames = [Image.fromarray(integers(7, 9)) for _ in range(3)]
    frames[0].save(tmp_path / "a.gif", save_all=True, append_images=frames[1:])
    stack = open_stack(tmp_path / "a.gif")
    np.testing.assert_array_equal(stack[:], read_stack(tmp_path / "a.gif"))
    assert stack.layout.lengths == (3,)


def test_encodings_of_other_decoders_are_read_too(tmp_path):
    images = [Image.fromarray(integers(7, 9)) for _ in range(3)]
    images[0].save(tmp_path / "a.tif", save_all=True, append_images=images[1:], compression="tiff_lzw", dpi=(300, 300))
    stack = open_stack(tmp_path / "a.tif")
    np.testing.assert_array_equal(stack[:], read_stack(tmp_path / "a.tif"))
    assert stack.layout.lengths == (3,)
    assert stack.layout.resolution == ((300, 1), (300, 1))


def test_a_stack_can_be_sent_to_another_process_and_read_by_threads(tmp_path):
    values = integers(20, 30, 40)
    tifffile.imwrite(tmp_path / "a.tif", values, photometric="minisblack", compression="zlib")
    stack = pickle.loads(pickle.dumps(open_stack(tmp_path / "a.tif")))
    with ThreadPoolExecutor(4) as pool:
        pages = list(pool.map(stack.__getitem__, range(20)))
    np.testing.assert_array_equal(pages, read_stack(tmp_path / "a.tif"))


def test_a_page_that_is_not_there(tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", integers(3, 7, 9), photometric="minisblack")
    with pytest.raises(IndexError, match="has 3 pages; there is no page 3"):
        open_stack(tmp_path / "a.tif")[3]


def test_bad_files_are_named(tmp_path):
    with pytest.raises(ImageError, match="none.tif' does not exist"):
        open_stack(tmp_path / "none.tif")
    (tmp_path / "text.tif").write_text("no image")
    with pytest.raises(ImageError, match="text.tif' is not a PNG"):
        open_stack(tmp_path / "text.tif")
    values = np.zeros((3, 5, 5), np.float32)
    values[2, 1, 1] = np.nan
    tifffile.imwrite(tmp_path / "nan.tif", values, photometric="minisblack")
    with pytest.raises(ImageError, match="nan.tif' holds NaN or infinity at 1 of 75 values"):
        open_stack(tmp_path / "nan.tif")
    tifffile.imwrite(tmp_path / "cut.tif", integers(3, 50, 50), photometric="minisblack", compression="zlib")
    content = (tmp_path / "cut.tif").read_bytes()
    (tmp_path / "cut.tif").write_bytes(content[: len(content) // 2])
    with pytest.raises(ImageError, match="cut.tif' is truncated"):
        open_stack(tmp_path / "cut.tif")


def test_damage_within_a_page_is_named_when_it_is_read(tmp_path):
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, integers(3, 50, 50), photometric="minisblack", compression="zlib")
    with tifffile.TiffFile(path) as file:
        offset = file.pages[1].dataoffsets[0]
    content = bytearray(path.read_bytes())
    content[offset : offset + 40] = bytes(40)
    path.write_bytes(content)
    stack = open_stack(path)
    assert stack[0].shape == (50, 50)
    with pytest.raises(ImageError, match="a.tif' is truncated, damaged"):
        stack[1]
