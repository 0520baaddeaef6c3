"""What a Zarr store may hold, checked before it is read: plain files of moderate size, and codecs that run no code.

A store is a folder of a stranger. Its metadata choose the codecs (one of which unpickles), its chunks state what they
unpack to, and a link in it can lead to a device that never ends.
"""

import bz2
import lzma
import os
import stat
import struct
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from invariance.volumes.volume import VolumeError

METADATA_NAMES = (".zarray", ".zgroup", ".zattrs", ".zmetadata", "zarr.json")
MAX_METADATA_BYTES = 2**24
MAX_NODES = 10_000  # folders of a group that are looked at
# Codecs of Zarr 2 by their name, and of Zarr 3 by their class. Others, such as pickle, are refused.
CODECS_2 = {"blosc", "bz2", "gzip", "lz4", "lzma", "zlib", "zstd", "delta", "shuffle", "crc32", "adler32", "bitround"}
CODECS_3 = {
    "BytesCodec", "BloscCodec", "GzipCodec", "ZstdCodec", "Crc32cCodec", "TransposeCodec", "ShardingCodec", "V2Codec",
}  # fmt: skip
HEADER_BYTES, ZSTD_MAGIC = 32, b"\x28\xb5\x2f\xfd"
LZMA_BYTES = 2**28  # for the dictionary of a decoder
DECODERS: dict[bytes, Callable[[], Any]] = {
    b"\x1f\x8b": partial(zlib.decompressobj, 31),
    b"\x78": zlib.decompressobj,
    b"BZh": bz2.BZ2Decompressor,
    b"\xfd7zXZ\0": partial(lzma.LZMADecompressor, memlimit=LZMA_BYTES),
}
SLACK_BYTES = 2**16


def check_metadata(folder: Path) -> None:
    """Refuse metadata that are no plain files of moderate size."""
    for name in METADATA_NAMES:
        _check_file(folder / name, MAX_METADATA_BYTES)


def check_children(folder: Path) -> None:
    """Refuse such metadata in the folders of a group."""
    for number, entry in enumerate(os.scandir(folder)):
        if number >= MAX_NODES:
            raise VolumeError(f"'{folder}' has more than {MAX_NODES} entries. Name one of its arrays.")
        if entry.is_dir():
            check_metadata(Path(entry.path))


def _check_file(file: Path, max_bytes: int) -> int | None:
    """Return the size of a file, None if there is none; refuse what is no plain file, or too large."""
    try:
        status = os.stat(file)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(status.st_mode):
        raise VolumeError(f"'{file}' is no plain file. The store is damaged or hostile.")
    if status.st_size > max_bytes:
        raise VolumeError(
            f"'{file}' has {status.st_size} bytes, where at most {max_bytes} are plausible. The store is damaged."
        )
    return status.st_size


def check_codecs(path: Path, array: Any) -> None:
    """Refuse an array whose values pass through codecs that are not known to be harmless."""
    unknown = sorted({name for name, is_known in _codecs(array.metadata) if not is_known})
    if unknown:
        raise VolumeError(
            f"'{path}' is packed by {', '.join(unknown)}, which is not read. Store it with blosc or zstd."
        )


def _codecs(metadata: Any) -> Iterator[tuple[str, bool]]:
    """Yield the name of every codec of an array, and whether it is known."""
    if metadata.zarr_format == 2:
        for codec in (*(metadata.filters or ()), *filter(None, (metadata.compressor,))):
            name = str(getattr(codec, "codec_id", type(codec).__name__))
            yield name, name in CODECS_2 or type(codec).__name__ in CODECS_3
        return
    waiting = list(metadata.codecs)
    while waiting:
        codec = waiting.pop()
        name = type(codec).__name__
        yield name, name in CODECS_3
        if name == "ShardingCodec":
            waiting += [*codec.codecs, *codec.index_codecs]


def check_chunk(file: Path, n_bytes: int, is_shard: bool = False) -> None:
    """Refuse a chunk that is no plain file, or states or shows that it unpacks to much more than `n_bytes`.

    Of formats without a stated size, so much is unpacked and no more. Chunks inside of shards are not looked into.
    """
    limit = 2 * n_bytes + SLACK_BYTES
    n_packed = _check_file(file, limit)
    if n_packed and not is_shard and _unpacked_bytes(file, n_packed, limit) > limit:
        raise VolumeError(f"'{file}' unpacks to more than the shape of a chunk. The store is damaged or hostile.")


def _unpacked_bytes(file: Path, n_packed: int, limit: int) -> int:
    """Return what a file unpacks to, as far as its first bytes tell its kind; at most a little over `limit`."""
    with open(file, "rb") as opened:
        header = opened.read(HEADER_BYTES)
        if header.startswith(ZSTD_MAGIC):
            return _zstd_bytes(header)
        if len(header) >= 16 and header[0] in (1, 2) and struct.unpack_from("<I", header, 12)[0] == n_packed:
            return struct.unpack_from("<I", header, 4)[0]  # Blosc
        decoder = next((make for signature, make in DECODERS.items() if header.startswith(signature)), None)
        if decoder is None:
            return 0
        data = header + opened.read()
    try:
        return len(decoder().decompress(data, limit + 1))
    except (zlib.error, lzma.LZMAError, OSError, ValueError, EOFError):
        return 0  # damaged, or not packed in this way: the reader will tell


def _zstd_bytes(data: bytes) -> int:
    """Return the size that the header of a Zstandard frame states (RFC 8878, 3.1.1.1); 0 if it states none."""
    if len(data) < 6:
        return 0
    descriptor = data[4]
    is_single, size_code, dictionary_code = descriptor >> 5 & 1, descriptor >> 6, descriptor & 3
    width = (is_single, 2, 4, 8)[size_code]
    start = 5 + (1 - is_single) + (0, 1, 2, 4)[dictionary_code]
    stated = int.from_bytes(data[start : start + width], "little")
    return stated + 256 if width == 2 else stated
