"""Written pages read back as they were, with the axes and the scale of the file they come from."""

import numpy as np
import pytest
import tifffile
from PIL import Image

from invariance.images import Layout, open_stack, page_writer, read_image, read_mask, read_mask_stack

RNG = np.random.default_rng(0)
PAGE = RNG.integers(0, 256, (7, 9), dtype=np.uint8)


def write_pages(path, pages, layout=None):
    with page_writer(path, layout) as write:
        for page in pages:
            write(page)


def source(path, shape, **options):
    tifffile.imwrite(path, RNG.integers(0, 256, shape, dtype=np.uint8), photometric="minisblack", **options)
    return open_stack(path)


IMAGEJ = {
    "imagej": True,
    "resolution": (4.0, 5.0),
    "metadata": {"axes": "TZYX", "unit": "um", "spacing": 0.3, "finterval": 2.5},
}
OME = {
    "ome": True,
    "metadata": {"axes": "ZTYX", "PhysicalSizeX": 0.25, "PhysicalSizeXUnit": "µm", "PhysicalSizeZ": 0.7},
}
PLAIN = {"metadata": {"axes": "QZYX"}, "resolution": (300, 150), "resolutionunit": "CENTIMETER"}
KINDS = {"imagej": IMAGEJ, "ome": OME, "plain": PLAIN}


@pytest.mark.parametrize("kind", KINDS)
def test_labels_keep_axes_and_scale(kind, tmp_path):
    stack = source(tmp_path / "in.tif", (2, 3, 7, 9), **KINDS[kind])
    labels = RNG.integers(0, 3, (6, 7, 9), dtype=np.uint8)
    write_pages(tmp_path / "out.tif", labels, stack.layout)
    np.testing.assert_array_equal(read_mask_stack(tmp_path / "out.tif"), labels)
    assert stack.layout.kind == kind
    assert open_stack(tmp_path / "out.tif").layout == stack.layout
    with tifffile.TiffFile(tmp_path / "in.tif") as old, tifffile.TiffFile(tmp_path / "out.tif") as new:
        assert new.series[0].axes == old.series[0].axes
        assert new.series[0].shape == old.series[0].shape
        assert len(new.pages) == 6
        assert new.pages[0].resolution == old.pages[0].resolution
        assert new.pages[0].resolutionunit == old.pages[0].resolutionunit


@pytest.mark.parametrize("kind", ["imagej", "ome"])
def test_probabilities_gain_an_axis_of_channels(kind, tmp_path):
    stack = source(tmp_path / "in.tif", (2, 3, 7, 9), **KINDS[kind])
    probabilities = RNG.random((6, 7, 9, 4), dtype=np.float32)
    write_pages(tmp_path / "out.tif", probabilities, stack.layout)
    again = open_stack(tmp_path / "out.tif")
    np.testing.assert_array_equal(again[:], probabilities)
    assert again.layout == stack.layout
    with tifffile.TiffFile(tmp_path / "out.tif") as file:
        assert file.series[0].axes == stack.layout.axes + "CYX"


@pytest.mark.parametrize("kind", ["imagej", "ome"])
def test_colour_pages_are_rgb(kind, tmp_path):
    stack = source(tmp_path / "in.tif", (2, 3, 7, 9), **KINDS[kind])
    colours = RNG.integers(0, 256, (6, 7, 9, 3), dtype=np.uint8)
    write_pages(tmp_path / "out.tif", colours, stack.layout)
    np.testing.assert_array_equal(tifffile.imread(tmp_path / "out.tif"), colours.reshape(2, 3, 7, 9, 3))
    with tifffile.TiffFile(tmp_path / "out.tif") as file:
        assert file.series[0].axes == stack.layout.axes + "YXS"
        assert file.pages[0].photometric.name == "RGB"


def test_physical_sizes_are_those_of_the_source(tmp_path):
    write_pages(tmp_path / "ij.tif", [PAGE] * 6, source(tmp_path / "a.tif", (2, 3, 7, 9), **IMAGEJ).layout)
    with tifffile.TiffFile(tmp_path / "ij.tif") as file:
        metadata = file.imagej_metadata
    assert (metadata["unit"], metadata["spacing"], metadata["finterval"]) == ("um", 0.3, 2.5)
    assert (metadata["frames"], metadata["slices"]) == (2, 3)
    write_pages(tmp_path / "ome.tif", [PAGE] * 6, source(tmp_path / "b.tif", (2, 3, 7, 9), **OME).layout)
    with tifffile.TiffFile(tmp_path / "ome.tif") as file:
        assert 'PhysicalSizeX="0.25" PhysicalSizeXUnit="µm"' in file.ome_metadata
        assert 'PhysicalSizeZ="0.7"' in file.ome_metadata


def test_resolution_of_a_file_lying_on_its_side_is_turned_with_it(tmp_path):
    options = {"resolution": (300, 150), "resolutionunit": "INCH", "extratags": [(274, 3, 1, 6, False)]}
    assert source(tmp_path / "a.tif", (7, 9), **options).layout.resolution == ((150, 1), (300, 1))


@pytest.mark.parametrize("resolution", [None, (0, 0)])
def test_a_resolution_that_means_nothing_is_left_out(resolution, tmp_path):
    Image.fromarray(PAGE).save(tmp_path / "a.tif", tiffinfo={} if resolution is None else {282: 0.0, 283: 0.0})
    layout = open_stack(tmp_path / "a.tif").layout
    assert layout.resolution is None
    write_pages(tmp_path / "out.tif", [PAGE], layout)
    np.testing.assert_array_equal(read_mask(tmp_path / "out.tif"), PAGE)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int16, np.int32, np.int64, np.uint32])
@pytest.mark.parametrize("kind", KINDS)
def test_labels_of_any_integers_are_exact(dtype, kind, tmp_path):
    labels = RNG.integers(0, np.iinfo(dtype).max, (6, 7, 9), dtype=dtype)
    write_pages(tmp_path / "a.tif", labels, Layout("TZ", (2, 3), kind))
    again = read_mask_stack(tmp_path / "a.tif")
    assert again.dtype == dtype
    np.testing.assert_array_equal(again, labels)


def test_channels_that_count_as_pages_do_not_clash_with_those_written(tmp_path):
    """An ImageJ file of colour images in channels has axes CYXS: the samples are the channels, C counts pages."""
    probabilities = RNG.random((2, 7, 9, 3), dtype=np.float32)
    write_pages(tmp_path / "a.tif", probabilities, Layout("C", (2,), "imagej"))
    np.testing.assert_array_equal(tifffile.imread(tmp_path / "a.tif"), np.moveaxis(probabilities, 3, 1))


@pytest.mark.parametrize("suffix", ["tif", "png"])
def test_pages_of_odd_memory_are_written_by_value(suffix, tmp_path):
    for page in (PAGE > 99, PAGE[::-2, ::3], PAGE.astype(">u2").T):
        write_pages(tmp_path / f"a.{suffix}", [page])
        np.testing.assert_array_equal(read_mask(tmp_path / f"a.{suffix}"), page)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_png_is_exact(dtype, tmp_path):
    labels = RNG.integers(0, np.iinfo(dtype).max, (7, 9), dtype=dtype)
    write_pages(tmp_path / "a.png", [labels])
    assert read_mask(tmp_path / "a.png").dtype == dtype
    np.testing.assert_array_equal(read_mask(tmp_path / "a.png"), labels)


def test_png_in_colour(tmp_path):
    colours = RNG.integers(0, 256, (7, 9, 3), dtype=np.uint8)
    write_pages(tmp_path / "a.png", [colours])
    np.testing.assert_array_equal(np.rint(read_image(tmp_path / "a.png") * 255), colours)


MISTAKES = {
    "too few pages": ("a.tif", [PAGE, PAGE], Layout("Z", (3,)), "has 3 pages; got 2"),
    "no page": ("a.tif", [], Layout("Z", (3,)), "has 3 pages; got 0"),
    "too many pages": ("a.tif", [PAGE, PAGE], Layout(), "has 1 pages; got one more"),
    "other shape": ("a.tif", [PAGE, PAGE.T], Layout("Z", (2,)), "page 1 is"),
    "other dtype": ("a.tif", [PAGE, PAGE.astype(np.uint16)], Layout("Z", (2,)), "page 1 is"),
    "stack in a PNG": ("a.png", [PAGE, PAGE], Layout("Z", (2,)), "PNG holds one page"),
    "float in a PNG": ("a.png", [PAGE / 255], Layout(), "PNG holds uint8 or uint16; got float64"),
    "unknown kind": ("a.jpg", [PAGE], Layout(), "must end in .png or .tif"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_leaves_the_old_file_whole(name, tmp_path):
    file, pages, layout, words = MISTAKES[name]
    (tmp_path / file).write_bytes(b"old")
    with pytest.raises(ValueError, match=words):
        write_pages(tmp_path / file, pages, layout)
    assert (tmp_path / file).read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == [file]


def interrupted():
    yield PAGE
    raise KeyboardInterrupt


def test_interruption_leaves_no_half_file(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        write_pages(tmp_path / "a.tif", interrupted(), Layout("Z", (3,)))
    assert list(tmp_path.iterdir()) == []
