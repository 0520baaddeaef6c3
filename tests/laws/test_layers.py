"""Imports go down the house only, never sideways on one floor."""

import ast
from pathlib import Path

import invariance

FLOORS = [
    ["_core", "_version"],
    ["images"],
    ["transformations"],
    ["trees"],
    ["descriptors"],
    ["jungles", "codebooks", "hierarchies", "tangents"],
    ["tradeoff", "segmentation"],
    ["methods"],
    ["models", "datasets"],
    ["report"],
    ["experiments"],
    ["cli"],
    ["studio"],
]
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
ROOT = Path(invariance.__file__).parent


def imported_rooms(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("invariance"):
            names = node.module.split(".")[1:2] or [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name.split(".")[1] for alias in node.names if alias.name.startswith("invariance.")]
        else:
            continue
        yield from (name for name in names if name in FLOOR_OF)


def upward_imports(root=ROOT):
    found = []
    for path in sorted(root.rglob("*.py")):
        room = path.relative_to(root).parts[0]
        if room not in FLOOR_OF:
            continue
        for target in imported_rooms(path):
            if target != room and FLOOR_OF[target] >= FLOOR_OF[room]:
                found.append(f"{path.relative_to(root)} imports {target}")
    return found


def test_every_room_has_its_floor():
    rooms = {path.name for path in ROOT.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert rooms <= FLOOR_OF.keys()


def test_imports_go_down_only():
    assert upward_imports() == []


def test_the_law_sees_an_upward_import(tmp_path):
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "wrong.py").write_text("from invariance.models import save\n")
    assert upward_imports(tmp_path) == ["images/wrong.py imports models"]
