"""What each invariance switch does to the held-out score, measured on the painted pages as `advise-pixels` does."""

from typing import Any

import numpy as np

from invariance._core.progress import observing
from invariance.methods.findings import Candidate, Verdict
from invariance.methods.paired import correct_for_many
from invariance.methods.pixel_findings import PixelFinding, balanced_gains, compare_runs
from invariance.segmentation.trials import PixelTrials
from invariance.studio.jobs import Cancelled, Cancelling, Progress
from invariance.studio.live_engine import MEANINGS
from invariance.transformations import Identity
from invariance.transformations.parsing import parse_transformations

NAMES = {"rotations": "rotation", "reflections": "mirroring", "scales": "size", "light": "light"}
MAX_PIXELS = 6_000  # of all pages, so that four switches are measured in about a minute
MARGIN = 64  # pixels around the labels of a large page that are used
MAX_PAGE_PIXELS = 1024 * 1024


def measure_effects(session: Any, fields: dict[str, Any], progress: Progress, cancelled: Cancelling) -> dict[str, Any]:
    """Try each switch on the painted pages; return findings as data.

    Small models learn from some strokes or pages and are tested on others, with each switch and with none.

    Returns
    -------
    result : dict
        `items` with `switch`, `name`, `text`, `verdict`, `accuracy`, and the difference to ignoring nothing as `share`,
        `low`, `high` (95 % interval); `unit` that is held out, and `plain`, the accuracy of ignoring nothing.
    """
    images, masks = _read_painted(session, progress, cancelled)
    n_steps = len(MEANINGS) + 1

    def observe(label: str, n_done: int, total: int | None) -> None:
        """Models are fitted in loops of their own: only the cancelling is taken from these."""
        if cancelled():
            raise Cancelled

    with observing(observe):
        progress(0.0, "Trying without any switch")
        trials = PixelTrials(images, masks, 0, max_pixels=MAX_PIXELS, random_state=session.seed)
        plain = trials.score(Identity())
        findings = []
        for done, (switch, text) in enumerate(MEANINGS.items(), 1):
            progress(done / n_steps, f"Trying {NAMES[switch]}")
            findings.append(_find(trials, Candidate(NAMES[switch], text, switch), plain))
    corrected = correct_for_many([finding.p for finding in findings])
    findings = [finding.with_p(p) for finding, p in zip(findings, corrected, strict=True)]
    return {
        "path": None,
        "command": None,
        "text": _say(findings, trials.parts.unit),
        "unit": trials.parts.unit,
        "plain": float(np.nanmean(plain, axis=1).mean()),
        "items": [as_item(finding) for finding in findings],
    }


def as_item(finding: PixelFinding) -> dict[str, Any]:
    """Return a finding as data for the page."""
    share, low, high = (float(value) for value in finding.difference[:3])
    return {
        "switch": finding.parts[0].family,
        "name": finding.name,
        "text": finding.text,
        "verdict": str(finding.verdict),
        "accuracy": finding.accuracy,
        "share": share,
        "low": low,
        "high": high,
    }


def _find(trials: PixelTrials, candidate: Candidate, plain: np.ndarray) -> PixelFinding:
    phi = parse_transformations(candidate.text)
    shares = trials.score(phi)
    gains = balanced_gains(shares, plain)
    n_members = len(phi.members((trials.patch_size, trials.patch_size)))
    difference = compare_runs(gains, trials.n_folds)
    return PixelFinding((candidate,), n_members, shares, gains, difference, difference.p, Verdict.UNCLEAR)


def _say(findings: list[PixelFinding], unit: str) -> str:
    said = [
        f"Ignoring {finding.name} {finding.verdict} ({100 * finding.difference.share:+.1f} points)."
        for finding in findings
        if finding.verdict in (Verdict.HELPS, Verdict.HURTS)
    ]
    rest = [finding.name for finding in findings if finding.verdict not in (Verdict.HELPS, Verdict.HURTS)]
    said += [f"No clear effect: {', '.join(rest)}."] if rest else []
    return " ".join([*said, f"Measured on held-out {unit}."])


def _read_painted(session: Any, progress: Progress, cancelled: Cancelling) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Read the painted pages, of large ones the part with labels, and their labels."""
    images, masks = [], []
    for image, page in session.labelled_pages():
        if cancelled():
            raise Cancelled
        progress(0.0, "Reading the painted pages")
        labels = session.labels_of(image, page, "labels")
        rows, cols = _part_with_labels(labels)
        images.append(session.sources.read_page(image, page)[rows, cols])
        masks.append(labels[rows, cols].astype(np.int64))
    if not images:
        raise ValueError("nothing is painted yet. Paint strokes of two classes first.")
    return images, masks


def _part_with_labels(labels: np.ndarray) -> tuple[slice, slice]:
    """Return the whole page if it is small, else the rectangle with its labels and a margin."""
    if labels.size <= MAX_PAGE_PIXELS:
        return slice(None), slice(None)
    ends = []
    for axis in (1, 0):
        places = np.flatnonzero(labels.any(axis=axis))
        ends.append(slice(max(0, int(places[0]) - MARGIN), int(places[-1]) + MARGIN + 1))
    return ends[0], ends[1]
