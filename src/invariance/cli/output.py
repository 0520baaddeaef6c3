"""Where a command writes its result; checked before the work begins, not after."""

from pathlib import Path


def check_output(path: Path, endings: tuple[str, ...]) -> Path:
    """`path`, if a file of that name and one of these endings can be written."""
    if path.is_dir():
        raise IsADirectoryError(f"cannot write '{path}': it is a folder. Name a file inside it.")
    if path.suffix.lower() not in endings:
        raise ValueError(f"cannot write '{path}': its name must end in {' or '.join(endings)}.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write '{path}': the folder '{path.parent}' does not exist. Create it first.")
    return path
