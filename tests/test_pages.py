"""Every snippet and command of README and the documentation runs, in the order of its page, on a few small images.

With `INVARIANCE_ALL_PAGES=1` (`make test-pages`) those of all pages run, for some minutes; otherwise those of README,
and those of the other pages are compiled or parsed.
"""

import os
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
import tifffile
import typer
from PIL import Image

from invariance.cli import app, fit, main
from invariance.cli.commands import build_command
from invariance.datasets import make_membranes
from invariance.methods import registry

REPOSITORY = Path(__file__).parents[1]
DOCS = REPOSITORY / "docs"
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# Servers, other machines and files that nobody has; their arguments are parsed.
NOT_RUN = re.compile(r"^invariance (studio|demo)|--scheduler|dino\.onnx|--install-completion")
OTHER_PROGRAMS = ("pip install ", "make ", "dask ", "python docs/", "python -m experiments")


def blocks_of(page):
    return BLOCK.findall(page.read_text(encoding="utf-8"))


RUNS_ALL = os.environ.get("INVARIANCE_ALL_PAGES") == "1"
README = REPOSITORY / "README.md"
BUILT = {DOCS / "generated", DOCS / "_build"}  # by `make docs`, from commands that have tests of their own
WRITTEN = [page for page in sorted(DOCS.rglob("*.md")) if not BUILT & set(page.parents)]
PAGES = [page for page in [README, *WRITTEN] if blocks_of(page)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with everything that pages name: folders of classes, sections and masks, a stack, and a volume."""
    folder = tmp_path_factory.mktemp("pages")
    rng = np.random.default_rng(0)
    for name in ("leaves", "other-leaves", "labelled", "flowers", "new", "millions"):
        for shade, each in enumerate([""] if name in ("new", "millions") else ["birch", "maple"]):
            for number in range(6):
                side = 80 if name == "flowers" else 40  # methods for photographs need 64
                pixels = rng.integers(0, 90, (side, side)) + 120 * shade * (np.arange(side) % 8 < 4)[:, None]
                write(pixels, folder / name / each / f"{number}.png")
    sections = make_membranes(2, (96, 96), random_state=0)
    masks = np.asarray(sections.masks) + 1
    for number, (image, mask) in enumerate(zip(255 * sections.images, masks, strict=True)):
        for images_name, masks_name in (("cells", "masks"), ("others", "truth")):
            write(image, folder / images_name / f"{number}.png")
            write(mask, folder / masks_name / f"{number}.png")
    write(255 * sections.images[0], folder / "photo.png")
    write(masks[0], folder / "scribbles.png")
    write(255 * sections.images[1], folder / "other.jpg")
    write(rng.integers(0, 255, (40, 40)), folder / "leaf.jpg")
    tifffile.imwrite(folder / "stack.tif", (255 * sections.images).astype(np.uint8))
    zarr = pytest.importorskip("zarr")
    for name, values in {
        "volume.zarr": (255 * sections.images).astype(np.uint8),
        "strokes.zarr": masks.astype(np.uint8),
    }.items():
        zarr.create_array(folder / name, data=values)
    return folder


def write(pixels, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.asarray(pixels).astype(np.uint8)).save(path)


def commands_of(block):
    """The commands of a block, without comments, lines joined."""
    lines = block.replace("\\\n", " ").splitlines()
    return [line for line in (re.sub(r"\s+#.*$|^#.*$", "", line).strip() for line in lines) if line]


@pytest.fixture(scope="module")
def done():
    """The commands that other pages have run already."""
    return set()


@pytest.fixture
def registered(monkeypatch):
    """Methods that a page registers are forgotten after it."""
    monkeypatch.setattr(registry, "_registered", dict(registry._registered))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(REPOSITORY).as_posix())
@pytest.mark.usefixtures("registered")
def test_snippets_and_commands_run(page, folder, done, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(fit, "BUDGET", 1.0)
    runs, variables = RUNS_ALL or page == README, {}
    for language, block in blocks_of(page):
        if language == "python":
            snippet = compile(block, page.name, "exec")
            if runs:
                exec(snippet, variables)
            continue
        for command in commands_of(block):
            if not command.startswith("invariance "):
                assert command.startswith(OTHER_PROGRAMS), command
            elif NOT_RUN.search(command) or not runs:
                parse(*shlex.split(command)[1:])
            elif command not in done:
                assert main(replacing(shlex.split(command)[1:])) == 0, command
                done.add(command)


def replacing(words):
    """The words of a command that may replace what another page has written."""
    is_option = words[0].startswith("-")
    options = [] if is_option else [option for each in build_command(words[0]).params for option in each.opts]
    writes_store = "-o" in words and words[words.index("-o") + 1].endswith(".zarr")
    option = "--restart" if writes_store else "--overwrite"
    return [*words, option] if option in options and option not in words else words


def parse(name, *arguments):
    group = typer.main.get_command(app)
    command = group if name.startswith("-") else build_command(name)
    command.make_context(name, [name, *arguments] if command is group else list(arguments), resilient_parsing=False)


def test_a_command_that_does_not_exist_would_be_found(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert commands_of("invariance fit a/ \\\n  -o b.inv   # learn\n# nothing\n") == ["invariance fit a/    -o b.inv"]
    with pytest.raises(Exception, match="no such option|No such option"):
        parse("studio", "cells/", "--nonsense")
