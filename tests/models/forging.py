"""Forged and damaged model files: a seeded stream for tests of `invariance.load`, and the judge of what comes of them.

A *forged* file is whole: its checksum is right, but one number, one node of its schema or one member of its archive is
not what `save` wrote. A *damaged* file has flipped bytes or is cut off. A *bomb* is small and unpacks to much.
No such file may end the process, take memory or time out of proportion, or raise anything but a ValueError (of which
`ModelError` is one): either `load` refuses it, or the model answers with finite numbers, or raises a ValueError.
"""

import contextlib
import copy
import importlib
import inspect
import io
import json
import sys
import warnings
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from invariance.datasets import make_glyphs, make_membranes
from invariance.methods import ImageClassifier
from invariance.methods.registry import method_names
from invariance.models import ModelError, load, save
from invariance.models._container import METADATA, PAYLOAD, write_container
from invariance.segmentation import JungleSegmenter
from invariance.transformations import Rotations
from tests.laws.catalogue import IMAGE_ESTIMATORS, TASKS, is_kernel

SIDE = 64  # the smallest images that every method takes


# ---------------------------------------------------------------- what is forged


@cache
def glyphs(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a few images of two classes and their labels."""
    data = make_glyphs(5, size=size, random_state=0)
    kept = np.flatnonzero(data.labels < 2)
    return data.images[kept], np.array(data.class_names)[data.labels[kept]]


@cache
def sections() -> tuple[np.ndarray, np.ndarray]:
    """Return two small images of membranes and their masks."""
    data = make_membranes(2, (40, 44), cell_size=20, random_state=0)
    return data.images, data.masks.astype(int)


def make_methods(folder: Path) -> dict[str, Path]:
    """Fit and save a model of every registered method and segmenters; what is in the folder already is kept."""
    images, labels = glyphs(SIDE)
    made = {}
    for name in method_names():
        made[name] = folder / f"{name}.inv"
        if not made[name].exists():
            # A small set keeps the models of jungles, which store filters for every member, small.
            phi = Rotations(2) if name in ("jungle", "tradeoff") else None
            save(ImageClassifier(name, phi, random_state=0).fit(list(images), labels), made[name])
    settings: dict[str, Any] = {"patch_size": 5, "max_pixels": 150, "max_depth": 2, "rank": 8, "n_trees": 4}
    for head in ("trees", "boosting"):
        name = f"segmenter-{head}"
        made[name] = folder / f"{name}.inv"
        if not made[name].exists():
            segmenter = JungleSegmenter(Rotations(2), final_estimator=head, random_state=0, **settings)
            save(segmenter.fit(*sections()), made[name])
    return made


def make_estimators(folder: Path) -> dict[str, Path]:
    """Fit and save every estimator of the laws' catalogue that can be saved, on very small images."""
    made = {}
    for number, estimator in enumerate(IMAGE_ESTIMATORS):
        kind = type(estimator).__name__
        name = f"{kind}-{number}"
        if kind in ("ImageClassifier", "PixelClassifier"):
            continue
        path = folder / f"{name}.inv"
        if not path.exists():
            save(estimator.fit(*_task(kind)), path)
        made[name] = path
    return made


def _task(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """What an estimator of the catalogue learns from."""
    images, labels = glyphs(16)
    task = TASKS.get(kind, "images")
    if task == "rows":
        return images[:, 4:12:2, 4:12:2].reshape(len(images), -1), labels
    return sections() if task == "masks" else (images, labels)


# ---------------------------------------------------------------- an opened file


class Opened:
    """The parts of a model file, to be changed and written again with a checksum that is right."""

    def __init__(self, path: Path):
        with zipfile.ZipFile(path) as archive:
            self.metadata = json.loads(archive.read(METADATA))
            payload = archive.read(PAYLOAD)
        with zipfile.ZipFile(io.BytesIO(payload)) as archive:
            self.members = {name: archive.read(name) for name in archive.namelist()}
        self.schema = json.loads(self.members.pop("schema.json"))
        self.padding = ""  # of the schema, as text

    def copied(self) -> "Opened":
        """Return a copy whose members and schema may be changed."""
        other = copy.copy(self)
        other.members, other.schema = dict(self.members), copy.deepcopy(self.schema)
        return other

    def write(self, path: Path, compression: int = zipfile.ZIP_STORED) -> None:
        """Write the file, with a renewed checksum."""
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", compression) as archive:
            for name, content in self.members.items():
                archive.writestr(name, content)
            archive.writestr("schema.json", json.dumps(self.schema)[:-1] + self.padding + "}")
        write_container(path, self.metadata, out.getvalue())

    def nodes(self) -> list[dict[str, Any]]:
        """Return every node of the schema."""
        found, waiting = [], [self.schema]
        while waiting:
            value = waiting.pop()
            if isinstance(value, dict):
                waiting.extend(value.values())
                found.extend([value] if "__loader__" in value else [])
            elif isinstance(value, list):
                waiting.extend(value)
        return found

    def numbers(self) -> list[tuple[str, Any]]:
        """Return where numbers are stored: ("array", member), ("sparse", (member, name)) or ("scalar", node)."""
        places: list[tuple[str, Any]] = []
        for name, content in self.members.items():
            if name.endswith(".npz"):
                with zipfile.ZipFile(io.BytesIO(content)) as archive:
                    places.extend(("sparse", (name, inner)) for inner in archive.namelist())
            elif name.endswith(".npy"):
                places.append(("array", name))
        places.extend(("scalar", node) for node in self.nodes() if node["__loader__"] == "JsonNode")
        return places


# ---------------------------------------------------------------- forging a number


def change_array(array: np.ndarray, rng: np.random.Generator) -> tuple[str, np.ndarray]:
    """Return what was done to an array, and the array that results."""
    what = str(rng.choice(["huge", "negative", "nan", "off by one", "zero", "shape", "dtype", "length", "bits"]))
    changed = array.copy()
    flat = changed.reshape(-1)
    at = int(rng.integers(flat.size)) if flat.size else 0
    place = slice(at, at + 1) if rng.random() < 0.7 else slice(None)
    if what == "shape":
        shapes = [(-1,), (*array.shape, 1), (1, *array.shape), array.shape[::-1], ()]
        return what, _reshaped(array, shapes[rng.integers(len(shapes))])
    if what == "length":
        lengths = [flat[:-1], flat[:0], np.concatenate([array, array]) if array.ndim else flat]
        rows = array[: max(0, len(array) - 1)] if array.ndim else flat
        return what, [*lengths, rows][rng.integers(4)]
    if what == "dtype":
        wanted = str(rng.choice(["<f8", "<f4", "<i8", "<i4", "<i2", "|u1", "|b1", "<c16", "<U8", ">f8", ">i4"]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return f"dtype {wanted}", array.astype(wanted)
            except (ValueError, TypeError):
                return f"dtype {wanted}", np.zeros(array.shape, wanted)
    if what == "bits" or array.dtype.names or array.dtype.kind not in "fiub":
        if array.nbytes == 0:
            return "nothing", array
        raw = bytearray(array.tobytes())
        raw[int(rng.integers(len(raw)))] ^= 1 << int(rng.integers(8))
        return "bits", np.frombuffer(bytes(raw), array.dtype).reshape(array.shape)
    if array.dtype.kind == "f":
        values = {"huge": 1e300, "negative": -7.5, "nan": rng.choice([np.nan, np.inf, -np.inf]), "zero": 0.0}
    else:
        values = {"huge": 2**62, "negative": -7, "nan": -(2**31), "zero": 0}
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if what == "off by one":
            flat[place] = (flat[place] + rng.choice([-1, 1])).astype(array.dtype)
        else:
            flat[place] = np.array(values[what]).astype(array.dtype)
    return what, flat.reshape(array.shape)


def _reshaped(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    if shape == () and array.size != 1:
        return array.ravel()[:1].reshape(()) if array.size else np.zeros((), array.dtype)
    return array.reshape(shape)


SCALARS = (
    *("10", "-1", "0", "1", "2", "3", "1e308", "NaN", "Infinity", "null", "true", '"x"', "0.5", "-7", "65"),
    *("1000000000", "4611686018427387904", "123456789012345678901234567890"),
)


def change_scalar(node: dict[str, Any], rng: np.random.Generator) -> str:
    """Change a stored number, text, truth value or None, and return what was done."""
    old = node["content"]
    new = str(rng.choice(SCALARS))
    if rng.random() < 0.3:
        with contextlib.suppress(TypeError):
            new = json.dumps(json.loads(old) + int(rng.choice([-1, 1])))
    node["content"] = new
    _renew(node, rng)
    return f"{str(old)[:20]} -> {new[:20]}"


def _renew(node: dict[str, Any], rng: np.random.Generator) -> None:
    """Give a node a number of its own: nodes with equal numbers are one object, of which the first is built."""
    node["__id__"] = int(rng.integers(2**50, 2**60))


def forge_number(opened: Opened, rng: np.random.Generator, place: int | None = None) -> str:
    """Change one stored number or array, drawn or the one at `place`, and return what was done."""
    places = opened.numbers()
    kind, where = places[rng.integers(len(places)) if place is None else place % len(places)]
    if kind == "scalar":
        return "scalar " + change_scalar(where, rng)
    if kind == "array":
        what, array = change_array(np.load(io.BytesIO(opened.members[where])), rng)
        opened.members[where] = as_npy(array)
        return f"array {what}"
    member, inner = where
    with zipfile.ZipFile(io.BytesIO(opened.members[member])) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    what, array = change_array(np.load(io.BytesIO(parts[inner])), rng)
    opened.members[member] = _zip({**parts, inner: as_npy(array)})
    return f"sparse {inner} {what}"


def as_npy(array: np.ndarray) -> bytes:
    """Return an array in numpy's format."""
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def _zip(members: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


# ---------------------------------------------------------------- forging the schema


def text_node(value: str) -> dict[str, Any]:
    """Return a node of a JSON value."""
    return {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": value, "is_json": True}


def forge_pointers(opened: Opened, rng: np.random.Generator) -> str:
    """Let numpy build an object array from bytes of the file: pointers that it would follow."""
    opened.members["pointers.bin"] = rng.bytes(64)
    content = [
        {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode", "content": [text_node("1")]},
        text_node('"O"'),
        {"__class__": "bytes", "__module__": "builtins", "__loader__": "BytesNode", "file": "pointers.bin"},
    ]
    arguments = {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode", "content": content}
    node = {"__class__": "ndarray", "__module__": "numpy", "__loader__": "ConstructorFromReduceNode"}
    _add(opened, rng, {**node, "content": arguments})
    return "an object array of forged pointers"


def forge_objects(opened: Opened, rng: np.random.Generator) -> str:
    """Put an object array in the place of an array."""
    node = _any_array(opened, rng)
    node.pop("file", None)
    shape = {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode", "content": [text_node("2")]}
    _renew(node, rng)
    node.update(type="json", content=[text_node("1"), text_node('"x"')], shape=shape)
    return "an object array"


def forge_loader(opened: Opened, rng: np.random.Generator) -> str:
    """Give a node the loader of another node."""
    nodes = opened.nodes()
    one, other = nodes[rng.integers(len(nodes))], nodes[rng.integers(len(nodes))]
    one["__loader__"] = other["__loader__"]
    _renew(one, rng)
    return f"{one['__class__']} by {one['__loader__']}"


def forge_class(opened: Opened, rng: np.random.Generator) -> str:
    """Give a node the class of another node."""
    nodes = opened.nodes()
    one, other = nodes[rng.integers(len(nodes))], nodes[rng.integers(len(nodes))]
    old = one["__class__"]
    one["__class__"], one["__module__"] = other["__class__"], other["__module__"]
    _renew(one, rng)
    return f"{old} as {one['__class__']}"


def forge_place(opened: Opened, rng: np.random.Generator) -> str:
    """Put a copy of one node in the place of another."""
    nodes = opened.nodes()
    one, other = nodes[rng.integers(1, len(nodes))], nodes[rng.integers(1, len(nodes))]
    content = copy.deepcopy(other)
    if "file" not in content:
        _renew(content, rng)
    old = one["__class__"]
    one.clear()
    one.update(content)
    return f"{old} replaced by {one['__class__']}"


def forge_absence(opened: Opened, rng: np.random.Generator) -> str:
    """Leave out an attribute, an item or a member of the archive."""
    if rng.random() < 0.2 and opened.members:
        names = sorted(opened.members)
        del opened.members[names[rng.integers(len(names))]]
        return "a member is missing"
    attributes = _any_dict(opened, rng)
    if attributes["content"]:
        name = sorted(attributes["content"])[rng.integers(len(attributes["content"]))]
        del attributes["content"][name], attributes["key_types"]["content"][0]
        return f"{name} is missing"
    return "nothing"


def forge_presence(opened: Opened, rng: np.random.Generator) -> str:
    """Add an attribute that `save` did not write, under a name that occurs in the methods of its class."""
    node = _any_object(opened, rng)
    names = sorted(_names_in_methods(node["__module__"], node["__class__"]) - set(node["content"]["content"]))
    if not names:
        return "nothing"
    nodes = opened.nodes()
    value = (
        copy.deepcopy(nodes[rng.integers(len(nodes))]) if rng.random() < 0.5 else text_node(str(rng.choice(SCALARS)))
    )
    if "file" not in value:
        _renew(value, rng)
    name = names[rng.integers(len(names))]
    add_attribute(node["content"], name, value)
    return f"{node['__class__']} with {name}, a {value['__class__']}"


@cache
def _names_in_methods(module: str, name: str) -> set[str]:
    """Return the names and the texts that could be names in all methods of a class."""
    kind = getattr(importlib.import_module(module), name)
    codes = [
        method.__code__ for parent in kind.__mro__ for method in vars(parent).values() if inspect.isfunction(method)
    ]
    texts = {text for code in codes for text in (*code.co_names, *code.co_consts) if isinstance(text, str)}
    return {text for text in texts if text.isidentifier()}


def _any_object(opened: Opened, rng: np.random.Generator) -> dict[str, Any]:
    """Return the node of an object of the model that has attributes."""
    objects = [
        node
        for node in opened.nodes()
        if node["__loader__"] == "ObjectNode" and isinstance(node.get("content"), dict)
        and node["content"].get("__loader__") == "DictNode"
    ]  # fmt: skip
    return objects[rng.integers(len(objects))]


def _any_dict(opened: Opened, rng: np.random.Generator) -> dict[str, Any]:
    """Return the node of the attributes of an object of the model."""
    return _any_object(opened, rng)["content"]


def add_attribute(attributes: dict[str, Any], name: str, node: dict[str, Any]) -> None:
    """Set one of the attributes of an object."""
    if name not in attributes["content"]:
        attributes["key_types"]["content"].append({
            "__class__": "str", "__module__": "builtins", "__loader__": "TypeNode", "__id__": 11,
        })  # fmt: skip
    attributes["content"][name] = node


def _add(opened: Opened, rng: np.random.Generator, node: dict[str, Any]) -> dict[str, Any]:
    """Add an attribute to an object of the model."""
    add_attribute(_any_dict(opened, rng), "forged_", node)
    return node


def _any_array(opened: Opened, rng: np.random.Generator) -> dict[str, Any]:
    """Return the node of an array of the model, a new one if it has none."""
    arrays = [node for node in opened.nodes() if node["__loader__"] == "NdArrayNode"]
    if arrays:
        return arrays[rng.integers(len(arrays))]
    node = {"__class__": "ndarray", "__module__": "numpy", "__loader__": "NdArrayNode", "type": "numpy", "__id__": 7}
    opened.members["7.npy"] = as_npy(np.zeros(3))
    return _add(opened, rng, {**node, "file": "7.npy"})


FORGERIES: tuple[Callable[[Opened, np.random.Generator], str], ...] = (
    *(forge_number,) * 14,
    *(forge_pointers, forge_objects, forge_loader, forge_class, forge_place, forge_absence, forge_presence),
)


# ---------------------------------------------------------------- bombs


def bomb_nested(opened: Opened, rng: np.random.Generator) -> str:
    """Put an archive of many zeros in the place of an array."""
    node = _any_array(opened, rng)
    opened.members.pop(node["file"], None)
    opened.members["bomb.bin"] = _zeros()
    node["file"] = "bomb.bin"
    return "a nested archive of 256 MB"


@cache
def _zeros() -> bytes:
    """Return an archive of 256 MB of zeros."""
    zeros = bytes(2**26)
    return _zip({f"{number}.npy": zeros for number in range(4)})


def bomb_schema(opened: Opened, rng: np.random.Generator) -> str:
    """Add millions of empty values to the schema."""
    n_values = int(rng.choice([1_000_000, 20_000_000]))
    opened.padding = ', "forged": [' + "{}," * n_values + "{}]"
    return f"a schema of {n_values} empty values"


def bomb_depth(opened: Opened, rng: np.random.Generator) -> str:
    """Nest lists deeply."""
    node: dict[str, Any] = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "content": []}
    for _ in range(int(rng.choice([60, 300]))):
        node = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "content": [node]}
    _add(opened, rng, node)
    return "deep lists"


def bomb_again(opened: Opened, rng: np.random.Generator) -> str:
    """Read one large member many times."""
    opened.members["large.npy"] = as_npy(np.zeros(2**23))
    node = {"__class__": "ndarray", "__module__": "numpy", "__loader__": "NdArrayNode", "type": "numpy"}
    several = [{**node, "file": "large.npy", "__id__": 10**6 + number} for number in range(400)]
    _add(opened, rng, {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "content": several})
    return "one member read 400 times"


def bomb_header(opened: Opened, rng: np.random.Generator) -> str:
    """State in the header of an array that it is larger than it is."""
    out = io.BytesIO()
    shape = (int(rng.choice([10**6, 10**10, 10**14])), 3)
    np.lib.format.write_array_header_1_0(out, {"descr": "<f8", "fortran_order": False, "shape": shape})
    opened.members[_any_array(opened, rng)["file"]] = out.getvalue() + bytes(8)
    return f"an array that is said to be {shape}"


BOMBS = (bomb_nested, bomb_schema, bomb_depth, bomb_again, bomb_header)


def understate_sizes(content: bytes, rng: np.random.Generator) -> bytes:
    """Replace the model by zeros whose size the archive understates: 256 MB said to be 1 KB."""
    zeros = bytes(2**20)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(METADATA, zipfile.ZipFile(io.BytesIO(content)).read(METADATA))
        with archive.open(PAYLOAD, "w") as member:
            for _ in range(256):
                member.write(zeros)
        archive.getinfo(PAYLOAD).file_size = 1024
    return out.getvalue()


# ---------------------------------------------------------------- damage


def damage(content: bytes, rng: np.random.Generator) -> tuple[str, bytes]:
    """Flip bytes of a file, or cut it off."""
    if rng.random() < 0.5:
        length = int(rng.integers(len(content)))
        return f"cut off after {length} bytes", content[:length]
    changed = bytearray(content)
    places = rng.integers(len(content), size=int(rng.choice([1, 3, 100])))
    for place in places:
        changed[place] ^= int(rng.integers(1, 256))
    return f"{len(places)} flipped bytes", bytes(changed)


# ---------------------------------------------------------------- the stream


def forged_models(folder: Path, seed: int, sources: dict[str, Path] | None = None) -> Iterator[tuple[str, Path]]:
    """Yield forged and damaged model files without end.

    Of 20 files about 15 are forged (a number, an array or a node of the schema; the checksum is renewed), 4 are damaged
    (flipped bytes, cut off) and 1 is a bomb. The same seed gives the same files.

    Parameters
    ----------
    folder : Path
        Folder to write into. The models that are forged are fitted once and kept in ``folder / "whole"``, which takes
        about a minute; a second call with the same folder finds them there. A file that was yielded is removed when
        the next one is asked for: copy it to keep it.
    seed : int
        Seed of what is drawn.
    sources : dict of str to Path or None, default=None
        Whole model files by name; None means those of all methods, segmenters, and all estimators.

    Yields
    ------
    name : str
        The number, the model and what was done to it, as text for a message.
    path : Path
        The file. See `outcome` for what may come of it.

    Examples
    --------
    >>> for name, path in islice(forged_models(folder, seed=1), 1000):
    ...     run(sys.executable, "-m", "tests.models.forging", path)  # exit code 0 unless it is a failure
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if sources is None:
        whole = folder / "whole"
        whole.mkdir(exist_ok=True)
        sources = make_methods(whole) | make_estimators(whole)
    rng = np.random.default_rng(seed)
    names = sorted(sources)
    opened = cache(lambda name: Opened(sources[name]))
    path = folder / f"forged-{seed}.inv"
    for number in count():
        source = names[rng.integers(len(names))]
        draw = rng.random()
        if draw < 0.2:
            what, content = damage(sources[source].read_bytes(), rng)
            path.write_bytes(content)
        elif draw < 0.21:
            what = "an understated size"
            path.write_bytes(understate_sizes(sources[source].read_bytes(), rng))
        else:
            changed = opened(source).copied()
            kinds = BOMBS if draw < 0.25 else FORGERIES
            kind = kinds[rng.integers(len(kinds))]
            what = kind(changed, rng)
            changed.write(path, zipfile.ZIP_DEFLATED if kind in BOMBS else zipfile.ZIP_STORED)
        yield f"{number} {source}: {what}", path
    path.unlink(missing_ok=True)


# ---------------------------------------------------------------- the judge


def outcome(path: Path) -> str:
    """Load a model file and let the model answer.

    Returns
    -------
    str
        "refused" by `load`, "answered" with finite numbers, or "raised" a ValueError.

    Raises
    ------
    Exception
        Whatever else happens, which is a failure: another exception, or an answer that is not finite.
    """
    try:
        model = load(path)
    except ModelError:
        return "refused"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answers = answer(model)
    except ValueError:
        return "raised"
    for values in answers:
        if values.dtype.kind in "fc" and not np.isfinite(values).all():
            raise AssertionError(f"the answer of a {type(model).__name__} is not finite")
    return "answered"


def answer(model: Any) -> list[np.ndarray]:
    """Return what a model answers to a few small images, or rows, of the kind it was fitted to."""
    kind = type(model).__name__
    if kind == "ImageClassifier":
        questions: Any = list(glyphs(SIDE)[0][:3])
    elif kind == "JungleSegmenter":
        questions = sections()[0][0][:32, :36]
    else:
        questions = _task(kind)[0][:3]
    answers = [
        np.asarray(getattr(model, name)(questions))
        for name in ("predict_proba", "decision_function", "score_samples", "predict", "transform", "rows")
        if hasattr(model, name)
    ]
    return answers + ([np.asarray(model(questions))] if is_kernel(type(model)) else [])


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        print(outcome(Path(argument)), flush=True)
