"""What is in a folder, to find out what a command has changed there."""

import hashlib
import os
from pathlib import Path

UNFINISHED = ".unfinished"


def snapshot(folder: Path) -> dict[Path, str]:
    """Map all that is in a folder, hidden files too, to a digest of its content; folders have none."""
    found = {}
    for parent, folders, files in os.walk(folder):
        for name in folders:
            found[Path(parent, name)] = "folder"
        for name in files:
            path = Path(parent, name)
            found[path] = os.readlink(path) if path.is_symlink() else hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def differences(before: dict[Path, str], after: dict[Path, str]) -> tuple[set[Path], set[Path], set[Path]]:
    """Return the paths that are lost, changed and new."""
    lost, new = before.keys() - after.keys(), after.keys() - before.keys()
    changed = {path for path in before.keys() & after.keys() if before[path] != after[path]}
    return set(lost), changed, set(new)


def leftovers(folder: Path) -> list[str]:
    """List unfinished files in a folder and below."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob(f"*{UNFINISHED}*"))
