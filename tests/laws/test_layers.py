"""Imports go down the house only, never sideways on one floor; DESIGN.md draws the same order."""

import ast
from pathlib import Path

import pytest

import invariance

# From the ground up. A room that is not built yet may stand here; a folder that does not stand here fails the law.
FLOORS = [
    {"_version"},
    {"_core"},
    {"images"},
    {"transformations"},
    {"trees"},
    {"descriptors", "encoders"},
    {"jungles", "codebooks", "hierarchies", "tangents"},
    {"tradeoff", "segmentation"},
    {"models", "datasets"},
    {"methods"},
    {"volumes"},
    {"report"},
    {"cli"},
    {"studio"},
]
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
ROOT = Path(invariance.__file__).parent
PACKAGE = "invariance"


def imported_modules(path, root):
    """Yield the absolute dotted name of everything that a file imports, wherever the import stands."""
    package = [PACKAGE, *path.relative_to(root).parent.parts]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            # `from invariance import images` imports a room; `from invariance.images import resize` imports images.
            yield from (f"{module}.{alias.name}" if module == PACKAGE else module for alias in node.names)


def forbidden_imports(root=ROOT):
    """List the imports that go up or sideways, of the whole package from inside it, or of the experiments."""
    found = []
    for path in sorted([*root.rglob("*.py"), *root.rglob("*.pyi")]):
        where = path.relative_to(root)
        room = where.parts[0] if len(where.parts) > 1 else None
        for module in dict.fromkeys(imported_modules(path, root)):
            top, _, rest = module.partition(".")
            target = rest.partition(".")[0]
            # A target that is no room is one of the package's public names: the package itself is above all rooms.
            is_up = FLOOR_OF.get(target, len(FLOORS)) >= FLOOR_OF.get(room, -1)
            if top == "experiments":
                found.append(f"{where} imports experiments")
            elif top == PACKAGE and room not in (None, target) and is_up:
                found.append(f"{where} imports {target or PACKAGE}")
    return list(dict.fromkeys(found))


def test_every_folder_has_its_floor():
    folders = {path.name for path in ROOT.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders <= FLOOR_OF.keys()


def test_imports_go_down_only():
    assert forbidden_imports() == []


@pytest.mark.parametrize(
    ("file", "line", "target"),
    [
        ("images/wrong.py", "from invariance.models import save", "models"),
        ("images/wrong.py", "import invariance.models.container", "models"),
        ("images/wrong.py", "from invariance import models", "models"),
        ("images/wrong.py", "from ..models import save", "models"),
        ("images/deep/wrong.py", "from ...models._persistence import save", "models"),
        ("images/__init__.pyi", "from ..models import save as save", "models"),
        ("images/wrong.py", "def late():\n    from .. import models", "models"),
        ("images/wrong.py", "from invariance import JungleClassifier", "JungleClassifier"),
        ("images/wrong.py", "import invariance", "invariance"),
        ("jungles/wrong.py", "from invariance.tangents import TangentSVC", "tangents"),
        ("cli/wrong.py", "from experiments.catalogue import EXPERIMENTS", "experiments"),
        ("wrong.py", "import experiments", "experiments"),
    ],
)
def test_the_law_sees_a_forbidden_import(file, line, target, tmp_path):
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(f"{line}\n")
    assert forbidden_imports(tmp_path) == [f"{file} imports {target}"]


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("models/right.py", "from invariance.images import resize"),
        ("models/right.py", "from ..images import resize"),
        ("models/right.py", "from . import _container"),
        ("models/right.py", "from invariance._version import __version__"),
        ("images/deep/right.py", "from ..folders import read_class_folder"),
        ("__init__.pyi", "from .cli import main as main"),
    ],
)
def test_the_law_allows_imports_downwards_and_within_a_room(file, line, tmp_path):
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(f"{line}\n")
    assert forbidden_imports(tmp_path) == []
