"""Held-out scores for the page, and how they changed over the last strokes."""

import math
from collections.abc import Callable
from typing import Any

from invariance.segmentation import LiveScores
from invariance.studio.project import Project

MAX_HISTORY = 200
KEY = "score_history"  # among the settings, so that it survives a restart


class ScoreHistory:
    """Makes events of scores, and keeps the overall score of the last actions.

    Parameters
    ----------
    project : Project
    send : callable
        Sends an event to all pages.

    Attributes
    ----------
    newest : dict or None
        The last event.
    """

    def __init__(self, project: Project, send: Callable[[dict[str, Any]], None]):
        self._project, self._send = project, send
        self._history: list[dict[str, Any]] = project.settings().get(KEY, [])
        self.newest: dict[str, Any] | None = None

    def add(self, action: int, scores: LiveScores) -> None:
        """Send the scores after an action. The overall one is the mean of those of the classes."""
        names = {found.number: found.name for found in self._project.classes("pixels")}
        classes = [
            {"number": number, "name": names.get(number, f"Class {number}"), "accuracy": _finite(accuracy), "n": n}
            for number, accuracy, n in zip(
                scores.classes.tolist(), scores.recall.tolist(), scores.n_groups.tolist(), strict=True
            )
        ]
        known = [part["accuracy"] for part in classes if part["accuracy"] is not None]
        overall = sum(known) / len(known) if known else None
        self._history = [part for part in self._history if part["action"] < action][-MAX_HISTORY:]
        if overall is not None:
            self._history.append({"action": action, "overall": overall})
            self._project.change_settings({KEY: self._history})
        self.newest = {
            "event": "scores",
            "classes": classes,
            "confusion": scores.confusion.tolist(),
            "overall": overall,
            "unit": f"{scores.by}s",
            "history": self._history,
            "unscored": {str(number): reason for number, reason in scores.unscored.items()},
        }
        self._send(self.newest)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
