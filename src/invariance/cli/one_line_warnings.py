"""Warnings as a user of the command reads them: our own, in one line each, and none of the dependencies."""

import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from invariance.cli.console import say_aside

PACKAGE = Path(__file__).parents[1]


@contextmanager
def one_line_warnings() -> Iterator[None]:
    """Return a context in which only our own warnings are shown, each on a line of standard error.

    What dependencies log, as matplotlib does without a home, is not shown either. The options of Python (`-W`,
    `PYTHONWARNINGS`) have precedence.
    """
    if sys.warnoptions:
        yield
        return
    with warnings.catch_warnings():
        warnings.showwarning = _show
        nowhere = logging.NullHandler()  # without any handler, Python prints what is logged
        logging.getLogger().addHandler(nowhere)
        try:
            yield
        finally:
            logging.getLogger().removeHandler(nowhere)


def _show(message: Warning | str, category: type[Warning], filename: str, *_: Any, **__: Any) -> None:
    if _is_own(category, filename):
        say_aside(f"Warning: {message}")


def _is_own(category: type[Warning], filename: str) -> bool:
    """Whether it is of a class of ours, or a plain warning from a file of ours; numpy's there are `RuntimeWarning`."""
    is_ours = category.__module__.partition(".")[0] == __name__.partition(".")[0]
    return is_ours or (issubclass(category, UserWarning) and PACKAGE in Path(filename).parents)
