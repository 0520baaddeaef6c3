"""The models of the live engine: the instant one, the refined one from the background, and which of them is best."""

import copy
import threading
from functools import partial
from typing import Any

from invariance.segmentation.estimators import make_estimator
from invariance.segmentation.live.background import Background, Cancelled, Token
from invariance.segmentation.live.instant import InstantModel
from invariance.segmentation.live.maps import MAX_REFINED_STEP, LiveMaps, Model
from invariance.segmentation.live.refinement import RefinedModel, Refiner
from invariance.segmentation.live.strokes import Painted
from invariance.segmentation.segmenter import JungleSegmenter


class LiveModels:
    """Fits and keeps the newest models; it is thread-safe.

    Parameters
    ----------
    maps : LiveMaps
        Images, features and rows.
    template : JungleSegmenter
        The parameters of the refined model.
    n_trees : int
        Number of trees of the instant model.
    seed : int
        Seed of everything that is random.
    n_jobs : int or None
        Number of parallel jobs.
    given : JungleSegmenter or None, default=None
        A fitted segmenter to begin with.
    """

    def __init__(
        self,
        maps: LiveMaps,
        template: JungleSegmenter,
        n_trees: int,
        seed: int,
        n_jobs: int | None,
        given: JungleSegmenter | None = None,
    ):
        self._maps, self._n_trees, self._seed, self._n_jobs = maps, n_trees, seed, n_jobs
        self._refiner = Refiner(template, seed, given)
        self._refined = None if given is None else RefinedModel(0, given)
        self._instant: InstantModel | None = None
        self._failed: int | None = None
        self._background = Background()
        self._lock = threading.Lock()

    def make_classifier(self, n_samples: int, n_strokes: int) -> Any:
        """Make the unfitted classifier of an instant model: the trees of a segmenter with few labels."""
        trees = make_estimator("trees", n_samples, n_strokes, self._seed, self._n_trees)
        return trees.set_params(n_jobs=self._n_jobs)

    def fit_instant(self, version: int, painted: list[Painted]) -> InstantModel:
        """Return the instant model of a version of the strokes, fitting it if it is not there."""
        with self._lock:
            if self._instant is not None and self._instant.version == version:
                return self._instant
        model = InstantModel(version, painted, self._maps.rows_at, self.make_classifier, self._n_jobs)
        model.fit()
        with self._lock:
            if self._instant is None or self._instant.version < version:
                self._instant = model
                self._maps.prefer(painted)
        return model

    def refine(self, version: int, painted: list[Painted], delay: float = 0, retry: bool = False) -> None:
        """Start to fit the refined model of a version, unless it is there or in work, or failed and is not retried."""
        with self._lock:
            is_ready = self._refined is not None and self._refined.version == version
            if is_ready or (version == self._failed and not retry):
                return
        self._background.start(partial(self._fit_refined, version, painted), delay, name=version)

    def refined(self, version: int) -> JungleSegmenter | None:
        """Return a copy of the segmenter of a version, if it is ready."""
        with self._lock:
            found = self._refined
        return copy.deepcopy(found.segmenter) if found is not None and found.version == version else None

    def stage_of(self, version: int) -> str | None:
        """Return the stage of the best model of a version, None if there is none."""
        with self._lock:
            ready = [model.stage for model in (self._refined, self._instant) if model and model.version == version]
        return ready[0] if ready else None

    def best(self, step: int) -> Model:
        """Return the newest model, the refined one of two of the same version."""
        with self._lock:
            refined = self._refined if step <= MAX_REFINED_STEP or self._instant is None else None
            ready: list[Model] = [model for model in (refined, self._instant) if model is not None]
        if not ready:
            raise ValueError("there is no model yet. Paint strokes of two classes and call update.")
        return max(ready, key=lambda model: model.version)

    def n_channels(self) -> int | None:
        """Return the number of channels of the segmenter that it began with, None if there was none."""
        return None if self._refiner.given is None else self._refiner.given.n_channels_

    def cancel(self) -> None:
        """Give up what the background does."""
        self._background.cancel()

    def wait(self, timeout: float | None) -> bool:
        """Wait until the background has nothing to do; return whether it ended in time."""
        return self._background.wait(timeout)

    def raise_failure(self) -> None:
        """Raise the last failure in the background, once."""
        self._background.raise_failure()

    def close(self) -> None:
        """Cancel what the background does, and wait for its end."""
        self._background.close()

    def _fit_refined(self, version: int, painted: list[Painted], token: Token) -> None:
        try:
            model = self._refiner.fit(version, painted, list(self._maps.images), token)
        except Cancelled:
            raise
        except Exception:
            self._failed = version  # it would fail again
            raise
        with self._lock:
            if self._refined is None or self._refined.version < version:
                self._refined = model
