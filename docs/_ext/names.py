"""The public names, and where each is documented."""

import importlib

FLOORS = [
    "images",
    "transformations",
    "trees",
    "descriptors",
    "jungles",
    "segmentation",
    "codebooks",
    "hierarchies",
    "tangents",
    "tradeoff",
    "methods",
    "models",
    "datasets",
    "report",
]


def public_names() -> dict[str, str]:
    """Every public name, and the path under which it is documented: `invariance.X` where that exists."""
    top = importlib.import_module("invariance")
    names = {}
    for floor in FLOORS:
        for name in sorted(importlib.import_module(f"invariance.{floor}").__all__):
            path = f"invariance.{name}" if name in top.__all__ else f"invariance.{floor}.{name}"
            names[name] = names[f"{floor}.{name}"] = path
    return names
