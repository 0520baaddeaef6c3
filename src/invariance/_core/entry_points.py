"""What installed packages add to this one: their entry points, read without importing anything.

`importlib.metadata` reads metadata with the parser of e-mails, whose import takes much of the time of `invariance
--help`; entry points are in a plain file of their own. Only packages in folders are found, as pip installs them, not
those in zip archives.
"""

import os
import sys
from functools import cache
from importlib import import_module
from operator import attrgetter
from typing import Any, NamedTuple

METADATA = (".dist-info", ".egg-info")


class EntryPoint(NamedTuple):
    """A name and the object it stands for, `module` or `module:attribute`."""

    name: str
    value: str

    def load(self) -> Any:
        """Import the module and return the object."""
        module, _, attribute = self.value.partition("[")[0].partition(":")
        found = import_module(module.strip())
        return attrgetter(attribute.strip())(found) if attribute.strip() else found


def find_entry_points(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by their names; files are read once per search path."""
    return _find(group, tuple(sys.path)).copy()


@cache
def _find(group: str, search_path: tuple[str, ...]) -> dict[str, EntryPoint]:
    texts = (text for text in _read_all(search_path) if group in text)
    return {name: EntryPoint(name, value) for text in texts for found, name, value in _parse(text) if found == group}


@cache
def _read_all(search_path: tuple[str, ...]) -> list[str]:
    """The entry points of every package; of one that is installed twice the first, as an import finds it."""
    found: dict[str, str] = {}
    for folder in search_path:
        for metadata in _list_metadata(folder):
            package = os.path.basename(metadata).partition("-")[0].lower()
            found.setdefault(package, os.path.join(metadata, "entry_points.txt"))
    return [text for path in found.values() if (text := _read(path))]


def _list_metadata(folder: str) -> list[str]:
    try:
        with os.scandir(folder or os.curdir) as entries:
            return [entry.path for entry in entries if entry.name.endswith(METADATA)]
    except OSError:  # no folder, or one that may not be read
        return []


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:  # most packages have no entry points
        return ""


def _parse(text: str) -> list[tuple[str, str, str]]:
    """List group, name and value of `[group]` and `name = value` lines; others are comments."""
    found, group = [], ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            group = line.strip("[]").strip()
        elif line and not line.startswith(("#", ";")):
            name, _, value = line.partition("=")
            found.append((group, name.strip(), value.strip()))
    return found
