"""A page about a pixel model of the studio: its scores, some labelled images, the settings and the command line."""

from pathlib import Path
from typing import Any

import numpy as np

from invariance.studio.jobs import Cancelled, Cancelling, Progress

MAX_SHOWN = 6  # images
SHOWN_SIDE = 420  # pixels of an image on the page
MAX_PART = 1024  # pixels per side of a large image that are predicted for the report
OPACITY = 0.4


def write_report(
    session: Any, segmenter: Any, path: Path, command: str, progress: Progress, cancelled: Cancelling
) -> None:
    """Write the report of a fitted segmenter."""
    from invariance.report import Report, confusion_figure

    classes, scores = session.project.classes("pixels"), session.scores() or {}
    pages = session.labelled_pages()
    settings = {
        "folder": session.project.folder,
        "invariant to": session.transformations_text(),
        "seed": session.seed,
        "patch size": segmenter.patch_size_,
        "rounds": len(segmenter.final_estimators_),
    }
    report = Report("Labels of pixels", "A model that was trained by painting in the studio.", settings)
    counts = dict(zip(segmenter.classes_.tolist(), segmenter.n_labelled_.tolist(), strict=True))
    report.facts({
        "held-out accuracy": _share(scores.get("overall")),
        "painted pages": len(pages),
        "images": len(session.sources.images()),
        "classes": len(segmenter.classes_),
    })  # fmt: skip
    by_number = {row["number"]: row for row in scores.get("classes", [])}
    report.section("Classes").table(
        ("class", "value in masks", "pixels learned from", "held-out accuracy"),
        [
            (one.name, one.number, counts.get(one.number, 0), _share(by_number.get(one.number, {}).get("accuracy")))
            for one in classes
        ],
        f"Accuracy on {scores.get('unit', 'strokes')} that the model was not fitted to.",
    )
    confusion = np.asarray(scores.get("confusion") or [])
    if confusion.size:
        names = [row["name"] for row in scores["classes"]]
        if confusion.shape == (len(names), len(names)):
            report.figure(confusion_figure(confusion, names), "Held-out pixels by painted and predicted class.")
    shown = _choose_pages(session, pages, segmenter.n_channels_)
    images, titles = [], []
    for done, (image, page) in enumerate(shown):
        if cancelled():
            raise Cancelled
        progress(done / len(shown), f"Labelling {image.name}")
        part = _middle(session.sources.read_page(image.id, page))
        images.append(blend(part, segmenter.predict(part), {one.number: one.colour for one in classes}))
        titles.append(image.name + (f"\npage {page + 1}" if image.n_pages > 1 else ""))
    report.section("Labelled images").images(images, titles, "Predicted classes over the images.", side=SHOWN_SIDE)
    report.section("Train it again").text("This command learns from the same images and labels, without the studio.")
    report.code(command)
    report.save(path)


def blend(image: np.ndarray, labels: np.ndarray, colours: dict[int, str]) -> np.ndarray:
    """Return an image (h, w) or (h, w, c) as RGB with the colours of its labels (h, w) over it."""
    channels = np.atleast_3d(image)
    grey = channels[..., :3] if channels.shape[2] in (3, 4) else channels.mean(axis=2, keepdims=True)
    low, high = float(grey.min()), float(grey.max())
    shown = np.broadcast_to((grey - low) / ((high - low) or 1), (*labels.shape, 3)).astype(np.float32)
    for number, colour in colours.items():
        tint = np.array([int(colour[start : start + 2], 16) for start in (1, 3, 5)], np.float32) / 255
        shown = np.where((labels == number)[..., None], (1 - OPACITY) * shown + OPACITY * tint, shown)
    return shown


def _choose_pages(session: Any, painted: list[tuple[int, int]], n_channels: int) -> list[tuple[Any, int]]:
    """Choose a few pages: one per image, painted ones first."""
    images = {image.id: image for image in session.sources.images() if image.n_channels == n_channels}
    pages = {image: page for image, page in reversed(painted) if image in images}
    for number in images:
        pages.setdefault(number, 0)
    return [(images[number], page) for number, page in list(pages.items())[:MAX_SHOWN]]


def _middle(image: np.ndarray) -> np.ndarray:
    """Return the middle of a large image."""
    starts = [max(0, (side - MAX_PART) // 2) for side in image.shape[:2]]
    return image[starts[0] : starts[0] + MAX_PART, starts[1] : starts[1] + MAX_PART]


def _share(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.1%}"
