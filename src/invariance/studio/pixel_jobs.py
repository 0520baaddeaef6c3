"""The long jobs of pixels: exporting the model, masks, probabilities, scribbles and a report; importing masks; effects.

Every job is a function of the session, the fields of the request, and two functions: one that reports the progress and
one that tells whether to end. It returns data for the page.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from invariance.images import Layout
from invariance.studio.effects import measure_effects
from invariance.studio.exports import claim_path, mask_suffix, new_folder, unique_stems, write_pages
from invariance.studio.jobs import Cancelled, Cancelling, Progress
from invariance.studio.mask_import import import_masks
from invariance.studio.pixel_report import write_report
from invariance.studio.training_set import (
    keep_training_set,
    label_pages,
    painted_images,
    training_command,
    write_classes,
)

_MICRO = "µm"
# What ImageJ calls units, and what OME does.
_OME_UNITS = {"micron": _MICRO, "microns": _MICRO, "um": _MICRO, "µm": _MICRO, "nm": "nm", "mm": "mm", "cm": "cm"}


def export_model(session: Any, fields: dict[str, Any], progress: Progress, cancelled: Cancelling) -> dict[str, Any]:
    """Save the model of the present strokes as `model.inv`."""
    from invariance.models import save

    training = keep_training_set(session)
    progress(None, "Fitting the model")
    segmenter = session.export()
    _check(cancelled)
    path = claim_path(session.project.directory, "model", ".inv")
    save(segmenter, path)
    return _result(session, path, "Model saved.", training)


def export_masks(session: Any, fields: dict[str, Any], progress: Progress, cancelled: Cancelling) -> dict[str, Any]:
    """Write the masks of all pages of all images: the final mask where there is one, else the prediction."""
    training = keep_training_set(session) if session.labelled_pages() else None
    final = set(session.final_pages())
    predictor = _Predictor(session, progress)
    images, skipped = predictor.usable_images(final)
    stems = unique_stems(image.name for image in images)
    n_done, n_pages = 0, sum(image.n_pages for image in images)

    def pages(image: Any) -> Iterator[np.ndarray]:
        nonlocal n_done
        for page in range(image.n_pages):
            _check(cancelled)
            progress(n_done / n_pages, f"Labelling {image.name}")
            if (image.id, page) in final:
                yield session.labels_of(image.id, page, "final").astype(np.uint8, copy=False)
            else:
                yield predictor.label(image.id, page)
            n_done += 1

    with new_folder(session.project.directory, "masks") as folder:
        for image in images:
            path = folder / f"{stems[image.name]}{mask_suffix(Path(image.path), image.n_pages)}"
            write_pages(path, session.sources.layout(image.id), pages(image))
        write_classes(session, folder / "classes.csv")
    n_final = sum((image.id, page) in final for image in images for page in range(image.n_pages))
    said = f"{n_pages} masks written, {n_final} of them accepted or corrected by hand.{_left_out(skipped)}"
    return _result(session, folder, said, training)


def export_probabilities(
    session: Any, fields: dict[str, Any], progress: Progress, cancelled: Cancelling
) -> dict[str, Any]:
    """Write the class probabilities of all pages as OME-TIFF, float32 or uint8 (255 = certain)."""
    dtype = fields.get("dtype", "float32")
    if dtype not in ("float32", "uint8"):
        raise ValueError(f"dtype must be 'float32' or 'uint8'; got {dtype!r}.")
    training = keep_training_set(session)
    predictor = _Predictor(session, progress)
    images, skipped = predictor.usable_images(set())
    names = {one.number: one.name for one in session.project.classes("pixels")}
    channels = [names.get(int(number), str(number)) for number in predictor.segmenter.classes_]
    stems = unique_stems(image.name for image in images)
    n_done, n_pages = 0, sum(image.n_pages for image in images)

    def pages(image: Any) -> Iterator[np.ndarray]:
        nonlocal n_done
        for page in range(image.n_pages):
            _check(cancelled)
            progress(n_done / n_pages, f"Predicting {image.name}")
            for channel in np.moveaxis(predictor.probabilities(image.id, page), 2, 0):
                yield channel.astype(np.float32) if dtype == "float32" else np.rint(255 * channel).astype(np.uint8)
            n_done += 1

    with new_folder(session.project.directory, "probabilities") as folder:
        for image in images:
            layout = ome_layout(session.sources.layout(image.id), image.n_pages, channels)
            write_pages(folder / f"{stems[image.name]}.ome.tif", layout, pages(image))
    said = f"Probabilities of {n_pages} pages written as {dtype}, one channel per class.{_left_out(skipped)}"
    return _result(session, folder, said, training)


def export_scribbles(session: Any, fields: dict[str, Any], progress: Progress, cancelled: Cancelling) -> dict[str, Any]:
    """Write what was painted as masks, 0 where nothing was, for other programs."""
    painted, training = painted_images(session), keep_training_set(session)
    stems = unique_stems(image.name for image in painted)
    with new_folder(session.project.directory, "scribbles") as folder:
        for done, image in enumerate(painted):
            _check(cancelled)
            progress(done / len(painted), f"Writing {image.name}")
            path = folder / f"{stems[image.name]}{mask_suffix(Path(image.path), image.n_pages)}"
            write_pages(path, session.sources.layout(image.id), label_pages(session, image))
        write_classes(session, folder / "classes.csv")
    return _result(session, folder, f"Scribbles of {len(painted)} images written; 0 means unlabelled.", training)


def export_report(session: Any, fields: dict[str, Any], progress: Progress, cancelled: Cancelling) -> dict[str, Any]:
    """Write a page with the scores, some labelled images, the settings and the command line."""
    training = keep_training_set(session)
    progress(None, "Fitting the model")
    segmenter = session.export()
    _check(cancelled)
    path = claim_path(session.project.directory, "report", ".html")
    write_report(session, segmenter, path, training_command(session, training), progress, cancelled)
    return _result(session, path, "Report written; it needs no other file.", training)


class _Predictor:
    """The model of the strokes, fitted when it is needed first."""

    def __init__(self, session: Any, progress: Progress):
        self._session, self._progress, self._segmenter = session, progress, None

    @property
    def segmenter(self) -> Any:
        """The fitted segmenter."""
        if self._segmenter is None:
            self._progress(None, "Fitting the model")
            self._segmenter = self._session.export()
        return self._segmenter

    def usable_images(self, final: set[tuple[int, int]]) -> tuple[list[Any], list[str]]:
        """Return the images that can be labelled, and the names of those with another number of channels."""
        images = [image for image in self._session.sources.images() if image.n_pages]  # others cannot be read
        needing = [i for i in images if any((i.id, page) not in final for page in range(i.n_pages))]
        bad = {i.id: i.name for i in needing if i.n_channels != self.segmenter.n_channels_} if needing else {}
        return [image for image in images if image.id not in bad], list(bad.values())

    def probabilities(self, image: int, page: int) -> np.ndarray:
        """Predict probabilities (h, w, K) of a page."""
        return self.segmenter.predict_proba(self._session.sources.read_page(image, page))

    def label(self, image: int, page: int) -> np.ndarray:
        """Predict the class numbers (h, w) of a page."""
        return self.segmenter.classes_[self.probabilities(image, page).argmax(axis=2)].astype(np.uint8)


def ome_layout(layout: Layout, n_pages: int, channels: list[str]) -> Layout:
    """Return the layout of class probabilities: channels within the pages of an image, with its pixel size, as OME."""
    axes, lengths = layout.axes, tuple(layout.lengths)
    if not set(axes) <= set("TZ") or len(set(axes)) != len(axes):
        axes, lengths = ("Z", (n_pages,)) if n_pages > 1 else ("", ())
    details: dict[str, Any] = dict(layout.details) if layout.kind == "ome" else _ome_details(layout)
    details["Channel"] = {"Name": channels}
    return Layout(f"{axes}C", (*lengths, len(channels)), "ome", None, layout.resolution_unit, tuple(details.items()))


def _ome_details(layout: Layout) -> dict[str, Any]:
    """Return the pixel size of an ImageJ file, or of a file with a resolution per centimetre, as OME says it."""
    if layout.resolution is None:
        return {}
    details = dict(layout.details)
    unit = _OME_UNITS.get(str(details.get("unit", "")).lower()) if layout.kind == "imagej" else None
    unit = unit or ("cm" if layout.resolution_unit == 3 else None)
    if unit is None:
        return {}
    (x, x_below), (y, y_below) = layout.resolution
    found: dict[str, Any] = {
        "PhysicalSizeX": x_below / x, "PhysicalSizeXUnit": unit, "PhysicalSizeY": y_below / y, "PhysicalSizeYUnit": unit
    }  # fmt: skip
    if "spacing" in details:
        found |= {"PhysicalSizeZ": float(details["spacing"]), "PhysicalSizeZUnit": unit}
    return found


def _check(cancelled: Cancelling) -> None:
    if cancelled():
        raise Cancelled


def _left_out(skipped: list[str]) -> str:
    if not skipped:
        return ""
    return f" {len(skipped)} images with another number of channels were left out, the first '{skipped[0]}'."


def _result(session: Any, path: Path, text: str, training: Path | None) -> dict[str, Any]:
    command = None if training is None else training_command(session, training)
    return {"path": str(path), "text": text, "command": command}


JOBS: dict[str, Callable[[Any, dict[str, Any], Progress, Cancelling], dict[str, Any]]] = {
    "export-model": export_model,
    "export-masks": export_masks,
    "export-probabilities": export_probabilities,
    "export-scribbles": export_scribbles,
    "export-report": export_report,
    "import-masks": import_masks,
    "effects": measure_effects,
}
