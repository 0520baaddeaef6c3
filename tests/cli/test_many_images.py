"""`predict` and `evaluate` of many images: in blocks, on processes, in order, resumed, and in little memory."""

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import dask
import numpy as np
import pytest
from PIL import Image

from invariance import models
from invariance._core.records import RECORDS, job_folder
from invariance.cli import main
from invariance.cli import predict as predict_command
from invariance.images import encode_labels, watch_range
from invariance.jungles import TreeClassifier
from invariance.methods import ImageClassifier, learn_facts
from invariance.volumes import classification

parquet = pytest.importorskip("pyarrow.parquet")


def draw(kind, rng):
    """An image of level or upright stripes, uint8."""
    rows, columns = np.mgrid[:12, :12]
    wave = np.sin((rows if kind == "level" else columns) / 1.2)
    return (127 + 90 * wave + rng.normal(0, 40, wave.shape)).clip(0, 255).astype(np.uint8)


def fill(folder, n, seed=0):
    rng = np.random.default_rng(seed)
    for kind in ("level", "upright"):
        (folder / kind).mkdir(parents=True)
        for number in range(n):
            Image.fromarray(draw(kind, rng)).save(folder / kind / f"{number:03}.png", compress_level=1)
    return folder


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A fast model `m.inv`, another `other.inv`, and 300 images in `new/`, of which two are none."""
    world = tmp_path_factory.mktemp("many")
    rng = np.random.default_rng(0)
    labels = ["level", "upright"] * 8
    images = [draw(kind, rng) / np.float32(255) for kind in labels]
    for name, seed in (("m.inv", 0), ("other.inv", 1)):
        classifier = ImageClassifier("jungle", random_state=seed)  # fitted by hand, with one small tree for speed
        classifier.classes_, codes = encode_labels(labels)
        classifier.facts_, classifier.n_learned_ = learn_facts(images, codes), len(images)
        watch_range(classifier, images, reset=True)
        classifier.model_ = TreeClassifier(max_depth=2, random_state=seed).fit(classifier.prepare(images), labels)
        models.save(classifier, world / name)
    fill(world / "new", 149)
    (world / "new" / "level" / "0500.png").write_text("no image")
    (world / "new" / "upright" / "1.png").touch()
    return world


@pytest.fixture(scope="module")
def scheduler():
    """The address of a Dask scheduler with two workers."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        yield cluster.scheduler_address


@pytest.fixture
def here(world, tmp_path, monkeypatch):
    """A folder with the models and `new/`, in which runs of two blocks of 16 images are recorded already."""
    for name in ("m.inv", "other.inv"):
        shutil.copy(world / name, tmp_path)
    shutil.copytree(world / "new", tmp_path / "new", copy_function=os.link)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(predict_command, "N_TOGETHER", 16)
    monkeypatch.setattr(predict_command, "MAX_UNRECORDED", 32)
    monkeypatch.setattr("invariance.cli.cluster.LINE_SECONDS", (3600.0, 3600.0))  # no progress on a slow machine
    return tmp_path


def predict(*arguments):
    return main(["predict", "m.inv", "new", *arguments])


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


class Killed(BaseException):
    """Ends a run as if the process were gone."""


@pytest.fixture
def interrupt(monkeypatch):
    """`interrupt(n)` ends the run with the n-th block; the list that it returns grows with every block."""
    call = classification.ClassifyFiles.__call__

    def interrupt(n):
        computed = []

        def counted(work):
            computed.append(work.files[0])
            if len(computed) == n:
                raise Killed
            return call(work)

        monkeypatch.setattr(classification.ClassifyFiles, "__call__", counted)
        return computed

    return interrupt


def test_workers_write_the_table_of_one_process_and_leave_nothing_else(here, capsys):
    assert predict("-o", "one.csv") == 0
    in_one = capsys.readouterr()
    assert predict("-o", "two.csv", "--workers", "2") == 0
    in_two = capsys.readouterr()
    assert rows_of("two.csv") == rows_of("one.csv")
    assert [row[0] for row in rows_of("one.csv")[1:]] == [
        str(path) for path in sorted(Path("new").rglob("*.png")) if path.stat().st_size > 10
    ]
    assert in_two.err == in_one.err
    assert "'new/level/0500.png'" in in_one.err
    assert sorted(os.listdir()) == ["m.inv", "new", "one.csv", "other.inv", "two.csv"]


def test_workers_evaluate_as_one_process(here, scheduler, capsys):
    found = []
    for more in ([], ["--scheduler", scheduler]):
        assert main(["evaluate", "m.inv", "new", "--json", *more]) == 0
        found.append(json.loads(capsys.readouterr().out))
    times = [entry.pop("seconds_per_image") for entry in found]
    assert all(seconds > 0 for seconds in times)
    assert found[0] == found[1]
    assert found[0]["n_images"] == 298
    assert len(found[0]["skipped"]) == 2
    assert main(["predict", "m.inv", "new", "-o", "x.csv"]) == 0
    rows = rows_of("x.csv")[1:]
    assert found[0]["accuracy"] == pytest.approx(np.mean([Path(path).parts[1] == label for path, label, *_ in rows]))


def test_strict_workers_name_the_file_as_it_was_given(here, scheduler, capsys):
    assert predict("-o", "x.csv", "--strict", "--scheduler", scheduler) == 2
    assert capsys.readouterr().err.startswith("Error: 'new/level/0500.png' is not a PNG")


def test_evaluate_holds_no_images(here, monkeypatch):
    read = classification.read_compact
    alive = []

    def counting(path):
        alive.append(path)
        return read(path)

    def note(classifier, images):
        n_images.append(len(images))
        return original(classifier, images)

    n_images, original = [], ImageClassifier.predict_proba
    monkeypatch.setattr(classification, "read_compact", counting)
    monkeypatch.setattr(ImageClassifier, "predict_proba", note)
    assert main(["evaluate", "m.inv", "new"]) == 0
    assert len(alive) == 300
    assert max(n_images) == 64
    assert sum(n_images) == 298


def test_an_ended_run_goes_on_where_it_was(here, interrupt, capsys):
    assert predict("-o", "whole.csv") == 0
    first = interrupt(8)
    with pytest.raises(Killed):
        predict("-o", "x.csv")
    assert sorted(os.listdir("x.csv.job")) == [RECORDS]
    assert not Path("x.csv").exists()
    second = interrupt(0)
    assert predict("-o", "x.csv") == 0
    assert len(first) == 8
    assert second[0] == first[-1]
    assert len(second) == 19 - 7
    assert rows_of("x.csv") == rows_of("whole.csv")
    assert not Path("x.csv.job").exists()
    assert "'new/level/0500.png'" in capsys.readouterr().err  # was found by either run


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda: shutil.copy("other.inv", "m.inv"), "model"),
        (lambda: Path("new/level/new.png").write_bytes(Path("new/level/001.png").read_bytes()), "list of files"),
        (lambda: os.utime("new/level/001.png", (1, 1)), "list of files"),
        (lambda: None, "settings"),
    ],
)
def test_another_model_other_files_and_other_settings_are_refused(change, named, here, interrupt, capsys):
    shutil.rmtree("new")
    fill(here / "new", 20)
    computed = interrupt(2)
    with pytest.raises(Killed):
        predict("-o", "x.csv")
    change()
    more = ["--scale", "image"] if named == "settings" else []
    assert predict("-o", "x.csv", *more) == 2
    error = capsys.readouterr().err
    assert f"Error: the {named} of the result" in error
    assert "--restart" in error
    assert Path("x.csv.job", RECORDS).exists()
    computed.clear()
    computed.extend([None] * 2)
    assert predict("-o", "x.csv", "--restart", *more) == 0
    assert sorted(os.listdir()) == ["m.inv", "new", "other.inv", "x.csv"]


def test_a_folder_of_somebody_else_is_not_touched(here, capsys):
    Path("x.csv.job").mkdir()
    Path("x.csv.job", "mine.txt").touch()
    assert predict("-o", "x.csv") == 2
    assert "was not written by this command" in capsys.readouterr().err
    assert os.listdir("x.csv.job") == ["mine.txt"]


def test_blocks_that_cannot_be_classified_are_listed_and_the_others_kept(here, monkeypatch, capsys):
    call = classification.ClassifyFiles.__call__

    def fail(work):
        if work.files[0].name == "016.png":
            raise OSError("the disk is gone")
        return call(work)

    with monkeypatch.context() as patch:
        patch.setattr(classification.ClassifyFiles, "__call__", fail)
        assert predict("-o", "x.csv") == 1
    error = capsys.readouterr().err
    assert "Failed: 'new/level/016.png' to 'new/level/031.png': OSError: the disk is gone" in error
    assert "16 images could not be classified" in error
    assert not Path("x.csv").exists()
    assert predict("-o", "x.csv") == 0
    assert len(rows_of("x.csv")) == 299


def test_a_killed_process_goes_on_in_another(here, monkeypatch):
    monkeypatch.undo()  # only what is not patched is seen by other processes
    names = [f"copy{number}" for number in range(12)]
    for name in names:
        shutil.copytree(here / "new", here / "all" / name, copy_function=os.link)
    command = [sys.executable, "-m", "invariance", "predict", "m.inv", "all", "-o", "x.csv", "--jobs", "1"]
    process = subprocess.Popen([*command, "--workers", "2"], cwd=here, start_new_session=True)
    file = job_folder(here / "x.csv") / RECORDS
    while process.poll() is None and (not file.exists() or file.stat().st_size < 40_000):
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not (here / "x.csv").exists()
    ended = subprocess.run(command, cwd=here, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    rows = rows_of(here / "x.csv")[1:]
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)
    assert len(rows) == 12 * 298
    assert sorted(os.listdir(here)) == ["all", "m.inv", "new", "other.inv", "x.csv"]


GROWING = """
import tracemalloc
import dask
import numpy as np
from invariance.cli import main
from invariance.methods import ImageClassifier
from invariance.volumes import classification

def read_image(path):
    if path.name == "00000.png":
        tracemalloc.reset_peak()  # what loading the model took
    return np.zeros((12, 12), np.float32)

classification.read_image = read_image
ImageClassifier.predict_proba = lambda self, images: np.full((len(images), 2), 0.5)
for name in ("few", "few", "many"):
    tracemalloc.start()
    assert main(["predict", "m.inv", name, "-o", f"{name}.csv"]) == 0
    print("peak", tracemalloc.get_traced_memory()[1])
    tracemalloc.stop()
"""


def test_memory_does_not_grow_with_the_number_of_images(here):
    source = here / "new" / "level" / "001.png"
    for name, n in (("few", 1_100), ("many", 4_000)):
        (here / name).mkdir()
        for number in range(n):
            os.link(source, here / name / f"{number:05}.png")
    ended = subprocess.run([sys.executable, "-c", GROWING], cwd=here, capture_output=True, text=True, check=True)
    _, few, many = (int(line.split()[1]) for line in ended.stdout.splitlines() if line.startswith("peak"))
    assert len(rows_of(here / "many.csv")) == 4_001
    assert many - few < 2_900 * 50  # an image, a row or a path would take some hundreds of bytes each


def test_parquet_has_the_columns_and_rows_of_the_csv(here, monkeypatch):
    monkeypatch.setattr("invariance.cli.table.MAX_GROUP_ROWS", 100)
    assert predict("-o", "x.csv") == 0
    for _ in range(2):  # the second time over the table of the first
        assert predict("-o", "x.parquet") == 0
    header, *rows = rows_of("x.csv")
    file = parquet.ParquetFile("x.parquet")
    assert file.schema_arrow.names == header
    assert file.num_row_groups == 3
    found = [list(row.values()) for row in file.read().to_pylist()]
    assert found == [[path, label, *map(float, values)] for path, label, *values in rows]


def test_a_foreign_parquet_is_not_replaced(here, capsys):
    import pyarrow

    parquet.write_table(pyarrow.table({"path": ["a"], "label": ["b"]}), "x.parquet")
    before = Path("x.parquet").read_bytes()
    assert predict("-o", "x.parquet") == 2
    assert "--overwrite" in capsys.readouterr().err
    assert Path("x.parquet").read_bytes() == before


def test_parquet_without_its_package_is_one_line(here, monkeypatch, capsys):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert predict("-o", "x.parquet") == 2
    assert capsys.readouterr().err.startswith("Error: cannot write 'x.parquet': Parquet needs pyarrow. Try: pip")


@pytest.mark.skipif(os.name != "posix", reason="file names are text elsewhere")
def test_parquet_writes_names_that_are_no_text_as_escapes(here):
    os.link("new/level/001.png", b"\xff.png")
    assert main(["predict", "m.inv", ".", "-o", "x.parquet"]) == 0
    assert "\\udcff.png" in parquet.read_table("x.parquet")["path"].to_pylist()


def test_a_scheduler_that_does_not_answer_is_one_line(here, monkeypatch, capsys):
    monkeypatch.setattr("invariance.cli.cluster.SECONDS_TO_CONNECT", 0.5)
    for arguments in (["predict", "m.inv", "new"], ["evaluate", "m.inv", "new"], ["compare", "new"], ["advise", "new"]):
        assert main([*arguments, "--scheduler", "tcp://127.0.0.1:9"]) == 2
        assert "'tcp://127.0.0.1:9' does not answer" in capsys.readouterr().err.splitlines()[-1]
    assert dask.config.get("scheduler", None) is None  # other users of Dask in this process go on
