"""The public names, and where each is documented; derived from the package."""

import importlib
import pkgutil

import invariance


def rooms() -> list[str]:
    """The public packages of `invariance` that export names."""
    found = [module.name for module in pkgutil.iter_modules(invariance.__path__) if not module.name.startswith("_")]
    return [name for name in found if getattr(importlib.import_module(f"invariance.{name}"), "__all__", None)]


def exported(room: str) -> list[str]:
    """The public names of a room."""
    return sorted(importlib.import_module(f"invariance.{room}").__all__)


def path_of(room: str, name: str) -> str:
    """The path under which a name is documented: `invariance.X` if it can be imported from there."""
    return f"invariance.{name}" if name in invariance.__all__ else f"invariance.{room}.{name}"


def public_names() -> dict[str, str]:
    """The paths of all public names, by `name` and by `room.name`."""
    names = {}
    for room in rooms():
        for name in exported(room):
            names[name] = names[f"{room}.{name}"] = path_of(room, name)
    return names
