"""A race of methods as a command shows it: every model is written at once, and one line says what is going on."""

import json
import math
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING

from invariance.cli.cluster import in_words
from invariance.cli.console import LINE_SECONDS, say, say_aside, say_in_place
from invariance.cli.output import describe_written

if TYPE_CHECKING:
    from invariance.methods import Selection, Step


def follow(race: "Iterator[Step | Selection]", path: Path, as_events: bool) -> "Selection":
    """Write every model of a race as soon as it is there; return the last selection.

    Parameters
    ----------
    race : iterator of Step and Selection
    path : Path
        The model; every better one replaces it.
    as_events : bool
        Whether a line of JSON is printed for every event, instead of a line of progress.
    """
    from invariance._core.progress import observing
    from invariance.methods import Step
    from invariance.models import save

    line, written = RaceLine(), None
    with observing(line.refresh), line:
        for event in race:
            if isinstance(event, Step):
                line.show(event)
                if as_events:
                    _say_event(event.as_json())
                continue
            selection = event
            if selection.classifier is not written:
                written = selection.classifier
                save(written, path)
                describe_written(path, describe_model(selection))
                if as_events:
                    _say_event({"event": "written", "model": str(path.resolve()), **selection.as_json()})
    return selection


def describe_model(selection: "Selection") -> str:
    """Say in a clause which model a race has found so far, and how."""
    trial, n_images = selection.trial, selection.n_images
    correct = "not tried" if trial is None else f"{trial.accuracy:.1%} of {trial.n_judged} held-out images correct"
    fitted = "all" if selection.n_fitted == n_images else f"{selection.n_fitted} of {n_images}"
    trials = f"{selection.n_trials} trial{'s' * (selection.n_trials != 1)}"
    return f"method '{selection.method}', the best after {trials}, {correct}, fitted to {fitted} images"


def _say_event(event: dict) -> None:
    say(json.dumps(event))
    sys.stdout.flush()


class RaceLine:
    """What is tried, who leads, and the time left, in one line that is written anew on a terminal."""

    def __init__(self) -> None:
        self._is_terminal = sys.stderr.isatty()
        self._last = time.monotonic()
        self._step: Step | None = None
        self._deadline = math.inf
        self._is_shown = False

    def show(self, step: "Step") -> None:
        """Show a step that begins."""
        self._step, self._deadline = step, time.monotonic() + step.seconds_left
        self.refresh()

    def refresh(self, *progress: object) -> None:
        """Show the step with the time that is left now, unless it was shown a moment ago."""
        now = time.monotonic()
        if self._step is None or now - self._last < LINE_SECONDS[0 if self._is_terminal else 1]:
            return
        self._last = now
        left = "" if math.isinf(self._deadline) else f"; {in_words(max(0.0, self._deadline - now))} left"
        text = f"{self._step.sentence}{left}"
        if self._is_terminal:
            say_in_place(text[: get_terminal_size().columns - 1])
            self._is_shown = True
        else:
            say_aside(text)

    def __enter__(self) -> "RaceLine":
        return self

    def __exit__(self, *error: object) -> None:
        """Remove the line from a terminal."""
        if self._is_shown:
            say_in_place("")
