"""Configuration of Sphinx, for `make docs`."""

import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

from commands import commands_page  # noqa: E402
from links import LinkWords  # noqa: E402
from papers import papers_page  # noqa: E402
from plans import plans_page  # noqa: E402
from reference import reference_page, skip_foreign  # noqa: E402

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


def write_generated(app: Any, config: Any) -> None:
    """Write what is derived from the package, the commands and the bibliography, before Sphinx looks for pages."""
    folder = HERE / "generated"
    folder.mkdir(exist_ok=True)
    pages = {
        "commands.md": commands_page(),
        "papers.md": papers_page(),
        "plans.md": plans_page(),
        "reference.rst": reference_page(),
    }
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")


def setup(app: Any) -> None:
    """Connect the extensions."""
    app.connect("config-inited", write_generated)
    app.connect("autodoc-skip-member", skip_foreign)
    app.add_transform(LinkWords)
