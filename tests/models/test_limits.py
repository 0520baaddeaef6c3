"""What a small file may unpack to is limited, and the memory of `load` is what the documentation states."""

import io
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from invariance.models import ModelError, _container, _payload, describe, load, save
from tests.models.forging import (
    Opened,
    bomb_again,
    bomb_depth,
    bomb_header,
    bomb_nested,
    bomb_schema,
    text_node,
    understate_sizes,
)

MEGABYTE = 2**20


@pytest.fixture
def path(tmp_path):
    return save(StandardScaler().fit(np.eye(3)), tmp_path / "model.inv")


def refusal(path):
    with pytest.raises(ModelError) as caught:
        load(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)
    return str(caught.value)


def forged(path, forge):
    opened = Opened(path)
    forge(opened, np.random.default_rng(0))
    opened.write(path, zipfile.ZIP_DEFLATED)
    return path


BOMBS = {
    "an archive of another name": (bomb_nested, "is an archive"),
    "a large schema": (bomb_schema, "its schema|schema.json"),
    "deep lists": (bomb_depth, "deep"),
    "one array many times": (bomb_again, "two objects"),
    "a header of many bytes": (bomb_header, "not as large as its header says"),
}


@pytest.mark.parametrize(("bomb", "reason"), BOMBS.values(), ids=BOMBS)
def test_a_bomb_is_refused(bomb, reason, path):
    assert re.search(reason, refusal(forged(path, bomb)))


def test_a_size_that_the_archive_understates_is_not_unpacked(path):
    path.write_bytes(understate_sizes(path.read_bytes(), np.random.default_rng(0)))
    assert "Bad CRC-32" in refusal(path)


def with_node(path, **node):
    """Add a node to the model's attributes."""
    opened = Opened(path)
    opened.schema["content"]["content"]["copy"] = {"__module__": "builtins", "__id__": 5, **node}
    return opened


def test_depth_is_limited_before_skops_descends(path):
    opened = with_node(path, __class__="list", __loader__="ListNode", content="DEEP")
    opened.padding = ', "deep": ' + "[" * 3000 + "]" * 3000
    opened.write(path)
    assert re.search("deep|recursion", refusal(path))


@pytest.mark.parametrize(
    ("limit", "value", "reason"),
    [
        ("MAX_MODEL_BYTES", 100, "unpacks to more than"),
        ("MAX_MEMBERS", 2, "members"),
        ("MAX_NODES", 5, "nodes"),
        ("MAX_SCHEMA_BYTES", 100, "schema.json"),
        ("MAX_SCHEMA_VALUES", 10, "values"),
        ("MAX_DEPTH", 3, "deep"),
    ],
)
def test_every_limit_is_kept(limit, value, reason, path, monkeypatch):
    load(path)
    monkeypatch.setattr(_payload, limit, value)
    assert reason in refusal(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
@pytest.mark.parametrize("member", [_container.METADATA, _container.PAYLOAD])
def test_members_are_packed_as_save_packs_them(member, method, path):
    """These methods unpack all of a member at once, however little it declares."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content, method if name == member else zipfile.ZIP_DEFLATED)
    assert f"packed by method {method}" in refusal(path)


def list_node(number, *items):
    return {"__loader__": "ListNode", "__module__": "builtins", "__class__": "list", "content": items, "__id__": number}


def test_objects_in_many_places_count_in_each_of_them(path):
    """Thirty lists, each with the one before twice, are a thousand million lists to whoever walks through them."""
    opened, known = Opened(path), list_node(1)
    for number in range(2, 32):
        known = list_node(number, known, {**list_node(number - 1), "content": []})
    opened.schema["content"]["content"]["copy"] = known
    opened.write(path)
    assert "stand for more than" in refusal(path)


def number_node(opened, **changes):
    """A number, stored as an array of its own."""
    opened.members["more.npy"] = npy(np.ones(3))
    return {"__loader__": "NdArrayNode", "__module__": "numpy", "__class__": "float32", "type": "numpy",
            "file": "more.npy", "__id__": 5, **changes}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, "a number is an array of shape"),
        ({"__id__": None}, "has no number"),
        ({"__id__": 2**61 - 1}, "the number of an object is none"),
        ({"__id__": "5"}, "the number of an object is none"),
        ({"__id__": True}, "the number of an object is none"),
    ],
)
def test_numbers_are_built_once_and_are_numbers(changes, reason, path):
    opened = Opened(path)
    opened.schema["content"]["content"]["copy"] = number_node(opened, **changes)
    opened.write(path)
    assert reason in refusal(path)


@pytest.mark.parametrize("text", ["\n[1, [2]]", "\t{}", " 1", "[]"])
def test_texts_are_no_lists_in_disguise(text, path):
    opened = Opened(path)
    opened.schema["content"]["content"]["copy"] = text_node(text)
    opened.write(path)
    assert "a number or text is none" in refusal(path)


@pytest.mark.parametrize("name", ["__sklearn_is_fitted__", "_sklearn_output_config"])
def test_attributes_do_not_decide_how_a_model_is_used(name, path):
    opened = Opened(path)
    attributes = opened.schema["content"]
    attributes["content"][name] = text_node("5")
    attributes["key_types"]["content"].append(attributes["key_types"]["content"][0])
    opened.write(path)
    assert name in refusal(path)


def test_keys_are_made_as_they_were_checked(path):
    """The list of the types of keys is no object of its own, which another node could stand for."""
    opened = Opened(path)
    attributes = opened.schema["content"]
    known = next(node for node in opened.nodes() if node["__loader__"] == "JsonNode" and "__id__" in node)
    attributes["key_types"]["__id__"] = known["__id__"]
    opened.write(path)
    assert load(path).scale_.tolist() == StandardScaler().fit(np.eye(3)).scale_.tolist()


def test_refusals_are_short_whatever_a_file_says(path):
    for name in ("x" * 10_000, "a\nb\x1b[2J"):
        opened = Opened(path)
        opened.schema["content"]["content"]["copy"] = {**text_node("5"), "__class__": name}
        opened.write(path)
        assert len(refusal(path)) < 1000
        assert "\x1b" not in refusal(path)


def test_directories_are_counted_before_they_are_read(path, monkeypatch):
    monkeypatch.setattr(_container, "MAX_ENTRIES", 3)
    for read in (load, describe):
        with pytest.raises(ModelError, match="more than 3 members"):
            read(path)


def with_members(path, edit):
    """Write the payload again with other members."""
    opened = Opened(path)
    opened.members["schema.json"] = json.dumps(opened.schema).encode()
    members = edit(dict(opened.members)) or opened.members
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members.items() if isinstance(members, dict) else members:
            archive.writestr(name, content)
    _container.write_container(path, opened.metadata, out.getvalue())
    return path


def test_members_that_no_part_of_the_model_reads_are_refused(path):
    assert "not those that its schema names" in refusal(with_members(path, lambda all_: {**all_, "more.npy": b""}))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name_are_refused(path):
    assert "one name" in refusal(with_members(path, lambda all_: [*all_.items(), *all_.items()]))


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK\x05\x06" + bytes(18),
        b"\x93NUMPY\x01\x00",
        b"\x93NUMPY\x01\x00\x28\x23" + b"-" * 9000,
        b"\x93NUMPY\x01\x00\x0a\x00{'shape':(\n",
        npy(np.zeros(3))[:-1],
        npy(np.zeros(3)) + b"1",
        npy(np.zeros(3)).replace(b"(3,)", b"(-3,)"),
        npy(np.zeros(0, "V0")).replace(b"(0,)", b"(99999999,)"),
        npy(np.zeros(3)).replace(b"<f8", b"|O "),
    ],
)
def test_a_member_that_is_no_array_of_its_size_is_refused(content, path):
    def swap(members):
        name = next(name for name in members if name.endswith(".npy"))
        return {**members, name: content}

    assert "does not hold a model" in refusal(with_members(path, swap))


def test_a_text_with_brackets_is_no_bomb(path):
    """Names of classes may hold any characters."""
    with_node(path, **text_node("true")).write(path)
    scaler = StandardScaler().fit(np.eye(3))
    scaler.note_ = "[{,:" * 1000
    assert load(save(scaler, path)).note_ == scaler.note_


# Peak memory above that after a first load, in bytes, for one file after the other; 5 resets the peak.
MEASURE = """
import gc, sys
from pathlib import Path
from invariance.models import load
load(sys.argv[1])
def bytes_of(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(name))
for path in sys.argv[2:]:
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")
    before = bytes_of("VmRSS")
    try:
        model = load(path)
    except ValueError:
        pass
    print(bytes_of("VmHWM") - before, flush=True)
    model = None
"""


def stated_bytes(path: Path) -> float:
    """The formula of docs/models.md, without the library's own memory."""
    page = (Path(__file__).parents[2] / "docs" / "models.md").read_text(encoding="utf-8")
    found = re.search(r"(\d+) MB \+ F \+ (\d+) A \+ (\d+) S", page)
    assert found
    slack, per_array, per_schema = map(int, found.groups())
    with zipfile.ZipFile(path) as archive:
        payload = zipfile.ZipFile(io.BytesIO(archive.read(_container.PAYLOAD)))
    sizes = {member.filename: member.file_size for member in payload.infolist()}
    schema = sizes.pop("schema.json")
    return slack * MEGABYTE + path.stat().st_size + per_array * sum(sizes.values()) + per_schema * schema


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")
def test_memory_is_within_the_stated_formula(path, tmp_path):
    whole = path.read_bytes()
    bombs = []
    for number, bomb in enumerate((bomb_nested, bomb_schema, bomb_again, bomb_header)):
        bombs.append(tmp_path / f"bomb-{number}.inv")
        bombs[-1].write_bytes(whole)
        forged(bombs[-1], bomb)
    bombs.append(tmp_path / "understated.inv")
    bombs[-1].write_bytes(understate_sizes(whole, np.random.default_rng(0)))
    models = []
    for name, array in (("zeros", np.zeros(MEGABYTE)), ("noise", np.random.default_rng(0).random(4 * MEGABYTE))):
        scaler = StandardScaler().fit(np.eye(3))
        scaler.extra_ = array
        models.append(save(scaler, tmp_path / f"{name}.inv"))
    nodes = tmp_path / "nodes.inv"
    nodes.write_bytes(whole)
    one = text_node("1")
    with_node(nodes, __class__="list", __loader__="ListNode", content=[one] * 30_000).write(nodes)
    files = [*bombs, models[0], nodes, models[1]]
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(path), *map(str, files)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    used = list(map(int, done.stdout.split()))
    assert max(used[: len(bombs)]) < 100 * MEGABYTE, used
    for file, n_bytes in zip(files[len(bombs) :], used[len(bombs) :], strict=True):
        assert n_bytes <= stated_bytes(file), (file.name, n_bytes, stated_bytes(file))
    assert used[-1] > 2 * models[1].stat().st_size, "the test measures something"
