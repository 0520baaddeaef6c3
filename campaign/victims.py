"""Commands that replace files of an earlier run, and what their files are after something has happened to them."""

import json
import shutil
import time
from pathlib import Path
from typing import NamedTuple

from campaign.arguments import all_parameters
from campaign.commands import OK, Ended
from campaign.fingerprints import fingerprint
from campaign.part import Case
from campaign.snapshots import leftovers
from campaign.world import FIT, FIT_PIXELS, make_world, must_run


class Victim(NamedTuple):
    """A command that writes into the folder `out`, and the same command as it was run before."""

    arguments: list[str]
    before: list[str]


VICTIMS = {
    "fit": Victim(
        ["fit", "photos", "-o", "out/m.inv", *FIT, "--seed", "1"], ["fit", "photos", "-o", "out/m.inv", *FIT]
    ),
    "fit-pixels": Victim(
        ["fit-pixels", "cells", "masks", "-o", "out/p.inv", *FIT_PIXELS, "--seed", "1"],
        ["fit-pixels", "cells", "masks", "-o", "out/p.inv", *FIT_PIXELS],
    ),
    "predict": Victim(
        ["predict", "m.inv", "photos", "-o", "out/labels.csv"],
        ["predict", "m.inv", "photos/level", "-o", "out/labels.csv"],
    ),
    "segment": Victim(
        ["segment", "p.inv", "cells.tif", "cells", "-o", "out", "--probabilities"],
        ["segment", "other.inv", "cells.tif", "cells", "-o", "out", "--probabilities"],
    ),
}


def prepare_victims(inputs: Path, is_short: bool) -> None:
    """Run every victim twice: the old results, the new ones, and how long these took."""
    make_world(inputs)
    world = inputs / "victims"
    if world.exists():
        return
    shutil.copytree(inputs / "world", world)
    must_run(["fit-pixels", "masks", "masks", "-o", "other.inv", *FIT_PIXELS, "--seed", "3"], world)
    seconds = {}
    for name, victim in VICTIMS.items():
        for state, arguments in (("old", victim.before), ("new", victim.arguments)):
            (world / "out").mkdir()
            started = time.monotonic()
            must_run(arguments, world)
            seconds[name] = time.monotonic() - started
            (world / "out").rename(world / f"{name}-{state}")
    (world / "seconds.json").write_text(json.dumps(seconds))


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
