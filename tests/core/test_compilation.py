"""Compiled code where nothing can be kept on disk: it is compiled anew, gives the same, and says so once."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core.caching import FunctionCache

import invariance
from invariance._core import compilation
from invariance._core._jit import copy_values
from invariance._core.compilation import CompiledCodeWarning, compiled
from invariance.jungles._jit import largest_rows

PACKAGE = Path(invariance.__file__).parent
RESPONSES = np.random.default_rng(0).standard_normal((5, 7)).astype(np.float32)

USE_EVERY_ROOM = """
import importlib, sys
from pathlib import Path
import numpy as np
import invariance
package = Path(invariance.__file__).parent
for path in sorted(package.glob("*/_jit*.py")):
    importlib.import_module(f"invariance.{path.parent.name}.{path.stem}")
from invariance.jungles._jit import largest_rows
responses = np.random.default_rng(0).standard_normal((5, 7)).astype(np.float32)
best, winners = np.empty(7, np.float32), np.empty(7, np.int64)
largest_rows(responses, best, winners)
print(package, best.tobytes().hex(), winners.tolist(), sep="|")
"""


@pytest.fixture
def read_only(tmp_path):
    """A copy of the package and an environment in which no folder for compiled code can be made, not even by root."""
    copy = shutil.copytree(PACKAGE, tmp_path / "site" / "invariance", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [copy, *(path for path in copy.iterdir() if path.is_dir())]:
        (folder / "__pycache__").write_text("a file where a folder should be")
    (tmp_path / "file").write_text("")
    home = str(tmp_path / "file" / "home")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "PYTHON"))}
    return kept | {"HOME": home, "XDG_CACHE_HOME": home, "USERPROFILE": home, "PYTHONPATH": str(copy.parent)}


def run(arguments, environment):
    return subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True, timeout=300)


def test_a_read_only_installation_without_a_home_works_and_says_so_once(read_only):
    done = run(["-c", USE_EVERY_ROOM], read_only)
    assert done.returncode == 0, done.stderr
    package, best, winners = done.stdout.strip().split("|")
    assert package.startswith(read_only["PYTHONPATH"])
    expected = np.empty(7, np.float32), np.empty(7, np.int64)
    largest_rows(RESPONSES, *expected)
    assert best == expected[0].tobytes().hex()
    assert winners == str(expected[1].tolist())
    assert done.stderr.count("CompiledCodeWarning: compiled code cannot be kept on disk") == 1
    assert done.stderr.count("Warning") == 1
    assert "NUMBA_CACHE_DIR" in done.stderr


def test_a_folder_of_ones_own_for_compiled_code_is_used(read_only, tmp_path):
    done = run(["-c", USE_EVERY_ROOM], read_only | {"NUMBA_CACHE_DIR": str(tmp_path / "compiled")})
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert [path.name for path in (tmp_path / "compiled").rglob("*.nbi") if "largest_rows" in path.name]


def add_one(x):
    return x + 1


@pytest.mark.parametrize("method", ["save_overload", "load_overload"])
def test_a_full_disk_or_an_unreadable_file_does_not_end_the_work(method, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(compilation, "_warned", False)
    monkeypatch.setattr(FunctionCache, method, fail)
    function = compiled(add_one)
    with pytest.warns(CompiledCodeWarning, match="No space left on device") as caught:
        results = [function(1), function(1.5)]
    assert results == [2, 2.5]
    assert len(caught) == 1


def test_compiled_code_is_kept_and_releases_the_gil(tmp_path, monkeypatch):
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    function = compiled(add_one)
    assert function(1) == 2
    assert function.targetoptions["nogil"]
    assert list(tmp_path.rglob("*add_one*.nbi"))
    again = compiled(add_one)
    assert again(1) == 2
    assert sum(again.stats.cache_hits.values()) == 1


def test_everything_is_compiled_by_the_one_decorator():
    imports = re.compile(r"^\s*(import numba|from numba)", re.MULTILINE)
    files = [path for path in PACKAGE.rglob("*.py") if imports.search(path.read_text(encoding="utf-8"))]
    names = [path.relative_to(PACKAGE).as_posix() for path in files]
    assert names == ["_core/compilation.py"]


def assigned_slices(path):
    """Lines of a file that assign anything but a number to a slice of an array."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Assign) and not all(
            character in "0123456789.-" for character in ast.unparse(node.value)
        ):
            targets = [part for target in node.targets for part in ast.walk(target) if isinstance(part, ast.Subscript)]
            if any(isinstance(part, ast.Slice) for target in targets for part in ast.walk(target.slice)):
                yield ast.unparse(node)


# Their copies stay until the stored results of the rooms are run again, which a change of this code makes outdated.
STILL_COPYING = {"trees", "hierarchies"}
JIT_FILES = sorted(path for path in PACKAGE.glob("*/_jit*.py") if path.parent.name not in STILL_COPYING)


@pytest.mark.parametrize("path", JIT_FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_no_compiled_loop_copies_an_array_by_a_slice_since_that_takes_seconds_to_compile(path):
    assert [line for line in assigned_slices(path) if not line.endswith("-np.inf")] == []


def test_a_slice_that_is_assigned_an_array_would_be_found(tmp_path):
    path = tmp_path / "sample.py"
    path.write_text("a[:] = b\na[1:, k] = c[0]\na[:] = 0\na[k] = b[1:]\n")
    assert list(assigned_slices(path)) == ["a[:] = b", "a[1:, k] = c[0]"]


def test_values_are_copied():
    out = np.zeros(4, np.float32)
    copy_values(np.arange(4, dtype=np.float32), out)
    assert out.tolist() == [0, 1, 2, 3]
