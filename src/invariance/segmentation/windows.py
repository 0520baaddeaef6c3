"""Responses of pixels to the learned filters: of some pixels from their patches, of all pixels by correlation.

A patch is the surroundings of a pixel at several scales (`pyramid_patches`). Its coordinates z = Bᵀx in the reduced
basis are linear in the image, so for all pixels of a tile they are one correlation per basis vector, done by FFT;
blurring and striding are part of the correlation kernels. The responses to a filter a under all members of Φ are then
the products of z with R_t a, of which a set closed under quarter turns needs a quarter (`quarter_turns`). No patch is
cut.
"""

from functools import cached_property

import numpy as np
from scipy import fft, ndimage

from invariance._core.caching import ArrayCache
from invariance.images import pyramid_patches
from invariance.jungles import InvariantFeatures
from invariance.segmentation import _jit
from invariance.segmentation.quarter_turns import (
    OrbitDirections,
    QuarterTurn,
    find_quarter_turn,
    multiply,
    split_directions,
)

# Patches are seen at full and at half resolution.
N_SCALES = 2
# Pixels whose responses to all filters and members are computed at once, and bytes of patches cut at once.
CHUNK = 512
PATCH_BYTES = 64 * 2**20
# Bytes of the spectra that are kept, one array per size of tile: small images have tiles of their own size. Those of
# tiles of 256 pixels and patches of 31 take 54 MB per channel.
SPECTRA_BYTES = 256 * 2**20


def window_reach(size: int) -> int:
    """Compute how far from its pixel a patch of `size` reaches at its coarsest scale, the blur included."""
    step = 2 ** (N_SCALES - 1)
    return step * (size // 2) + _blur_radius(step)


def cut_windows(image: np.ndarray, rows: np.ndarray, cols: np.ndarray, size: int) -> np.ndarray:
    """Cut flat patches (n, d) of some pixels of an image (h, w, c)."""
    return pyramid_patches(image, rows, cols, size, N_SCALES).reshape(len(rows), -1)


class WindowResponses:
    """Responses to fitted filters at pixels of images (h, w, c).

    Parameters
    ----------
    filters : InvariantFeatures
        The fitted filters, with `extremes="both"`.
    size : int
        Side of a patch in pixels.
    n_channels : int
        Number of channels of an image.
    """

    def __init__(self, filters: InvariantFeatures, size: int, n_channels: int):
        self.filters = filters
        self.size = size
        self.n_channels = n_channels
        self._spectra = ArrayCache(SPECTRA_BYTES)

    def at(self, image: np.ndarray, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Compute responses (n, F) of some pixels from their patches."""
        n_block = max(1, PATCH_BYTES // (4 * self.size**2 * N_SCALES * self.n_channels))
        blocks = [slice(start, start + n_block) for start in range(0, len(rows), n_block)]
        return np.concatenate(
            [self.filters.transform(cut_windows(image, rows[block], cols[block], self.size)) for block in blocks]
        )

    def prepare(self, side: int) -> None:
        """Compute what `everywhere` needs for tiles of a side, before several threads use it."""
        if self.filters.reduced_.linear:
            self._kernel_spectra(_padded(side, self.size))
            self._directions  # noqa: B018 - computed now

    @property
    def n_responses(self) -> int:
        """The number F of responses of a pixel: the largest and the smallest of every filter."""
        return 2 * sum(len(dag.filters) for dag in self.filters.dags_)

    def everywhere(self, image: np.ndarray, side: int, responses: np.ndarray | None = None) -> np.ndarray:
        """Compute responses (F, h, w) float32 of all pixels of a tile of at most side x side pixels.

        The image is the tile with a margin of `window_reach`. The values are those of `at`, up to rounding in single
        precision; they are written to `responses` if given.
        """
        reach = window_reach(self.size)
        height, width = image.shape[0] - 2 * reach, image.shape[1] - 2 * reach
        if responses is None:
            responses = np.empty((self.n_responses, height, width), np.float32)
        if not self.filters.reduced_.linear:
            rows, cols = np.mgrid[:height, :width].reshape(2, -1) + reach
            responses[...] = self.at(image, rows, cols).T.reshape(responses.shape)
            return responses
        coordinates = self._coordinates(image, height, width, _padded(side, self.size))
        extremes = responses.reshape(2, -1, height * width)
        for start in range(0, height * width, CHUNK):
            chunk = slice(start, start + CHUNK)
            first = 0
            for directions in self._directions:
                filters = slice(first, first + _count_filters(directions))
                extremes[:, filters, chunk] = _find_extremes(directions, coordinates[:, chunk])
                first = filters.stop
        return responses

    @cached_property
    def _matrices(self) -> np.ndarray:
        return self.filters.reduced_.matrices[0].astype(np.float64)

    @cached_property
    def _turn(self) -> QuarterTurn | None:
        return find_quarter_turn(self._matrices)

    @cached_property
    def _directions(self) -> list[OrbitDirections | np.ndarray]:
        """R_t a of all filters and members, in the basis of `_coordinates`: as orbits or (k, T, r), of every jungle."""
        found: list[OrbitDirections | np.ndarray] = []
        for dag in self.filters.dags_:
            if not len(dag.filters):
                continue
            matrices, filters = self._matrices[dag.members], dag.filters.astype(np.float64)
            orbits = None if self._turn is None else split_directions(self._turn, matrices, filters)
            if orbits is not None:
                found.append(orbits)
            else:
                directions = np.einsum("trs,ks->ktr", matrices, filters, optimize=True)
                found.append((directions if self._turn is None else directions @ self._turn.basis).astype(np.float32))
        return found

    def _coordinates(self, image: np.ndarray, height: int, width: int, side: int) -> np.ndarray:
        """Compute z of all pixels of the tile, in the basis of the quarter turn if there is one: (r, h w) float32.

        In double precision until then, so that the last digit does not depend on the tile.
        """
        spectra = self._kernel_spectra(side)
        tile = fft.rfft2(image.astype(np.float64), (side, side), axes=(0, 1))
        product = np.empty(tile.shape[:2], tile.dtype)
        coordinates = np.empty((len(spectra), height, width), np.float32)
        for direction, spectrum in zip(coordinates, spectra, strict=True):
            np.multiply(spectrum[0], tile[..., 0], out=product)
            for channel in range(1, self.n_channels):
                product += spectrum[channel] * tile[..., channel]
            needed = fft.ifft(product, axis=0, overwrite_x=True)[:height]
            direction[...] = fft.irfft(needed, side, axis=1, overwrite_x=True)[:, :width]
        return coordinates.reshape(len(spectra), -1)

    def _kernel_spectra(self, side: int) -> np.ndarray:
        """Compute the conjugate spectra (r, c, side, side // 2 + 1) of the kernels, whose product is a correlation."""

        def transform() -> np.ndarray:
            kernels = _kernels(self.filters, self.size, self.n_channels)
            if self._turn is not None:
                kernels = np.tensordot(self._turn.basis.T, kernels, 1)
            spectra = fft.rfft2(kernels, (side, side), workers=self.filters.n_jobs)
            return np.conj(spectra, out=spectra)

        return self._spectra.get(side, transform)


def _count_filters(directions: OrbitDirections | np.ndarray) -> int:
    return len(directions.fixed if isinstance(directions, OrbitDirections) else directions)


def _find_extremes(directions: OrbitDirections | np.ndarray, coordinates: np.ndarray) -> np.ndarray:
    """Find the largest and smallest responses (2, k, n) of some pixels to the filters of one jungle."""
    extremes = np.empty((2, _count_filters(directions), coordinates.shape[1]), np.float32)
    if isinstance(directions, OrbitDirections):
        _jit.fill_extremes(*directions.multiply(coordinates), *extremes)
    else:
        products = multiply(directions, coordinates)
        products.max(axis=1, out=extremes[0])
        products.min(axis=1, out=extremes[1])
    return extremes


def _kernels(filters: InvariantFeatures, size: int, n_channels: int) -> np.ndarray:
    """Express the basis vectors as kernels (r, c, m, m) on the image itself, m = 2 reach + 1."""
    reach = window_reach(size)
    basis = filters.reduced_.basis.astype(np.float64).reshape(size, size, N_SCALES, n_channels, -1)
    kernels = np.zeros((basis.shape[-1], n_channels, 2 * reach + 1, 2 * reach + 1))
    for scale in range(N_SCALES):
        step = 2**scale
        places = reach + step * (np.arange(size) - size // 2)
        strided = np.zeros_like(kernels)
        strided[:, :, places[:, None], places] = np.moveaxis(basis[:, :, scale], (2, 3), (1, 0))
        # Correlating the blurred image equals correlating the image with the blurred kernel, which fits into its frame.
        kernels += ndimage.gaussian_filter(strided, (0, 0, step / 2, step / 2), mode="constant") if scale else strided
    return kernels


def _padded(side: int, size: int) -> int:
    """Compute the side of the Fourier transform of a tile with a margin of `window_reach`."""
    return fft.next_fast_len(side + 2 * window_reach(size), real=True)


def _blur_radius(step: int) -> int:
    """Compute where `pyramid_patches` cuts off its Gaussian of width step / 2: at four widths."""
    return int(4 * step / 2 + 0.5)
