"""A report: one HTML file that needs nothing else, to be read on a screen, a phone or paper, in light or dark."""

import os
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from numbers import Number
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from invariance._core.files import atomic_path
from invariance.report.figures import svg_address
from invariance.report.provenance import software_versions
from invariance.report.tiles import tile

# Images of more pixels than this do not shrink to the width of a phone.
WIDE = 640
# So many sections are listed at the beginning of the page.
MANY_SECTIONS = 4
# A fact of more characters is set in smaller type.
LONG_FACT = 10


class Report:
    """A titled sequence of sections of text, facts, tables, figures, images and code.

    Every text is escaped, figures are embedded, and nothing is loaded from the network. `settings` are the exact
    parameters and seeds of the run: they stand at the end, with the versions of the software. The same content gives
    the same file, byte for byte. Methods return the report, so that calls can be chained.
    """

    def __init__(self, title: str, summary: str = "", settings: Mapping[str, Any] | None = None):
        self.title = title
        self.summary = summary
        self.settings = dict(settings or {})
        self._headings: list[str] = []
        self._body: list[str] = []

    def section(self, heading: str) -> "Report":
        """Begin a new section; where there are many, they are listed at the beginning of the page."""
        self._headings.append(heading)
        return self._add(f'<a id="section-{len(self._headings)}"></a>', f"<h2>{escape(heading)}</h2>")

    def text(self, *paragraphs: str) -> "Report":
        """Paragraphs of plain text."""
        return self._add(*(f"<p>{escape(paragraph)}</p>" for paragraph in paragraphs))

    def facts(self, facts: Mapping[str, Any]) -> "Report":
        """The few numbers that matter, in large type: name -> value."""
        return self._add(f'<dl class="facts">{"".join(_card(name, value) for name, value in facts.items())}</dl>')

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[Any]], caption: str = "") -> "Report":
        """A table; numbers are aligned to the right, floats shown to four digits."""
        return self._add(_table(columns, [list(row) for row in rows], caption))

    def figure(self, figure: Figure, caption: str) -> "Report":
        """A matplotlib figure; small ones that follow each other stand side by side where there is room.

        The caption is also what a screen reader says.
        """
        width, height = (round(inches * 96) for inches in figure.get_size_inches())
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
        """Images, each (h, w) or (h, w, c), as wide as `side` pixels on the page and as many in a row as fit.

        Values are as `image_grid_figure` takes them, or uint8; `frames` are colours.
        """
        names = [""] * len(images) if titles is None else list(titles)
        colours = [None] * len(images) if frames is None else list(frames)
        tiles = (tile(*parts, side) for parts in zip(images, names, colours, strict=True))
        below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
        return self._add(f'<figure class="tiles"><ul style="--side: {side}px">{"".join(tiles)}</ul>{below}</figure>')

    def code(self, text: str) -> "Report":
        """Lines to be typed or copied, as they are."""
        return self._add(f'<pre class="scroll"><code>{escape(text)}</code></pre>')

    def to_html(self) -> str:
        """The whole page."""
        style = files(__package__).joinpath("style.css").read_text(encoding="utf-8")
        head = [
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(self.title)}</title>",
            f"<style>\n{style}</style>",
        ]
        page = ["<!DOCTYPE html>", '<html lang="en">', "<head>", *head, "</head>", "<body>", self._content(), "</body>"]
        return "\n".join([*page, "</html>", ""])

    def save(self, path: str | os.PathLike) -> None:
        """Write the page; an interrupted write leaves an old file whole."""
        with atomic_path(path) as neighbour:
            neighbour.write_text(self.to_html(), encoding="utf-8", errors="backslashreplace")

    def _repr_html_(self) -> str:
        """The report inside a notebook, in a frame so that its style stays its own."""
        frame = 'style="width: 100%; height: 40rem; border: 0"'
        return f'<iframe srcdoc="{escape(self.to_html())}" title="{escape(self.title)}" {frame}></iframe>'

    def _add(self, *parts: str) -> "Report":
        self._body.extend(parts)
        return self

    def _content(self) -> str:
        opening = [f"<h1>{escape(self.title)}</h1>"]
        if self.summary:
            opening.append(f'<p class="summary">{escape(self.summary)}</p>')
        if len(self._headings) >= MANY_SECTIONS:
            links = (f'<a href="#section-{i}">{escape(heading)}</a>' for i, heading in enumerate(self._headings, 1))
            opening.append(f"<nav>{''.join(links)}</nav>")
        closing = ["<footer>"]
        if self.settings:
            closing += ["<h2>Settings</h2>", _table((), self.settings.items())]
        closing += ["<h2>Software</h2>", _table((), software_versions().items()), "</footer>"]
        return "\n".join([*opening, "<main>", *self._body, "</main>", *closing])


def _framed(content: str, caption: str) -> str:
    """Something that scrolls by itself where it is wider than the screen, above its caption."""
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
        cells = (f"<td{_align(_is_number(value) and bool(columns))}>{_cell_text(value)}</td>" for value in row)
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return _framed("\n".join([*lines, "</tbody></table>"]), caption)


def _align(right: bool) -> str:
    return ' class="number"' if right else ""


def _is_number(value: Any) -> bool:
    if isinstance(value, str):
        return value.endswith("%") and value[:-1].replace(".", "", 1).isdigit()
    return isinstance(value, Number) and not isinstance(value, bool)


def _cell_text(value: Any) -> str:
    return escape(f"{value:.4g}" if isinstance(value, float) else str(value))
