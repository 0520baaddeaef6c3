"""How these pages are built: `make docs`."""

import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

from commands import commands_page  # noqa: E402
from docstrings import rewrite, skip_foreign  # noqa: E402
from links import LinkWords  # noqa: E402
from papers import papers_page  # noqa: E402

import invariance  # noqa: E402

project = "invariance"
author = "The invariance developers"
copyright = author
version = release = invariance.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "generated/*.md", "gallery", "references.bib"]
default_role = "literal"
templates_path = ["_templates"]
html_theme = "furo"
html_title = "invariance"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False

myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "generated/examples",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("scraper.scrape_figures",),
    "capture_repr": (),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "write_computation_times": False,
    "show_signature": False,
    "min_reported_time": 1e6,
    "remove_config_comments": True,
}


def write_generated(app: Any) -> None:
    """Write the parts of pages that are made from the commands and from the bibliography."""
    folder = HERE / "generated"
    folder.mkdir(exist_ok=True)
    for name, text in {"commands.md": commands_page(), "papers.md": papers_page()}.items():
        (folder / name).write_text(text, encoding="utf-8")


def setup(app: Any) -> None:
    """Hand the parts to Sphinx."""
    app.connect("builder-inited", write_generated, priority=100)
    app.connect("autodoc-process-docstring", rewrite, priority=100)
    app.connect("autodoc-skip-member", skip_foreign)
    app.add_transform(LinkWords)
