"""Masks are the integers that the file stores, whatever its compression and its idea of white; others are refused."""

import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from invariance.images import open_stack, read_image, read_mask, read_mask_stack

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
