"""The report about a segmenter."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from invariance._core.progress import track
from invariance.images import as_float32
from invariance.report.embedding import as_grey_or_rgb
from invariance.report.figures import class_colours
from invariance.report.jungle_figures import filters_figure
from invariance.report.report import Report
from invariance.segmentation import JungleSegmenter

MAX_IMAGES = 6
MAX_SIDE = 768  # pixels; of larger images the middle is labelled
OPACITY = 0.45  # of the colours over an image
SWATCH_SIDE, IMAGE_SIDE = 64, 420  # pixels on the page
NO_IMAGES = "Predictions are shown if there are images: invariance explain MODEL --data FOLDER -o report.html."


def explain_pixels(
    segmenter: JungleSegmenter, images: Sequence[np.ndarray] | None, settings: Mapping[str, Any] | None = None
) -> Report:
    """Return the report about a fitted segmenter, and about its predictions for images (h, w) or (h, w, c) if given."""
    check_is_fitted(segmenter)
    names = [str(name) for name in segmenter.classes_]
    n_labelled = segmenter.n_labelled_
    report = Report(
        f"A model that labels pixels as {', '.join(names)}",
        f"Trained on {n_labelled.sum():,} labelled pixels. A pixel is classified by the responses of its surroundings "
        f"to fixed and learned filters, and by the previous predictions for its neighbours.",
        {**(settings or {}), **{name: repr(value) for name, value in segmenter.get_params(deep=False).items()}},
    )
    report.facts(
        {
            "classes": len(names),
            "does not matter to the filters": repr(segmenter.features_.transformations),
            "channels": segmenter.n_channels_,
            "patch size, pixels": segmenter.patch_size_,
            "learned filters": len(segmenter.features_.filters_),
            "rounds of context": len(segmenter.final_estimators_),
        }
    ).table(
        ("class", "labelled pixels", "share"),
        [(name, int(n), f"{n / n_labelled.sum():.1%}") for name, n in zip(names, n_labelled, strict=True)],
        "Training data.",
    )
    if images is None:
        report.text(NO_IMAGES)
    else:
        _show_labelled(report, segmenter, images, names)
    report.section("What was learned").figure(
        filters_figure(segmenter.features_),
        "Filters of the nodes that most patches reached. The channels of a filter are side by side: first all channels "
        "at full resolution, then at half of it. Red pixels have positive weights, blue pixels negative ones.",
    )
    return report


def _show_labelled(report: Report, segmenter: JungleSegmenter, images: Sequence[np.ndarray], names: list[str]) -> None:
    if len(images) == 0:
        raise ValueError("images must not be empty; pass at least one image, or None.")
    colours = np.array(class_colours(len(names)))
    shown: list[np.ndarray] = []
    titles: list[str] = []
    for number, image in enumerate(track(images[:MAX_IMAGES], "labelling")):
        part = _middle(as_float32(image))
        probabilities = segmenter.predict_proba(part)
        codes = probabilities.argmax(axis=2)
        shares = np.bincount(codes.ravel(), minlength=len(names)) / codes.size
        image_rgb = _as_rgb(part)
        shown += [image_rgb, (1 - OPACITY) * image_rgb + OPACITY * colours[codes]]
        listed = ", ".join(f"{name} {share:.0%}" for name, share in zip(names, shares, strict=True))
        titles += [f"image {number + 1}", f"{listed}\nmean probability {probabilities.max(axis=2).mean():.0%}"]
    report.section("Predictions").images(
        [np.tile(colour, (8, 8, 1)) for colour in colours], names, "Colours of the classes.", side=SWATCH_SIDE
    ).images(
        shown,
        titles,
        f"Images, each beside its labels; of images larger than {MAX_SIDE} pixels per side the middle is shown.",
        side=IMAGE_SIDE,
    )


def _middle(image: np.ndarray) -> np.ndarray:
    top, left = (max(0, (length - MAX_SIDE) // 2) for length in image.shape[:2])
    return image[top : top + MAX_SIDE, left : left + MAX_SIDE]


def _as_rgb(image: np.ndarray) -> np.ndarray:
    """An image as (h, w, 3), scaled from its minimum and maximum to [0, 1]."""
    shown = as_grey_or_rgb(image)
    low, high = shown.min(), shown.max()
    stretched = (shown - low) / (high - low or 1)
    return stretched if stretched.ndim == 3 else np.repeat(stretched[..., None], 3, axis=2)
