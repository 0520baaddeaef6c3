"""Transparent images are laid over white by every reader; masks never are."""

import cv2
import numpy as np
import pytest
import tifffile
from PIL import Image

from invariance.images import ImageError, check_image, open_stack, read_image, read_mask, read_stack, to_grey

from .written_tiffs import LZW, PLAIN, RGB, write_tiff

RNG = np.random.default_rng(0)
RGBA8 = RNG.integers(0, 256, (5, 6, 4), dtype=np.uint8)
RGBA16 = RNG.integers(0, 65536, (5, 6, 4), dtype=np.uint16)


def over_white(stored, white):
    values = stored.astype(np.float64) / white
    colours, alpha = values[..., :-1], values[..., -1:]
    composite = colours * alpha + 1 - alpha
    return composite[..., 0] if composite.shape[-1] == 1 else composite


def assert_read(path, expected):
    """All readers agree."""
    np.testing.assert_allclose(read_image(path), expected, atol=1e-6)
    np.testing.assert_array_equal(read_stack(path)[0], read_image(path))
    stack = open_stack(path)
    assert stack.shape == (1, *expected.shape)
    np.testing.assert_array_equal(stack[0], read_image(path))


@pytest.mark.parametrize("mode", ["LA", "RGBA"])
@pytest.mark.parametrize("suffix", ["png", "tif", "lzw.tif", "webp"])
def test_8_bits(tmp_path, mode, suffix):
    if (mode, suffix) == ("LA", "webp"):
        pytest.skip("WebP has no grey")
    stored = np.ascontiguousarray(RGBA8[..., -len(mode) :])
    options = {"webp": {"lossless": True, "exact": True}, "lzw.tif": {"compression": "tiff_lzw"}}.get(suffix, {})
    Image.frombytes(mode, (6, 5), stored.tobytes()).save(tmp_path / f"a.{suffix}", **options)
    assert_read(tmp_path / f"a.{suffix}", over_white(stored, 255))
    np.testing.assert_array_equal(np.rint(255 * read_image(tmp_path / f"a.{suffix}", alpha="keep")), stored)


@pytest.mark.parametrize("suffix", ["png", "tif", "lzw.tif"])
def test_16_bits(tmp_path, suffix):
    path = tmp_path / f"a.{suffix}"
    if suffix == "tif":
        tifffile.imwrite(path, RGBA16, photometric="rgb", extrasamples=["unassalpha"])
    else:
        assert cv2.imwrite(str(path), RGBA16[..., [2, 1, 0, 3]])
    assert_read(path, over_white(RGBA16, 65535))
    np.testing.assert_array_equal(np.rint(65535.0 * read_image(path, alpha="keep")), RGBA16)


def test_premultiplied_colours_are_not_multiplied_again(tmp_path):
    straight = RGBA16.astype(np.float64) / 65535
    stored = np.rint(65535 * np.dstack([straight[..., :3] * straight[..., 3:], straight[..., 3]])).astype(np.uint16)
    tifffile.imwrite(tmp_path / "a.tif", stored, photometric="rgb", extrasamples=["assocalpha"])
    np.testing.assert_allclose(read_image(tmp_path / "a.tif"), over_white(RGBA16, 65535), atol=1e-4)


def test_float_tiff(tmp_path):
    stored = RNG.random((5, 6, 4), dtype=np.float32)
    tifffile.imwrite(tmp_path / "a.tif", stored, photometric="rgb", extrasamples=["unassalpha"])
    assert_read(tmp_path / "a.tif", over_white(stored, 1))


def test_opacity_that_opencv_writes_without_saying_so(tmp_path):
    assert cv2.imwrite(str(tmp_path / "a.tif"), RGBA8[..., [2, 1, 0, 3]])
    assert_read(tmp_path / "a.tif", over_white(RGBA8, 255))


def test_float_opacity_beyond_its_range(tmp_path):
    stored = RNG.random((5, 6, 4))
    stored[0, 0, 3] = 1e300
    tifffile.imwrite(tmp_path / "a.tif", stored, photometric="rgb", extrasamples=["unassalpha"])
    np.testing.assert_allclose(read_image(tmp_path / "a.tif")[0, 0], stored[0, 0, :3], atol=1e-6)
    stored[0, 0, 3] = np.nan
    tifffile.imwrite(tmp_path / "a.tif", stored, photometric="rgb", extrasamples=["unassalpha"])
    for read in (read_image, open_stack):
        with pytest.raises(ImageError, match="at 1 of 120 values"):
            read(tmp_path / "a.tif")


@pytest.mark.parametrize("compression", [PLAIN, LZW], ids=["plain", "lzw"])
def test_a_fourth_channel_that_is_not_opacity_stays(tmp_path, compression):
    write_tiff(tmp_path / "a.tif", RGBA8.reshape(5, 24), 8, RGB, compression, [(338, 3, 0)], [8] * 4, 4)
    np.testing.assert_array_equal(np.rint(255 * read_image(tmp_path / "a.tif")), RGBA8)


def test_opaque_images_keep_their_values_exactly(tmp_path):
    opaque = RGBA8.copy()
    opaque[..., 3] = 255
    Image.fromarray(opaque).save(tmp_path / "a.png")
    Image.fromarray(opaque[..., :3]).save(tmp_path / "b.png")
    np.testing.assert_array_equal(read_image(tmp_path / "a.png"), read_image(tmp_path / "b.png"))


def test_icons_drawn_in_alpha_over_black_differ(tmp_path):
    for name, corner in (("a", 0), ("b", 3)):
        icon = np.zeros((6, 6, 4), np.uint8)
        icon[corner : corner + 3, :, 3] = 255
        Image.fromarray(icon).save(tmp_path / f"{name}.png")
    a, b = (to_grey(read_image(tmp_path / f"{name}.png")) for name in "ab")
    np.testing.assert_allclose(a, 1 - b, atol=1e-6)
    assert set(np.unique(a.round(3))) == {0, 1}


@pytest.mark.parametrize("suffix", ["png", "gif"])
def test_palette_with_a_transparent_colour(tmp_path, suffix):
    image = Image.fromarray(np.array([[0, 1]], dtype=np.uint8))
    image.putpalette([255, 0, 0, 0, 0, 255])
    image.save(tmp_path / f"a.{suffix}", transparency=1)
    assert_read(tmp_path / f"a.{suffix}", np.array([[[1.0, 0, 0], [1, 1, 1]]]))


def test_palette_of_greys_with_a_transparent_one_stays_grey(tmp_path):
    image = Image.fromarray(np.array([[0, 1]], dtype=np.uint8))
    image.putpalette([51, 51, 51, 0, 0, 0])
    image.save(tmp_path / "a.png", transparency=1)
    assert_read(tmp_path / "a.png", np.array([[0.2, 1]]))


@pytest.mark.parametrize(
    ("pixels", "key", "expected"),
    [
        (np.array([[0, 51, 255]], np.uint8), 51, [[0, 1, 1]]),
        (np.array([[0, 13107, 65535]], np.uint16), 13107, [[0, 1, 1]]),
        (np.array([[True, False]]), 0, [[1, 1]]),
        (np.array([[[0, 51, 0], [0, 51, 255]]], np.uint8), (0, 51, 0), [[[1, 1, 1], [0, 0.2, 1]]]),
    ],
    ids=["grey", "16 bits", "1 bit", "colour"],
)
def test_png_with_one_transparent_value(tmp_path, pixels, key, expected):
    Image.fromarray(pixels).save(tmp_path / "a.png", transparency=key)
    assert_read(tmp_path / "a.png", np.array(expected, float))


def test_masks_are_never_laid_over_a_background(tmp_path):
    labels = np.array([[0, 1, 2, 3]], np.uint8)
    mask = np.dstack([labels, labels, labels, labels * 60])
    Image.fromarray(mask).save(tmp_path / "a.png")
    np.testing.assert_array_equal(read_mask(tmp_path / "a.png"), labels)
    Image.fromarray(labels).save(tmp_path / "b.png", transparency=1)
    np.testing.assert_array_equal(read_mask(tmp_path / "b.png"), labels)


def test_arrays_are_laid_over_white_as_files_are():
    image = RGBA8.astype(np.float32) / 255
    np.testing.assert_allclose(check_image(image), over_white(RGBA8, 255), atol=1e-6)
    np.testing.assert_allclose(to_grey(image), over_white(RGBA8, 255) @ np.array([0.299, 0.587, 0.114]), atol=1e-6)
    np.testing.assert_allclose(to_grey(image[..., 2:]), over_white(RGBA8[..., 2:], 255), atol=1e-6)
