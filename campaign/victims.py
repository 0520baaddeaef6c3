"""Commands that replace files of an earlier run, and what their files are after something has happened to them."""

import json
import shutil
import time
from pathlib import Path
from typing import NamedTuple

import tifffile
from PIL import Image

from campaign.arguments import all_parameters
from campaign.commands import OK, Ended
from campaign.fingerprints import fingerprint
from campaign.part import Case
from campaign.snapshots import leftovers
from campaign.world import FIT, FIT_PIXELS, make_world, must_run


class Victim(NamedTuple):
    """A command that writes into the folder `out`, and one that wrote other results of the same names before.

    Instead of the latter it may name a model of the world.
    """

    arguments: list[str]
    before: list[str] | str


VICTIMS = {
    "fit": Victim(["fit", "photos", "-o", "out/m.inv", *FIT, "--seed", "1"], "m.inv"),
    "fit-pixels": Victim(["fit-pixels", "cells", "masks", "-o", "out/p.inv", *FIT_PIXELS, "--seed", "1"], "p.inv"),
    "predict": Victim(
        ["predict", "m.inv", "photos", "-o", "out/labels.csv"],
        ["predict", "m.inv", "photos/level", "-o", "out/labels.csv"],
    ),
    "segment": Victim(
        ["segment", "p.inv", "cells.tif", "cells", "-o", "out", "--probabilities"],
        ["segment", "p.inv", "turned/cells.tif", "turned/cells", "-o", "out", "--probabilities"],
    ),
}


def prepare_victims(inputs: Path, is_short: bool) -> None:
    """Make the results of every victim, old and new, and measure how long the new ones take."""
    make_world(inputs)
    world = inputs / "victims"
    if world.exists():
        return
    shutil.copytree(inputs / "world", world)
    _turn_images(world)
    seconds = {}
    for name, victim in VICTIMS.items():
        if isinstance(victim.before, str):
            (world / f"{name}-old").mkdir()
            shutil.copy(world / victim.before, world / f"{name}-old")
        else:
            _keep_results(victim.before, world, f"{name}-old")
        seconds[name] = _keep_results(victim.arguments, world, f"{name}-new")
    (world / "seconds.json").write_text(json.dumps(seconds))


def _turn_images(world: Path) -> None:
    """Write other images of the same names into `turned`."""
    (world / "turned" / "cells").mkdir(parents=True)
    stack = tifffile.imread(world / "cells.tif")[:, ::-1]
    tifffile.imwrite(world / "turned" / "cells.tif", stack, photometric="minisblack")
    for path in (world / "cells").iterdir():
        with Image.open(path) as image:
            image.transpose(Image.Transpose.FLIP_TOP_BOTTOM).save(world / "turned" / "cells" / path.name)


def _keep_results(arguments: list[str], world: Path, name: str) -> float:
    """Run a command, keep its results under a name, and return the seconds it took."""
    (world / "out").mkdir()
    started = time.monotonic()
    must_run(arguments, world)
    (world / "out").rename(world / name)
    return time.monotonic() - started


def place(case: Case, name: str, has_old: bool) -> Path:
    """Copy the inputs of a victim, with the results of the earlier run in `out`, or nothing there."""
    world = case.folder / "world"
    shutil.copytree(case.inputs / "victims", world)
    if has_old:
        shutil.copytree(world / f"{name}-old", world / "out")
    else:
        (world / "out").mkdir()
    return world


def arguments_of(name: str) -> list[str]:
    """Return the arguments of a victim, with the option that allows it to replace files if it has one."""
    can_overwrite = any(parameter.name == "overwrite" for parameter in all_parameters()[name])
    return [*VICTIMS[name].arguments, *(["--overwrite"] if can_overwrite else [])]


def wrong_files(world: Path, name: str, has_old: bool, ended: Ended, max_hidden: int = 0) -> list[str]:
    """List files in `out` that are neither the old nor the new ones, and what was left behind or got lost."""
    old = _prints(world / f"{name}-old") if has_old else {}
    new = _prints(world / f"{name}-new")
    found = _prints(world / "out") if (world / "out").exists() else {}
    hidden = leftovers(world)
    wrong = [f"'{path}' is lost" for path in old if path not in found]
    for path, content in found.items():
        if ".unfinished" not in path and content not in (old.get(path), new.get(path)):
            wrong.append(f"'{path}' is neither the old nor the new one")
    if len(hidden) > max_hidden:
        wrong.append(f"left {', '.join(hidden)}")
    if any(not Path(path).name.startswith(".") for path in hidden):
        wrong.append(f"left a file that is not hidden: {', '.join(hidden)}")
    if ended.code == OK and not has_all_new(world, name):
        wrong.append("exit code 0, but not all results are new")
    return wrong


def has_all_new(world: Path, name: str) -> bool:
    """Whether all results in `out` are the new ones, and nothing else is there."""
    return (world / "out").exists() and _prints(world / "out") == _prints(world / f"{name}-new")


def _prints(folder: Path) -> dict[str, str]:
    """Map file names to fingerprints; a file that has none is broken."""
    found = {}
    for path in sorted(folder.iterdir()):
        try:
            found[path.name] = "" if ".unfinished" in path.name else fingerprint(path)
        except Exception as error:
            found[path.name] = f"broken ({error})"
    return found
