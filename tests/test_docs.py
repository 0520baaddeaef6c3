"""The documentation is complete: names, commands, papers and figures; its code runs."""

import ast
import importlib
import re
import runpy
import sys
from pathlib import Path

import pytest

import invariance
from invariance.cli.commands import COMMANDS, build_command

REPOSITORY = Path(__file__).parents[1]
DOCS = REPOSITORY / "docs"
PAGES = sorted([*DOCS.glob("*.md"), *DOCS.glob("methods/*.md"), *DOCS.glob("tasks/*.md")])
WRITTEN = [page for page in PAGES if page.name != "reproductions.md"]  # the other page is generated
TEXTS = [REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")]
EXAMPLES = sorted(DOCS.glob("gallery/*.py"))
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def from_extension(module, name):
    sys.path.insert(0, str(DOCS / "_ext"))
    try:
        return runpy.run_path(str(DOCS / "_ext" / f"{module}.py"))[name]
    finally:
        sys.path.remove(str(DOCS / "_ext"))


def page_id(path):
    return path.stem


def test_the_reference_lists_every_public_name_once():
    text = from_extension("reference", "reference_page")()
    listed = re.findall(r"^   ([\w.]+)$", text, re.MULTILINE) + re.findall(r"py:data:: (?:invariance\.)?([\w.]+)", text)
    assert len(set(listed)) == len(listed)
    folders = [
        folder.name for folder in (REPOSITORY / "src" / "invariance").iterdir() if (folder / "__init__.py").exists()
    ]
    exports = {
        (room, name)
        for room in folders
        if not room.startswith("_")
        for name in getattr(importlib.import_module(f"invariance.{room}"), "__all__", ())
    }
    assert len(exports) > 100
    missing = [f"{room}.{name}" for room, name in exports if not {name, f"{room}.{name}"} & set(listed)]
    assert missing == []
    assert set(invariance.__all__) - set(folders) <= set(listed)


def test_every_method_page_says_when_not_to_use_it_and_has_code_that_runs():
    methods = [page for page in DOCS.glob("methods/*.md") if page.stem not in ("transformations", "plans")]
    assert len(methods) == 6
    for page in methods:
        headings = re.findall(r"^## (.*)", page.read_text(), re.MULTILINE)
        assert headings[:4] == [
            "The idea",
            "When to use it, and when not",
            "The parameters that matter",
            "The algorithm",
        ]
        assert PYTHON.search(page.read_text())


@pytest.mark.parametrize("example", EXAMPLES, ids=page_id)
def test_examples_are_short_and_end_in_a_figure_of_the_library(example):
    source = example.read_text()
    tree = ast.parse(source)
    title, underline = ast.get_docstring(tree).splitlines()[:2]
    assert underline == "=" * len(title)
    assert len(source.splitlines()) <= 60
    assert "from invariance.report import" in source
    assert ast.unparse(tree.body[-1]).startswith("figure = ")


def test_there_are_as_many_examples_as_promised():
    assert len(EXAMPLES) == 10


@pytest.mark.parametrize("page", [*TEXTS, *PAGES], ids=page_id)
def test_links_lead_to_files_and_headings_that_exist(page):
    """Links to other sites are not followed."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    for link in links:
        path, _, heading = link.partition("#")
        if link.startswith(("http://", "https://")) or path.startswith("generated/"):
            continue
        target = (page.parent / path) if path else page
        assert target.exists(), link
        if heading:
            known = {slug(title) for title in re.findall(r"^#+ (.*)$", target.read_text(), re.MULTILINE)}
            known |= set(re.findall(r"^\((.*)\)=$", target.read_text(), re.MULTILINE))
            assert heading in known, link


def slug(title):
    """The anchor of a heading, as GitHub and MyST write it."""
    return re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")


def test_readme_can_be_read_in_two_minutes():
    text = (REPOSITORY / "README.md").read_text()
    assert len(text.splitlines()) <= 130
    assert all(command in text for command in ("make demo", "make test", "make studio"))
    assert "Φ" not in text


@pytest.mark.parametrize("page", [*WRITTEN, *EXAMPLES], ids=page_id)
def test_code_fits_the_width_of_a_page(page):
    fenced = re.findall(r"^```\w+\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    blocks = fenced if page.suffix == ".md" else [_without_text(page.read_text())]
    assert [line for block in blocks for line in block.splitlines() if len(line) > 97] == []


def _without_text(source):
    """An example without its title and its comments, which become running text."""
    end = ast.parse(source).body[0].end_lineno
    return "\n".join(line for line in source.splitlines()[end:] if not line.startswith("#"))


def test_every_paper_cited_has_an_entry_on_the_page_of_papers():
    papers = from_extension("papers", "read_papers")()
    page = from_extension("papers", "papers_page")()
    assert set(re.findall(r"^@\w+\{(\w+),", (DOCS / "references.bib").read_text(), re.MULTILINE)) == set(papers)
    assert all(f"(paper-{key.lower()})=" in page and fields["title"] in page for key, fields in papers.items())
    for path in [*WRITTEN, *EXAMPLES]:
        assert set(re.findall(r"\[([A-Z]\w+\d\d)\]", path.read_text())) <= set(papers), path


def test_the_command_line_page_has_every_command_and_option():
    page = re.sub(r"\\(?=[<>*_\[\]])", "", from_extension("commands", "commands_page")())
    sections = dict(re.findall(r"^## invariance ([\w-]+)\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))
    commands = {name: build_command(name) for name in COMMANDS}
    assert list(sections) == list(commands)
    for name, command in commands.items():
        assert command.help in sections[name]
        assert all(
            option in sections[name] for parameter in command.params for option in parameter.opts if "-" in option
        )
