"""Neural responses, [Wibisono10]: how well the best-placed patch of an image matches each template, layer upon layer.

Patches u ⊂ v ⊂ Sq of growing size, templates T_u, T_v drawn from the training images, translations H:
  N_v(f)(t) = max_{h in H} K̂_u(f∘h, t), t in T_u                                     eq. (1)
  K_v(f, g) = <N_v(f), N_v(g)>, K̂_v the same for vectors at length 1                  eq. (2)
  N_Sq(f)(t) = max_{h in H} K̂_v(f∘h, t), t in T_v, and so on for every layer          eq. (3)-(5)
The maximum may be another pooling (sec. 3) and the vectors N̂ may be embedded before they are compared (sec. 5).
What the kernel on the smallest patches ignores, all layers ignore, if it maps patches to patches (prop. 4.1).

Where we differ: all positions of an image share the small patches' work, as in a convolution; a blank patch, whose
kernel with itself is 0, responds 0 to every template; vectors keep the length that an embedding leaves them.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from invariance._core.checks import check_count
from invariance._core.parallel import iterate_jobs, one_blas_thread
from invariance._core.randomness import make_rng
from invariance.hierarchies.embedding import make_embedding
from invariance.hierarchies.encoding import Architecture, Stage, embed, encode
from invariance.hierarchies.initial import check_kernel, learn_patch_kernel
from invariance.hierarchies.layer import Layer
from invariance.hierarchies.pooling import check_pooling
from invariance.hierarchies.scratch import Scratch
from invariance.hierarchies.templates import check_attention, check_shares, draw_templates
from invariance.images import validate_images

N_TOGETHER = 64  # images a job: enough that starting one costs nothing


class NeuralResponse(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Images turned into their responses to templates, without labels.

    Parameters
    ----------
    layers : `Layer`s from the smallest patches to the largest; the image itself is the last. None means two, of 3/7 and
        5/7 of the image's sides (12 and 20 pixels of 28) with 500 templates each.
    kernel : on the smallest patches: "inner" product of patches at length 1; "histogram" of 101 grey levels, for images
        in [0, 1], which does not know where in the patch a pixel lies and so ignores rotation; "gaussian"; or a
        function k(P, T) of flat patches (n, d) and (m, d) that gives (n, m), with k(x, x) = 1 or a method `diag`.
    pooling : over the positions: "max", "mean", or the p of a p-norm.
    hop : pixels from one position to the next.
    """

    def __init__(
        self, layers=None, kernel="inner", pooling="max", hop=1, image_shape=None, n_jobs=None, random_state=None
    ):
        self.layers = layers
        self.kernel = kernel
        self.pooling = pooling
        self.hop = hop
        self.image_shape = image_shape
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X, y=None, sample_weight=None, attention=None) -> "NeuralResponse":
        """Draw templates from images (n, h, w[, c]) or flat rows, and encode them layer by layer.

        `sample_weight` (n,) says how likely an image is to be drawn from, `attention` (h, w) or (n, h, w) how likely a
        place in it: the measures of [Wibisono10] sec. 2.1.
        """
        images = _with_channels(validate_images(self, X, self.image_shape, reset=True))
        layers = self._layers()
        self.architecture_ = self._architecture(layers)
        shares = check_shares("sample_weight", sample_weight, len(images))
        attention = check_attention(attention, images.shape)
        rng = make_rng(self.random_state)
        self.templates_: list[np.ndarray] = []
        self.stages_: list[Stage] = []
        for layer, size in zip(layers, self.architecture_.sizes, strict=True):
            n_templates = check_count("n_templates", layer.n_templates)
            self.templates_.append(draw_templates(images, size, n_templates, rng, shares, attention))
            self.stages_.append(self._learn_stage(layer, self.templates_[-1]))
        return self

    def transform(self, X) -> np.ndarray:
        """Responses (n, q) float64 of length 1 to the templates of the last layer.

        They are 0 where nothing responds, as for a blank image under kernel="inner". The derived kernel of two images
        is the product of their rows. Values of different images agree in the first six digits or so, which is why
        the rows are given in double precision.
        """
        check_is_fitted(self)
        images = _with_channels(validate_images(self, X, self.image_shape, reset=False))
        responses = self._encode(images, self.stages_, "encoding images").astype(np.float64)
        lengths = np.linalg.norm(responses, axis=1, keepdims=True)
        return responses / np.where(lengths > 0, lengths, 1)

    def _learn_stage(self, layer: Layer, templates: np.ndarray) -> Stage:
        vectors = self._encode(templates, self.stages_, "encoding templates")
        embedding = make_embedding(layer)
        if not self.stages_ and self.architecture_.kernel not in ("inner", "histogram"):
            if embedding is not None:
                raise ValueError(
                    "the first layer can be embedded with kernel='inner' or 'histogram' only, "
                    f"which are products of vectors; got {self.kernel!r}."
                )
            return Stage(np.ascontiguousarray(vectors.T), None, learn_patch_kernel(self.architecture_.kernel, vectors))
        if embedding is not None:
            with one_blas_thread():
                embedding.fit(vectors)
        return Stage(np.ascontiguousarray(embed(vectors, embedding).T), embedding, None)

    def _encode(self, images: np.ndarray, stages: Sequence[Stage], label: str) -> np.ndarray:
        """The vectors (n, q) of images after so many stages."""
        parts = [images[start : start + N_TOGETHER] for start in range(0, len(images), N_TOGETHER)]
        work = partial(_encode_some, self.architecture_, stages)
        return np.concatenate(list(iterate_jobs(work, parts, self.n_jobs, label)))

    def _layers(self) -> list[Layer]:
        if self.layers is None:
            height, width = self.image_shape_[:2]
            return [Layer((_part(height, share), _part(width, share))) for share in (3 / 7, 5 / 7)]
        if not isinstance(self.layers, Sequence) or len(self.layers) == 0:
            raise ValueError(f"layers must be a list of at least one Layer; got {self.layers!r}.")
        for layer in self.layers:
            if not isinstance(layer, Layer):
                raise ValueError(f"layers must hold Layer(size, n_templates) only; got {layer!r}.")
        return list(self.layers)

    def _architecture(self, layers: list[Layer]) -> Architecture:
        sizes = [_check_size(layer.size) for layer in layers]
        for smaller, size in zip(sizes, [*sizes[1:], self.image_shape_[:2]], strict=True):
            if smaller[0] > size[0] or smaller[1] > size[1]:
                raise ValueError(
                    f"layers must grow from the smallest patches up to the image; got {smaller} before {tuple(size)}."
                )
        hop = check_count("hop", self.hop)
        return Architecture(sizes, hop, check_pooling(self.pooling), check_kernel(self.kernel))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags

    @property
    def _n_features_out(self):
        return self.stages_[-1].filters.shape[1]


def _encode_some(architecture: Architecture, stages: Sequence[Stage], images: np.ndarray) -> np.ndarray:
    scratch = Scratch()
    return np.array([encode(image, architecture, stages, scratch) for image in images])


def _with_channels(images: np.ndarray) -> np.ndarray:
    return images if images.ndim == 4 else images[..., None]


def _check_size(size: Any) -> tuple[int, int]:
    height, width = size if isinstance(size, Sequence) and len(size) == 2 else (size, size)
    return check_count("size", height), check_count("size", width)


def _part(side: int, share: float) -> int:
    return max(1, round(share * side))
