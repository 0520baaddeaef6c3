"""Labelling pixels while one paints: an instant model after every stroke, a refined one in the background.

The parts, one file each: strokes and their history (`strokes.py`), what is computed of images and kept
(`maps.py`), the two models (`instant.py`, `refinement.py`, kept by `models.py`), the thread
(`background.py`), what is visible (`views.py`), held-out scores (`scores.py`) and the next places to paint
(`suggestions.py`).
"""

import copy
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from invariance._core.checks import check_count, check_number
from invariance._core.parallel import map_jobs
from invariance._core.randomness import RandomState, make_rng
from invariance.segmentation.inputs import check_image
from invariance.segmentation.live.images import open_live
from invariance.segmentation.live.instant import InstantModel, find_labels
from invariance.segmentation.live.maps import LiveMaps, Model, Place, Source
from invariance.segmentation.live.models import LiveModels
from invariance.segmentation.live.scores import LiveScores, score_rows
from invariance.segmentation.live.strokes import Strokes, make_stroke
from invariance.segmentation.live.suggestions import Suggestion, choose_places, measure_uncertainty
from invariance.segmentation.live.views import LiveTile, View, check_view, draw_tiles, full_size, tiles_of
from invariance.segmentation.segmenter import JungleSegmenter
from invariance.transformations import TransformationSet

# Features of one tile with one channel take 8 MB; a store with fewer of them would compute them again and again.
MIN_BYTES = 64 * 2**20
# Labels are stored in 64 bits.
MAX_LABEL = 2**63
# `suggest` looks at so many tiles, spread over all images.
MAX_SUGGESTING_TILES = 16


class LiveSegmenter:
    """Label all pixels of images while strokes are painted on them.

    `update` fits an instant model, extremely randomized trees on the filter bank, in a fraction of a second, and starts
    to fit a `JungleSegmenter` to the same strokes in the background. `predict` yields the tiles of a view by the best
    model that is ready. The same strokes and seed give the same models, whatever was undone in between. All methods may
    be called from any thread.

    Parameters
    ----------
    transformations : TransformationSet or None, default=None
        What does not matter to the learned filters, as in `JungleSegmenter`.
    max_bytes : int, default=2**30
        Maximum number of bytes of kept features and predictions.
    max_pixels : int, default=10_000
        Maximum number of pixels that the instant model learns from, about the same number per stroke.
    n_trees : int, default=100
        Number of trees of the instant model.
    segmenter : JungleSegmenter or None, default=None
        The parameters of the refined model. None means those by default, with `transformations`.
    refine : bool, default=True
        Whether the refined model is fitted in the background; otherwise only `export` fits it.
    refine_after : float, default=0.5
        Seconds without a change of strokes after which that begins.
    n_jobs : int or None, default=None
        Number of parallel jobs; -1 uses all processors. It does not change the result.
    random_state : int, RandomState instance, Generator or None, default=None
        Seed for reproducible results.

    Examples
    --------
    >>> from invariance import LiveSegmenter, datasets
    >>> from invariance.segmentation import View
    >>> image = datasets.make_membranes(1, (64, 64), random_state=0).images[0]
    >>> with LiveSegmenter(refine=False, random_state=0) as live:
    ...     number = live.add_image(image)
    ...     live.add_stroke(number, [5, 5, 5], [10, 11, 12], label=0)
    ...     live.add_stroke(number, [40, 41, 42], [20, 20, 20], label=1)
    ...     version = live.update()
    ...     tiles = list(live.predict(View(number, 0, 0, 64, 64)))
    >>> tiles[0].probabilities.shape
    (64, 64, 2)
    """

    def __init__(
        self,
        transformations: TransformationSet | None = None,
        max_bytes: int = 2**30,
        max_pixels: int = 10_000,
        n_trees: int = 100,
        segmenter: JungleSegmenter | None = None,
        refine: bool = True,
        refine_after: float = 0.5,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ):
        if segmenter is not None and transformations is not None:
            raise ValueError("transformations must be None if a segmenter is given: it has its own.")
        self._template = clone(segmenter) if segmenter is not None else JungleSegmenter(transformations, n_jobs=n_jobs)
        self._n_trees = check_count("n_trees", n_trees)
        self._refine, self._refine_after = refine, check_number("refine_after", refine_after, low=0)
        self._n_jobs, self._seed = n_jobs, int(make_rng(random_state).integers(2**31))
        max_bytes = check_count("max_bytes", max_bytes, at_least=MIN_BYTES)
        self._maps = LiveMaps(max_bytes, check_count("max_pixels", max_pixels, at_least=2), self._seed)
        self._models = self._make_models(None)
        self._strokes = Strokes()
        self._is_closed = False
        self._lock = threading.RLock()  # of strokes and images; nothing long is done while it is held

    @classmethod
    def from_model(cls, model: JungleSegmenter, **parameters: Any) -> "LiveSegmenter":
        """Make an engine that goes on from a fitted segmenter, such as one that `export` returned.

        Until strokes of two classes are painted, predictions are those of the model. As long as the strokes have the
        classes of the model, its filters are kept, and the rest is fitted to the strokes.

        Parameters
        ----------
        model : JungleSegmenter
            A fitted segmenter.
        **parameters : dict
            Parameters of this class, except `transformations` and `segmenter`.

        Returns
        -------
        live : LiveSegmenter
            The engine, without images and strokes.
        """
        check_is_fitted(model)
        live = cls(segmenter=model, **parameters)
        live._models = live._make_models(copy.deepcopy(model))
        return live

    # ------------------------------------------------------------ images and strokes

    def add_image(self, image: Any) -> int:
        """Add an image (h, w) or (h, w, c).

        Parameters
        ----------
        image : array
            Anything with `shape` and slicing, in memory, memory-mapped or lazily read; it must not change afterwards.

        Returns
        -------
        index : int
            Its index, from 0.
        """
        image = image if hasattr(image, "shape") else np.asarray(image)
        with self._lock:
            self._check_open()
            known = self._maps.images[0].shape[2] if self._maps.images else self._models.n_channels()
        n_channels = image.shape[-1] if len(image.shape) > 2 else 1
        image = check_image(image, n_channels if known is None else known)
        opened = open_live(image, self._template.standardize, self._template.transformations, self._template.scale)
        with self._lock:
            self._check_not_closed()
            if self._maps.images and self._maps.images[0].shape[2] != opened.shape[2]:
                raise ValueError("images must have the same number of channels. Convert one of them.")
            self._maps.images.append(opened)
            return len(self._maps.images) - 1

    def add_stroke(self, image: int, rows: Any, cols: Any, label: int) -> None:
        """Label pixels of an image; what was labelled before gets the new label.

        Parameters
        ----------
        image : int
            Index of the image.
        rows, cols : array-like of shape (n,), int
            The pixels, inside the image; see `brush_pixels`.
        label : int
            The label.
        """
        if isinstance(label, bool) or not isinstance(label, int | np.integer):
            raise ValueError(f"label must be an integer; got {label!r}. Number the classes.")
        if not abs(int(label)) < MAX_LABEL:
            raise ValueError(f"label must be between -2**63 and 2**63; got {label!r}. Number the classes.")
        self._paint(image, rows, cols, int(label))

    def erase(self, image: int, rows: Any, cols: Any) -> None:
        """Remove the labels of pixels of an image, given as in `add_stroke`."""
        self._paint(image, rows, cols, None)

    def undo(self) -> bool:
        """Take back the last stroke or erasure; return whether there was one."""
        return self._change(self._strokes.undo) is not None

    def redo(self) -> bool:
        """Do again what was undone last; return whether there was something."""
        return self._change(self._strokes.redo) is not None

    @property
    def n_strokes(self) -> int:
        """Number of strokes and erasures that are not undone."""
        return len(self._strokes)

    @property
    def version(self) -> int:
        """Number of changes of strokes until now; predictions of this version know all strokes."""
        return self._strokes.revision

    @property
    def stage(self) -> str | None:
        """Which model of the present strokes is ready: "refined", "instant", or None if there is none."""
        return self._models.stage_of(self._strokes.revision)

    @property
    def nbytes(self) -> int:
        """Bytes of kept features, predictions, rows and strokes."""
        with self._lock:
            return self._maps.nbytes + self._strokes.nbytes

    # ------------------------------------------------------------ models

    def update(self) -> int:
        """Fit the instant model to the strokes of this moment, and start to fit the refined one.

        Returns
        -------
        version : int
            The version of the strokes that it was fitted to.
        """
        return self._updated().version

    def predict(self, view: View) -> Iterator[LiveTile]:
        """Predict the tiles that show a view, from its centre outwards.

        Every tile is predicted by the best model that is ready at that moment: the newest version, and of that the
        refined model if it is there. At `step` > 1 an instant model reads every `step`-th pixel only, in training and
        prediction, and the refined model is used up to step 4; so a view of a whole slide costs no more than any other
        of that many tiles.

        Parameters
        ----------
        view : View
            What to predict, clipped to the image.

        Returns
        -------
        tiles : iterator of LiveTile
            Whole tiles of a fixed grid, 256 pixels per side.
        """
        view, places = self._places_of(view)
        self._models.best(view.step)  # an error comes at once, not with the first tile
        return self._predict(places)

    def recall(self, view: View) -> Iterator[LiveTile]:
        """Return the last predictions of a view, of any version, at once; tiles that are not kept are left out."""
        _, places = self._places_of(view)
        found = ((place, self._maps.recall(place)) for place in places)
        return (self._tile_at(place, *kept) for place, kept in found if kept is not None)

    def scores(self, by: str = "auto", check: Callable[[], None] | None = None) -> LiveScores:
        """Score the instant model on strokes that it was not fitted to.

        Parameters
        ----------
        by : {"auto", "stroke", "image"}, default="auto"
            What is held out as a whole; "auto" means images if at least four have strokes, else strokes.
        check : callable or None, default=None
            Called before each of the models that this takes; an exception that it raises ends the work.

        Returns
        -------
        scores : LiveScores
            Scores per class and the confusion matrix. A class with a single stroke has no score.
        """

        def make_classifier(n_samples: int, n_strokes: int) -> Any:
            if check is not None:
                check()
            return self._models.make_classifier(n_samples, n_strokes)

        return score_rows(self._updated().rows(), by, make_classifier, self._seed)

    def suggest(self, n: int = 5, view: View | None = None) -> list[Suggestion]:
        """Suggest the next places worth a stroke: least sure, spread out, and not near a stroke.

        Parameters
        ----------
        n : int, default=5
            Maximum number of places.
        view : View or None, default=None
            Where to look, at full resolution. None means in up to 16 tiles, drawn from all images.

        Returns
        -------
        places : list of Suggestion
            The least sure first.
        """
        n, model = check_count("n", n), self._updated()
        if view is not None:
            places = self._places_of(view._replace(step=1))[1]
        else:
            shapes = [image.shape for image in list(self._maps.images)]
            drawn = draw_tiles(shapes, MAX_SUGGESTING_TILES, np.random.default_rng(self._seed))
            places = [Place(image, 1, tile) for image, tile in drawn]
        maps = map_jobs(
            lambda place: (place.image, place.tile, measure_uncertainty(self._maps.predict(model, place))),
            places,
            self._n_jobs,
        )
        return choose_places(maps, model.painted, n)

    def export(self) -> JungleSegmenter:
        """Return the refined model of the present strokes, fitting it first if it is not ready.

        Returns
        -------
        segmenter : JungleSegmenter
            A fitted segmenter of its own, to be saved, or to go on from with `from_model`.
        """
        with self._lock:
            self._check_open()
            version, painted = self._strokes.revision, self._strokes.painted()
        segmenter = self._models.refined(version)
        if segmenter is None:
            find_labels(painted)
            self._models.refine(version, painted, retry=True)
            self.wait()
            segmenter = self._models.refined(version)
        if segmenter is None:
            raise RuntimeError("the strokes changed while the model was fitted. Export it again.")
        return segmenter

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the background has nothing to do.

        Parameters
        ----------
        timeout : float or None, default=None
            Maximum number of seconds.

        Returns
        -------
        is_done : bool
            Whether it ended in time.
        """
        is_done = self._models.wait(timeout)
        self._models.raise_failure()
        return is_done

    def close(self) -> None:
        """Cancel the work in the background and forget everything that is kept."""
        with self._lock:
            self._is_closed = True
        self._models.close()
        self._maps.clear()

    def __enter__(self) -> "LiveSegmenter":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # ------------------------------------------------------------ inside

    def _paint(self, image: int, rows: Any, cols: Any, label: int | None) -> None:
        stroke = make_stroke(image, self._shape_of(image), rows, cols, label)
        self._change(lambda: self._strokes.add(stroke))

    def _change(self, change: Callable[[], Any]) -> Any:
        """Change the strokes; what the background does is stale then."""
        with self._lock:
            self._check_not_closed()
            before, result = self._strokes.revision, change()
            if self._strokes.revision != before:
                self._models.cancel()
            return result

    def _make_models(self, given: JungleSegmenter | None) -> LiveModels:
        return LiveModels(self._maps, self._template, self._n_trees, self._seed, self._n_jobs, given)

    def _updated(self) -> InstantModel:
        """Return the instant model of the strokes of this moment."""
        with self._lock:
            self._check_open()
            version, painted = self._strokes.revision, self._strokes.painted()
        model = self._models.fit_instant(version, painted)
        with self._lock:
            if self._refine and version == self._strokes.revision and not self._is_closed:
                self._models.refine(version, painted, self._refine_after)
        return model

    def _check_open(self) -> None:
        self._check_not_closed()
        self._models.raise_failure()

    def _check_not_closed(self) -> None:
        if self._is_closed:
            raise ValueError("the LiveSegmenter is closed. Make a new one.")

    def _shape_of(self, image: int) -> tuple[int, ...]:
        n_images = len(self._maps.images)
        if isinstance(image, bool) or not isinstance(image, int | np.integer) or not 0 <= image < n_images:
            raise ValueError(f"image must be the index of one of {n_images} images; got {image!r}. Add it first.")
        return self._maps.images[image].shape

    def _places_of(self, view: View) -> tuple[View, list[Place]]:
        """Check a view and list the tiles that show it."""
        self._check_open()
        view = check_view(view, self._shape_of(view.image))
        shape = self._maps.at_step(view.image, view.step).shape
        return view, [Place(view.image, view.step, tile) for tile in tiles_of(view, shape)]

    def _predict(self, places: list[Place]) -> Iterator[LiveTile]:
        """Yield predicted tiles: the first alone, so that it comes soon, then as many at a time as there are jobs."""

        def predict(place: Place) -> LiveTile:
            self._check_not_closed()
            model = self._models.best(place.step)
            return self._tile_at(place, self._maps.predict(model, place), model)

        n_together = effective_n_jobs(self._n_jobs)
        for start in (0, *range(1, len(places), n_together)):
            # Nothing is left in work between two tiles: whoever looks elsewhere just stops asking.
            yield from map_jobs(predict, places[start : start + n_together if start else 1], self._n_jobs)

    def _tile_at(self, place: Place, maps: np.ndarray, source: Source | Model) -> LiveTile:
        area = full_size(place.tile, place.step, self._maps.images[place.image].shape)
        return LiveTile(place.image, area, place.step, maps, source.classes, source.stage, source.version)
