"""A report: one HTML file that needs nothing else, for screens, phones and paper, in light and dark."""

import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from numbers import Number
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from invariance._core.files import GENERATOR, atomic_path
from invariance._version import __version__
from invariance.report.embedding import image_item, svg_address

PACKAGES = ("numpy", "scipy", "scikit-learn", "scikit-image", "opencv-python-headless", "numba", "matplotlib")
PIXELS_PER_INCH = 96  # of CSS
WIDE = 640  # pixels; wider figures scroll on a phone instead of shrinking, so that they stay legible
MIN_SECTIONS_LISTED = 4  # pages of fewer sections have no table of contents
LONG_FACT = 10  # characters; longer facts are set in smaller type
LONG_CELL = 40  # characters from which a cell of a table may break into lines


class Report:
    """A titled sequence of sections of text, facts, tables, figures, images and code.

    All text is escaped, figures and images are embedded, and nothing is loaded from the network. The versions of the
    software are listed at the end. The same content gives the same file, byte for byte. Methods that add something
    return the report, so that calls can be chained.

    Parameters
    ----------
    title : str
    summary : str, default=""
        The paragraph below the title.
    settings : mapping of str to object, default=None
        Parameters and seeds of the run, listed at the end.
    """

    def __init__(self, title: str, summary: str = "", settings: Mapping[str, Any] | None = None):
        self.title = title
        self.summary = summary
        self.settings = dict(settings or {})
        self._headings: list[str] = []
        self._body: list[str] = []

    def section(self, heading: str) -> "Report":
        """Begin a section; a page of four sections or more has a table of contents."""
        self._headings.append(heading)
        return self._add(f'<a id="section-{len(self._headings)}"></a>', f"<h2>{escape(heading)}</h2>")

    def text(self, *paragraphs: str) -> "Report":
        """Add paragraphs of plain text."""
        return self._add(*(f"<p>{escape(paragraph)}</p>" for paragraph in paragraphs))

    def facts(self, facts: Mapping[str, Any]) -> "Report":
        """Add the most important values, by name, in large type."""
        return self._add(f'<dl class="facts">{"".join(_card(name, value) for name, value in facts.items())}</dl>')

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[Any]], caption: str = "") -> "Report":
        """Add a table.

        Parameters
        ----------
        columns : sequence of str
            Names of the columns.
        rows : iterable of sequences
            Numbers are aligned to the right; floats have four significant digits.
        caption : str, default=""

        Returns
        -------
        self : Report
        """
        return self._add(_table(columns, [list(row) for row in rows], caption))

    def figure(self, figure: Figure, caption: str) -> "Report":
        """Add a figure; small ones that follow each other are side by side where there is room.

        Parameters
        ----------
        figure : matplotlib.figure.Figure
        caption : str
            Also the text for screen readers.

        Returns
        -------
        self : Report
        """
        width, height = (round(inches * PIXELS_PER_INCH) for inches in figure.get_size_inches())
        size = f'width="{width}" height="{height}"' + (' class="wide"' if width > WIDE else "")
        return self._add(_framed(f'<img src="{svg_address(figure)}" alt="{escape(caption)}" {size}>', caption))

    def images(
        self,
        images: Sequence[np.ndarray],
        titles: Sequence[str] | None = None,
        caption: str = "",
        frames: Sequence[str | None] | None = None,
        side: int = 112,
    ) -> "Report":
        """Add images, as many per row as fit.

        Parameters
        ----------
        images : sequence of ndarray of shape (h, w) or (h, w, c)
            Floats from 0 to 1, or integers on the range of their dtype.
        titles : sequence of str, default=None
        caption : str, default=""
        frames : sequence of str or None, default=None
            Colour of the frame of each image.
        side : int, default=112
            Width of an image on the page, in pixels.

        Returns
        -------
        self : Report
        """
        names = [""] * len(images) if titles is None else list(titles)
        colours = [None] * len(images) if frames is None else list(frames)
        items = "".join(image_item(*parts, side) for parts in zip(images, names, colours, strict=True))
        below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
        return self._add(f'<figure class="tiles"><ul style="--side: {side}px">{items}</ul>{below}</figure>')

    def code(self, text: str) -> "Report":
        """Add source code or commands."""
        return self._add(f'<pre class="scroll"><code>{escape(text)}</code></pre>')

    def to_html(self) -> str:
        """Return the page."""
        style = files(__package__).joinpath("style.css").read_text(encoding="utf-8")
        head = [
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta name="generator" content="{GENERATOR} {__version__}">',
            f"<title>{escape(self.title)}</title>",
            f"<style>\n{style}</style>",
        ]
        page = ["<!DOCTYPE html>", '<html lang="en">', "<head>", *head, "</head>", "<body>", self._content(), "</body>"]
        return "\n".join([*page, "</html>", ""])

    def save(self, path: str | os.PathLike) -> None:
        """Write the page to a file; an existing file is replaced only when the new one is complete."""
        page = self.to_html().encode("utf-8", "backslashreplace")
        with atomic_path(path, len(page)) as neighbour:
            neighbour.write_bytes(page)

    def _repr_html_(self) -> str:
        """Show the report in a notebook, in a frame that keeps its style from the rest."""
        frame = 'style="width: 100%; height: 40rem; border: 0"'
        return f'<iframe srcdoc="{escape(self.to_html())}" title="{escape(self.title)}" {frame}></iframe>'

    def _add(self, *parts: str) -> "Report":
        self._body.extend(parts)
        return self

    def _content(self) -> str:
        opening = [f"<h1>{escape(self.title)}</h1>"]
        if self.summary:
            opening.append(f'<p class="summary">{escape(self.summary)}</p>')
        if len(self._headings) >= MIN_SECTIONS_LISTED:
            links = (f'<a href="#section-{i}">{escape(heading)}</a>' for i, heading in enumerate(self._headings, 1))
            opening.append(f"<nav>{''.join(links)}</nav>")
        closing = ["<footer>"]
        if self.settings:
            closing += ["<h2>Settings</h2>", _table((), self.settings.items())]
        closing += ["<h2>Software</h2>", _table((), software_versions().items()), "</footer>"]
        return "\n".join([*opening, "<main>", *self._body, "</main>", *closing])


def software_versions() -> dict[str, str]:
    """Return the versions of the software that results depend on.

    Returns
    -------
    versions : dict of str to str
        Of invariance, Python, the operating system and the main dependencies; "unknown" where a package is not
        installed under its usual name.
    """
    versions = {
        "invariance": __version__,
        "Python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
    }
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:  # for example OpenCV from conda
            versions[package] = "unknown"
    return versions


def _framed(content: str, caption: str) -> str:
    """Content above its caption; it scrolls where it is wider than the screen."""
    below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f'<figure><div class="scroll">{content}</div>{below}</figure>'


def _card(name: str, value: Any) -> str:
    text = _cell_text(value)
    size = ' class="long"' if len(text) > LONG_FACT else ""
    return f"<div><dt>{_cell_text(name)}</dt><dd{size}>{text}</dd></div>"


def _table(columns: Sequence[str], rows: Iterable[Sequence[Any]], caption: str = "") -> str:
    rows = list(rows)
    numeric = [all(_is_number(row[i]) for row in rows) for i in range(len(columns))]
    lines = ["<table>"]
    if columns:
        titles = (f"<th{_align(right)}>{escape(name)}</th>" for name, right in zip(columns, numeric, strict=True))
        lines.append(f"<thead><tr>{''.join(titles)}</tr></thead>")
    lines.append("<tbody>")
    for row in rows:
        cells = (f"<td{_kind(value, bool(columns))}>{_cell_text(value)}</td>" for value in row)
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return _framed("\n".join([*lines, "</tbody></table>"]), caption)


def _align(right: bool) -> str:
    return ' class="number"' if right else ""


def _kind(value: Any, has_title: bool) -> str:
    """Align numbers below their title, and let sentences break into lines."""
    is_sentence = isinstance(value, str) and len(value) > LONG_CELL
    return ' class="sentence"' if is_sentence else _align(_is_number(value) and has_title)


def _is_number(value: Any) -> bool:
    if isinstance(value, str):
        return value.endswith("%") and value[:-1].replace(".", "", 1).isdigit()
    return isinstance(value, Number) and not isinstance(value, bool)


def _cell_text(value: Any) -> str:
    return escape(f"{value:.4g}" if isinstance(value, float) else str(value))
