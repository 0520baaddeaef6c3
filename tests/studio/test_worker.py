"""Models depend on the strokes alone: not on what was looked at, nor on what was undone, nor on restarts."""

import threading

import numpy as np
import pytest

from invariance.segmentation import View
from invariance.studio.live_engine import LiveEngine, switches_text
from invariance.studio.painting import Painting
from invariance.studio.project import Project
from invariance.studio.rasters import PageKey
from invariance.studio.sources import Sources
from invariance.studio.worker import Worker
from tests.studio.driving import write_images

SIDE = 120
STROKES = [(2, [[20, 20], [90, 30]], 1), (1, [[20, 90], [90, 100]], 2), (3, [[30, 25], [60, 25]], 1), (2, [[9, 99]], 2)]


@pytest.fixture
def opened(tmp_path):
    write_images(tmp_path, 4, SIDE)
    project = Project(tmp_path)
    sources = Sources(project)
    yield project, sources, Painting(project, sources)
    project.close()


def paint(painting, strokes=STROKES):
    for image, points, number in strokes:
        painting.stroke(PageKey(image, 0, "labels"), "brush", number, 4.0, np.asarray(points, float))


def predict(engine, image=2):
    engine.follow()
    engine.live.update()
    engine.live.export()
    (tile,) = engine.live.predict(View(engine.index_of(image, 0), 0, 0, SIDE, SIDE))
    assert tile.stage == "refined"
    return tile.probabilities, engine.live.scores(by="image").confusion


def test_the_order_of_looking_does_not_change_a_model(opened):
    _, sources, painting = opened
    paint(painting)
    found = []
    for seen in ([], [4, 3, 2, 1]):
        engine = LiveEngine(sources, painting, ["rotations"])
        for image in seen:
            engine.index_of(image, 0)
        found.append(predict(engine))
        engine.close()
    for probabilities, confusion in found[1:]:
        np.testing.assert_array_equal(probabilities, found[0][0])
        np.testing.assert_array_equal(confusion, found[0][1])


def test_an_engine_that_followed_every_step_equals_a_new_one(opened):
    _, sources, painting = opened
    engine = LiveEngine(sources, painting, [])
    for number, stroke in enumerate(STROKES):
        paint(painting, [stroke])
        engine.follow()
        if number % 2:
            painting.travel(is_undo=True)
            engine.follow()
            painting.travel(is_undo=False)
    painting.remove_class(2)
    engine.follow()
    painting.travel(is_undo=True)
    again = LiveEngine(sources, painting, [])
    np.testing.assert_array_equal(predict(engine)[0], predict(again)[0])
    engine.close()
    again.close()


def test_other_switches_make_larger_versions(opened):
    _, sources, painting = opened
    paint(painting)
    engine = LiveEngine(sources, painting, ["rotations"])
    engine.follow()
    before = engine.version
    assert not engine.choose(["rotations"])
    assert engine.choose(["light", "scales"])
    engine.follow()
    assert engine.version > before
    engine.close()


@pytest.mark.parametrize(("switches", "text"), [([], None), (["light", "rotations"], "rotations:16,illumination:32")])
def test_switches_are_written_as_for_the_command_line(switches, text):
    assert switches_text(switches) == text


class Recorder:
    """Stands in for an outbox."""

    def __init__(self):
        self.tiles, self.changed = [], threading.Condition()

    def show_prediction(self, place, header, payload):
        with self.changed:
            self.tiles.append((place, header, payload))
            self.changed.notify_all()

    def keep_predictions(self, places):
        pass

    def wait(self, is_wanted):
        with self.changed:
            assert self.changed.wait_for(lambda: any(is_wanted(header) for _, header, _ in self.tiles), 300)


def test_versions_and_stages_of_a_place_only_grow(opened):
    _, sources, painting = opened
    engine, events = LiveEngine(sources, painting, []), []
    worker = Worker(engine, events.append, lambda action, check: check())
    outbox = Recorder()
    worker.show(1, (2, 0, 0, 0, SIDE, SIDE, 1), outbox)
    for stroke in STROKES:
        paint(painting, [stroke])
        worker.painted()
    outbox.wait(lambda header: header["stage"] == "refined" and header["version"] == len(STROKES))
    worker.show(1, (2, 0, 0, 0, SIDE, SIDE // 2, 1), outbox)
    worker.close()
    engine.close()
    order = [(header["version"], header["stage"]) for _, header, _ in outbox.tiles]
    assert order == sorted(set(order))
    assert {event["event"] for event in events} == {"status"}
    last = [event for event in events if not event["busy"]][-1]
    assert last["stage"] == "refined"


def test_fewer_than_two_classes_are_no_model(opened):
    _, sources, painting = opened
    paint(painting, STROKES[:1])
    engine, events = LiveEngine(sources, painting, []), []
    ended = threading.Event()
    worker = Worker(engine, lambda event: (events.append(event), ended.set()), lambda action, check: None)
    assert ended.wait(300)
    worker.close()
    engine.close()
    assert (events[0]["stage"], events[0]["busy"]) == (None, False)
    assert "two classes" in events[0]["text"]


@pytest.mark.parametrize("view", [None, (2, 0, 0, 0, SIDE, SIDE, 8)])
def test_a_refined_model_that_nobody_sees_is_announced_once(opened, view):
    """Nobody looks, or at so low a resolution that the instant model is shown."""
    _, sources, painting = opened
    paint(painting)
    engine, events, changed = LiveEngine(sources, painting, []), [], threading.Condition()

    def send(event):
        with changed:
            events.append(event)
            changed.notify_all()

    worker = Worker(engine, send, lambda action, check: None)
    if view is not None:
        worker.show(1, view, Recorder())
    with changed:
        assert changed.wait_for(lambda: events and events[-1]["stage"] == "refined", 300)
        n_events = len(events)
        assert not changed.wait_for(lambda: len(events) > n_events + 1, 1.0)
    assert {event["seconds"] for event in events} == {None}  # these strokes ended before the worker began
    worker.close()
    engine.close()
