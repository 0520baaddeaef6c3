"""Figures of the examples: those of `invariance.report` are made without pyplot, so sphinx-gallery has to be told."""

from typing import Any

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

SEEN = "figures already shown"


def scrape_figures(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the figures that a block of an example has left in its variables, and show them below it."""
    variables = block_vars["example_globals"]
    seen = variables.setdefault(SEEN, [])
    new = [value for value in variables.values() if isinstance(value, Figure) and not any(value is old for old in seen)]
    paths = []
    for figure in new:
        seen.append(figure)
        paths.append(next(block_vars["image_path_iterator"]))
        figure.savefig(paths[-1], dpi=144)
    return figure_rst(paths, gallery_conf["src_dir"])
