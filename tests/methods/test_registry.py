"""A method in one file of another package, found by its entry point, appears everywhere."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from invariance.datasets import make_glyphs
from invariance.methods import Method, Treatment, get_method, get_methods, method_names, register, registry

METHOD = """
from invariance.methods import Images, Method, Text, Treatment
from invariance.tangents import TangentSVC, TangentDistance
from invariance.transformations import Identity, Reflections, Shifts


class Nearby(Method):
    name = "nearby"
    summary = "plain distances and mirrored copies"
    purpose = "a test of the registry"
    max_learned = 500
    is_grey = True

    def treat(self, part):
        if isinstance(part, Reflections):
            return Treatment.COPIES, "The machine is trained on mirrored copies."
        return super().treat(part)

    def make(self, plan, facts, common):
        return TangentSVC(TangentDistance(Identity(), sigma=5.0), probability=True)

    def explain(self, classifier, evaluation, rng):
        yield Text("It compares nearby images.")
"""


@pytest.fixture(scope="module")
def plugin(tmp_path_factory):
    """A folder with a module and the metadata of an installed distribution."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "nearby_plugin.py").write_text(METHOD)
    metadata = folder / "nearby_plugin-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: nearby-plugin\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[invariance.methods]\nnearby = nearby_plugin:Nearby\n")
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    glyphs = make_glyphs(5, 24, rotation=0, random_state=0)
    path = tmp_path_factory.mktemp("glyphs")
    for number, (image, label) in enumerate(zip(glyphs.images, glyphs.labels, strict=True)):
        (path / str(label)).mkdir(exist_ok=True)
        Image.fromarray((255 * image).astype(np.uint8)).save(path / str(label) / f"{number}.png")
    return path


def invoke(plugin, *arguments):
    path = os.pathsep.join([str(plugin), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-c", "import sys; from invariance.cli import main; sys.exit(main())"]
    done = subprocess.run(
        [*command, *map(str, arguments)], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_method_of_another_package_appears_in_methods(plugin):
    found = json.loads(invoke(plugin, "methods", "--invariant-to", "reflections", "--json"))
    plans = {entry["name"]: entry["plan"] for entry in found}
    assert plans["nearby"][0]["treatment"] == "copies"
    assert set(method_names()) < set(plans)


def test_a_method_of_another_package_is_compared_fitted_and_explained(plugin, folder, tmp_path):
    compared = json.loads(invoke(plugin, "compare", folder, "--methods", "nearby", "--budget", 60, "--json"))
    assert "nearby" in {contestant["method"] for contestant in compared["contestants"]}
    assert any("nearby cannot ignore" in why or "'nearby' cannot ignore" in why for why in compared["untried"].values())
    model, page = tmp_path / "model.inv", tmp_path / "page.html"
    fitted = json.loads(
        invoke(plugin, "fit", folder, "-o", model, "--method", "nearby", "--invariant-to", "reflections", "--json")
    )
    assert fitted["method"] == "nearby"
    assert fitted["plan"][0]["treatment"] == "copies"
    invoke(plugin, "explain", model, "--data", folder, "-o", page)
    text = page.read_text()
    assert "It compares nearby images." in text
    assert "copies" in text


def test_a_model_of_a_method_that_is_not_installed_is_refused_by_name(plugin, folder, tmp_path):
    from invariance.cli import main

    model = tmp_path / "model.inv"
    invoke(plugin, "fit", folder, "-o", model, "--method", "nearby")
    assert main(["predict", str(model), str(folder)]) == 2


def test_a_method_can_be_registered_for_a_process(monkeypatch):
    monkeypatch.setattr(registry, "_registered", {})

    @register
    class Other(Method):
        name = "other"
        summary = purpose = "nothing"
        rank = -1

        def make(self, plan, facts, common):
            raise NotImplementedError

    assert get_methods()[0] is get_method("other")
    with pytest.raises(ValueError, match="not an invariance.methods.Method but a int"):
        register(3)


def test_no_other_source_file_names_a_method():
    source = Path(registry.__file__).parents[1]
    own = {Path(sys.modules[type(method).__module__].__file__) for method in get_methods()}
    for path in source.rglob("*.py"):
        if path in own or path.parts[-2] not in ("methods", "cli", "explanation"):
            continue
        text = path.read_text(encoding="utf-8")
        treatments = {str(treatment) for treatment in Treatment} if path.name == "method.py" else set()
        names = [name for name in method_names() if name not in treatments]
        named = [name for name in names if f'"{name}"' in text or f"--method {name}" in text]
        assert not named, f"{path} names the methods {named}"
