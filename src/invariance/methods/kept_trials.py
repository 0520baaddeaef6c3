"""What earlier races found out about the same images: the predictions of trials, models, and how long both took.

A lap is the time from the end of the last trial or fit to the end of this one, with all that was done in between. A
race of the same images, labels and settings then takes the same decisions without trying anything again, and one
with a larger budget goes on where the first one ended. Only what this library computes is kept: the methods of other
packages may have changed since.
"""

import hashlib
from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from invariance._core.keeping import key_of, shared_store
from invariance.encoders import OnnxEncoder, default_encoder
from invariance.encoders.finding import missing_packages
from invariance.images import encode_labels
from invariance.methods.classifier import ImageClassifier
from invariance.methods.registry import get_method, get_methods
from invariance.methods.trial import Fold, Judged
from invariance.models import ModelError, load, save
from invariance.transformations.parsing import format_transformations

PACKAGE = Path(__file__).parents[1]
N_TIMES = 5  # numbers before the probabilities in what is kept of a trial
N_SECONDS = 16  # bytes before the file of a model: how long it and its lap took, in double precision
WORTH_KEEPING = 1.0  # seconds of fitting; reading a model takes a part of a second


class KeptTrials:
    """Trials and models of images, found again by the contents of the images and the settings of the classifier.

    Parameters
    ----------
    images : sequence of ndarray
    labels : array-like of shape (n,)
    encoder : OnnxEncoder or None, default=None
        The pretrained network of methods that take one; None is the default one.
    """

    def __init__(self, images: Sequence[np.ndarray], labels: Any, encoder: OnnxEncoder | None = None):
        self._images, self._encoder = images, encoder
        classes, self._codes = encode_labels(labels, len(images))
        self._n_classes = len(classes)
        self._names = classes.dtype.str, classes.tolist()  # a model predicts them
        self._digests: dict[int, bytes] = {}
        self._store = shared_store()

    def find_trial(self, classifier: ImageClassifier, fold: Fold) -> tuple[Judged, float] | None:
        """Return what an earlier race found on a fold, and its lap; None if it is not known."""
        kept = self._get("trial", classifier, *fold)
        if kept is None or len(kept) != N_TIMES + len(fold[1]) * self._n_classes:
            return None
        lap, *seconds = map(float, kept[:N_TIMES])
        return Judged(fold[1], kept[N_TIMES:].reshape(-1, self._n_classes), *seconds), lap

    def keep_trial(self, classifier: ImageClassifier, fold: Fold, judged: Judged, lap: float) -> None:
        """Keep what was found on a fold."""
        lap = max(lap, judged.fit_seconds + judged.predict_seconds)  # it is 0 where no clock was read
        times = lap, judged.fit_seconds, judged.predict_seconds, judged.fit_saved, judged.predict_saved
        self._put("trial", classifier, np.append(times, judged.probabilities), *fold)

    def find_model(self, classifier: ImageClassifier, rows: np.ndarray) -> tuple[ImageClassifier, float, float] | None:
        """Return the model that an earlier race fitted to these rows, its seconds and its lap; None if not known."""
        kept = self._get("model", classifier, rows)
        if kept is None:
            return None
        try:
            with TemporaryDirectory() as folder:
                path = Path(folder, "model.inv")
                path.write_bytes(kept[N_SECONDS:].tobytes())
                model = load(path)
        except (ModelError, OSError):  # it is damaged, or the disk is full
            return None
        seconds, lap = map(float, kept[:N_SECONDS].view(np.float64))
        return model.set_params(n_jobs=classifier.n_jobs), seconds, lap

    def keep_model(
        self, classifier: ImageClassifier, rows: np.ndarray, model: ImageClassifier, seconds: float, lap: float
    ) -> None:
        """Keep a model that took long to fit."""
        if self._store is None or seconds < WORTH_KEEPING:
            return
        try:
            with TemporaryDirectory() as folder:
                content = np.fromfile(save(model, Path(folder, "model.inv")), np.uint8)
        except (ModelError, OSError):  # it holds what cannot be saved, or the disk is full
            return
        times = np.array([seconds, max(lap, seconds)])
        self._put("model", classifier, np.concatenate([times.view(np.uint8), content]), rows)

    def _get(self, what: str, classifier: ImageClassifier, *parts: np.ndarray) -> np.ndarray | None:
        settings = self._settings(what, classifier)
        if self._store is None or settings is None:
            return None
        stored = self._store.get(key_of(settings, self._contents(parts)))
        return None if stored is None else stored.array

    def _put(self, what: str, classifier: ImageClassifier, array: np.ndarray, *parts: np.ndarray) -> None:
        settings = self._settings(what, classifier)
        if self._store is not None and settings is not None:
            self._store.put(key_of(settings, self._contents(parts)), array)

    def _settings(self, what: str, classifier: ImageClassifier) -> str | None:
        """All that a trial depends on besides the images, as text; None if no text says it."""
        phi, seed, methods = classifier.transformations, classifier.random_state, get_methods()
        ignored = None if phi is None else format_transformations(phi)
        has_text = phi is None or ignored != repr(phi)
        if not has_text or not isinstance(seed, int | np.integer) or not all(map(_is_ours, methods)):
            return None
        settings = (classifier.method_name, ignored, classifier.max_side, int(seed), classifier.scale)
        network = self._network if get_method(classifier.method_name).takes_encoder else None
        installed = [method.name for method in methods if not method.missing()]
        return repr((what, settings, network, self._names, installed, _source_stamp()))

    @cached_property
    def _network(self) -> tuple[str, ...] | None:
        """The settings of the pretrained network and the checksum of its file; None if it cannot be used."""
        if missing_packages():
            return None
        chosen = default_encoder() if self._encoder is None else self._encoder
        settings = chosen.get_params(deep=False)
        try:
            checksum = OnnxEncoder(**settings).fit().fingerprint_
        except ValueError:
            return None
        return checksum, *(f"{name}={settings[name]!r}" for name in sorted({*settings} - {"n_jobs", "path"}))

    def _contents(self, parts: Sequence[np.ndarray]) -> np.ndarray:
        """A digest of images and labels by their rows, in parts, as numbers."""
        digest = hashlib.sha256()
        for rows in parts:
            digest.update(len(rows).to_bytes(8, "little"))
            for row in map(int, rows):
                digest.update(self._digest(row))
                digest.update(int(self._codes[row]).to_bytes(8, "little"))
        return np.frombuffer(digest.digest(), np.uint8)

    def _digest(self, row: int) -> bytes:
        if row not in self._digests:
            image = np.ascontiguousarray(self._images[row])
            digest = hashlib.sha256(repr((image.shape, image.dtype.str)).encode())
            digest.update(image.data)
            self._digests[row] = digest.digest()
        return self._digests[row]


def _is_ours(method: Any) -> bool:
    return type(method).__module__.partition(".")[0] == PACKAGE.name


@cache
def _source_stamp() -> str:
    """A digest of the sizes and times of all files of the library, which change where it is being developed."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        status = path.stat()
        digest.update(f"{path.relative_to(PACKAGE)} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()
