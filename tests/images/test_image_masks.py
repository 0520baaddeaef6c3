"""Masks are the integers that the file stores, whatever its compression and its idea of white; others are refused."""

import struct
import zlib

import numpy as np
import pytest
import tifffile
from PIL import Image

from invariance.images import ImageError, open_stack, read_image, read_mask, read_mask_stack

from .written_tiffs import BLACK_IS_ZERO, DEFLATE, LZW, PLAIN, WHITE_IS_ZERO, packed, write_tiff

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("compression", [PLAIN, DEFLATE, LZW], ids=["plain", "deflate", "lzw"])
@pytest.mark.parametrize("photometric", [WHITE_IS_ZERO, BLACK_IS_ZERO], ids=["white is zero", "black is zero"])
@pytest.mark.parametrize("bits", [1, 2, 4, 8, 16])
def test_tiff_masks_are_as_stored_and_images_as_meant(tmp_path, bits, photometric, compression):
    path = tmp_path / "a.tif"
    values = RNG.integers(0, 2**bits, (6, 11))
    write_tiff(path, values, bits, photometric, compression)
    np.testing.assert_array_equal(read_mask(path), values)
    np.testing.assert_array_equal(read_mask_stack(path)[0], values)
    white = 2**bits - 1
    meant = (white - values if photometric == WHITE_IS_ZERO else values) / white
    np.testing.assert_allclose(read_image(path), meant, atol=1e-6)
    np.testing.assert_allclose(open_stack(path)[0], meant, atol=1e-6)


@pytest.mark.parametrize("compression", ["group3", "group4", "tiff_lzw", "packbits"])
@pytest.mark.parametrize("photometric", [WHITE_IS_ZERO, BLACK_IS_ZERO])
def test_1_bit_tiff_masks_of_fax_codes(tmp_path, compression, photometric):
    shown = RNG.random((6, 11)) < 0.5
    Image.fromarray(shown).save(tmp_path / "a.tif", compression=compression, tiffinfo={262: photometric})
    np.testing.assert_array_equal(read_image(tmp_path / "a.tif"), shown)
    stored = shown if photometric == BLACK_IS_ZERO else ~shown
    np.testing.assert_array_equal(read_mask(tmp_path / "a.tif"), stored)


@pytest.mark.parametrize("bits", [1, 2, 4, 8])
def test_png_masks_of_few_bits_are_as_stored(tmp_path, bits):
    values = RNG.integers(0, 2**bits, (6, 11))

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 11, 6, bits, 0, 0, 0, 0))
    pixels = chunk(b"IDAT", zlib.compress(b"".join(b"\0" + row for row in packed(values, bits))))
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + header + pixels + chunk(b"IEND", b""))
    np.testing.assert_array_equal(read_mask(tmp_path / "a.png"), values)
    np.testing.assert_allclose(read_image(tmp_path / "a.png"), values / (2**bits - 1), atol=1e-6)


def test_jpeg_masks_are_refused_with_the_number_of_values(tmp_path):
    rows, columns = np.indices((64, 64))
    circle = 255 * ((rows - 32) ** 2 + (columns - 32) ** 2 < 500).astype(np.uint8)
    Image.fromarray(circle).save(tmp_path / "a.jpg")
    n_values = len(np.unique(np.asarray(Image.open(tmp_path / "a.jpg"))))
    assert n_values > 10
    for read in (read_mask, read_mask_stack):
        with pytest.raises(ImageError, match=f"a.jpg' holds {n_values} values, because JPEG .* PNG or TIFF"):
            read(tmp_path / "a.jpg")


def test_jpeg_masks_that_lost_nothing_are_read(tmp_path):
    halves = np.zeros((16, 16), np.uint8)
    halves[8:] = 255
    Image.fromarray(halves).save(tmp_path / "a.jpg", quality=100)
    np.testing.assert_array_equal(read_mask(tmp_path / "a.jpg"), halves)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300])
def test_float_masks_that_are_not_finite_integers(tmp_path, value):
    mask = np.zeros((3, 4))
    mask[1, 2] = value
    tifffile.imwrite(tmp_path / "a.tif", mask)
    with pytest.raises(ImageError, match=r"at 1 of 12 pixels, but a mask holds integers\. Replace them"):
        read_mask(tmp_path / "a.tif")
