"""Docstrings as numpydoc and reStructuredText want them; in the source they are plain words.

There `name : meaning` says what a parameter is, where numpydoc expects its type; several attributes may share a line,
parted by semicolons; and |d|, x* or classes_ mean what they say.
"""

import re
from collections.abc import Iterator
from itertools import groupby, pairwise
from typing import Any

UNDERLINE = re.compile(r"^-{4,}$")
ENTRY = re.compile(r"^(?P<names>\w+(?:, \w+)*)(?: (?P<shape>\([^:;]*?))?(?: : (?P<meaning>.*))?$")
NEXT_ENTRY = re.compile(r";\s+(?=\w+(?:, \w+)*(?: \([^:;]*?)? : |\w+_(?:;|$))")
CODE = re.compile(r"(`+[^`]*`+)")
PLURAL = re.compile(r"(`[^`]+`)(?=\w)")
MARKS = re.compile(r"[|*]|(?<=\w)_(?!\w)")


def rewrite(app: Any, what: str, name: str, subject: Any, options: Any, lines: list[str]) -> None:
    """Handler of `autodoc-process-docstring`: change the lines in place."""
    lines[:] = list(_rewritten(lines))


def skip_foreign(app: Any, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Handler of `autodoc-skip-member`: leave out what scikit-learn, tuples and dataclasses bring along."""
    function = getattr(member, "fget", None) or getattr(member, "func", None) or member
    home = getattr(function, "__module__", None) or ""
    return None if home.startswith("invariance") else True


def _rewritten(lines: list[str]) -> Iterator[str]:
    """Paragraphs that follow a list of parameters or attributes go before the lists, where numpydoc takes them."""
    text: list[str] = []
    lists: list[str] = []
    for section, part in _sections(lines):
        if section not in ("Parameters", "Attributes"):
            (lists if section else text).extend(map(_escape, part))
            continue
        entries, *paragraphs = _paragraphs(part[2:])
        lists += ["", *part[:2], *_entries(entries)]
        text += ["", *(_escape(line) for paragraph in paragraphs for line in [*paragraph, ""])]
    yield from text
    yield from lists


def _sections(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """What stands before the first heading, then every heading with what follows it."""
    starts = [i for i in range(len(lines) - 1) if UNDERLINE.match(lines[i + 1]) and lines[i].strip()]
    yield "", lines[: starts[0] if starts else len(lines)]
    for start, stop in pairwise([*starts, len(lines)]):
        yield lines[start].strip(), lines[start:stop]


def _paragraphs(lines: list[str]) -> list[list[str]]:
    return [list(group) for is_filled, group in groupby(lines, key=lambda line: bool(line.strip())) if is_filled]


def _entries(lines: list[str]) -> Iterator[str]:
    """Every parameter or attribute as a line with its name and shape, and its meaning indented below."""
    joined = re.sub(r"\n\s+", " ", "\n".join(lines)).split("\n")
    for line in (entry for text in joined for entry in NEXT_ENTRY.split(text.removesuffix(";"))):
        match = ENTRY.match(line)
        if match is None:
            yield _escape(line)
            continue
        yield match["names"] + (f" : {_escape(match['shape'])}" if match["shape"] else "")
        yield f"    {_escape(match['meaning'] or '')}"


def _escape(line: str) -> str:
    parts = CODE.split(line)
    text = "".join(part if CODE.match(part) else MARKS.sub(r"\\\g<0>", part) for part in parts)
    return PLURAL.sub(r"\1\\ ", text)
