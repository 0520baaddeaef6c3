"""Where a command writes its result, checked before the work begins, not after; and what a terminal can show."""

import tempfile
from pathlib import Path


def check_output(path: Path, endings: tuple[str, ...]) -> Path:
    """`path`, if a file of that name and one of these endings can be written."""
    if path.is_dir():
        raise IsADirectoryError(f"cannot write '{path}': it is a folder. Name a file inside it.")
    if path.suffix.lower() not in endings:
        raise ValueError(f"cannot write '{path}': its name must end in {' or '.join(endings)}.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write '{path}': the folder '{path.parent}' does not exist. Create it first.")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            return path
    except OSError as error:
        raise OSError(f"cannot write '{path}': {error.strerror} in '{path.parent}'. Name another folder.") from error


def in_one_line(text: str) -> str:
    """Text without line breaks; what a terminal would obey instead of showing it, as in odd file names, is spelled."""
    return "".join(
        character if character.isprintable() else repr(character)[1:-1] for character in " ".join(text.split())
    )
