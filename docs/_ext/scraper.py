"""Figures of the examples: sphinx-gallery finds pyplot figures only, and `invariance.report` does not use pyplot."""

from typing import Any

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

SEEN = "figures already shown"


def scrape_figures(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the new figures among the variables of an example's block, and show them below it."""
    variables = block_vars["example_globals"]
    seen = variables.setdefault(SEEN, [])
    new = [value for value in variables.values() if isinstance(value, Figure) and not any(value is old for old in seen)]
    paths = []
    for figure in new:
        seen.append(figure)
        paths.append(next(block_vars["image_path_iterator"]))
        figure.savefig(paths[-1], dpi=144)
    return figure_rst(paths, gallery_conf["src_dir"])
