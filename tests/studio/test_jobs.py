"""Jobs run one after another, report, end when cancelled; exports are read by other programs and never replace."""

import shlex
import threading
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import tifffile

pytest.importorskip("starlette")

from invariance import datasets
from invariance._core.progress import track
from invariance.cli import app
from invariance.images import Layout, read_mask, read_mask_stack
from invariance.models import load
from invariance.segmentation import trials
from invariance.studio import effects, pixel_jobs
from invariance.studio.exports import unique_stems, write_pages
from invariance.studio.jobs import MAX_WAITING, Jobs
from invariance.studio.mask_import import find_place, number_values
from invariance.studio.pixels import PixelSession
from invariance.studio.project import Project
from invariance.studio.sources import Sources

SIDE = 96
CELL, MEMBRANE = 1, 2


def run_all(kinds, *started):
    """Run jobs to their end; return all events."""
    events: list[dict] = []
    jobs = Jobs(events.append, kinds)
    for kind, fields in started:
        jobs.start(kind, fields)
    assert jobs.wait(500)
    return events, jobs


def states(events, job):
    return [event["state"] for event in events if event["job"] == job]


# ---------------------------------------------------------------- the queue


def test_jobs_run_in_order_one_at_a_time():
    running, seen = [], []

    def work(fields, progress, cancelled):
        running.append(fields["name"])
        assert len(running) == 1
        seen.append(fields["name"])
        progress(0.5, "Half")
        running.pop()
        return {"text": fields["name"]}

    events, _ = run_all({"work": work}, *(("work", {"name": name}) for name in "abc"))
    assert seen == ["a", "b", "c"]
    for job in (1, 2, 3):
        assert states(events, job)[-1] == "done"
        assert all(state == "running" for state in states(events, job)[:-1])


def test_tracked_loops_report_and_end_when_cancelled():
    reached = threading.Event()
    jobs = None

    def work(fields, progress, cancelled):
        for number in track(range(1000), "counting", total=1000):
            if number == 3:
                reached.set()
                jobs.cancel(1)
        raise AssertionError("a cancelled loop must not end by itself")

    events: list[dict] = []
    jobs = Jobs(events.append, {"work": work})
    jobs.start("work", {})
    assert jobs.wait(20)
    assert reached.is_set()
    assert states(events, 1)[-1] == "cancelled"
    assert any(event["text"] == "Counting" and event["done"] is not None for event in events)


def test_a_waiting_job_is_cancelled_without_running():
    gate, ran = threading.Event(), []

    def work(fields, progress, cancelled):
        gate.wait(20)
        ran.append(fields["name"])
        return {}

    events: list[dict] = []
    jobs = Jobs(events.append, {"work": work})
    jobs.start("work", {"name": "first"})
    second = jobs.start("work", {"name": "second"})
    jobs.cancel(second)
    gate.set()
    assert jobs.wait(20)
    assert ran == ["first"]
    assert states(events, second)[-1] == "cancelled"


@pytest.mark.parametrize(
    ("error", "said"),
    [(ValueError("it is bad. Cure it."), "It is bad. Cure it."), (KeyError("x"), "defect"), (MemoryError(), "memory")],
)
def test_errors_become_sentences_and_later_jobs_still_run(error, said):
    def fail(fields, progress, cancelled):
        raise error

    kinds = {"fail": fail, "work": lambda fields, progress, cancelled: {}}
    events, _ = run_all(kinds, ("fail", {}), ("work", {}))
    assert states(events, 1)[-1] == "failed"
    assert said in [event for event in events if event["job"] == 1][-1]["text"]
    assert states(events, 2)[-1] == "done"


def test_refusals_name_the_cure():
    gate = threading.Event()
    jobs = Jobs(lambda event: None, {"work": lambda fields, progress, cancelled: {"text": str(gate.wait(20))}})
    with pytest.raises(ValueError, match="there is no job 'dig'.*work"):
        jobs.start("dig", {})
    with pytest.raises(ValueError, match="no job 9"):
        jobs.cancel(9)
    with pytest.raises(ValueError, match="jobs are waiting"):
        list(map(partial(jobs.start, "work"), [{}] * (MAX_WAITING + 2)))  # one runs
    gate.set()
    jobs.close()
    with pytest.raises(ValueError, match="closing"):
        jobs.start("work", {})


def test_only_a_file_can_be_downloaded(tmp_path):
    (tmp_path / "a.inv").write_bytes(b"x")
    results = {"file": str(tmp_path / "a.inv"), "folder": str(tmp_path), "none": None}
    kinds = {name: lambda fields, progress, cancelled, path=path: {"path": path} for name, path in results.items()}
    events, jobs = run_all(kinds, *((name, {}) for name in results))
    assert [jobs.file(job) for job in (1, 2, 3)] == [tmp_path / "a.inv", None, None]
    done = [event["result"]["file"] for event in events if event["state"] == "done"]
    assert done == [True, False, False]
    assert len(jobs.events()) == 3


# ---------------------------------------------------------------- exports of pixels


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """A project with grey images, a stack with a pixel size, and an image in colour; two of them painted."""
    folder = tmp_path_factory.mktemp("pixels")
    found = datasets.make_membranes(4, (SIDE, SIDE), cell_size=24, random_state=3)
    as_bytes = np.rint(255 * found.images).astype(np.uint8)
    from PIL import Image

    Image.fromarray(as_bytes[0]).save(folder / "a.png")
    (folder / "more").mkdir()
    Image.fromarray(as_bytes[3]).save(folder / "more" / "a.png")
    Image.fromarray(np.repeat(as_bytes[3][..., None], 3, axis=2)).save(folder / "colour.png")
    tifffile.imwrite(
        folder / "stack.tif", as_bytes[1:3], imagej=True, resolution=(4, 4), metadata={"axes": "ZYX", "unit": "um"}
    )
    (folder / "broken.png").write_bytes(b"not an image")
    project = Project(folder)
    sources = Sources(project)
    pixels = PixelSession(project, sources, lambda event: None, lambda step, origin: None)
    pixels.set_live(False)
    ids = {image.name: image.id for image in sources.images()}
    rng = np.random.default_rng(0)
    for name, page, mask in (("a.png", 0, found.masks[0]), ("stack.tif", 1, found.masks[2])):
        labels = np.zeros((SIDE, SIDE), np.uint8)
        for number, where in ((CELL, ~mask), (MEMBRANE, mask)):
            rows, cols = np.nonzero(where[8:-8, 8:-8])
            for row, col in zip(
                *(values[rng.choice(len(rows), 6, replace=False)] + 8 for values in (rows, cols)), strict=True
            ):
                around = np.zeros_like(mask)
                around[row - 3 : row + 4, col - 3 : col + 4] = True
                labels[around & where] = number
        for number in (CELL, MEMBRANE):
            pixels.paint_mask(ids[name], page, np.where(labels == number, labels, 0).astype(np.uint8))
    pixels.ids, pixels.truth = ids, found.masks
    yield pixels
    pixels.close()
    project.close()


def run(session, kind, **fields):
    """Run one job of pixels; return its result, or the event if it did not end well."""
    events, _ = run_all({kind: partial(pixel_jobs.JOBS[kind], session)}, (kind, fields))
    return events[-1].get("result", events[-1])


@pytest.fixture(scope="module")
def model(session):
    """The result of exporting the model, twice: the second file has another name."""
    return run(session, "export-model"), run(session, "export-model")


def test_models_are_numbered_and_load(session, model):
    first, second = (Path(result["path"]) for result in model)
    assert (first.name, second.name) == ("model.inv", "model-2.inv")
    assert first.parent == session.project.directory / "exports"
    segmenter = load(first)
    assert segmenter.classes_.tolist() == [CELL, MEMBRANE]
    truth = session.truth[0]
    found = segmenter.predict(session.sources.read_page(session.ids["a.png"], 0)) == MEMBRANE
    assert (found == truth).mean() > 0.75  # of twelve small strokes per page


def test_the_command_line_repeats_the_training(session, model, tmp_path, monkeypatch):
    result = model[0]
    words = shlex.split(result["command"])
    assert words[:2] == ["invariance", "fit-pixels"]
    images, labels = map(Path, words[2:4])
    assert sorted(path.name for path in images.iterdir()) == ["a.png", "stack.tif"]
    assert set(np.unique(read_mask(labels / "a.png"))) == {0, CELL, MEMBRANE}
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        app(words[1:], standalone_mode=True)
    assert ended.value.code in (0, None)
    again, exported = load(tmp_path / "model.inv"), load(result["path"])
    page = session.sources.read_page(session.ids["a.png"], 0)
    assert (again.predict(page) == exported.predict(page)).mean() > 0.85


def test_masks_are_final_where_accepted_and_predicted_elsewhere(session, model):
    final = np.full((SIDE, SIDE), CELL, np.uint8)
    final[:10] = MEMBRANE
    action = session.paint_mask(session.ids["stack.tif"], 0, final, "final")
    result = run(session, "export-masks")
    session.travel(is_undo=True)
    folder = Path(result["path"])
    assert sorted(path.name for path in folder.iterdir()) == ["a.png", "classes.csv", "more-a.png", "stack.tif"]
    stack = read_mask_stack(folder / "stack.tif")
    np.testing.assert_array_equal(stack[0], final)
    predicted = load(model[0]["path"]).predict(session.sources.read_page(session.ids["stack.tif"], 1))
    np.testing.assert_array_equal(stack[1], predicted)
    with tifffile.TiffFile(folder / "stack.tif") as file:
        assert file.series[0].axes == "ZYX"
        assert file.pages[0].tags["XResolution"].value == (4, 1)
        assert file.imagej_metadata["unit"] == "um"
    assert "colour.png" in result["text"]
    assert action


@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_probabilities_are_ome_with_named_channels_and_pixel_size(session, model, dtype):
    result = run(session, "export-probabilities", dtype=dtype)
    with tifffile.TiffFile(Path(result["path"]) / "stack.ome.tif") as file:
        assert file.is_ome
        assert file.series[0].axes == "ZCYX"
        values = file.asarray()
        described = file.ome_metadata
    assert values.dtype == dtype
    assert values.shape == (2, 2, SIDE, SIDE)
    np.testing.assert_allclose(values.sum(axis=1), 255 if dtype == "uint8" else 1, atol=2 if dtype == "uint8" else 1e-4)
    names = [one.name for one in session.project.classes("pixels")]
    assert all(f'Name="{name}"' in described for name in names)
    assert 'PhysicalSizeX="0.25"' in described


@pytest.mark.parametrize("axes", ["", "Z", "TZ", "Q"])
def test_probabilities_of_three_classes_in_bytes_are_no_colours(tmp_path, axes):
    lengths = {"": (), "Z": (2,), "TZ": (2, 3), "Q": (4,)}[axes]
    n_pages = int(np.prod(lengths, dtype=int))
    layout = pixel_jobs.ome_layout(Layout(axes, lengths), n_pages, ["a", "b", "c"])
    values = np.arange(n_pages * 3 * 30, dtype=np.uint8).reshape(n_pages * 3, 5, 6)
    write_pages(tmp_path / "p.ome.tif", layout, values)
    with tifffile.TiffFile(tmp_path / "p.ome.tif") as file:
        assert file.series[0].axes == {"Q": "Z"}.get(axes, axes) + "CYX"
        np.testing.assert_array_equal(file.asarray().reshape(values.shape), values)


def test_scribbles_come_back_by_import(session, tmp_path):
    result = run(session, "export-scribbles")
    folder = Path(result["path"])
    before = {key: session.labels_of(*key, "labels") for key in session.labelled_pages()}
    assert {path.name for path in folder.iterdir()} == {"a.png", "stack.tif", "classes.csv"}
    np.testing.assert_array_equal(read_mask(folder / "a.png"), before[session.ids["a.png"], 0])
    n_actions = len(session.project.actions("pixels"))
    imported = run(session, "import-masks", path=str(folder.relative_to(session.project.folder) / "stack.tif"))
    assert imported["path"] is None
    assert len(session.project.actions("pixels")) == n_actions + 1  # one page has labels
    session.travel(is_undo=True)
    for key, labels in before.items():
        np.testing.assert_array_equal(session.labels_of(*key, "labels"), labels)


def test_a_binary_mask_of_fiji_becomes_a_class(session):
    folder = session.project.folder / "masks"
    folder.mkdir()
    mask = np.zeros((SIDE, SIDE), np.uint8)
    mask[40:50] = 255
    try:
        tifffile.imwrite(folder / "colour_mask.tif", mask)
        before = session.labels_of(session.ids["colour.png"], 0, "final")
        run(session, "import-masks", path="masks", layer="final")
        after = session.labels_of(session.ids["colour.png"], 0, "final")
        session.travel(is_undo=True)
    finally:
        (folder / "colour_mask.tif").unlink()
        folder.rmdir()
    np.testing.assert_array_equal(after[40:50], 1)
    np.testing.assert_array_equal(after[:40], before[:40])


@pytest.mark.parametrize("path", ["", "../elsewhere", "/etc/passwd", "missing.png", "~/masks"])
def test_imports_stay_under_the_opened_folder(session, path):
    event = run(session, "import-masks", path=path)
    assert event["state"] == "failed"
    with pytest.raises(ValueError, match="under the opened folder|does not exist"):
        find_place(session.project.folder, path)


def test_a_link_does_not_lead_out_of_the_folder(tmp_path):
    (tmp_path / "opened").mkdir()
    (tmp_path / "secret.png").write_bytes(b"x")
    (tmp_path / "opened" / "link.png").symlink_to(tmp_path / "secret.png")
    with pytest.raises(ValueError, match="not under"):
        find_place(tmp_path / "opened", "link.png")


def test_values_of_masks():
    assert number_values(iter([0, 1, 3])) == {1: 1, 3: 3}
    assert number_values(iter([0, 255])) == {255: 1}
    assert number_values(iter([7, 100])) == {7: 1, 100: 2}
    for values in ([0], [-1, 1], list(range(40))):
        with pytest.raises(ValueError, match="masks hold"):
            number_values(iter(values))


def test_the_report_needs_no_other_file(session, model):
    result = run(session, "export-report")
    text = Path(result["path"]).read_text(encoding="utf-8")
    assert text.count("data:image") >= 3
    assert "http" not in text.replace("http://www.w3.org", "")
    assert "fit-pixels" in text


def test_a_cancelled_export_leaves_nothing(session, model, monkeypatch):
    exports = session.project.directory / "exports"
    before = sorted(path.name for path in exports.iterdir())
    label = pixel_jobs._Predictor.label

    def cancel_and_label(self, image, page):
        jobs.cancel(1)
        return label(self, image, page)

    monkeypatch.setattr(pixel_jobs._Predictor, "label", cancel_and_label)
    events: list[dict] = []
    jobs = Jobs(events.append, {"m": partial(pixel_jobs.export_masks, session)})
    jobs.start("m", {})
    assert jobs.wait(60)
    assert events[-1]["state"] == "cancelled"
    assert sorted(path.name for path in exports.iterdir()) == before


def test_effects_are_data_for_every_switch(session, monkeypatch):
    monkeypatch.setattr(effects, "MAX_PIXELS", 600)
    monkeypatch.setattr(trials, "N_RUNS", 3)
    result = run(session, "effects")
    switches = {item["switch"] for item in result["items"]} - {None}
    assert switches == {"rotations", "reflections", "scales", "light"}
    for item in result["items"]:
        assert item["low"] <= item["share"] <= item["high"]
        assert 0 <= item["accuracy"] <= 1


def test_nothing_painted_is_said(tmp_path):
    from PIL import Image

    Image.fromarray(np.zeros((SIDE, SIDE), np.uint8)).save(tmp_path / "a.png")
    project = Project(tmp_path)
    pixels = PixelSession(project, Sources(project), lambda event: None, lambda step, origin: None)
    try:
        for kind in ("export-model", "export-masks", "export-scribbles", "export-report", "effects"):
            event = run(pixels, kind)
            assert event["state"] == "failed"
            assert "aint" in event["text"]
        pixels.paint_mask(pixels.sources.images()[0].id, 0, np.ones((SIDE, SIDE), np.uint8), "final")
        assert (
            len(list(Path(run(pixels, "export-masks")["path"]).glob("a.png"))) == 1
        )  # all is final: no model is needed
    finally:
        pixels.close()
        project.close()


def test_stems_are_unique():
    assert unique_stems(["a.png", "b/a.png"]) == {"a.png": "a", "b/a.png": "b-a"}
    assert unique_stems(["a.png", "a.tif"]) == {"a.png": "a-png", "a.tif": "a-tif"}
