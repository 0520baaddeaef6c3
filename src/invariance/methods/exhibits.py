"""What a method shows of a fitted model, as data; `report` renders it."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np


class Text(NamedTuple):
    """A paragraph."""

    text: str


class Table(NamedTuple):
    """Rows of values below the names of their columns."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    caption: str = ""


class Images(NamedTuple):
    """Images (h, w) or (h, w, c), with titles and the roles of frames if given, `side` pixels wide on the page."""

    images: Sequence[np.ndarray]
    titles: Sequence[str] | None = None
    caption: str = ""
    frames: Sequence[str | None] | None = None
    side: int = 112


class Drawing(NamedTuple):
    """A figure.

    Attributes
    ----------
    draw : str or callable
        The name of a figure function of `invariance.report`, or any function that returns a matplotlib `Figure`.
    arguments : tuple
        What it is called with.
    caption : str
    settings : dict
        Keyword arguments.
    """

    draw: str | Callable[..., Any]
    arguments: tuple[Any, ...]
    caption: str
    settings: dict[str, Any] = {}  # noqa: RUF012 - never changed


Exhibit = Text | Table | Images | Drawing

# Roles of framed images: the one in question, one of its class, one of another class.
ASKED, SAME, OTHER = "asked", "same", "other"
