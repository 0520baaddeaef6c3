"""Images of any sizes as histograms of visual words, [Moosmann06] sec. 2-4 and [Varma07] sec. 4.

A sampler picks windows or places of every image, a descriptor turns them into vectors, and a codebook turns vectors
into words, which are counted. Few vectors per image suffice to learn the codebook, many are needed to count: "the
denser the sampling the better".
"""

import os
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from invariance._core import loaded
from invariance._core.checks import check_choice, check_count
from invariance._core.parallel import iterate_jobs
from invariance._core.randomness import make_rng
from invariance.codebooks.counting import count_columns, count_words, informative_thresholds, level_shares
from invariance.codebooks.forest import ClusteringForest
from invariance.codebooks.masks import label_vectors, read_mask
from invariance.codebooks.samplers import MAX_TRAINING_COPIES, Drawn, RandomWindows, default_sampler
from invariance.descriptors import Descriptor, HaarPatches
from invariance.descriptors.kept import KeptDescriptions
from invariance.descriptors.protocol import Extracted
from invariance.images import encode_labels, read_image, watch_range
from invariance.images.validation import is_one_image
from invariance.transformations import TransformationSet
from invariance.transformations.copies import Orbit, Orbits
from invariance.transformations.photometric import normalize_intensities
from invariance.transformations.sets import check_set

NORMALIZATIONS = ("sqrt", "sum", "binary", "information")
# Vectors that `fit_transform` keeps in memory, so that they are computed only once.
KEPT_BYTES = 2**29

Kept = dict[int, tuple[tuple[int, ...], Iterable[Extracted]]]


class BagOfFeatures(TransformerMixin, BaseEstimator):
    """Transformer of images into bags of visual words.

    Parameters
    ----------
    codebook : estimator or None, default=None
        What gives vectors their words: it has `fit(D, y)`, `transform(D) -> (n, t)` of int, and `n_words_`. None means
        `ClusteringForest()`.
    descriptor : Descriptor or None, default=None
        What describes an image. None means `HaarPatches()`.
    sampler : RandomWindows, Grid or None, default=None
        Where an image is described. None means `RandomWindows()` for descriptors of windows, and `Grid()` for others.
    transformations : TransformationSet or None, default=None
        Φ, what should not matter: words are counted in all transformed copies of an image, the same windows or grid in
        each, and the counts are added. If Φ is a group that maps the pixels of the image onto each other, such as
        `Rotations(4) * Reflections()` for square images, the bag of a transformed image is exactly the same. With
        `RandomWindows` the windows are divided among the copies. What lies outside an image is set by the `border` of
        Φ; "reflect" suits photographs.
    normalization : {"sqrt", "sum", "binary", "information"}, default="sqrt"
        "sum" gives the shares of the words, "sqrt" their square roots, "binary" whether a word occurs at all (the
        paper), "information" whether it occurs more often than the threshold that tells most about the class, found
        for each word on the training images.
    levels : int, default=1
        Number of levels of the spatial pyramid. Level l divides the image into 2^l x 2^l cells and counts the words of
        each by itself; finer levels have a larger share in the sum.
    n_jobs : int or None, default=None
        Number of threads, each with an image of its own; the vectors of one image per thread are held at a time.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the windows and, if it has none of its own, of the codebook.

    Attributes
    ----------
    codebook_, descriptor_, sampler_ : objects
        The fitted codebook, and the descriptor and sampler that are used.
    n_words_ : int
        Number of words of the codebook.
    n_values_ : int
        Length of a vector.
    in_colour_ : bool
        Whether grey images are given three equal channels, because some training images are in colour.
    intensity_range_ : dict
        Dtype and range of the training images; images in another range are counted with a warning.
    seed_ : int
        Seed of the windows that are counted: every image has the same, so that its bag does not depend on the images
        beside it.
    background_ : object
        Label of training windows beside the objects; None without masks.
    thresholds_ : ndarray of shape (n_words,)
        The counts above which words tell most, with `normalization="information"` only.

    Notes
    -----
    Images are arrays (h, w) or (h, w, c) of any sizes, or paths; a sequence that reads them one by one will do. Where
    some of the training images are grey and some in colour, grey ones are taken for colours without saturation.

    Differs from [Moosmann06]: the default histogram is normalised and square-rooted (Hellinger) instead of binarised.
    The words of [Varma07] are those of `KMeansCodebook`, counted on a `Grid` with `normalization="sum"`.
    """

    def __init__(
        self,
        codebook=None,
        descriptor=None,
        sampler=None,
        transformations=None,
        normalization="sqrt",
        levels=1,
        n_jobs=None,
        random_state=None,
    ):
        self.codebook = codebook
        self.descriptor = descriptor
        self.sampler = sampler
        self.transformations = transformations
        self.normalization = normalization
        self.levels = levels
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, images: Sequence[Any], y: Any = None, masks: Any = None, background: Any = None) -> "BagOfFeatures":
        """Learn the codebook.

        Parameters
        ----------
        images : sequence of ndarray or path
            Images of any sizes.
        y : array-like of shape (n_images,) or None, default=None
            Labels, for codebooks that use them and for `normalization="information"`.
        masks : sequence of ndarray of shape (h, w), path or None, default=None
            Where the object of every image is, other than 0 on it. Training windows that lie on the object by half or
            more have the label of the image, the others are background. A mask that is None leaves all windows of its
            image with the label of the image, as those of images without an object.
        background : object, default=None
            Label of the windows beside the objects, one of `y` or another; None means a label of its own.

        Returns
        -------
        self : BagOfFeatures
        """
        needs_counts = self.normalization == "information"
        kept = self._learn_codebook(images, y, KEPT_BYTES if needs_counts else 0, masks, background)
        if needs_counts:
            self._learn_thresholds(self._count(images, kept), y)
        return self

    def fit_transform(
        self, images: Sequence[Any], y: Any = None, masks: Any = None, background: Any = None
    ) -> np.ndarray:
        """Learn the codebook and count the words of the same images; see `fit` and `transform`.

        Vectors of up to half a gigabyte are kept, so that they are computed only once.
        """
        counts = self._count(images, self._learn_codebook(images, y, KEPT_BYTES, masks, background))
        if self.normalization == "information":
            self._learn_thresholds(counts, y)
        return self.normalize(counts)

    def transform(self, images: Sequence[Any]) -> np.ndarray:
        """Turn images into bags.

        Parameters
        ----------
        images : sequence of ndarray or path
            Images of any sizes.

        Returns
        -------
        ndarray of shape (n_images, n_words * (1 + 4 + 16 + ...)), float32
            Level by level and cell by cell.
        """
        return self.normalize(self.count(images))

    def count(self, images: Sequence[Any]) -> np.ndarray:
        """Count every word in every image: (n_images, n_words * (1 + 4 + 16 + ...)), float32."""
        check_is_fitted(self)
        watch_range(self, images, reset=False)
        return self._count(images, {})

    def normalize(self, counts: np.ndarray) -> np.ndarray:
        """Turn counts into bags, both of shape (n_images, n_words * (1 + 4 + 16 + ...)), float32."""
        if self.normalization == "binary":
            return (counts > 0).astype(np.float32)
        if self.normalization == "information":
            return (counts > self.thresholds_).astype(np.float32)
        shares = level_shares(counts, self.n_words_, self.levels)
        return np.sqrt(shares) if self.normalization == "sqrt" else shares

    def check_loaded(self) -> None:
        """Raise ValueError if descriptor, sampler and codebook, read from a file, do not go together."""
        loaded.check_values(
            self,
            normalization=loaded.one_of(*NORMALIZATIONS),
            levels=loaded.whole(1, 6),
            transformations=loaded.optional(loaded.instance(TransformationSet)),
            n_jobs=loaded.JOBS,
        )
        fitted = ("descriptor_", "sampler_", "codebook_", "n_words_", "n_values_", "seed_", "in_colour_")
        if not loaded.is_fitted(self, *fitted):
            return
        loaded.check_values(
            self,
            descriptor_=loaded.able("extract"),
            sampler_=loaded.able("extract", "draw_training"),
            codebook_=loaded.able("transform"),
            in_colour_=loaded.FLAG,
            seed_=loaded.whole(0, 2**32),
        )
        loaded.check_values(
            self,
            n_words_=loaded.one_of(int(self.codebook_.n_words_)),
            n_values_=loaded.one_of(int(self.codebook_.n_features_in_)),
        )
        if self.normalization == "information":
            n_columns = count_columns(self.n_words_, self.levels)
            loaded.check_values(self, thresholds_=loaded.array((n_columns,)))

    def extract(self, image: Any, n_windows: int | None = None) -> Extracted:
        """Extract the vectors of one image that are counted, without transformations, for maps and galleries.

        Parameters
        ----------
        image : ndarray or path
            An image.
        n_windows : int or None, default=None
            Number of windows, if the sampler draws them; None is as many as are counted.

        Returns
        -------
        vectors : ndarray of shape (n, n_values), float32
        places : ndarray of shape (n, 3) or (n, 2)
        """
        check_is_fitted(self)
        sampler = self.sampler_
        if n_windows is not None and isinstance(sampler, RandomWindows):
            sampler = clone(sampler).set_params(n_windows=n_windows)
        orbit = Orbits(None).of(self._load(image))
        return next(iter(sampler.extract(self.descriptor_, orbit, np.random.default_rng(self.seed_))))

    def _learn_codebook(self, images, y, room: int, masks=None, background=None) -> Kept:
        """Fit all but the thresholds; the vectors of as many images as there is room for, in bytes, are returned."""
        check_choice("normalization", self.normalization, NORMALIZATIONS)
        check_count("levels", self.levels)
        n_images = _count_images(images)
        _check_masks(masks, y, n_images)
        watch_range(self, images, reset=True)
        self.descriptor_: Descriptor = HaarPatches() if self.descriptor is None else clone(self.descriptor, safe=False)
        self.sampler_ = default_sampler(self.descriptor_) if self.sampler is None else clone(self.sampler, safe=False)
        rng = make_rng(self.random_state)
        seeds, codebook_seed = self.sampler_.draw_seeds(rng, n_images)
        vectors, on_object, kept = self._sample_vectors(images, masks, seeds, room)
        labels = self.background_ = None
        if y is not None:
            classes, codes = encode_labels(y, n_images)
            labels = classes[np.repeat(codes, [len(on) for on in on_object])]
            if masks is not None:
                labels, self.background_ = label_vectors(classes, codes, on_object, background)
        codebook = ClusteringForest() if self.codebook is None else clone(self.codebook)
        self.codebook_ = _fit_codebook(codebook, vectors, labels, random_state=codebook_seed, n_jobs=self.n_jobs)
        self.n_words_ = int(self.codebook_.n_words_)
        self.n_values_ = vectors.shape[1]
        self.seed_ = int(rng.integers(2**31))
        return kept

    def _sample_vectors(self, images, masks, seeds, room: int) -> tuple[np.ndarray, list[np.ndarray], Kept]:
        """Vectors (n, n_values) to learn from, which of them are on an object, and all vectors of some images."""
        check_set("transformations", self.transformations)
        self.in_colour_ = False
        sample = self._sample_once(images, masks, seeds, room)
        if sample is None:
            # Some are grey and some in colour: the grey ones become colours without saturation.
            self.in_colour_ = True
            sample = self._sample_once(images, masks, seeds, room)
        if sample is None:
            raise ValueError("images must give vectors of one length, but theirs differ. Are their channels alike?")
        return sample

    def _sample_once(self, images, masks, seeds, room: int) -> tuple[np.ndarray, list[np.ndarray], Kept] | None:
        """As `_sample_vectors`, or None if the lengths of vectors differ."""
        work = partial(self._draw_training, images, masks, Orbits(self.transformations), len(seeds))
        vectors, on_object, kept = np.empty((0, 0), np.float32), [], Kept()
        is_even, end = True, 0
        tasks = list(enumerate(seeds))
        for index, (drawn, shape) in enumerate(iterate_jobs(work, tasks, self.n_jobs, "describing images")):
            part, on, whole = drawn
            if index == 0:
                vectors = np.empty((len(seeds) * self.sampler_.max_training(len(seeds)), part.shape[1]), np.float32)
            if part.shape[1] != vectors.shape[1]:
                is_even = False
                continue
            vectors[end : end + len(part)] = part
            end += len(part)
            on_object.append(on)
            n_bytes = 0 if whole is None else sum(array.nbytes for array, _ in whole)
            if whole is not None and n_bytes <= room:
                room -= n_bytes
                kept[index] = shape, whole
        return (vectors[:end], on_object, kept) if is_even else None

    def _draw_training(self, images, masks, orbits: Orbits, n_images: int, task) -> tuple[Drawn, tuple[int, ...]]:
        """What to learn from one image, and its shape."""
        index, seed = task
        image = self._load(images[index])
        mask = None
        if masks is not None and masks[index] is not None:
            mask = orbits.of_mask(read_mask(masks[index], image.shape))
        orbit, rng = orbits.of(image), np.random.default_rng(seed)
        return self.sampler_.draw_training(self._kept(orbit, True), orbit, n_images, rng, mask), image.shape

    def _count(self, images, kept: Kept) -> np.ndarray:
        """Counts of words; vectors that were kept are used up."""
        counts = np.zeros((_count_images(images), count_columns(self.n_words_, self.levels)), np.float32)
        work = partial(self._count_image, images, Orbits(self.transformations), kept)
        rows = iterate_jobs(work, range(len(counts)), self.n_jobs, "counting visual words")
        for counts_of_image, row in zip(counts, rows, strict=True):
            counts_of_image[:] = row
        return counts

    def _count_image(self, images, orbits: Orbits, kept: Kept, index: int) -> np.ndarray:
        """The words of one image, added over its transformed copies."""
        if index in kept:
            shape, parts = kept.pop(index)
        else:
            image = self._load(images[index])
            orbit, rng = orbits.of(image), np.random.default_rng(self.seed_)
            # To look for a single image takes a tenth of the time of describing it, and it is rarely there.
            descriptor = self._kept(orbit, False) if len(images) > 1 else self.descriptor_
            shape, parts = image.shape, self.sampler_.extract(descriptor, orbit, rng)
        counts = np.zeros(count_columns(self.n_words_, self.levels), np.int64)
        for vectors, places in parts:
            if vectors.shape[1] != self.n_values_:
                raise ValueError(
                    f"images must give vectors of {self.n_values_} values, as those that the words were learned from; "
                    f"got {vectors.shape[1]}. Are some grey and some in colour?"
                )
            if len(vectors):
                words = self.codebook_.transform(np.ascontiguousarray(vectors, np.float32))
                counts += count_words(words, places, shape, self.n_words_, self.levels)
        return counts

    def _kept(self, orbit: Orbit, is_new: bool) -> Descriptor:
        """The descriptor, asked for what is not kept only; descriptions of many transformed copies are not kept."""
        return KeptDescriptions(self.descriptor_, is_new) if len(orbit) <= MAX_TRAINING_COPIES else self.descriptor_

    def _load(self, image: Any) -> np.ndarray:
        """One image as an array, with three channels where training images had them, normalized if Φ says so."""
        image = read_image(image) if isinstance(image, str | os.PathLike) else np.asarray(image)
        if image.ndim not in (2, 3) or image.size == 0:
            raise ValueError(f"an image must be (h, w) or (h, w, c) with at least one pixel; got shape {image.shape}.")
        if self.in_colour_ and (image.ndim == 2 or image.shape[2] == 1):
            image = np.repeat(image.reshape(*image.shape[:2], 1), 3, axis=2)
        return normalize_intensities(image[None], self.transformations)[0]

    def _learn_thresholds(self, counts: np.ndarray, y) -> None:
        """Find the counts above which words tell most about the class."""
        if y is None:
            raise ValueError("normalization='information' needs labels y to find its thresholds; got None.")
        self.thresholds_ = informative_thresholds(counts, encode_labels(y, len(counts))[1])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.three_d_array = False, True  # images, never flat rows
        return tags


def _fit_codebook(codebook, vectors: np.ndarray, labels, **lent) -> Any:
    """A codebook fitted with parameters that it is lent where its own are None."""
    given = codebook.get_params(deep=False)
    lent = {name: value for name, value in lent.items() if name in given and given[name] is None}
    codebook.set_params(**lent).fit(vectors, labels)
    # Counting runs one image per thread, so the codebook must not start more; a generator is not kept in the model.
    return codebook.set_params(**dict.fromkeys(lent))


def _check_masks(masks: Any, y: Any, n_images: int) -> None:
    """Refuse masks that do not belong to the images, or that have no labels to go with."""
    if masks is None:
        return
    if y is None:
        raise ValueError("masks need labels y, which windows on the objects are given; got y=None.")
    if len(masks) != n_images:
        raise ValueError(f"masks must hold one mask, or None, for each of the {n_images} images; got {len(masks)}.")


def _count_images(images: Any) -> int:
    """The number of images, at least one."""
    if is_one_image(images) or (isinstance(images, np.ndarray) and images.ndim not in (1, 3, 4)):
        cure = "Put a single image in a list."
        raise ValueError(f"images must be a sequence of images; got one array of shape {images.shape}. {cure}")
    if len(images) == 0:
        raise ValueError("images must hold at least one image; got none.")
    return len(images)
