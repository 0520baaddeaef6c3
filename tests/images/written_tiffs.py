"""TIFFs written byte by byte, for kinds that no library at hand writes."""

import struct
import zlib

import numpy as np

WHITE_IS_ZERO, BLACK_IS_ZERO, RGB = range(3)
PLAIN, LZW, DEFLATE = 1, 5, 8


def packed(values, bits):
    """Rows of values as a TIFF or PNG stores them."""
    if bits == 16:
        return [row.astype("<u2").tobytes() for row in values]
    digits = np.unpackbits(values.astype(np.uint8)[..., None], axis=2)[..., -bits:]
    return [np.packbits(row.ravel()).tobytes() for row in digits]


def lzw(data):
    """The simplest valid LZW: every byte is a code of 9 bits, and the table is cleared before codes grow longer."""
    parts = [data[start : start + 200] for start in range(0, len(data), 200)]
    codes = [code for part in parts for code in (256, *part)]
    bits = "".join(format(code, "09b") for code in [*codes, 257])
    bits += "0" * (-len(bits) % 8)
    return int(bits, 2).to_bytes(len(bits) // 8, "big")


def write_tiff(path, values, bits, photometric, compression, tags=(), bits_tag=None, n_samples=1):
    """Write a little-endian TIFF of one strip without any library."""
    data = b"".join(packed(values, bits))
    data = {PLAIN: lambda data: data, DEFLATE: zlib.compress, LZW: lzw}[compression](data)
    height, width = values.shape[0], values.shape[1] // n_samples
    entries = [
        (256, 3, width), (257, 3, height), (258, 3, bits), (259, 3, compression), (262, 3, photometric), (273, 4, 8),
        (277, 3, n_samples), (278, 3, height), (279, 4, len(data)), *tags,
    ]  # fmt: skip
    data += b"\0" * (len(data) % 2)
    directory = b""
    end = 8 + len(data) + 2 + 12 * len(entries) + 4
    for tag, kind, value in sorted(entries):
        if tag == 258 and bits_tag is not None:
            directory += struct.pack("<HHII", tag, kind, len(bits_tag), end)
        else:
            directory += struct.pack("<HHII", tag, kind, 1, value)
    tail = b"" if bits_tag is None else struct.pack(f"<{len(bits_tag)}H", *bits_tag)
    header = b"II*\0" + struct.pack("<I", 8 + len(data))
    path.write_bytes(header + data + struct.pack("<H", len(entries)) + directory + bytes(4) + tail)
