"""The plan of blocks: an array divided into boxes of whole chunks, numbered from 0, none of which two tasks write."""

import math
from collections.abc import Sequence
from typing import NamedTuple

# Sides of a chunk of the result, and the largest side of a block in pixels (our choice). A chunk is what a viewer reads
# at once. Around a block inside a section, rounds before the last are computed in one more tile of 256 pixels on every
# side: a quarter more tiles around 4096 pixels, three times as many around 512.
CHUNK_SIDE, MAX_BLOCK_SIDE = 512, 4096


class Grid(NamedTuple):
    """An array divided into blocks.

    Attributes
    ----------
    shape : tuple of int
        Of the array.
    block : tuple of int
        Shape of a block; those at the far borders are smaller.
    """

    shape: tuple[int, ...]
    block: tuple[int, ...]

    @property
    def counts(self) -> tuple[int, ...]:
        """The number of blocks along every axis."""
        return tuple(-(-length // side) for length, side in zip(self.shape, self.block, strict=True))

    @property
    def n_blocks(self) -> int:
        """The number of blocks."""
        return math.prod(self.counts)

    def place(self, number: int) -> tuple[slice, ...]:
        """Return the slices of a block; numbers count along the last axis first."""
        slices = []
        for length, side, count in zip(self.shape[::-1], self.block[::-1], self.counts[::-1], strict=True):
            number, index = divmod(number, count)
            slices.append(slice(index * side, min((index + 1) * side, length)))
        return tuple(slices[::-1])


def choose_chunks(shape: Sequence[int]) -> tuple[int, ...]:
    """Choose the chunks of a result (..., y, x): one section, squares of pixels."""
    return (*(1 for _ in shape[:-2]), *(min(CHUNK_SIDE, length) for length in shape[-2:]))


def choose_block(
    shape: Sequence[int], chunks: Sequence[int], is_whole: bool = False, max_side: int | None = None
) -> tuple[int, ...]:
    """Choose the shape of a block (..., y, x): of whole chunks, as large as a section or `max_side`, by default 4096.

    With `is_whole`, a block covers whole sections whatever their size.
    """
    sides = []
    for length, chunk in zip(shape[-2:], chunks[-2:], strict=True):
        wanted = length if is_whole else min(length, max_side or MAX_BLOCK_SIDE)
        n_chunks = -(-wanted // chunk) if wanted == length else max(1, wanted // chunk)
        sides.append(n_chunks * chunk)
    return (*chunks[:-2], *sides)


def check_chunks(chunks: Sequence[int], shape: Sequence[int]) -> tuple[int, ...]:
    """Return chunks, at most as large as the array; raise ValueError if they are not one positive number per axis."""
    if len(chunks) != len(shape) or any(not isinstance(side, int) or side < 1 for side in chunks):
        raise ValueError(
            f"chunks must be {len(shape)} positive whole numbers, one per axis of {tuple(shape)}; got {tuple(chunks)}."
        )
    return tuple(min(side, length) for side, length in zip(chunks, shape, strict=True))


def check_roi(roi: Sequence[slice] | None, shape: Sequence[int]) -> tuple[slice, ...]:
    """Return the region to label, one slice with start and stop per axis; None means all."""
    if roi is None:
        return tuple(slice(0, length) for length in shape)
    if len(roi) != len(shape):
        raise ValueError(f"roi must have {len(shape)} ranges, one per axis of {tuple(shape)}; got {len(roi)}.")
    found = []
    for part, length in zip(roi, shape, strict=True):
        start, stop, step = part.indices(length)
        is_beyond = part.stop is not None and part.stop > length
        if step != 1 or start >= stop or is_beyond:
            asked = f"{'' if part.start is None else part.start}:{'' if part.stop is None else part.stop}"
            raise ValueError(f"roi must lie in {tuple(shape)} and hold at least one pixel; got {asked} of {length}.")
        found.append(slice(start, stop))
    return tuple(found)
