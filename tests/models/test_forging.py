"""Forged and damaged model files end in a refusal, an answer or a ValueError, never in a crash.

This is the short, seeded part; `make campaign` runs thousands. The files are judged in a process of its own, so that a
crash is seen as one.
"""

import io
import os
import subprocess
import sys
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from invariance.models import ModelError, load, save
from invariance.segmentation import JungleSegmenter
from invariance.transformations import Rotations
from invariance.trees import TreesClassifier
from tests.models import forging
from tests.models.savable import X, foreign_estimators, y

N_FILES = 100
N_FOREIGN = 2  # forgeries per estimator of scikit-learn
SEGMENTER = JungleSegmenter(Rotations(2), patch_size=5, max_pixels=150, n_rounds=1, max_depth=2, rank=8, n_trees=4)
SECONDS = 300  # for all of them; a hang is ended


def judge(*arguments: str) -> list[str]:
    """Run the judge in a process of its own and return its lines."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.models.test_forging", *arguments],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        cwd=Path(__file__).parents[2],
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout.splitlines()


def judge_stream(folder: Path, seed: int) -> None:
    """Print what comes of forged files of all small estimators; what is not allowed raises."""
    folder.mkdir(exist_ok=True)
    sources = forging.make_estimators(folder)
    for name, path in islice(forging.forged_models(folder, seed, sources), N_FILES):
        print(name, flush=True)  # before, so that a crash shows of which file
        print("  ", forging.outcome(path), flush=True)


def judge_foreign(folder: Path, seed: int) -> None:
    """Print what comes of forged numbers of scikit-learn's estimators."""
    rng = np.random.default_rng(seed)
    path = folder / "foreign.inv"
    for name, estimator in foreign_estimators().items():
        whole = forging.Opened(save(estimator, path))
        rows = X @ X.T if getattr(estimator, "kernel", None) == "precomputed" else X
        for _ in range(N_FOREIGN):
            opened = whole.copied()
            print(name, forging.forge_number(opened, rng), flush=True)
            opened.write(path)
            print("  ", _foreign_outcome(path, rows), flush=True)


def _foreign_outcome(path: Path, rows: np.ndarray) -> str:
    try:
        model = load(path)
    except ModelError:
        return "refused"
    try:
        for method in ("predict", "predict_proba", "decision_function", "transform"):
            if hasattr(model, method):
                getattr(model, method)(y if type(model).__name__.startswith("Label") else rows)
    except ValueError:
        return "raised"
    return "answered"


def test_forged_models_are_refused_or_answer(tmp_path):
    lines = judge("stream", str(tmp_path), "1")
    outcomes = [line.strip() for line in lines if line.startswith("   ")]
    assert len(outcomes) == N_FILES
    assert outcomes.count("refused") > N_FILES / 3
    assert outcomes.count("answered") > N_FILES / 10, "some forgeries change nothing that matters"


def test_forged_estimators_of_scikit_learn_are_refused_or_answer(tmp_path):
    outcomes = [line.strip() for line in judge("foreign", str(tmp_path), "1") if line.startswith("   ")]
    assert len(outcomes) == N_FOREIGN * len(foreign_estimators())
    assert outcomes.count("refused") > len(outcomes) / 4


def test_a_crash_is_seen():
    with pytest.raises(AssertionError, match="about to crash"):
        judge("crash", ".", "0")


def test_the_same_seed_gives_the_same_files(tmp_path):
    sources = {"svc": save(SVC().fit(X, y), tmp_path / "svc.inv")}

    def draw(seed):
        return [
            (name, path.read_bytes())
            for name, path in islice(forging.forged_models(tmp_path / "forged", seed, sources), 12)
        ]

    one, again, other = draw(3), draw(3), draw(4)
    assert [name for name, _ in one] == [name for name, _ in again]
    assert one != other
    assert len({content for _, content in one}) > 6


def forge(path, attribute, change):
    """Change an array of the model at the top of a file."""
    opened = forging.Opened(path)
    node = opened.schema["content"]["content"][attribute]
    array = np.load(io.BytesIO(opened.members[node["file"]]))
    opened.members[node["file"]] = forging.as_npy(change(array))
    opened.write(path)


CRASHES = {
    "counts of support vectors": ("_n_support", lambda a: a + np.array([10**8, 0, -(10**8)], a.dtype)),
    "numbers of support vectors": ("support_", lambda a: a + 10**8),
    "a narrow support vector": ("support_vectors_", lambda a: a[:, :1].copy()),
    "too few coefficients": ("_dual_coef_", lambda a: a[:, :1].copy()),
    "too few intercepts": ("_intercept_", lambda a: a[:1].copy()),
    "other floats": ("support_vectors_", lambda a: a.astype(np.float32)),
    "no number": ("_dual_coef_", lambda a: a * np.nan),
}  # fmt: skip


@pytest.mark.parametrize(("attribute", "change"), CRASHES.values(), ids=CRASHES)
def test_forged_support_vectors_do_not_reach_libsvm(attribute, change, tmp_path):
    path = save(SVC().fit(X, y), tmp_path / "model.inv")
    forge(path, attribute, change)
    with pytest.raises(ModelError):
        load(path)


def test_a_forged_class_of_a_neighbour_is_refused(tmp_path):
    path = save(KNeighborsClassifier(3, algorithm="brute").fit(X, y), tmp_path / "model.inv")
    forge(path, "_y", lambda codes: codes + 10**8)
    with pytest.raises(ModelError, match="_y of a KNeighborsClassifier"):
        load(path)


@pytest.mark.parametrize(
    "estimator", [TreesClassifier(3, random_state=0), SEGMENTER], ids=["TreesClassifier", "JungleSegmenter"]
)
def test_what_a_model_keeps_but_does_not_store_is_refused_in_a_file(estimator, tmp_path):
    """What predictions keep was computed from checked numbers, and compiled code trusts it."""
    data = (X, y) if isinstance(estimator, TreesClassifier) else forging.sections()
    model = estimator.fit(*data)
    model.predict(data[0])
    left_out = vars(model).keys() - model.__getstate__().keys()
    path = save(model, tmp_path / "model.inv")
    whole = forging.Opened(path)
    assert left_out
    for name in left_out:
        opened = whole.copied()
        forging.add_attribute(opened.schema["content"], name, forging.text_node('"x"'))
        opened.write(path)
        with pytest.raises(ModelError, match=f"{name}, which is never stored"):
            load(path)


def crash(folder: Path, seed: int) -> None:
    """End as compiled code does that reads where nothing is."""
    print("about to crash", flush=True)
    os.abort()


if __name__ == "__main__":
    work = {"stream": judge_stream, "foreign": judge_foreign, "crash": crash}[sys.argv[1]]
    work(Path(sys.argv[2]), int(sys.argv[3]))
