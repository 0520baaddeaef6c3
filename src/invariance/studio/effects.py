"""What each invariance switch does to the held-out score, measured on the painted pages."""

from typing import Any

import numpy as np

from invariance.studio.jobs import Cancelled, Cancelling, Progress
from invariance.studio.live_engine import MEANINGS

SWITCHES = {text: name for name, text in MEANINGS.items()}
MAX_PIXELS = 12_000  # of all pages; a switch should answer within a minute
MARGIN = 64  # pixels around the labels of a large page that are used
MAX_PAGE_PIXELS = 1024 * 1024


def measure_effects(session: Any, fields: dict[str, Any], progress: Progress, cancelled: Cancelling) -> dict[str, Any]:
    """Try each invariance on the painted pages; return findings as data.

    Returns
    -------
    result : dict
        `items` with `switch`, `name`, `text`, `verdict`, `accuracy`, and the difference to ignoring nothing as `share`,
        `low`, `high` (95 % interval); `advised`, `reasons`, `unit` and `plain` (the accuracy of ignoring nothing).
    """
    from invariance.methods import advise_pixels

    images, masks = [], []
    pages = session.labelled_pages()
    for done, (image, page) in enumerate(pages):
        if cancelled():
            raise Cancelled
        progress(done / len(pages), "Reading the painted pages")
        labels = session.labels_of(image, page, "labels")
        rows, cols = _part_with_labels(labels)
        images.append(session.sources.read_page(image, page)[rows, cols])
        masks.append(labels[rows, cols].astype(np.int64))
    if not images:
        raise ValueError("nothing is painted yet. Paint strokes of two classes first.")
    advice = advise_pixels(images, masks, unlabelled=0, max_pixels=MAX_PIXELS, random_state=session.seed)
    return {
        "path": None,
        "command": None,
        "text": advice.sentence,
        "advised": advice.text,
        "reasons": advice.reasons,
        "unit": advice.unit,
        "plain": advice.plain.accuracy,
        "items": [as_item(finding) for finding in advice.findings],
    }


def as_item(finding: Any) -> dict[str, Any]:
    """Return a finding as data for the page."""
    share, low, high = (float(value) for value in finding.difference[:3])
    return {
        "switch": SWITCHES.get(finding.text),
        "name": finding.name,
        "text": finding.text,
        "verdict": str(finding.verdict),
        "accuracy": finding.accuracy,
        "share": share,
        "low": low,
        "high": high,
    }


def _part_with_labels(labels: np.ndarray) -> tuple[slice, slice]:
    """Return the whole page if it is small, else the rectangle with its labels and a margin."""
    if labels.size <= MAX_PAGE_PIXELS:
        return slice(None), slice(None)
    ends = []
    for axis in (1, 0):
        places = np.flatnonzero(labels.any(axis=axis))
        ends.append(slice(max(0, int(places[0]) - MARGIN), int(places[-1]) + MARGIN + 1))
    return ends[0], ends[1]
