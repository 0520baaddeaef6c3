"""The source of an experiment: all rooms it reaches, changed by an algorithm and by nothing else."""

import shutil

import pytest

from experiments.catalogue import EXPERIMENTS
from experiments.sources import FOLDERS, source_of

YALE, HIERARCHY = EXPERIMENTS["yale_faces"].run, EXPERIMENTS["low_rank_5"].run


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    """A copy of both packages."""
    folder = tmp_path_factory.mktemp("packages")
    return {name: shutil.copytree(path, folder / name) for name, path in FOLDERS.items()}


@pytest.fixture
def edit(copied):
    """A function that replaces text of a copied file, which is restored afterwards."""
    kept = {}

    def replace(package, path, old, new):
        file = copied[package] / path
        text = file.read_text()
        kept.setdefault(file, text)
        assert old in text
        file.write_text(text.replace(old, new, 1))

    yield replace
    for file, text in kept.items():
        file.write_text(text)


def test_rooms_are_reached_to_the_compiled_loops_and_others_are_not():
    reached = set(source_of(YALE))
    assert reached >= {
        "experiments.yale_faces.run",
        "invariance.jungles.growing.grow_jungle",
        "invariance.jungles._jit.best_threshold",
        "invariance.transformations.photometric.normalize_illumination",
        "invariance.datasets.arrays.load_yale",
        "invariance._core.randomness.spawn_rngs",
    }
    assert not [name for name in reached if name.startswith(("invariance.tradeoff", "invariance.codebooks"))]
    modules = {name.rpartition(".")[0] for name in source_of(HIERARCHY)}
    assert modules >= {"experiments.low_rank", "experiments.sample_complexity", "invariance.hierarchies._jit"}


def test_two_imports_under_one_name_are_both_followed():
    reached = source_of(EXPERIMENTS["texture_weights"].run)
    assert {"experiments.uiuc_textures", "experiments.pair_weights"} <= set(reached)


@pytest.mark.parametrize("value", ["invariance.codebooks", "invariance.codebooks.ClusteringForest"])
def test_a_room_that_is_used_by_its_whole_name_is_reached(copied, edit, value):
    edit("experiments", "yale_faces.py", "import time\n", "import time\n\nimport invariance.codebooks\n")
    assert "invariance.codebooks.forest.ClusteringForest" not in source_of(YALE, copied)
    edit("experiments", "yale_faces.py", "N_TRAINING = 5\n", f"N_TRAINING = {value} and 5\n")
    assert "invariance.codebooks.forest.ClusteringForest" in source_of(YALE, copied)


def test_a_copy_is_the_same_source(copied):
    assert source_of(YALE, copied) == source_of(YALE)


@pytest.mark.parametrize(
    ("package", "path", "old", "new"),
    [
        ("invariance", "jungles/growing.py", '"""', '"""Another docstring. '),
        ("invariance", "jungles/filters.py", "\nimport numpy as np\n", "\n# A comment.\nimport numpy as np\n\n\n"),
        ("experiments", "yale_faces.py", '"""Yale faces', '"""Faces of Yale'),
        ("invariance", "tradeoff/solver.py", "import numpy as np\n", "import numpy as np\n\nA_CONSTANT = 1\n"),
        ("invariance", "_version.py", "__version__ = ", "__version__ = '9' + "),
        ("invariance", "jungles/growing.py", "import numpy as np\n", "import numpy as np\n\nA_CONSTANT = 1\n"),
        ("invariance", "jungles/dag.py", "def check_loaded(self", "def check_loaded(self, unused=1"),
        ("invariance", "jungles/growing.py", "    smoothness = growth", "    check_nothing()\n    smoothness = growth"),
    ],
    ids=[
        "docstring",
        "comment",
        "experiment's docstring",
        "another room",
        "version",
        "unused",
        "check of files",
        "check",
    ],
)
def test_what_changes_no_figure_changes_no_source(copied, edit, package, path, old, new):
    edit(package, path, old, new)
    assert source_of(YALE, copied) == source_of(YALE)


@pytest.mark.parametrize(
    ("package", "path", "old", "new"),
    [
        ("invariance", "jungles/growing.py", "MAX_ATTEMPTS = ", "MAX_ATTEMPTS = 1 + "),
        ("invariance", "jungles/growing.py", "import numpy as np\n", "import numpy as np\n\nnp.seterr()\n"),
        ("invariance", "jungles/_jit.py", "range(", "range(0 + "),
        ("invariance", "_core/randomness.py", "return ", "return 0 or "),
        ("invariance", "datasets/arrays.py", "def load_yale(", "@staticmethod\ndef load_yale("),
        ("experiments", "yale_faces.py", "N_TRAINING = 5", "N_TRAINING = 6"),
        ("experiments", "yale_faces.py", "N_TRAINING = 5", "N_TRAINING = check_count('n', 5)"),
    ],
    ids=["constant", "effect", "compiled loop", "random streams", "loader", "experiment", "result of a check"],
)
def test_what_may_change_a_figure_changes_the_source(copied, edit, package, path, old, new):
    edit(package, path, old, new)
    assert source_of(YALE, copied) != source_of(YALE)


@pytest.mark.parametrize(
    ("name", "path", "function"),
    [
        ("uiuc_textures", "tradeoff/solver.py", "def learn_machine("),
        ("uiuc_textures", "tradeoff/_jit.py", "def solve_dual("),
        ("uiuc_textures", "descriptors/maximum_responses.py", "def bank_responses("),
        ("flowers17", "codebooks/kmeans.py", "def nearest_words("),
        ("caltech_objects", "descriptors/geometric_blur.py", "def match_distances("),
        ("low_rank_5", "hierarchies/pooling.py", "def pool("),
        ("rotated_images", "hierarchies/_jit.py", "def cut_histograms("),
        ("graz02", "codebooks/forest.py", "    def transform("),
        ("graz02", "trees/growing.py", "def grow_tree("),
        ("horses", "codebooks/bag.py", "    def extract("),
        ("tangent_digits", "tangents/distance.py", "    def squared("),
        ("tangent_faces", "tangents/_jit.py", "def remove_joint_span("),
        ("isbi_sections", "segmentation/rounds.py", "def fit_rounds("),
        ("isbi_sections", "segmentation/scores.py", "def segmentation_scores("),
        ("scribbles", "segmentation/rounds.py", "def fit_rounds("),
        ("scribbles_cells", "datasets/membranes.py", "def make_membranes("),
        ("mnist_digits", "jungles/merging.py", "def "),
        ("isbi_patches", "transformations/resampling.py", "def "),
        ("pretrained_flowers", "methods/objects.py", "def object_kernels("),
    ],
)
def test_every_room_that_an_experiment_runs_through_is_in_its_source(copied, edit, name, path, function):
    before = source_of(EXPERIMENTS[name].run, copied)
    indent = " " * (len(function) - len(function.lstrip()))
    edit("invariance", path, f"\n{function}", f"\n{indent}@staticmethod\n{function}")
    assert source_of(EXPERIMENTS[name].run, copied) != before
    if not path.startswith(("hierarchies", "transformations")):  # rooms that this one runs through, too
        assert source_of(HIERARCHY, copied) == source_of(HIERARCHY)


def test_how_files_are_decoded_is_left_to_digests_of_what_they_hold(copied, edit):
    textures = EXPERIMENTS["texture_weights"].run
    before = source_of(textures, copied)
    edit("invariance", "images/reading.py", "\ndef read_image(", "\n@staticmethod\ndef read_image(")
    assert source_of(textures, copied) == before
    edit("invariance", "images/resizing.py", "\ndef to_grey(", "\n@staticmethod\ndef to_grey(")
    assert source_of(textures, copied) != before


def test_the_part_of_the_functions_own_file_is_all_it_uses():
    reached = source_of(HIERARCHY)
    assert {".low_rank_5", "._low_rank", ".ACCURACY"} <= set(reached)
    assert ".yale_faces" not in reached
    assert "def _low_rank(" in reached["._low_rank"]
