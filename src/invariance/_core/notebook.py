"""What a notebook shows of a result: a sentence and a small table, in its own style."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any


def html_table(sentence: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a sentence above a table, as HTML for `_repr_html_`; all text is escaped."""
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    lines = ("".join(f"<td>{escape(str(value))}</td>" for value in row) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<p>{escape(sentence)}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
