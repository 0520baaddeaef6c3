"""Image mode: labels, training, mistakes and doubt, advice, plans, accepting, exports."""

import csv
import shlex
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("starlette")

from invariance.cli import app
from invariance.methods import method_names
from invariance.models import load
from invariance.studio import image_jobs
from invariance.studio.images import ImageSession, Prediction, find_class_folders
from invariance.studio.jobs import Jobs
from invariance.studio.project import Project
from invariance.studio.sources import Sources

N_PER_CLASS, N_LABELLED = 14, 9
WRONG = "bars/03.png"  # gets the label of the other class


def draw(kind, rng):
    """Draw dots or bars, easy to tell apart."""
    image = rng.normal(0.3, 0.03, (40, 40))
    if kind == "bars":
        image[:, rng.integers(0, 4) :: 8] = 0.9
        return image
    for _ in range(12):
        row, col = rng.integers(2, 36, 2)
        image[row : row + 3, col : col + 3] = 0.9
    return image


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    for kind in ("bars", "dots"):
        (tmp_path / kind).mkdir()
        for number in range(N_PER_CLASS):
            pixels = np.rint(255 * draw(kind, rng).clip(0, 1)).astype(np.uint8)
            Image.fromarray(pixels).save(tmp_path / kind / f"{number:02}.png")
    (tmp_path / "dots" / "broken.png").write_bytes(b"not an image")
    return tmp_path


class Opened:
    """An image session, its events, and jobs run to their end."""

    def __init__(self, folder):
        self.events: list[dict] = []
        self.project = Project(folder)
        self.sources = Sources(self.project)
        self.images = ImageSession(self.project, self.sources, self.events.append)
        self.ids = {image.name: image.id for image in self.sources.images()}

    def run(self, kind, **fields):
        events: list[dict] = []
        jobs = Jobs(events.append, {kind: partial(image_jobs.JOBS[kind], self.images)})
        jobs.start(kind, fields)
        assert jobs.wait(300)
        return events[-1]

    def label_some(self):
        """Label some images of every kind, one of them wrongly."""
        numbers = {name: self.project.add_class("images", name).number for name in ("bars", "dots")}
        for name, number in numbers.items():
            self.images.label([self.ids[f"{name}/{place:02}.png"] for place in range(N_LABELLED)], number)
        self.images.label([self.ids[WRONG]], numbers["dots"])
        return numbers


@pytest.fixture
def opened(folder):
    session = Opened(folder)
    yield session
    session.project.close()


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A trained session, its classes, and the event of the training; it is not changed by tests.

    Trials are counted instead of seconds, so that the method does not depend on how busy the machine is.
    """
    path = tmp_path_factory.mktemp("trained")
    session = Opened(folder.__wrapped__(path))
    numbers = session.label_some()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(image_jobs, "race_methods", partial(image_jobs.race_methods, max_trials=8))
        event = session.run("train", budget=5)
    yield session, numbers, event
    session.project.close()


def test_labels_are_committed_told_and_undone(opened):
    opened.project.add_class("images", "bars")
    ids = list(opened.ids.values())[:3]
    assert opened.images.label(ids, 1) == opened.project.actions("images")[-1].seq
    assert opened.project.image_labels() == dict.fromkeys(ids, 1)
    told = {"labels": {str(image): 1 for image in ids}, "can_undo": True, "can_redo": False}
    assert opened.events[-1] == {"event": "image.labels", **told}
    opened.images.label(ids[:1], 0)
    assert opened.project.image_labels() == dict.fromkeys(ids[1:], 1)
    opened.project.undo()
    opened.images.refresh()
    assert len(opened.events[-1]["labels"]) == 3


def test_wrong_labels_are_refused(opened):
    opened.project.add_class("images", "bars")
    with pytest.raises(ValueError, match="no image 999"):
        opened.images.label([999], 1)
    with pytest.raises(ValueError, match="no class 7"):
        opened.images.label([1], 7)
    with pytest.raises(ValueError, match="no image is chosen"):
        opened.images.label([], 1)
    with pytest.raises(ValueError, match="Train first"):
        opened.images.accept([])


def test_training_needs_two_images_of_two_classes(opened):
    said = opened.run("train", budget=5)
    assert said["state"] == "failed"
    assert "two classes" in said["text"]
    for name in ("bars", "dots"):
        number = opened.project.add_class("images", name).number
        opened.images.label([opened.ids[f"{name}/00.png"]], number)
    said = opened.run("train", budget=5)
    assert "one image only" in said["text"]
    for budget in (0, "long", True, 1e9):
        assert opened.run("train", budget=budget)["text"].startswith("Budget must be")


def test_training_predicts_the_rest_and_finds_the_wrong_label(trained):
    session, numbers, event = trained
    assert event["state"] == "done", event["text"]
    found = session.images.predictions()
    assert found["accuracy"] > 0.8
    assert found["n_judged"] == 2 * N_LABELLED
    labels = session.project.image_labels()
    items = {item["image"]: item for item in found["items"]}
    assert set(items) == set(session.ids.values()) - {session.ids["dots/broken.png"]}
    mistakes = {
        image for image, item in items.items() if item["held_out"] is not None and item["held_out"] != labels[image]
    }
    assert session.ids[WRONG] in mistakes
    assert len(mistakes) <= 3
    rest = {name: image for name, image in session.ids.items() if image not in labels and "broken" not in name}
    right = [items[image]["predicted"] == numbers[name.split("/")[0]] for name, image in rest.items()]
    assert np.mean(right) > 0.8
    assert all(item["held_out"] is None for image, item in items.items() if image not in labels)
    assert all(abs(sum(item["probabilities"]) - 1) < 1e-3 and 0 <= item["doubt"] <= 1 for item in items.values())
    assert found["n_skipped"] == 1


def test_doubt_is_one_minus_the_lead():
    assert Prediction(1, (0.7, 0.2, 0.1), False).doubt == pytest.approx(0.5)
    assert Prediction(1, (0.5, 0.5), False).doubt == 1


def test_accepting_above_a_certainty_is_one_action(trained):
    session, _, _ = trained
    before = session.project.image_labels()
    sure = {
        item["image"]: item["predicted"]
        for item in session.images.predictions()["items"]
        if item["image"] not in before and max(item["probabilities"]) >= 0.6
    }
    n_actions = len(session.project.actions("images"))
    session.images.accept([], 0.6)
    assert len(session.project.actions("images")) == n_actions + 1
    assert session.project.image_labels() == before | sure
    session.project.undo()
    assert session.project.image_labels() == before
    with pytest.raises(ValueError, match="so certain"):
        session.images.accept([], 1.1)
    one = next(iter(sure))
    session.images.accept([one])
    assert session.project.image_labels() == before | {one: sure[one]}
    session.project.undo()


def test_the_exported_model_predicts_and_the_command_repeats_it(trained, tmp_path, monkeypatch):
    session, _, _ = trained
    result = session.run("export-classifier")["result"]
    assert Path(result["path"]).name == "images.inv"
    model = load(result["path"])
    pixels = [session.images.read(image) for image in list(session.ids.values())[:6]]
    words = shlex.split(result["command"])
    assert words[:2] == ["invariance", "fit"]
    assert sorted(path.name for path in Path(words[2]).iterdir()) == ["bars", "dots"]
    assert len(list((Path(words[2]) / "dots").iterdir())) == N_LABELLED + 1
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        app(words[1:])
    assert ended.value.code in (0, None)
    again = load(tmp_path / "images.inv")
    np.testing.assert_array_equal(again.predict(pixels), model.predict(pixels))


def test_the_table_lists_labels_and_predictions(trained):
    session, _, _ = trained
    result = session.run("export-table")["result"]
    with open(result["path"], encoding="utf-8", newline="") as file:
        rows = {row["path"]: row for row in csv.DictReader(file)}
    assert set(rows) == set(session.ids)
    assert (rows[WRONG]["label"], rows[WRONG]["is_predicted"]) == ("dots", "no")
    last = rows[f"bars/{N_PER_CLASS - 1}.png"]
    assert (last["label"], last["is_predicted"]) == ("bars", "yes")
    assert float(last["probability of bars"]) > 0.5
    assert rows["dots/broken.png"]["label"] == ""
    assert Path(session.run("export-table")["result"]["path"]).name == "images-2.csv"


def test_predicting_again_keeps_the_model(trained):
    session, _, _ = trained
    before = session.images.predictions()
    assert session.run("predict")["state"] == "done"
    assert session.images.predictions() == before


def test_advice_is_data(trained):
    session, _, _ = trained
    result = session.run("advise", budget=10)["result"]
    assert result["items"]
    for item in result["items"]:
        assert item["low"] <= item["share"] <= item["high"]
        assert item["verdict"] in ("helps", "hurts", "no difference", "unclear")
    assert result["view"] in result["plain"]
    assert result["reasons"]


def test_plans_say_what_every_method_does(opened):
    for text in (None, "rotations:8,illumination:4"):
        plans = opened.images.plans(text)
        assert {plan["method"] for plan in plans} == set(method_names())
        assert all(plan["parts"] and part["sentence"] for plan in plans for part in plan["parts"])
        for plan in plans:
            assert plan["is_refused"] == any(part["treatment"] == "refused" for part in plan["parts"])
    with pytest.raises(ValueError, match="not a known set"):
        opened.images.plans("wobbling")


def test_a_cancelled_training_changes_nothing(opened):
    opened.label_some()
    events: list[dict] = []
    jobs = Jobs(
        lambda event: (events.append(event), "Trying" in event["text"] and jobs.cancel(1)),
        {"train": partial(image_jobs.train, opened.images)},
    )
    jobs.start("train", {"budget": 30})
    assert jobs.wait(120)
    assert events[-1]["state"] == "cancelled"
    assert opened.images.predictions() is None


def test_folders_become_classes_as_one_action(opened):
    assert opened.run("import-folders")["state"] == "done"
    assert [one.name for one in opened.project.classes("images")] == ["bars", "dots"]
    assert len(opened.project.image_labels()) == 2 * N_PER_CLASS + 1
    opened.project.undo()
    assert opened.project.image_labels() == {}


@pytest.mark.parametrize(
    ("names", "classes"),
    [
        (["a.png", "b.png"], {}),
        (["x/a.png", "x/b.png"], {}),
        (["x/a.png", "y/b.png", "c.png"], {"x": [0], "y": [1]}),
        (["all/x/a.png", "all/y/b.png"], {"x": [0], "y": [1]}),
        (["x/1/a.png", "y/2/b.png"], {"x": [0], "y": [1]}),
    ],
)
def test_class_folders(names, classes):
    assert find_class_folders(dict(enumerate(names))) == classes
