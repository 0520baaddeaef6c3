"""Good inputs of every command, tiny, and the models that they make; the same for every part that runs commands."""

from pathlib import Path

import numpy as np
import tifffile
from PIL import Image

from campaign.commands import OK, run_command

COMPILATION_SECONDS = 900.0  # the first command after a change of the library compiles its loops
N_IMAGES = 4  # per class
N_PAGES, SIDE = 3, 48
FIT = ("--method", "codebook", "--jobs", "1")
FIT_PIXELS = ("--patch-size", "5", "--pixels", "200", "--rounds", "1", "--jobs", "1")


def make_world(inputs: Path, is_short: bool = False) -> None:
    """Write labelled images, images with masks, a stack with masks, and a model of each kind, into `inputs/world`."""
    folder = inputs / "world"
    if folder.exists():
        return
    rng = np.random.default_rng(0)
    for kind in ("level", "upright"):
        (folder / "photos" / kind).mkdir(parents=True)
        for number in range(N_IMAGES):
            noise = rng.integers(0, 256, (24, 1) if kind == "level" else (1, 30), dtype=np.uint8)
            Image.fromarray(np.broadcast_to(noise, (24, 30)).copy()).save(folder / "photos" / kind / f"{number}.png")
    cells = rng.integers(0, 2, (N_PAGES, 6, 6)).repeat(SIDE // 6, 1).repeat(SIDE // 6, 2).astype(np.uint8)
    for name, pages in {"cells": 200 * cells, "masks": cells}.items():
        (folder / name).mkdir()
        tifffile.imwrite(folder / f"{name}.tif", pages, photometric="minisblack")
        for number, page in enumerate(pages):
            Image.fromarray(page).save(folder / name / f"{number}.png")
    must_run(["fit", "photos", "-o", "m.inv", *FIT], folder)
    must_run(["fit-pixels", "cells", "masks", "-o", "p.inv", *FIT_PIXELS], folder)


def must_run(arguments: list[str], folder: Path) -> None:
    """Run a command that has no reason to fail."""
    ended = run_command(arguments, folder, COMPILATION_SECONDS)
    if ended.code != OK:
        raise RuntimeError(ended.blamed(f"ended with exit code {ended.code}"))
