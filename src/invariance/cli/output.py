"""The output of a command: paths that are checked before the work begins, and text that is safe to print."""

import tempfile
from pathlib import Path


def check_output(path: Path, endings: tuple[str, ...]) -> Path:
    """Return `path` if it has one of these endings and can be written; otherwise raise an error."""
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
    """Return text without line breaks; control characters, for example of file names, are escaped."""
    return "".join(
        character if character.isprintable() else repr(character)[1:-1] for character in " ".join(text.split())
    )
