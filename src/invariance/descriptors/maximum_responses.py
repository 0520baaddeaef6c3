"""Responses of a bank of edge, bar and round filters, and their maxima over orientation, scale or both: MR8, extended.

MR8, [VarmaZisserman05], has edges and bars at three scales and six orientations, a Gaussian and a Laplacian of
a Gaussian. It is extended by round filters at every scale, so that each response can be maximised over scale as well.
"""

from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from scipy import fft

from invariance._core.caching import ArrayCache
from invariance._core.checks import check_choice, check_count, check_number
from invariance.descriptors.patch_grid import grid_lines, grid_places, standardize, weber_contrast
from invariance.descriptors.protocol import RegularDescriptor, uncovered_parts
from invariance.transformations import (
    Brightness,
    Contrast,
    Reflections,
    Rotations,
    Scales,
    Shifts,
    TransformationSet,
)
from invariance.transformations.sets import parts_of

# What each level ignores besides shifts, brightness and contrast. The orientations are their own mirror images.
LEVELS: dict[str, tuple[type[TransformationSet], ...]] = {
    "none": (),
    "rotation": (Rotations, Reflections),
    "scale": (Scales,),
    "similarity": (Rotations, Reflections, Scales),
}
# The default filters span a factor of four in scale, two either way: zooms of a smaller limit are not worth it.
WIDE = 2.0
# Edges and bars are three times as long as wide, as in MR8; filters end after six widths.
ELONGATION = 3.0
REACH = 6.0
# Bytes of the spectra that are kept: those of default filters for images of 320 pixels per side take 23 MB.
SPECTRA_BYTES = 256 * 2**20
_kept_spectra = ArrayCache(SPECTRA_BYTES)
# Bytes of the spectra of responses that are computed at a time.
BLOCK_BYTES = 2**21


class MaximumResponses(RegularDescriptor):
    """Filter responses on a regular grid, maximised over the transformations that should not matter.

    Parameters
    ----------
    invariance : {"none", "rotation", "scale", "similarity"}, default="rotation"
        "none" keeps all responses: edges and bars at each scale and orientation, round filters at each scale (39 values
        by default); "rotation" keeps maxima over orientation (12), "scale" over scale (13), "similarity" over both (4).
    step : int, default=4
        Pixels from one place to the next.
    scales : iterable of float, default=(1.0, 2.0, 4.0)
        Standard deviations of the filters across, in pixels.
    n_orientations : int, default=6
        Orientations in half a turn.
    gaussians : bool, default=False
        Whether the responses to Gaussians are among the values, as in MR8.

    Notes
    -----
    Images are brought to mean 0 and deviation 1, the absolute values of a filter sum to 1, vectors are brought to a
    contrast by Weber's law. Beyond its border an image is its mirror image. Turned by half a turn an edge changes its
    sign: over orientation it is the absolute value that is maximised. Of bars the maximum over orientation is kept for
    dark ones and for bright ones. Over scale it is the response of largest absolute value that is kept, with its sign.

    Differs from [VarmaZisserman05]: Gaussians, which follow the light on a surface, are left out by default. Their
    responses are some three times those of other filters, and rule the distances of vectors.
    """

    kept_version = 1

    def __init__(
        self,
        invariance: str = "rotation",
        step: int = 4,
        scales: Iterable[float] = (1.0, 2.0, 4.0),
        n_orientations: int = 6,
        gaussians: bool = False,
    ):
        self.invariance = invariance
        self.step = step
        self.scales = scales
        self.n_orientations = n_orientations
        self.gaussians = gaussians

    @classmethod
    def for_transformations(
        cls, phi: TransformationSet, **settings
    ) -> "tuple[MaximumResponses, tuple[TransformationSet, ...]]":
        """Choose the level of invariance that Φ asks for, and no more.

        Parameters
        ----------
        phi : TransformationSet
            The level ignores rotations if Φ has `Rotations` of at least three angles over the full circle (`limit` is
            None or 180), and scale if Φ has `Scales` of a `limit` of at least 2.
        **settings
            Other parameters of the descriptor.

        Returns
        -------
        descriptor : MaximumResponses
        uncovered : tuple of TransformationSet
            The parts of Φ that the descriptor does not ignore, such as rotations by a few degrees.
        """
        parts = parts_of(phi)
        turns, zooms = any(map(_is_full_circle, parts)), any(map(_is_wide, parts))
        levels = {(False, False): "none", (True, False): "rotation", (False, True): "scale", (True, True): "similarity"}
        descriptor = cls(levels[turns, zooms], **settings)
        return descriptor, uncovered_parts(descriptor, phi)

    @property
    def invariances(self):
        """The kinds of transformations that leave the vectors unchanged if their places follow."""
        level = check_choice("invariance", self.invariance, tuple(LEVELS))
        return (Shifts, *LEVELS[level], Brightness, Contrast)

    def _describe(self, image):
        invariance = check_choice("invariance", self.invariance, tuple(LEVELS))
        scales = tuple(self.scales)
        responses = bank_responses(standardize(image), scales, self.n_orientations, self.step)
        maxima = maximize(responses.reshape(len(responses), -1), invariance, len(scales), self.gaussians)
        return weber_contrast(np.ascontiguousarray(maxima.T))

    def _places(self, shape):
        return grid_places(shape, self.step)


def _is_full_circle(part: TransformationSet) -> bool:
    """Whether a set is of rotations all around, and not of half turns or of a few degrees."""
    return isinstance(part, Rotations) and part.n >= 3 and (part.limit is None or part.limit >= 180)


def _is_wide(part: TransformationSet) -> bool:
    """Whether a set is of zooms over the range of scales that the filters span."""
    return isinstance(part, Scales) and part.n >= 2 and part.limit >= WIDE


def bank_responses(plane: np.ndarray, scales: Iterable[float], n_orientations: int, step: int = 1) -> np.ndarray:
    """Responses of a plane to the bank of filters, on a grid.

    Only the places of the grid are computed: the spectrum of every `step`-th row and column of a response is that of
    the response, folded `step` times both ways.

    Parameters
    ----------
    plane : ndarray of shape (h, w)
        A standardized grey image.
    scales : iterable of float
        S standard deviations.
    n_orientations : int
        T orientations.
    step : int, default=1
        Pixels from one place to the next, as in `grid_lines`.

    Returns
    -------
    ndarray of shape (2 S T + 2 S, n_rows, n_columns), float32
        In this order: edges (S, T), bars (S, T), Gaussians (S), Laplacians (S).
    """
    scales = tuple(check_number("scales", scale, 0.1, 1e4) for scale in scales)
    n_orientations, step = check_count("n_orientations", n_orientations), check_count("step", step)
    lines = [grid_lines(length, step) for length in plane.shape]
    margin = _radius(max(scales))
    # Wider before the image where needed, so that the grid falls on multiples of the step.
    before = [margin + -(margin + of_axis[0]) % step for of_axis in lines]
    padded = np.pad(plane, [(pixels, margin) for pixels in before], mode="symmetric")
    height, width = (step * fft.next_fast_len(-(-length // step), real=True) for length in padded.shape)
    spectra = _kept_spectra.get(
        (scales, n_orientations, height, width), lambda: _bank_spectra(scales, n_orientations, (height, width))
    )
    spectrum = fft.rfft2(padded, (height, width)) / np.float32(step * step)
    small = height // step, width // step
    firsts = [(pixels + of_axis[0]) // step for pixels, of_axis in zip(before, lines, strict=True)]
    inside = tuple(slice(first, first + len(of_axis)) for first, of_axis in zip(firsts, lines, strict=True))
    responses = np.empty((len(spectra), *map(len, lines)), np.float32)
    n_block = max(1, BLOCK_BYTES // spectrum.nbytes)
    for first in range(0, len(spectra), n_block):
        folded = _fold(spectrum * spectra[first : first + n_block], width, step)
        responses[first : first + n_block] = fft.irfft2(folded, small, overwrite_x=True)[:, *inside]
    return responses


def _fold(spectra: np.ndarray, width: int, step: int) -> np.ndarray:
    """The spectra of every `step`-th row and column of images (h, width) of real values, times step².

    Frequencies that coincide on the coarser grid are added. Spectra are (n, h, width // 2 + 1), folded ones
    (n, h / step, width / step // 2 + 1): what the other half holds is the conjugate of this one, turned by half a turn
    around frequency 0.
    """
    if step == 1:
        return spectra
    rows = spectra.reshape(len(spectra), step, -1, spectra.shape[2]).sum(axis=1)
    n_columns = width // step
    n_folded = n_columns // 2 + 1
    folded = rows[:, :, :n_folded].copy()
    for first in range(n_columns, width, n_columns):
        n_direct = max(0, min(n_folded, width // 2 + 1 - first))
        folded[:, :, :n_direct] += rows[:, :, first : first + n_direct]
        mirrored = rows[:, :, width - first - n_folded + 1 : width - first - n_direct + 1].conj()[:, :, ::-1]
        folded[:, 0, n_direct:] += mirrored[:, 0]
        folded[:, 1:, n_direct:] += mirrored[:, :0:-1]
    return folded


def maximize(responses: np.ndarray, invariance: str, n_scales: int, gaussians: bool = False) -> np.ndarray:
    """Maxima (D, ...) of responses (2 S T + 2 S, ...) over orientation, scale or both.

    Edges first, then bars (bright, dark where they are maxima over orientation), Gaussians if wanted, Laplacians.
    """
    shape = responses.shape[1:]
    n_long = len(responses) - 2 * n_scales
    long = responses[:n_long].reshape(2, n_scales, -1, *shape)
    round_ones = responses[n_long:].reshape(2, n_scales, 1, *shape)[0 if gaussians else 1 :]
    if invariance in ("rotation", "similarity"):
        edges, bars = long
        long = np.stack([np.abs(edges).max(axis=1), bars.max(axis=1), bars.min(axis=1)])[:, :, None]
    if invariance in ("scale", "similarity"):
        long, round_ones = _largest(long), _largest(round_ones)
    return np.concatenate([part.reshape(-1, *shape) for part in (long, round_ones)])


def _largest(responses: np.ndarray) -> np.ndarray:
    """Of responses (f, S, ...) those of the scale whose absolute value is largest: (f, ...)."""
    index = np.abs(responses).argmax(axis=1)[:, None]
    return np.take_along_axis(responses, index, axis=1)[:, 0]


@lru_cache(maxsize=4)
def make_bank(scales: tuple[float, ...], n_orientations: int) -> list[np.ndarray]:
    """The filters, squares of odd sides, of sum 0 (but for the Gaussians) and absolute sum 1."""
    angles = np.pi * np.arange(n_orientations) / n_orientations
    edges = [_long_filter(scale, angle, _edge) for scale in scales for angle in angles]
    bars = [_long_filter(scale, angle, _bar) for scale in scales for angle in angles]
    gaussians = [_round_filter(scale, np.ones_like) for scale in scales]
    laplacians = [_zero_sum(_round_filter(scale, _laplacian)) for scale in scales]
    return [f / np.abs(f).sum() for f in (*edges, *bars, *gaussians, *laplacians)]


def _long_filter(scale: float, angle: float, profile) -> np.ndarray:
    """A Gaussian `ELONGATION` times as long as wide, times a profile across."""
    rows, columns = _pixels(scale)
    across = (np.cos(angle) * rows - np.sin(angle) * columns) / scale
    along = (np.sin(angle) * rows + np.cos(angle) * columns) / (ELONGATION * scale)
    return _zero_sum(profile(across) * np.exp(-0.5 * (across**2 + along**2)))


def _edge(across: np.ndarray) -> np.ndarray:
    return across


def _bar(across: np.ndarray) -> np.ndarray:
    return 1 - across**2


def _round_filter(scale: float, profile) -> np.ndarray:
    """A Gaussian as large in area as an edge filter of that scale, times a profile of the squared radius."""
    rows, columns = _pixels(scale)
    squares = (rows**2 + columns**2) / (ELONGATION * scale**2)
    return profile(squares) * np.exp(-0.5 * squares)


def _laplacian(squares: np.ndarray) -> np.ndarray:
    return squares - 2


def _pixels(scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of a filter's pixels, counted from its middle."""
    radius = _radius(scale)
    rows, columns = np.mgrid[-radius : radius + 1, -radius : radius + 1].astype(float)
    return rows, columns


def _radius(scale: float) -> int:
    return int(np.ceil(REACH * scale))


def _zero_sum(values: np.ndarray) -> np.ndarray:
    """A filter cut to the disc in its square, so that no orientation is favoured, less its mean."""
    radius = len(values) // 2
    rows, columns = np.mgrid[-radius : radius + 1, -radius : radius + 1]
    is_inside = rows**2 + columns**2 <= radius**2
    return np.where(is_inside, values - values[is_inside].mean(), 0)


def _bank_spectra(scales: tuple[float, ...], n_orientations: int, shape: tuple[int, int]) -> np.ndarray:
    """Fourier transforms (F, ...) of the filters, their middles at the origin, turned over for correlation."""
    bank = make_bank(scales, n_orientations)
    height, width = shape
    spectra = np.zeros((len(bank), height, width // 2 + 1), np.complex64)
    for spectrum, values in zip(spectra, bank, strict=True):
        radius = len(values) // 2
        # Filters have few rows: those of zeros are not transformed.
        rows = np.zeros((len(values), width), np.float32)
        rows[:, : len(values)] = values[::-1, ::-1]
        places = np.arange(-radius, radius + 1) % height
        spectrum[places] = fft.rfft(np.roll(rows, -radius, axis=1))
    return fft.fft(spectra, axis=1, overwrite_x=True)
