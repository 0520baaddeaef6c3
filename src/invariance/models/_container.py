"""The model file: a zip that holds `invariance.json` (what the model is) and `model.skops` (the model)."""

import hashlib
import json
import os
import zipfile
from pathlib import Path
from typing import Any

from invariance._core.escaping import in_one_line
from invariance._core.files import atomic_path

FORMAT = 1  # a higher one was written by a later version of the library, and is refused
CURE = "Copy the file again, or train the model again."
DESCRIPTION = ("library", "method", "type", "sha256")  # keys of every description
# How members may be packed. Others unpack more than is asked for at once, whatever a member declares.
PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
MAX_REASON = 300  # characters of an error that a file, which may hold anything, gives the reason of
METADATA, PAYLOAD = "invariance.json", "model.skops"
MAX_METADATA_BYTES = 2**22  # a class name per class and 500 characters per parameter need far less
MAX_MODEL_BYTES = 2**32  # once unpacked; a small file that unpacks to more is an attack or a mistake
MAX_ENTRIES = 2**17  # members of the archive and of the one in it; a model has half as many at most
ENTRY = b"PK\x01\x02"  # with which an entry of the directory of a zip begins


class ModelError(ValueError):
    """A model that cannot be saved or loaded; the message names the file and the reason."""


def reason_of(error: Exception) -> str:
    """The first line of what an error says, in few characters, none of which controls a terminal."""
    first = (str(error).strip().splitlines() or [""])[0].strip("'\"") or type(error).__name__
    return in_one_line(shorten(first))


def shorten(text: str) -> str:
    """Cut a text that a file has chosen."""
    return text if len(text) <= MAX_REASON else f"{text[:MAX_REASON]}..."


def write_container(path: str | os.PathLike, metadata: dict[str, Any], payload: bytes) -> None:
    """Write the model file, completely or not at all."""
    metadata = {"format": FORMAT, **metadata, "sha256": hashlib.sha256(payload).hexdigest()}
    with atomic_path(path, len(payload)) as neighbour, zipfile.ZipFile(neighbour, "w") as archive:
        archive.writestr(METADATA, json.dumps(metadata, indent=2))
        archive.writestr(PAYLOAD, payload)


def read_metadata(path: str | os.PathLike) -> dict[str, Any]:
    """The description of the model, read without the model."""
    with _open(path) as archive:
        return _metadata_of(archive, path)


def read_container(path: str | os.PathLike) -> tuple[dict[str, Any], bytes]:
    """The description and the payload, whose checksum has been checked; `_payload` checks what it unpacks to."""
    with _open(path) as archive:
        metadata = _metadata_of(archive, path)
        payload = _read(archive, PAYLOAD, MAX_MODEL_BYTES, path)
    if hashlib.sha256(payload).hexdigest() != metadata.get("sha256"):
        raise ModelError(f"'{path}' was changed after it was saved: its checksum is wrong. {CURE}")
    return metadata, payload


def read_member(archive: zipfile.ZipFile, name: str, limit: int) -> bytes:
    """Read a member of an archive, of which no more than it declares is ever unpacked.

    `ZipFile.read` unpacks all of a member before it cuts it to the declared size.

    Raises
    ------
    ValueError
        If it declares more than `limit` bytes, or is packed in an unusual way; what is absent raises a KeyError, what
        is damaged any error.
    """
    info = archive.getinfo(name)
    size = info.file_size
    if info.compress_type not in PACKINGS:
        raise ValueError(f"{name} is packed by method {info.compress_type}, which no model uses")
    if size > limit:
        raise ValueError(f"it declares {size} bytes of {name}, but {limit} are the limit")
    with archive.open(name) as member:
        content = member.read(size) if size else b""
        if len(content) < size:
            raise EOFError(f"{name} is shorter than declared")
    return content


def _open(path: str | os.PathLike) -> zipfile.ZipFile:
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"there is no model file '{path}'. Check the path.")
    if path.is_dir():
        raise ModelError(f"'{path}' is a folder, not a model file. Name a file inside it.")
    if path.stat().st_size == 0:
        raise ModelError(f"'{path}' is empty, so it is not a model file. {CURE}")
    try:
        if _count_entries(path) > MAX_ENTRIES:
            raise ValueError(f"its archives have more than {MAX_ENTRIES} members, the limit for a model")
        return zipfile.ZipFile(path)
    except (PermissionError, MemoryError):
        raise
    except Exception as error:  # a damaged zip raises anything
        raise ModelError(f"'{path}' is not a model file, or it was cut off ({reason_of(error)}). {CURE}") from error


def _count_entries(path: Path) -> int:
    """Count what could be entries of a zip's directory: zipfile builds an object for each, before one can be asked."""
    total, overlap = 0, b""
    with path.open("rb") as file:
        while block := file.read(2**20):
            total += (overlap + block).count(ENTRY)
            overlap = block[-len(ENTRY) + 1 :]
    return total


def _read(archive: zipfile.ZipFile, name: str, limit: int, path: str | os.PathLike) -> bytes:
    try:
        return read_member(archive, name, limit)
    except KeyError as error:
        raise ModelError(f"'{path}' is not a model file, or it was cut off (it has no {name}). {CURE}") from error
    except (PermissionError, MemoryError):
        raise
    except Exception as error:  # a damaged zip raises anything
        raise ModelError(f"'{path}' is damaged: {name} cannot be read ({reason_of(error)}). {CURE}") from error


def _metadata_of(archive: zipfile.ZipFile, path: str | os.PathLike) -> dict[str, Any]:
    try:
        metadata = json.loads(_read(archive, METADATA, MAX_METADATA_BYTES, path))
        version = int(metadata["format"])
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"'{path}' is damaged: its {METADATA} does not describe a model. {CURE}") from error
    if version > FORMAT:
        raise ModelError(
            f"'{path}' has format {version}, saved by invariance {in_one_line(shorten(str(metadata.get('library'))))}; "
            f"this version reads up to format {FORMAT}. Upgrade invariance."
        )
    missing = [key for key in DESCRIPTION if key not in metadata]
    if missing:
        raise ModelError(f"'{path}' is damaged: its {METADATA} lacks {', '.join(missing)}. {CURE}")
    return metadata
