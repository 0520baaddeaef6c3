"""The long jobs of whole images: training, predicting, advice, exports, and sub-folders as classes."""

import csv
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from invariance._core.files import atomic_path
from invariance.images import ImageError
from invariance.methods import Step, advise, cross_validate, draw_folds, race_methods
from invariance.methods.trial import MIN_PER_CLASS, Trial
from invariance.studio.exports import claim_path, command_line, digest, exports_folder, link_file, unique_stems
from invariance.studio.images import ImageSession, Prediction, Trained, find_class_folders, parse_phi
from invariance.studio.jobs import Cancelled, Cancelling, Progress

BUDGET = 30.0  # seconds to select a method
MAX_BUDGET = 3600.0
ADVICE_BUDGET = 60.0
SEED = 0
N_TOGETHER = 64  # images that are predicted between two looks at whether the job is cancelled
MAX_CLASSES = 1000


class _Watched(list):
    """Images, of which none can be taken any more after the job was cancelled: so every fold of a trial looks."""

    def __init__(self, images: Iterable[np.ndarray], cancelled: Cancelling):
        super().__init__(images)
        self._cancelled = cancelled

    def __getitem__(self, index: Any) -> Any:
        if self._cancelled():
            raise Cancelled
        return super().__getitem__(index)


def train(session: ImageSession, fields: dict[str, Any], progress: Progress, cancelled: Cancelling) -> dict[str, Any]:
    """Select a method within a budget, fit it to all labels, find its mistakes, and predict all other images."""
    budget = _read_budget(fields, BUDGET)
    text = fields.get("invariant_to", session.project.settings().get("image_invariant_to"))
    phi = parse_phi(text)
    labels, images, skipped = _labelled(session, progress, cancelled)
    names = _class_names(session)
    y = np.array([names[number] for number in labels.values()])
    watched = _Watched(images, cancelled)
    for event in race_methods(watched, y, phi, budget, SEED, max_side=session.max_side):
        _check(cancelled)
        if isinstance(event, Step):
            progress(None, event.sentence)
        else:
            selection = event
    classifier = selection.classifier
    trial = _held_out(selection.trials, classifier, watched, y, progress)
    _check(cancelled)
    number_of = {name: number for number, name in names.items()}
    predictions = {}
    if trial is not None:
        for row, image in enumerate(labels):
            if trial.is_judged[row]:
                predictions[image] = _prediction(image, trial.probabilities[row], True)
    trained = Trained(
        classifier=classifier,
        numbers=tuple(number_of[str(name)] for name in classifier.classes_),
        names=tuple(str(name) for name in classifier.classes_),
        predictions=predictions,
        labels=labels,
        accuracy=None if trial is None else trial.accuracy,
        n_judged=0 if trial is None else trial.n_judged,
        reason=selection.reason,
        invariant_to=text or None,
        skipped=skipped,
    )
    return _predict_rest(session, trained, progress, cancelled)


def predict(session: ImageSession, fields: dict[str, Any], progress: Progress, cancelled: Cancelling) -> dict[str, Any]:
    """Predict the images without a label by the model that is there."""
    return _predict_rest(session, _trained(session), progress, cancelled)


def advise_images(
    session: ImageSession, fields: dict[str, Any], progress: Progress, cancelled: Cancelling
) -> dict[str, Any]:
    """Try what may not matter about the labelled images; return findings as data."""
    budget = _read_budget(fields, ADVICE_BUDGET)
    labels, images, _ = _labelled(session, progress, cancelled)
    names = _class_names(session)
    advice = advise(_Watched(images, cancelled), [names[number] for number in labels.values()], budget)
    views = list(advice.plain)
    return {
        "path": None,
        "command": None,
        "text": advice.sentence,
        "advised": advice.text,
        "reasons": advice.reasons,
        "view": str(advice.view),
        "plain": {str(view): advice.plain[view].accuracy for view in views},
        "untried": advice.untried,
        "items": [
            _as_item(finding, advice)
            for finding in (*advice.best_combinations(), *(f for view in views for f in advice.of_view(view)))
        ],
    }


def export_classifier(
    session: ImageSession, fields: dict[str, Any], progress: Progress, cancelled: Cancelling
) -> dict[str, Any]:
    """Save the trained model as `images.inv`."""
    from invariance.models import save

    trained = _trained(session)
    path = claim_path(session.project.directory, "images", ".inv")
    save(trained.classifier, path)
    folder = keep_training_images(session, trained)
    return {"path": str(path), "text": "Model saved.", "command": _command(trained, folder)}


def export_table(
    session: ImageSession, fields: dict[str, Any], progress: Progress, cancelled: Cancelling
) -> dict[str, Any]:
    """Write a table of all images: label, prediction, and probabilities."""
    trained, names = session.trained, _class_names(session)
    labels = session.project.image_labels()
    if trained is None and not labels:
        raise ValueError("no image has a label or a prediction yet. Label some images first.")
    path = claim_path(session.project.directory, "images", ".csv")
    columns = () if trained is None else trained.names
    with atomic_path(path) as neighbour, open(neighbour, "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(("path", "label", "is_predicted", *(f"probability of {name}" for name in columns)))
        for image in session.sources.images():
            prediction = None if trained is None else trained.predictions.get(image.id)
            number = labels.get(image.id) or (
                trained.number_of(prediction) if trained is not None and prediction is not None else 0
            )
            shares = ("",) * len(columns) if prediction is None else (f"{p:.6f}" for p in prediction.probabilities)
            is_predicted = "" if not number else "no" if labels.get(image.id) else "yes"
            table.writerow((image.name, names.get(number, ""), is_predicted, *shares))
    command = None if trained is None else _command(trained, keep_training_images(session, trained))
    return {"path": str(path), "text": f"Table of {len(session.sources.images())} images written.", "command": command}


def import_folders(
    session: ImageSession, fields: dict[str, Any], progress: Progress, cancelled: Cancelling
) -> dict[str, Any]:
    """Make sub-folders classes and label the images in them, as one action."""
    folders = find_class_folders({image.id: str(image.name) for image in session.sources.images()})
    if not folders:
        raise ValueError("the images are not in two sub-folders or more. Label them here instead.")
    if len(folders) > MAX_CLASSES:
        raise ValueError(f"there are {len(folders)} sub-folders, but {MAX_CLASSES} classes are the limit.")
    numbers = {one.name: one.number for one in session.project.classes("images")}
    for name in sorted(folders):
        if name not in numbers:
            numbers[name] = session.project.add_class("images", name).number
    session.project.label_images({image: numbers[name] for name, images in folders.items() for image in images})
    session.refresh()
    n_images = sum(map(len, folders.values()))
    return {"path": None, "command": None, "text": f"{n_images} images labelled by their {len(folders)} folders."}


def keep_training_images(session: ImageSession, trained: Trained) -> Path:
    """Write links to the labelled images to one sub-folder per class, in a folder named after the labels."""
    name_of = {image.id: str(image.name) for image in session.sources.images()}
    path_of = {image.id: Path(image.path) for image in session.sources.images()}
    of_number = dict(zip(trained.numbers, trained.names, strict=True))
    learned = {image: of_number[number] for image, number in trained.labels.items() if image in name_of}
    folder = exports_folder(session.project.directory) / (
        "training-" + digest(part.encode() for image, name in learned.items() for part in (name_of[image], name))
    )
    if folder.is_dir():
        return folder
    unfinished = folder.with_name(f".{folder.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    places = _folder_names(set(learned.values()))
    stems = unique_stems(name_of[image] for image in learned)
    for image, name in learned.items():
        (unfinished / places[name]).mkdir(parents=True, exist_ok=True)
        link_file(path_of[image], unfinished / places[name] / f"{stems[name_of[image]]}{path_of[image].suffix}")
    unfinished.rename(folder)
    return folder


def _folder_names(names: set[str]) -> dict[str, str]:
    """Return a name of a folder for every class, which has its own where the file system allows it."""
    safe = {name: "".join("_" if char in '/\\:*?"<>|' or ord(char) < 32 else char for char in name) for name in names}
    return {
        name: text if text.strip(". ") and list(safe.values()).count(text) == 1 and len(text.encode()) < 200
        else f"class {number}"
        for number, (name, text) in enumerate(sorted(safe.items()), 1)
    }  # fmt: skip


def _command(trained: Trained, folder: Path) -> str:
    phi = [] if trained.invariant_to is None else ["--invariant-to", trained.invariant_to]
    method = trained.classifier.method_name
    return command_line("invariance", "fit", folder, "-o", "images.inv", "--method", method, *phi, "--seed", str(SEED))


def _trained(session: ImageSession) -> Trained:
    if session.trained is None:
        raise ValueError("there is no model yet. Train one first.")
    return session.trained


def _labelled(
    session: ImageSession, progress: Progress, cancelled: Cancelling
) -> tuple[dict[int, int], list[np.ndarray], dict[int, str]]:
    """Read the labelled images: labels by image, pixels, and what could not be read."""
    names, skipped = _class_names(session), {}
    chosen = {image: number for image, number in sorted(session.project.image_labels().items()) if number in names}
    labels, images = {}, []
    for done, (image, number) in enumerate(chosen.items()):
        _check(cancelled)
        progress(done / len(chosen), f"Reading {len(chosen)} images")
        try:
            images.append(session.read(image))
        except (ImageError, OSError) as error:
            skipped[image] = str(error)
            continue
        labels[image] = number
    counts = {names[number]: list(labels.values()).count(number) for number in set(labels.values())}
    if len(counts) < 2:
        raise ValueError(f"images of at least two classes are needed; {len(counts)} have labels. Label some images.")
    lonely = [name for name, count in counts.items() if count < MIN_PER_CLASS]
    if lonely:
        raise ValueError(f"class '{lonely[0]}' has one image only. Label another, or give that one another class.")
    return labels, images, skipped


def _held_out(
    trials: list[Trial], classifier: Any, images: list[np.ndarray], y: np.ndarray, progress: Progress
) -> Trial | None:
    """Return held-out predictions of the chosen method for all images that can be held out; None if none can."""
    counts = np.unique(y, return_counts=True)[1]
    n_possible = int(counts[counts > MIN_PER_CLASS].sum())
    if n_possible == 0:
        return None
    for trial in trials:
        if trial.name == classifier.method_name and trial.n_judged == n_possible:
            return trial
    folds = draw_folds(y, seed=SEED)

    def reported():
        for done, fold in enumerate(folds):
            progress(done / len(folds), "Looking for mistakes by cross-validation")
            yield fold

    return cross_validate(classifier.method_name, classifier, images, y, reported())


def _predict_rest(session: ImageSession, trained: Trained, progress: Progress, cancelled: Cancelling) -> dict[str, Any]:
    """Predict all images that the model was not fitted to, and keep that."""
    predictions, skipped = dict(trained.predictions), dict(trained.skipped)
    rest = [image.id for image in session.sources.images() if image.id not in trained.labels]
    for start in range(0, len(rest), N_TOGETHER):
        _check(cancelled)
        progress(start / len(rest), f"Predicting {len(rest)} images")
        block, images = [], []
        for image in rest[start : start + N_TOGETHER]:
            try:
                images.append(session.read(image))
            except (ImageError, OSError) as error:
                skipped[image] = str(error)
                continue
            block.append(image)
        if images:
            for image, shares in zip(block, trained.classifier.predict_proba(images), strict=True):
                predictions[image] = _prediction(image, shares, False)
    session.keep(trained._replace(predictions=predictions, skipped=skipped))
    return {"path": None, "command": None, "text": _say(trained, len(rest), skipped)}


def _prediction(image: int, shares: np.ndarray, is_held_out: bool) -> Prediction:
    return Prediction(image, tuple(float(share) for share in shares), is_held_out)


def _say(trained: Trained, n_rest: int, skipped: dict[int, str]) -> str:
    accuracy = "not measured, as every class has two images only"
    if trained.accuracy is not None:
        accuracy = f"{trained.accuracy:.1%} of {trained.n_judged} held-out images"
    said = f"Trained '{trained.classifier.method_name}'; accuracy {accuracy}. {n_rest} images predicted."
    return said + (f" {len(skipped)} could not be read." if skipped else "")


def _as_item(finding: Any, advice: Any) -> dict[str, Any]:
    share, low, high = (float(value) for value in finding.difference[:3])
    return {
        "name": finding.name,
        "text": finding.text,
        "view": str(finding.view),
        "verdict": str(finding.verdict),
        "accuracy": finding.accuracy,
        "share": share,
        "low": low,
        "high": high,
        "is_advised": finding.parts == advice.advised.parts and finding.view == advice.view,
    }


def _class_names(session: ImageSession) -> dict[int, str]:
    """Return the names of classes by number; equal names get their number, so that classes stay apart."""
    classes = session.project.classes("images")
    names = [one.name for one in classes]
    return {one.number: one.name if names.count(one.name) == 1 else f"{one.name} {one.number}" for one in classes}


def _read_budget(fields: dict[str, Any], default: float) -> float:
    budget = fields.get("budget", default)
    if isinstance(budget, bool) or not isinstance(budget, int | float) or not 1 <= budget <= MAX_BUDGET:
        raise ValueError(f"budget must be a number of seconds from 1 to {MAX_BUDGET:g}; got {budget!r}.")
    return float(budget)


def _check(cancelled: Cancelling) -> None:
    if cancelled():
        raise Cancelled


JOBS: dict[str, Callable[[Any, dict[str, Any], Progress, Cancelling], dict[str, Any]]] = {
    "train": train,
    "predict": predict,
    "advise": advise_images,
    "export-classifier": export_classifier,
    "export-table": export_table,
    "import-folders": import_folders,
}
