"""A report: one HTML file that needs nothing else, to be read on a screen, a phone or paper, in light or dark."""

import os
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from numbers import Number
from typing import Any

from matplotlib.figure import Figure

from invariance._core.files import atomic_path
from invariance.report.figures import svg_address
from invariance.report.provenance import software_versions

# Pictures of more pixels than this do not shrink to the width of a phone.
WIDE = 640


class Report:
    """A titled sequence of sections of text, facts, tables and figures.

    Every text is escaped, figures are embedded, and nothing is loaded from the network. `settings` are the exact
    parameters and seeds of the run: they stand at the end, with the versions of the software. The same content gives
    the same file, byte for byte. Methods return the report, so that calls can be chained.
    """

    def __init__(self, title: str, summary: str = "", settings: Mapping[str, Any] | None = None):
        self.title = title
        self.summary = summary
        self.settings = dict(settings or {})
        self._body: list[str] = []

    def section(self, heading: str) -> "Report":
        """Begin a new section."""
        return self._add(f"<h2>{escape(heading)}</h2>")

    def text(self, *paragraphs: str) -> "Report":
        """Paragraphs of plain text."""
        return self._add(*(f"<p>{escape(paragraph)}</p>" for paragraph in paragraphs))

    def facts(self, facts: Mapping[str, Any]) -> "Report":
        """The few numbers that matter, in large type: name -> value."""
        cards = (f"<div><dt>{_cell_text(name)}</dt><dd>{_cell_text(value)}</dd></div>" for name, value in facts.items())
        return self._add(f'<dl class="facts">{"".join(cards)}</dl>')

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
            neighbour.write_text(self.to_html(), encoding="utf-8")

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
        closing = ["<footer>"]
        if self.settings:
            closing += ["<h2>Settings</h2>", _table((), self.settings.items())]
        closing += ["<h2>Software</h2>", _table((), software_versions().items()), "</footer>"]
        return "\n".join([*opening, "<main>", *self._body, "</main>", *closing])


def _framed(content: str, caption: str) -> str:
    """Something that scrolls by itself where it is wider than the screen, above its caption."""
    below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f'<figure><div class="scroll">{content}</div>{below}</figure>'


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
    return isinstance(value, Number) and not isinstance(value, bool)


def _cell_text(value: Any) -> str:
    return escape(f"{value:.4g}" if isinstance(value, float) else str(value))
