"""Commands that are killed while they work, and what is left of the files that they were to replace."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tifffile
from PIL import Image

from invariance import models
from invariance._core.files import UNFINISHED
from invariance.cli import main
from invariance.images import Layout, page_writer

OLD, NEW, BROKEN = "old", "new", "broken"
NEW_SEED = 1
N_PAGES, SIDE = 12, 48
PATIENCE = 120.0  # seconds after which a command that writes nothing is given up


class Victim(NamedTuple):
    """A command, the file it replaces, the bytes of that file before, and whether a file is a whole new one."""

    arguments: list[str]
    target: Path
    old: bytes
    is_new: Callable[[Path], bool]

    @property
    def state(self) -> str:
        """What the file is now: old, new or broken."""
        if self.target.read_bytes() == self.old:
            return OLD
        return NEW if self.is_new(self.target) else BROKEN

    @property
    def unfinished(self) -> set[str]:
        """Hidden neighbours of the file that are being written, or that killed commands have left."""
        return {name for name in os.listdir(self.target.parent) if UNFINISHED in name}

    def restore(self) -> None:
        """Put the old file back."""
        self.target.write_bytes(self.old)


def prepare_fit(folder: Path) -> Victim:
    """`invariance fit` over a model of another seed."""
    photos, target = folder / "images", folder / "models" / "m.inv"
    target.parent.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for kind in ("level", "upright"):
        (photos / kind).mkdir(parents=True)
        for number in range(3):
            noise = rng.integers(0, 256, (24, 1 if kind == "level" else 24), dtype=np.uint8)
            Image.fromarray(np.broadcast_to(noise, (24, 24)).copy()).save(photos / kind / f"{number}.png")
    arguments = ["fit", str(photos), "-o", str(target), "--method", "codebook", "--jobs", "1"]
    assert main(arguments) == 0
    blank = np.zeros((24, 24), np.float32)

    def is_new(path: Path) -> bool:
        try:
            model = models.load(path)
        except ValueError:
            return False
        return model.random_state == NEW_SEED and model.predict([blank])[0] in ("level", "upright")

    return Victim([*arguments, "--seed", str(NEW_SEED)], target, target.read_bytes(), is_new)


def prepare_segment(folder: Path) -> Victim:
    """`invariance segment` of a stack, over a stack of other labels; it writes page by page."""
    images, masks, target = folder / "stack.tif", folder / "masks.tif", folder / "results" / "stack.tif"
    cells = np.random.default_rng(0).integers(0, 2, (N_PAGES, 6, 6)).repeat(SIDE // 6, 1).repeat(SIDE // 6, 2)
    tifffile.imwrite(images, (200 * cells).astype(np.uint8), photometric="minisblack")
    tifffile.imwrite(masks, cells.astype(np.uint8), photometric="minisblack")
    arguments = ["fit-pixels", str(images), str(masks), "-o", str(folder / "p.inv"), "--jobs", "1"]
    assert main([*arguments, "--patch-size", "5", "--pixels", "200", "--rounds", "1"]) == 0
    arguments = ["segment", str(folder / "p.inv"), str(images), "-o", str(target.parent), "--jobs", "1", "--overwrite"]
    assert main(arguments) == 0
    expected = target.read_bytes()
    with page_writer(target, Layout(axes="Z", lengths=(N_PAGES,))) as write:
        for _ in range(N_PAGES):
            write(np.full((SIDE, SIDE), 7, np.uint8))
    return Victim(arguments, target, target.read_bytes(), lambda path: path.read_bytes() == expected)


def wait_until_it_writes(victim: Victim, is_running: Callable[[], bool]) -> None:
    """Return as soon as a new unfinished neighbour is there, or the command has ended."""
    before, given_up = victim.unfinished, time.monotonic() + PATIENCE
    while is_running() and not victim.unfinished - before:
        assert time.monotonic() < given_up, f"nothing was written: {victim.arguments}"
        time.sleep(0.0005)
