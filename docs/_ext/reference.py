"""The reference of the Python names, derived from the package: one section per room."""

import importlib
import inspect
from typing import Any

from names import exported, path_of, rooms

HEAD = """Reference
=========

Names without a dot are imported from ``invariance`` itself, the others from the module before the dot. The package is
typed, so that type checkers know all of them.

.. py:data:: invariance.__version__

   The version, a string.

.. currentmodule:: invariance
"""


def reference_page() -> str:
    """All public names in reStructuredText, as tables that link to one page per name."""
    return "\n".join([HEAD, *map(_section, rooms())])


def skip_foreign(app: Any, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Handler of `autodoc-skip-member`: leave out members inherited from scikit-learn, tuples and dataclasses."""
    function = getattr(member, "fget", None) or getattr(member, "func", None) or member
    home = getattr(function, "__module__", None) or ""
    return None if home.startswith("invariance") else True


def _section(room: str) -> str:
    module = importlib.import_module(f"invariance.{room}")
    members = {path_of(room, name): getattr(module, name) for name in exported(room)}
    objects = [path for path, member in members.items() if inspect.isclass(member) or inspect.isroutine(member)]
    table = "\n".join(f"   {path.removeprefix('invariance.')}" for path in objects)
    data = "".join(f"\n.. py:data:: {path.removeprefix('invariance.')}\n" for path in members if path not in objects)
    about = (inspect.getdoc(module) or "").split("\n\n")[0]
    title = room.capitalize()
    return (
        f"{title}\n{'-' * len(title)}\n\n{about}\n\n"
        f".. autosummary::\n   :toctree: api\n   :nosignatures:\n\n{table}\n{data}"
    )
