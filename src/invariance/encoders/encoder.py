"""Any ONNX network of images as a descriptor: one vector per image, or vectors at the places of a grid."""

import hashlib
import os
from collections.abc import Sequence
from functools import lru_cache, partial
from math import isqrt
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from invariance._core import loaded
from invariance._core.checks import check_choice, check_count, check_number
from invariance._core.keeping import keep
from invariance._core.parallel import map_jobs
from invariance.encoders.finding import Found, find_content
from invariance.encoders.inputs import IMAGENET_MEAN, IMAGENET_STD, SCALES, VALUES, check_values, prepare
from invariance.encoders.networks import (
    MAX_BYTES,
    MAX_SIDE,
    Network,
    NetworkError,
    open_session,
    read_network,
    run_session,
)
from invariance.images import read_image
from invariance.transformations.copies import Orbits
from invariance.transformations.photometric import normalize_intensities
from invariance.transformations.sets import TransformationSet, check_set

POOLINGS = ("mean", "max")
USUAL_SIZE = 224  # pixels per side, where a network takes any
MAX_VALUES = 2**20  # of one vector
N_SESSIONS = 2  # networks that stay loaded
KEPT_VERSION = 1  # of features that are kept; another one goes with every change of what is computed


class OnnxEncoder(TransformerMixin, BaseEstimator):
    """A pretrained network that describes images, read from an ONNX file.

    `transform` gives one vector per image: an output (n, d) of the network as it is, the mean over the places of an
    output (n, c, h, w) or (n, h, w, c), or over the tokens of an output (n, t, d). `extract` gives the vectors at these
    places. Nothing is learned.

    Parameters
    ----------
    path : path-like
        The ONNX file, the name of one in the folder of encoders (see `invariance encoder`), or "efficientnet-lite0".
    layer : str or None, default=None
        Name of the tensor that describes the image; None is the first output.
    size : int, pair of int or None, default=None
        Pixels per side of the images that the network is given; None takes those that the network states, or 224.
    mean, std : float or sequence of float, default=those of ImageNet
        Values in [0, 1] become (value - mean) / std, for every channel, as the network was trained.
    crop : float, default=0.875
        Share of the shorter side of the image that the network sees.
    transformations : TransformationSet or None, default=None
        Φ, what does not matter: vectors are pooled over the transformed copies of an image.
    pooling : {"mean", "max"}, default="mean"
        How vectors are pooled over Φ.
    embed : bool, default=False
        Whether `fit` keeps the network in the encoder, and so in model files. Without, these have its fingerprint only.
    n_jobs : int or None, default=None
        Number of threads; vectors do not depend on it.

    Attributes
    ----------
    fingerprint_ : str
        SHA-256 of the network's file; `transform` of a fitted encoder refuses any other file.
    content_ : ndarray of uint8
        The network, with `embed=True`.

    Notes
    -----
    The network computes one image at a time, on one thread: vectors depend neither on the images beside nor on the
    number of threads, and on a CPU batches save next to nothing. Vectors of images seen before are kept, see
    docs/memory.md.
    """

    def __init__(
        self,
        path,
        layer=None,
        size=None,
        mean=IMAGENET_MEAN,
        std=IMAGENET_STD,
        crop=0.875,
        transformations=None,
        pooling="mean",
        embed=False,
        n_jobs=None,
    ):
        self.path = path
        self.layer = layer
        self.size = size
        self.mean = mean
        self.std = std
        self.crop = crop
        self.transformations = transformations
        self.pooling = pooling
        self.embed = embed
        self.n_jobs = n_jobs

    @property
    def invariances(self) -> tuple[type[TransformationSet], ...]:
        """The kinds of transformations that leave vectors unchanged: none exactly; `invariance_profile` measures."""
        return ()

    def fit(self, images: Any = None, y: Any = None) -> "OnnxEncoder":
        """Take the network's fingerprint, and with `embed=True` the network; nothing is learned.

        Parameters
        ----------
        images, y : object
            Ignored.

        Returns
        -------
        self : OnnxEncoder
        """
        check_set("transformations", self.transformations)
        for name in {"fingerprint_", "content_"} & vars(self).keys():
            delattr(self, name)
        found = self._find()
        self._settings(found)  # refuses a network that cannot be used
        self.fingerprint_ = found.sha256
        if self.embed:
            self.content_ = np.frombuffer(found.content, np.uint8).copy()
        return self

    def transform(self, images: Sequence[Any]) -> np.ndarray:
        """Describe images.

        Parameters
        ----------
        images : sequence of ndarray or path
            Images of any sizes.

        Returns
        -------
        ndarray of shape (n_images, n_values), float32
        """
        settings, orbits = self._settings(self._find()), Orbits(self.transformations)
        pool = np.mean if check_choice("pooling", self.pooling, POOLINGS) == "mean" else np.max

        def describe(image: Any) -> np.ndarray:
            copies = orbits.of(normalize_intensities(_load(image)[None], self.transformations)[0])
            # To look for a single image and to keep it takes a tenth of the time of the network.
            if len(images) == 1:
                vectors = [settings.vector(copy) for copy in copies]
            else:
                vectors = [keep(settings.kind("image"), copy, partial(settings.vector, copy)) for copy in copies]
            return vectors[0] if len(vectors) == 1 else pool(vectors, axis=0)

        described = map_jobs(describe, images, self.n_jobs, "encoding images")
        return np.stack(described) if described else np.empty((0, 0), np.float32)

    def extract(self, image: np.ndarray, windows: None = None) -> tuple[np.ndarray, np.ndarray]:
        """Describe the places of an image, as far as the network sees it.

        Parameters
        ----------
        image : ndarray of shape (h, w), (h, w, 3) or (h, w, 4)
        windows : None
            Part of the protocol; places are those of the network.

        Returns
        -------
        vectors : ndarray of shape (n, n_values), float32
        places : ndarray of shape (n, 2), float64
            Row and column of every vector.
        """
        if windows is not None:
            raise ValueError(f"OnnxEncoder describes places of its own and takes no windows; got {len(windows)}.")
        if self.transformations is not None:
            raise ValueError("places move with Φ, so that only whole images are pooled over it. Use transform.")
        settings = self._settings(self._find())
        grid = keep(settings.kind("places"), np.asarray(image), lambda: settings.grid(image))
        return grid.reshape(-1, grid.shape[2]), settings.places(np.shape(image), grid.shape[:2])

    def check_loaded(self) -> None:
        """Raise ValueError if the settings, read from a file, are none; the network is checked when it is used."""
        side = loaded.whole(1, MAX_SIDE)
        loaded.check_values(
            self,
            path=loaded.TEXT,
            layer=loaded.optional(loaded.TEXT),
            size=loaded.optional(loaded.either(side, loaded.list_of(side, 2))),
            mean=VALUES,
            std=SCALES,
            crop=loaded.number(0.01, 1),
            transformations=loaded.optional(loaded.instance(TransformationSet)),
            pooling=loaded.one_of(*POOLINGS),
            embed=loaded.FLAG,
            n_jobs=loaded.JOBS,
        )
        if "fingerprint_" in vars(self):
            loaded.check_values(self, fingerprint_=loaded.TEXT)
        if "content_" in vars(self):
            loaded.check_values(self, content_=loaded.array((None,), np.uint8))
            if len(self.content_) > MAX_BYTES:
                raise ValueError(f"an encoder of {len(self.content_)} bytes is larger than the limit of {MAX_BYTES}.")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.two_d_array, tags.input_tags.three_d_array = False, True  # images, never flat rows
        return tags

    def _find(self) -> Found:
        """The network's file, which must be the one that the encoder was fitted with."""
        name = os.fspath(self.path)
        known = getattr(self, "fingerprint_", None)
        if "content_" in vars(self):
            content = self.content_.tobytes()
            return Found(content, hashlib.sha256(content).hexdigest())
        try:
            found = find_content(name)
        except NetworkError as error:
            needed = "" if known is None else f", which this model needs (SHA-256 {known[:12]}...)"
            raise NetworkError(f"encoder '{name}'{needed}: {error}") from error
        if known is not None and found.sha256 != known:
            raise NetworkError(
                f"encoder '{name}' is another one (SHA-256 {found.sha256[:12]}...) than this model was trained with "
                f"({known[:12]}...). Restore that file, or train the model again."
            )
        return found

    def _settings(self, found: Found) -> "_Settings":
        """Everything that one image needs, checked."""
        try:
            network, session = _open(found, self.layer)
        except NetworkError as error:
            raise NetworkError(f"encoder '{os.fspath(self.path)}' cannot be used: {error}") from error
        mean = check_values("mean", self.mean, network.n_channels, VALUES)
        std = check_values("std", self.std, network.n_channels, SCALES)
        crop = check_number("crop", self.crop, 0.01, 1)
        return _Settings(network, session, _size_of(network, self.size), mean, std, crop, (found.sha256, self.layer))


class _Settings(NamedTuple):
    """A network with all that turns an image into its input."""

    network: Network
    session: Any
    size: tuple[int, int]
    mean: np.ndarray
    std: np.ndarray
    crop: float
    name: tuple[str, str | None]

    def kind(self, what: str) -> str:
        """All that features of an image depend on besides the image."""
        own = (self.size, self.mean.tolist(), self.std.tolist(), self.crop, *self.name)
        return repr(("OnnxEncoder", KEPT_VERSION, what, own))

    def vector(self, image: np.ndarray) -> np.ndarray:
        """The vector (d,) of an image as a whole."""
        output = self._compute(image)
        if output.ndim == 1:
            return output
        # Sums in double precision do not depend on the order of the places.
        return output.reshape(-1, output.shape[-1]).mean(axis=0, dtype=np.float64).astype(np.float32)

    def grid(self, image: np.ndarray) -> np.ndarray:
        """The vectors (h, w, d) at the places of an image."""
        output = self._compute(image)
        if output.ndim == 1:
            return output[None, None]
        if output.ndim == 2:  # tokens; those of the image come last, after those of the class
            side = isqrt(len(output))
            return output[len(output) - side * side :].reshape(side, side, -1)
        return output

    def places(self, shape: Sequence[int], grid: tuple[int, ...]) -> np.ndarray:
        """Row and column (n, 2) of the middles of the cells of a grid, in an image (h, w, ...)."""
        scale = max(self.size[0] / shape[0], self.size[1] / shape[1]) / self.crop
        axes = []
        for length, side, n in zip(shape[:2], self.size, grid, strict=True):
            seen = min(side / scale, length)
            axes.append((length - seen) / 2 + (np.arange(n) + 0.5) * seen / n - 0.5)
        return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)

    def _compute(self, image: np.ndarray) -> np.ndarray:
        """The output for an image, float32: (d,), tokens (t, d) or a grid (h, w, d)."""
        network = self.network
        values = (prepare(image, network.n_channels, self.size, self.crop) - self.mean) / self.std
        values = values.astype(network.dtype)
        values = (values if network.layout == "NHWC" else np.moveaxis(values, 2, 0))[None]
        n_batch = network.shape[0] or 1
        output = run_session(self.session, network, np.ascontiguousarray(np.repeat(values, n_batch, axis=0)))
        if output.ndim not in (2, 3, 4) or len(output) != n_batch or output.dtype.kind != "f" or output[0].size == 0:
            raise NetworkError(
                f"its layer is {output.dtype} of shape {output.shape}, but must be floats, (n, d), (n, tokens, d) or "
                f"(n, c, h, w). Name another layer."
            )
        first = output[0].astype(np.float32)
        first = np.moveaxis(first, 0, 2) if first.ndim == 3 and network.layout == "NCHW" else first
        if first.shape[-1] > MAX_VALUES or not np.isfinite(first).all():
            raise NetworkError("its layer holds too many values, NaN or infinity. Check mean and std, or the layer.")
        return np.ascontiguousarray(first)


@lru_cache(maxsize=N_SESSIONS)
def _open(found: Found, layer: str | None) -> tuple[Network, Any]:
    """Check and load a network, once."""
    network = read_network(found.content, layer)
    return network, open_session(network)


def _size_of(network: Network, size: Any) -> tuple[int, int]:
    """Height and width of the input: as given, as the network states, or the usual ones."""
    sides = size if isinstance(size, list | tuple) else (size, size)
    if len(sides) != 2:
        raise ValueError(f"size must be a number of pixels or a pair (height, width); got {size!r}.")
    found = []
    for given, fixed in zip(sides, network.size, strict=True):
        side = check_count("size", fixed or USUAL_SIZE if given is None else given, at_most=MAX_SIDE)
        if fixed is not None and side != fixed:
            raise ValueError(f"size must be {network.size}, which the network states; got {size!r}. Leave it out.")
        found.append(side)
    return found[0], found[1]


def _load(image: Any) -> np.ndarray:
    return read_image(image) if isinstance(image, str | os.PathLike) else np.asarray(image)
