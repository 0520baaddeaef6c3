"""Every format and depth that read_image, read_stack and read_mask promise, value for value."""

import cv2
import numpy as np
import pytest
import tifffile
from PIL import Image, ImageOps

from invariance.images import image_paths, read_image, read_mask, read_mask_stack, read_stack

RNG = np.random.default_rng(0)
GREY8 = RNG.integers(0, 256, (12, 17), dtype=np.uint8)
RGB8 = RNG.integers(0, 256, (12, 17, 3), dtype=np.uint8)
GREY16 = RNG.integers(0, 65536, (12, 17), dtype=np.uint16)
RGB16 = RNG.integers(0, 65536, (12, 17, 3), dtype=np.uint16)


def assert_read(path, stored, white):
    """The file's values / white, within [0, 1], and exactly recoverable."""
    image = read_image(path)
    assert image.dtype == np.float32
    assert image.shape == stored.shape
    assert 0 <= image.min() <= image.max() <= 1
    np.testing.assert_array_equal(np.rint(image.astype(np.float64) * white), stored)


@pytest.mark.parametrize("suffix", ["png", "tif", "bmp", "gif"])
def test_grey_8_bit_stays_grey(tmp_path, suffix):
    path = tmp_path / f"grey.{suffix}"
    Image.fromarray(GREY8).save(path)
    assert_read(path, GREY8, 255)


@pytest.mark.parametrize("suffix", ["png", "tif", "bmp", "webp"])
def test_rgb_8_bit(tmp_path, suffix):
    path = tmp_path / f"colour.{suffix}"
    Image.fromarray(RGB8).save(path, **({"lossless": True} if suffix == "webp" else {}))
    assert_read(path, RGB8, 255)


def test_jpeg_reads_what_pillow_decodes(tmp_path):
    Image.fromarray(RGB8).save(tmp_path / "a.jpg")
    assert_read(tmp_path / "a.jpg", np.asarray(Image.open(tmp_path / "a.jpg")), 255)


@pytest.mark.parametrize("stored", [GREY16, RGB16], ids=["grey", "rgb"])
@pytest.mark.parametrize("suffix", ["png", "tif"])
def test_16_bit_keeps_all_bits(tmp_path, stored, suffix):
    path = tmp_path / f"deep.{suffix}"
    if suffix == "png":
        assert cv2.imwrite(str(path), stored[..., ::-1] if stored.ndim == 3 else stored)
    else:
        tifffile.imwrite(path, stored)
    assert_read(path, stored, 65535)


@pytest.mark.parametrize("compression", [None, "zlib"])
@pytest.mark.parametrize("byteorder", ["<", ">"])
@pytest.mark.parametrize("stored", [GREY8, RGB8, GREY16, RGB16], ids=["g8", "rgb8", "g16", "rgb16"])
def test_tiff_encodings_of_tifffile(tmp_path, stored, byteorder, compression):
    tifffile.imwrite(tmp_path / "a.tif", stored, byteorder=byteorder, compression=compression, bigtiff=True)
    assert_read(tmp_path / "a.tif", stored, np.iinfo(stored.dtype).max)


@pytest.mark.parametrize("stored", [GREY8, RGB8, GREY16, RGB16], ids=["g8", "rgb8", "g16", "rgb16"])
def test_lzw_tiff_needs_no_further_package(tmp_path, stored):
    bgr = stored[..., ::-1] if stored.ndim == 3 else stored
    assert cv2.imwrite(str(tmp_path / "a.tif"), bgr, [cv2.IMWRITE_TIFF_COMPRESSION, cv2.IMWRITE_TIFF_COMPRESSION_LZW])
    assert_read(tmp_path / "a.tif", stored, np.iinfo(stored.dtype).max)


def test_planar_tiff_puts_channels_last(tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", np.moveaxis(RGB8, -1, 0), planarconfig="separate", photometric="rgb")
    assert_read(tmp_path / "a.tif", RGB8, 255)


@pytest.mark.parametrize("shape", [(1, 9), (9, 1), (1, 1)])
def test_thin_tiff(tmp_path, shape):
    stored = RNG.integers(0, 256, shape, dtype=np.uint8)
    tifffile.imwrite(tmp_path / "a.tif", stored)
    assert_read(tmp_path / "a.tif", stored, 255)


@pytest.mark.parametrize("suffix", ["png", "tif", "bmp"])
def test_1_bit_becomes_grey_zero_and_one(tmp_path, suffix):
    Image.fromarray(GREY8 > 100).save(tmp_path / f"a.{suffix}")
    np.testing.assert_array_equal(read_image(tmp_path / f"a.{suffix}"), (GREY8 > 100).astype(np.float32))


def test_inverted_tiff_greys_are_turned_round(tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", GREY8, photometric="miniswhite")
    assert_read(tmp_path / "a.tif", 255 - GREY8, 255)
    np.testing.assert_array_equal(read_mask(tmp_path / "a.tif"), GREY8)


@pytest.mark.parametrize("suffix", ["png", "tif", "gif", "bmp"])
def test_palette_becomes_rgb_and_its_mask_the_indices(tmp_path, suffix):
    indices = RNG.integers(0, 3, (5, 6), dtype=np.uint8)
    colours = np.array([[255, 0, 10], [0, 128, 20], [7, 8, 9]], dtype=np.uint8)
    image = Image.fromarray(indices)
    image.putpalette(colours.tobytes())
    image.save(tmp_path / f"a.{suffix}", **({"optimize": False} if suffix == "gif" else {}))
    assert_read(tmp_path / f"a.{suffix}", colours[indices], 255)
    if suffix != "gif":  # GIF writers renumber the palette
        np.testing.assert_array_equal(read_mask(tmp_path / f"a.{suffix}"), indices)


@pytest.mark.parametrize("suffix", ["png", "tif", "gif", "bmp"])
def test_palette_of_greys_becomes_grey(tmp_path, suffix):
    image = Image.fromarray(np.array([[0, 1, 2]], dtype=np.uint8))
    image.putpalette([200, 200, 200, 3, 3, 3, 90, 90, 90])
    image.save(tmp_path / f"a.{suffix}")
    assert_read(tmp_path / f"a.{suffix}", np.array([[200, 3, 90]]), 255)


def test_cmyk_becomes_rgb(tmp_path):
    Image.fromarray(RGB8).convert("CMYK").save(tmp_path / "a.tif")
    assert read_image(tmp_path / "a.tif").shape == RGB8.shape


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_float_tiff_within_unit_range_is_kept(tmp_path, dtype):
    stored = np.array([[0.25, 0.5], [0.125, 0.75]], dtype=dtype)
    tifffile.imwrite(tmp_path / "a.tif", stored)
    np.testing.assert_array_equal(read_image(tmp_path / "a.tif"), stored)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.int32])
def test_values_without_agreed_white_are_mapped_from_least_to_greatest(tmp_path, dtype):
    tifffile.imwrite(tmp_path / "a.tif", np.array([[-100, 0], [100, 300]], dtype=dtype))
    np.testing.assert_allclose(read_image(tmp_path / "a.tif"), [[0, 0.25], [0.5, 1]])


def test_32_bit_integers_are_mapped_from_least_to_greatest(tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", np.array([[0, 2**31], [2**30, 2**32 - 1]], dtype=np.uint32))
    np.testing.assert_allclose(read_image(tmp_path / "a.tif"), [[0, 0.5], [0.25, 1]], atol=1e-6)


def test_constant_float_image_is_black(tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", np.full((3, 4), 7.0))
    np.testing.assert_array_equal(read_image(tmp_path / "a.tif"), np.zeros((3, 4)))


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("suffix", ["jpg", "png", "webp"])
def test_exif_orientation_is_obeyed(tmp_path, orientation, suffix):
    exif = Image.Exif()
    exif[274] = orientation
    Image.fromarray(RGB8).save(tmp_path / f"a.{suffix}", exif=exif)
    upright = np.asarray(ImageOps.exif_transpose(Image.open(tmp_path / f"a.{suffix}")))
    assert_read(tmp_path / f"a.{suffix}", upright, 255)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("compression", [None, "tiff_lzw"])
def test_tiff_orientation_is_obeyed_by_every_decoder(tmp_path, orientation, compression):
    Image.fromarray(RGB8).save(tmp_path / "a.tif", tiffinfo={274: orientation}, compression=compression)
    image = Image.open(tmp_path / "a.tif")
    image.load()  # Pillow turns a TIFF upright on loading
    assert_read(tmp_path / "a.tif", np.asarray(ImageOps.exif_transpose(image)), 255)


def test_content_counts_and_not_the_suffix(tmp_path):
    Image.fromarray(RGB8).save(tmp_path / "a.tif", format="PNG")
    assert_read(tmp_path / "a.tif", RGB8, 255)


def test_phone_photograph_with_preview_is_one_image(tmp_path):
    photograph = Image.fromarray(RGB8)
    photograph.save(tmp_path / "a.jpg", format="MPO", save_all=True, append_images=[photograph.rotate(180)])
    with Image.open(tmp_path / "a.jpg") as written:
        assert written.n_frames == 2
    assert read_image(tmp_path / "a.jpg").shape == RGB8.shape


@pytest.mark.parametrize("compression", [None, "tiff_lzw"])
def test_stack_of_tiff_pages(tmp_path, compression):
    pages = [GREY8, GREY8[::-1], 255 - GREY8]
    images = [Image.fromarray(page) for page in pages]
    images[0].save(tmp_path / "a.tif", save_all=True, append_images=images[1:], compression=compression)
    np.testing.assert_array_equal(np.rint(read_stack(tmp_path / "a.tif") * 255), pages)
    np.testing.assert_array_equal(read_mask_stack(tmp_path / "a.tif"), pages)


def test_stack_is_scaled_as_a_whole(tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", np.array([[[0.0, 1.0]], [[2.0, 4.0]]]), photometric="minisblack")
    np.testing.assert_allclose(read_stack(tmp_path / "a.tif"), [[[0, 0.25]], [[0.5, 1]]])


def test_channels_declared_by_a_microscope_come_last(tmp_path):
    stored = RNG.integers(0, 256, (5, 2, 7, 8), dtype=np.uint8)
    tifffile.imwrite(tmp_path / "a.tif", stored, imagej=True, metadata={"axes": "ZCYX"})
    np.testing.assert_array_equal(np.rint(read_stack(tmp_path / "a.tif") * 255), np.moveaxis(stored, 1, -1))


def test_animated_gif_is_a_stack_with_common_channels(tmp_path):
    frames = [Image.fromarray(GREY8), Image.fromarray(RGB8), Image.fromarray(RGB8[::-1])]
    frames[0].save(tmp_path / "a.gif", save_all=True, append_images=frames[1:])
    stack = read_stack(tmp_path / "a.gif")
    assert stack.shape == (3, 12, 17, 3)
    np.testing.assert_allclose(stack[0], np.repeat(GREY8[..., None], 3, axis=-1) / 255, atol=1e-6)


@pytest.mark.parametrize("suffix", ["png", "jpg", "tif", "gif", "bmp", "webp"])
def test_one_page_gives_a_stack_of_one(tmp_path, suffix):
    Image.fromarray(RGB8).save(tmp_path / f"a.{suffix}")
    stack = read_stack(tmp_path / f"a.{suffix}")
    assert stack.shape == (1, 12, 17, 3)
    np.testing.assert_array_equal(stack[0], read_image(tmp_path / f"a.{suffix}"))


@pytest.mark.parametrize("stored", [GREY8, GREY16], ids=["8", "16"])
@pytest.mark.parametrize("suffix", ["png", "tif"])
def test_mask_keeps_values_and_dtype(tmp_path, stored, suffix):
    Image.fromarray(stored).save(tmp_path / f"a.{suffix}")
    mask = read_mask(tmp_path / f"a.{suffix}")
    assert mask.dtype == stored.dtype
    np.testing.assert_array_equal(mask, stored)


def test_mask_saved_as_equal_colours_or_whole_floats_is_exact(tmp_path):
    Image.fromarray(np.dstack([GREY8] * 3)).save(tmp_path / "a.png")
    np.testing.assert_array_equal(read_mask(tmp_path / "a.png"), GREY8)
    tifffile.imwrite(tmp_path / "a.tif", GREY8.astype(np.float32))
    np.testing.assert_array_equal(read_mask(tmp_path / "a.tif"), GREY8)
    assert read_mask(tmp_path / "a.tif").dtype.kind == "i"


def test_1_bit_mask_is_integer(tmp_path):
    Image.fromarray(GREY8 > 100).save(tmp_path / "a.png")
    np.testing.assert_array_equal(read_mask(tmp_path / "a.png"), (GREY8 > 100).astype(int))
    assert read_mask(tmp_path / "a.png").dtype == np.uint8


def test_image_paths_are_sorted_and_only_images(tmp_path):
    for name in ["b.PNG", "a.jpg", "c.tiff", "Thumbs.db", ".DS_Store", ".hidden.png", "notes.txt"]:
        (tmp_path / name).touch()
    for folder in ["sub", ".cache", "folder.png"]:
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "d.gif").touch()
    assert [path.name for path in image_paths(tmp_path)] == ["a.jpg", "b.PNG", "c.tiff"]
    found = [str(path.relative_to(tmp_path)) for path in image_paths(tmp_path, recursive=True)]
    assert found == sorted(["a.jpg", "b.PNG", "c.tiff", "sub/d.gif", "folder.png/d.gif"])
