"""The report about a model that labels every pixel."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps
from sklearn.utils.validation import check_is_fitted

from invariance._core.progress import track
from invariance.images import as_float32
from invariance.report.jungle_figures import filters_figure
from invariance.report.report import Report
from invariance.segmentation import JungleSegmenter

N_IMAGES = 6
LARGEST = 768  # pixels per side of what is labelled for the report; of larger images their middle
STRENGTH = 0.45  # of the colours over an image
NO_IMAGES = "What it makes of images is shown with images only: invariance explain MODEL --on FOLDER -o report.html."


def explain_pixels(
    segmenter: JungleSegmenter, images: Sequence[np.ndarray] | None, settings: Mapping[str, Any] | None = None
) -> Report:
    """What a segmenter learned, and what it makes of some images (h, w) or (h, w, c)."""
    check_is_fitted(segmenter)
    names = [str(name) for name in segmenter.classes_]
    n_labelled = segmenter.n_labelled_
    report = Report(
        f"A model that labels pixels as {', '.join(names)}",
        f"Learned from {n_labelled.sum():,} labelled pixels. A pixel is judged by its surroundings: by a fixed bank of "
        f"filters, by learned filters, and by what was first thought of its neighbours.",
        {**(settings or {}), **{name: repr(value) for name, value in segmenter.get_params(deep=False).items()}},
    )
    report.facts(
        {
            "classes": len(names),
            "does not matter to the filters": repr(segmenter.features_.transformations),
            "channels": segmenter.n_channels_,
            "pixels of a patch, a side": segmenter.patch_size_,
            "learned filters": len(segmenter.features_.filters_),
            "rounds of context": len(segmenter.final_estimators_),
        }
    ).table(
        ("class", "labelled pixels", "share"),
        [(name, int(n), f"{n / n_labelled.sum():.1%}") for name, n in zip(names, n_labelled, strict=True)],
        "What there was to learn from.",
    )
    if images is None:
        report.text(NO_IMAGES)
    else:
        _show_labelled(report, segmenter, images, names)
    report.section("What was learned").figure(
        filters_figure(segmenter.features_),
        "Filters of the nodes that most patches reached; the channels of one stand side by side: first all channels at "
        "full resolution, then at half of it. Red looks for bright pixels, blue for dark ones.",
    )
    return report


def _show_labelled(report: Report, segmenter: JungleSegmenter, images: Sequence[np.ndarray], names: list[str]) -> None:
    if len(images) == 0:
        raise ValueError("images is empty; give at least one, or None.")
    colours = colormaps["tab10"](np.arange(len(names)) % 10)[:, :3]
    shown: list[np.ndarray] = []
    titles: list[str] = []
    for number, image in enumerate(track(images[:N_IMAGES], "labelling")):
        part = _middle(as_float32(image))
        probabilities = segmenter.predict_proba(part)
        codes = probabilities.argmax(axis=2)
        shares = np.bincount(codes.ravel(), minlength=len(names)) / codes.size
        grey = _as_rgb(part)
        shown += [grey, (1 - STRENGTH) * grey + STRENGTH * colours[codes]]
        listed = ", ".join(f"{name} {share:.0%}" for name, share in zip(names, shares, strict=True))
        titles += [f"image {number + 1}", f"{listed}\nprobability {probabilities.max(axis=2).mean():.0%} on average"]
    report.section("What it makes of images").images(
        [np.tile(colour, (8, 8, 1)) for colour in colours], names, "The colours of the classes.", side=64
    ).images(
        shown,
        titles,
        f"Images, each beside its labels; of an image larger than {LARGEST} pixels per side its middle.",
        side=420,
    )


def _middle(image: np.ndarray) -> np.ndarray:
    top, left = (max(0, (length - LARGEST) // 2) for length in image.shape[:2])
    return image[top : top + LARGEST, left : left + LARGEST]


def _as_rgb(image: np.ndarray) -> np.ndarray:
    """An image from its least to its greatest value, as (h, w, 3): its colours, or the mean of its channels."""
    colours = image[..., :3] if image.ndim == 3 and image.shape[2] in (3, 4) else image
    grey = colours if colours.ndim == 2 or colours.shape[2] == 3 else colours.mean(axis=2)
    low, high = grey.min(), grey.max()
    stretched = (grey - low) / (high - low or 1)
    return stretched if stretched.ndim == 3 else np.repeat(stretched[..., None], 3, axis=2)
