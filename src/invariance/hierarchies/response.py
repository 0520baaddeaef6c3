"""Neural responses, [Wibisono10]: how well the best-placed patch of an image matches each template, layer upon layer.

Patches u ⊂ v ⊂ Sq of growing size, templates T_u, T_v drawn from the training images, transformations H:
  N_v(f)(t) = max_{h in H} K̂_u(f∘h, t), t in T_u                                     eq. (1)
  K_v(f, g) = <N_v(f), N_v(g)>, K̂_v the same for vectors of length 1                  eq. (2)
  N_Sq(f)(t) = max_{h in H} K̂_v(f∘h, t), t in T_v, and so on for every layer          eq. (3)-(5)
H holds the translations of a patch inside the next larger one. For the whole image it also holds Φ: sec. 2 allows
rotations and scalings besides translations, and sec. 4.1 describes the invariance that pooling over them builds in.
With H = {h∘φ}, N_Sq(f)(t) is the maximum over φ in Φ and all positions of φ(f). If Φ is a group of images, {φ∘ψ} = Φ
for every ψ in Φ, and so N_Sq(ψ(f)) = N_Sq(f) for every pooling.
The maximum may be another pooling under a measure ρ_H over H (sec. 3). The vectors N̂ may be embedded by Φ_m before
they are compared, up to those of the whole image (def. 3.1, sec. 5); Φ_m and Φ have nothing but their letter in common.
What the kernel on the smallest patches is invariant to, all layers are, if it maps patches to patches (prop. 4.1).
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from invariance._core import loaded
from invariance._core.checks import check_count
from invariance._core.parallel import iterate_jobs, one_blas_thread
from invariance._core.randomness import make_rng
from invariance.hierarchies._jit import Scratch
from invariance.hierarchies.encoding import Architecture, Stage, describe_image, embed, encode
from invariance.hierarchies.initial import check_kernel, learn_patch_kernel
from invariance.hierarchies.layers import Layer, check_normalize, make_embedding
from invariance.hierarchies.pooling import check_measure, check_pooling
from invariance.hierarchies.templates import check_attention, check_shares, draw_images, draw_templates
from invariance.images import validate_images
from invariance.transformations import Operators, TransformationSet
from invariance.transformations.sets import check_set

# Images per parallel task: enough that starting a task costs nothing.
N_PER_TASK = 64
# [Wibisono10] sec. 6.1: patches of 12 and 20 pixels in images of 28.
DEFAULT_SHARES = (3 / 7, 5 / 7)


class Member(NamedTuple):
    """A member of Φ, None for the identity, and its share of the measure."""

    operator: Operators | None
    share: float


AS_IT_IS = Member(None, 1.0)


class NeuralResponse(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Neural responses of images to templates, learned without labels.

    Parameters
    ----------
    layers : list of Layer or None, default=None
        Layers from the smallest patches to the largest; the image itself comes after the last one. None means two
        layers of 3/7 and 5/7 of the image's sides (12 and 20 pixels of 28) with 500 templates each.
    kernel : {"inner", "histogram", "gaussian"} or callable, default="inner"
        Initial kernel, on the smallest patches. "inner" is the product of patches of length 1. "histogram" compares
        histograms of 101 grey levels, for images in [0, 1]; it ignores where in the patch a pixel lies, and so ignores
        rotation. "gaussian" is a Gaussian of the distance. A function k(P, T) of flat patches (n, d) and (m, d) returns
        (n, m), with k(x, x) = 1 or a method ``diag``.
    pooling : {"max", "mean"} or float, default="max"
        Pooling over positions and over `transformations`: the maximum, the mean, or the p of a p-norm.
    hop : int, default=1
        Distance between neighbouring positions in pixels.
    transformations : TransformationSet or None, default=None
        Transformations Φ of the whole image that the response pools over besides translations. If they form a group
        on images of this shape (quarter turns, reflections and their products), the response is exactly invariant to
        them, up to rounding. Any set is accepted, also one that is not linear. `transform` takes as many times longer
        as Φ has members; `fit` takes no longer, unless there is an `embedding`. None means none.
    measure : array-like of shape (n_members,) or None, default=None
        Measure ρ_H over the members of Φ, the identity first: relative weights in the mean and the p-norm; the maximum
        leaves out members of weight 0. None weighs all alike; other measures give up the exact invariance to a group.
        Measures over positions are parameters of the layers.
    embedding : {"pca", "kpca"}, transformer or None, default=None
        Feature map Φ_n of the responses of whole images, [Wibisono10] def. 3.1. It is fitted to the responses of as
        many training images as the last layer has templates; what it returns is scaled to length 1. The choices are
        those of a `Layer`.
    embedding_components : int or None, default=None
        Number of components of `embedding`, as in a `Layer`.
    image_shape : tuple of int or None, default=None
        Shape (h, w) or (h, w, c) of the images in flat rows.
    n_jobs : int or None, default=None
        Number of threads.
    random_state : int, Generator or None, default=None
        Seed of the templates.

    Attributes
    ----------
    templates_ : list of ndarray of shape (n_templates, height, width, c)
        Templates of each layer.
    stages_ : list of Stage
        Encoded templates and fitted embedding of each layer.
    architecture_ : Architecture
        Sizes of patches, hop, pooling, kernel and measures over positions.
    embedding_ : object
        Fitted feature map of the responses of whole images, or None.
    image_shape_ : tuple of int
        Shape of the training images.
    n_features_in_ : int
        Number of values of an image.

    Notes
    -----
    Differs from [Wibisono10]: all positions of an image share the work on the small patches, as in a convolution; a
    blank patch, whose kernel with itself is 0, responds 0 to every template; feature maps are applied to responses of
    length 1, as sec. 5 derives them; the smallest patches may be embedded too, which def. 3.1 does not do; Φ acts on
    the whole image only, so that templates of inner layers are not transformed.
    """

    def __init__(
        self,
        layers=None,
        kernel="inner",
        pooling="max",
        hop=1,
        transformations=None,
        measure=None,
        embedding=None,
        embedding_components=None,
        image_shape=None,
        n_jobs=None,
        random_state=None,
    ):
        self.layers = layers
        self.kernel = kernel
        self.pooling = pooling
        self.hop = hop
        self.transformations = transformations
        self.measure = measure
        self.embedding = embedding
        self.embedding_components = embedding_components
        self.image_shape = image_shape
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X, y=None, sample_weight=None, attention=None) -> "NeuralResponse":
        """Draw templates from images and encode them layer by layer.

        Parameters
        ----------
        X : array-like of shape (n, h, w), (n, h, w, c) or (n, d)
            Training images.
        y : None
            Ignored.
        sample_weight : array-like of shape (n,) or None, default=None
            Relative probability of drawing a template from an image, [Wibisono10] sec. 2.1.
        attention : array-like of shape (h, w) or (n, h, w), or None, default=None
            Relative probability of drawing a template from a place in an image.

        Returns
        -------
        self : NeuralResponse
        """
        images = self._take(X, reset=True)
        layers = self._layers()
        self.architecture_ = self._architecture(layers)
        members = self._members()  # a wrong parameter is an error before anything is computed
        embedding = make_embedding(self.embedding, self.embedding_components, "embedding_components")
        shares = check_shares("sample_weight", sample_weight, len(images))
        attention = check_attention(attention, images.shape)
        rng = make_rng(self.random_state)
        self.templates_: list[np.ndarray] = []
        self.stages_: list[Stage] = []
        for layer, size in zip(layers, self.architecture_.sizes, strict=True):
            n_templates = check_count("n_templates", layer.n_templates)
            self.templates_.append(draw_templates(images, size, n_templates, rng, shares, attention))
            self.stages_.append(self._learn_stage(layer, self.templates_[-1]))
        if embedding is not None:
            some = draw_images(images, layers[-1].n_templates, rng, shares)
            with one_blas_thread():
                embedding.fit(self._encode(some, self.stages_, members, "encoding training images"))
        self.embedding_ = embedding
        return self

    def transform(self, X) -> np.ndarray:
        """Compute the responses of images to the templates of the last layer.

        Parameters
        ----------
        X : array-like of shape (n, h, w), (n, h, w, c) or (n, d)
            Images of the shape of the training images.

        Returns
        -------
        responses : ndarray of shape (n, q), float64
            Rows of length 1; 0 where nothing responds, as for a blank image with kernel="inner"; q is the number of
            templates, or of components with an `embedding`. The derived kernel of two images is the product of their
            rows. Rows of different images agree in about six digits, which is why
            they are in double precision.
        """
        check_is_fitted(self)
        images = self._take(X, reset=False)
        rows = self._encode(images, self.stages_, self._members(), "encoding images", self.embedding_)
        responses = rows.astype(np.float64)
        lengths = np.linalg.norm(responses, axis=1, keepdims=True)
        return responses / np.where(lengths > 0, lengths, 1)

    def _take(self, X, *, reset: bool) -> np.ndarray:
        """Validate images and normalize them if Φ says so: (n, h, w, c)."""
        images = validate_images(self, X, self.image_shape, reset=reset)
        phi = self._phi()
        return _with_channels(images if phi is None else phi.normalize(images))

    def check_loaded(self) -> None:
        """Raise ValueError if sizes, hop and templates, read from a file, are not those of one hierarchy of images.

        Compiled loops read patches of these sizes, `hop` pixels apart, out of images of this shape.
        """
        loaded.check_values(
            self,
            n_jobs=loaded.JOBS,
            image_shape=loaded.SHAPE,
            transformations=loaded.optional(loaded.instance(TransformationSet)),
        )
        if not loaded.is_fitted(self, "architecture_", "templates_", "stages_", "embedding_", "n_features_in_"):
            return
        loaded.check_values(
            self,
            architecture_=loaded.instance(Architecture),
            n_features_in_=loaded.N_VALUES,
            image_shape_=loaded.image_shape(self.n_features_in_),
            embedding_=loaded.optional(loaded.able("transform")),
        )
        architecture, image_size = self.architecture_, tuple(self.image_shape_[:2])
        n_channels = self.image_shape_[2] if len(self.image_shape_) == 3 else 1
        sizes, n_layers = [*map(tuple, architecture.sizes), image_size], len(architecture.sizes)
        loaded.check_values(self, stages_=loaded.list_of(loaded.instance(Stage), n_layers))
        if sizes[-2][0] > image_size[0] or sizes[-2][1] > image_size[1]:
            raise ValueError(f"patches of {sizes[-2]} pixels do not fit into images of {image_size}.")
        n_vector = (101 if architecture.kernel == "histogram" else sizes[0][0] * sizes[0][1]) * n_channels
        for number, stage in enumerate(self.stages_):
            if (number > 0 or architecture.kernel in ("inner", "histogram")) != (stage.patch_kernel is None):
                raise ValueError("only the smallest patches may have a kernel that is no product.")
            if stage.embedding is not None:
                n_vector = stage.embedding.transform(np.zeros((1, n_vector), np.float32)).shape[1]
            if stage.filters.shape[0] != n_vector:
                raise ValueError(f"templates of layer {number} have {stage.filters.shape[0]} values, not {n_vector}.")
            n_vector = stage.filters.shape[1]
        for number, (smaller, larger) in enumerate(pairwise(sizes)):
            positions = tuple((larger[axis] - smaller[axis]) // architecture.hop + 1 for axis in (0, 1))
            measure = architecture.measures[number]
            if measure is not None and (measure.shape != positions or not measure.any()):
                raise ValueError(f"the measure of layer {number} must be over {positions} positions.")
        kinds = [
            loaded.image_arrays(stage.filters.shape[1], (*size, n_channels))
            for stage, size in zip(self.stages_, sizes[:-1], strict=True)
        ]
        for array, kind in zip(self.templates_, kinds, strict=True):
            if not kind.holds(array):
                raise ValueError(f"templates must be {kind.words}.")
        if self.embedding_ is not None:
            self.embedding_.transform(np.zeros((1, n_vector), np.float32))
        self._members()

    def _learn_stage(self, layer: Layer, templates: np.ndarray) -> Stage:
        """Encode the templates of a layer by the stages below it, and fit its embedding."""
        vectors = self._encode(templates, self.stages_, [AS_IT_IS], "encoding templates")
        embedding, is_normalized = make_embedding(layer.embedding, layer.n_components), check_normalize(layer.normalize)
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
        embedded = embed(vectors, embedding, is_normalized)
        return Stage(np.ascontiguousarray(embedded.T), embedding, None, is_normalized)

    def _encode(
        self, images: np.ndarray, stages: Sequence[Stage], members: Sequence[Member], label: str, embedding: Any = None
    ) -> np.ndarray:
        """Encode images by the given stages, pooled over their transformed versions, then embed them: (n, q)."""
        parts = [images[start : start + N_PER_TASK] for start in range(0, len(images), N_PER_TASK)]
        work = partial(_encode_some, self.architecture_, stages, members, embedding)
        return np.concatenate(list(iterate_jobs(work, parts, self.n_jobs, label)))

    def _layers(self) -> list[Layer]:
        if self.layers is None:
            height, width = self.image_shape_[:2]
            return [Layer((_part(height, share), _part(width, share))) for share in DEFAULT_SHARES]
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
        measures = []
        for number, (layer, smaller, size) in enumerate(
            zip(layers, sizes, [*sizes[1:], self.image_shape_[:2]], strict=True)
        ):
            shape = ((size[0] - smaller[0]) // hop + 1, (size[1] - smaller[1]) // hop + 1)
            measures.append(check_measure(f"measure of layers[{number}]", layer.measure, shape))
        return Architecture(sizes, hop, check_pooling(self.pooling), check_kernel(self.kernel), measures)

    def _phi(self) -> TransformationSet | None:
        check_set("transformations", self.transformations)
        return self.transformations

    def _members(self) -> list[Member]:
        """The members of Φ with a share of the measure, each as an operator of its own: one is applied at a time."""
        phi = self._phi()
        if phi is None:
            if self.measure is not None:
                raise ValueError(
                    f"measure needs transformations to weigh; got {self.measure!r} and no transformations."
                )
            return [AS_IT_IS]
        members = phi.operators(self.image_shape_).members
        shares = check_measure("measure", self.measure, (len(members),))
        operators = [None, *(Operators([member], self.image_shape_) for member in members[1:])]
        weighed = zip(operators, np.ones(len(members)) if shares is None else shares, strict=True)
        return [Member(operator, share) for operator, share in weighed if share > 0]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags

    @property
    def _n_features_out(self):
        responses = np.zeros((1, self.stages_[-1].filters.shape[1]), np.float32)
        return embed(responses, self.embedding_, False).shape[1]


def _encode_some(
    architecture: Architecture,
    stages: Sequence[Stage],
    members: Sequence[Member],
    embedding: Any,
    images: np.ndarray,
) -> np.ndarray:
    """Encode images (n, h, w, c), one after another, so that none depends on the others: (n, q)."""
    scratch = Scratch()
    if not stages:
        return np.array([describe_image(image, architecture, scratch) for image in images])
    shares = [member.share for member in members]
    rows = [encode(_versions(image, members), shares, architecture, stages, scratch) for image in images]
    return np.concatenate([embed(row[None], embedding, False) for row in rows])


def _versions(image: np.ndarray, members: Sequence[Member]) -> Iterator[np.ndarray]:
    """Yield the transformed versions of an image (h, w, c); members of Φ see a grey image without its channel axis."""
    plain = image[..., 0] if image.shape[2] == 1 else image
    for member in members:
        if member.operator is None:
            yield image
        else:
            yield member.operator.apply(plain[None])[0, 0].reshape(image.shape)


def _with_channels(images: np.ndarray) -> np.ndarray:
    return images if images.ndim == 4 else images[..., None]


def _check_size(size: Any) -> tuple[int, int]:
    height, width = size if isinstance(size, Sequence) and len(size) == 2 else (size, size)
    return check_count("size", height), check_count("size", width)


def _part(side: int, share: float) -> int:
    return max(1, round(share * side))
