"""What a release holds: the wheel has the package and nothing else, the sdist all that is needed to work on it."""

import importlib.util
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import invariance

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "invariance"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    [path] = folder.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        yield archive


def is_source(path):
    return path.is_file() and "__pycache__" not in path.parts and path.suffix not in (".pyc", ".nbi", ".nbc")


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(wheel):
    held = {name for name in wheel.namelist() if not name.partition("/")[0].endswith(".dist-info")}
    assert held == {path.relative_to(ROOT / "src").as_posix() for path in PACKAGE.rglob("*") if is_source(path)}
    assert {"invariance/py.typed", "invariance/__init__.pyi", "invariance/report/style.css"} <= held
    assert any(name.startswith("invariance/studio/page/") and name.endswith(".js") for name in held)


def test_its_metadata_are_complete(wheel):
    [name] = [name for name in wheel.namelist() if name.endswith("/METADATA")]
    metadata = wheel.read(name).decode()
    for field in ("Name: invariance", f"Version: {invariance.__version__}", "License-Expression: BSD-3-Clause",
                  "Requires-Python: >=3.11", "Description-Content-Type: text/markdown"):  # fmt: skip
        assert f"\n{field}\n" in metadata
    assert "Learn from few labelled images" in metadata
    [points] = [wheel.read(name).decode() for name in wheel.namelist() if name.endswith("/entry_points.txt")]
    assert "invariance = invariance.__main__:main" in points
    assert points.count("invariance.methods.") == len(PROJECT["entry-points"]["invariance.methods"])


def test_the_version_is_the_same_in_all_places():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {invariance.__version__}\n" in citation


def test_supported_versions_of_python_are_those_of_the_workflow():
    workflow = (ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
    prefix = "Programming Language :: Python :: 3."
    versions = [f"3.{line.removeprefix(prefix)}" for line in PROJECT["classifiers"] if line.startswith(prefix)]
    listed = ", ".join(f'"{version}"' for version in versions)
    assert f"python: [{listed}]" in workflow
    assert PROJECT["requires-python"] == f">={versions[0]}"


def test_every_dependency_of_users_has_a_lower_bound_that_can_be_tested():
    spec = importlib.util.spec_from_file_location("oldest", ROOT / ".ci" / "oldest.py")
    oldest = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(oldest)
    pins = list(oldest.constraints(ROOT / "pyproject.toml"))
    assert len(pins) >= len(PROJECT["dependencies"])
    assert len({pin.partition("==")[0] for pin in pins}) == len(pins)
