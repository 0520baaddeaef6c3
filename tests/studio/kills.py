"""Kill a studio while it is painted on: no acknowledged stroke is lost, and none that is sent again is there twice.

Usage: python -m tests.studio.kills [NUMBER]
"""

import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from websockets.exceptions import ConnectionClosed

from invariance.segmentation import brush_pixels
from invariance.studio.painting import Painting
from invariance.studio.project import Project
from invariance.studio.sources import Sources
from tests.studio.driving import Client, Server, write_images

SHAPE = (300, 300)


def paint_until_killed(server, rng, history, seconds, lost):
    """Paint, undo and redo; `history` is what was acknowledged: strokes, and how many are not undone.

    First sends two strokes again, as a page that got no reply does: the last that was acknowledged, and what was sent
    last before the kill before, `lost`, with whether it was saved then. Returns what was sent last, which may or
    may not have happened.
    """
    client = Client(server)
    client.must("open")
    for fields in history[0][-1:]:
        assert client.must("stroke", **fields)["is_repeated"]
    asked, was_saved = lost
    if asked is not None and asked[0] == ("stroke",):
        assert client.must("stroke", **asked[1])["is_repeated"] == was_saved
        if not was_saved:
            follow(history, asked)
    client.must("view", image=1, page=0, top=0, left=0, bottom=300, right=300, step=1)
    killer = threading.Timer(seconds, server.process.kill)
    killer.start()
    asked = None
    try:
        while True:
            asked = choose(rng, history)
            reply = client.do(*asked[0], **asked[1])
            assert reply["ok"], reply
            follow(history, asked)
    except (ConnectionClosed, TimeoutError, ConnectionError):
        return asked
    finally:
        killer.join()
        server.process.communicate()


def choose(rng, history):
    """Draw what to do next: mostly strokes."""
    strokes, n_done = history
    if rng.random() < 0.15 and n_done:
        return ("undo",), {}
    if rng.random() < 0.5 and n_done < len(strokes):
        return ("redo",), {}
    points = np.round(rng.uniform(0, 299, (3, 2)) * 8) / 8
    fields = {"image": int(rng.integers(1, 3)), "class": int(rng.integers(0, 3)), "radius": 6.0}
    fields |= {"page": 0, "layer": "labels", "tool": "brush", "points": points.ravel().tolist()}
    return ("stroke",), fields | {"stroke_id": rng.bytes(16).hex()}


def follow(history, asked):
    """Do to a history what was asked for."""
    strokes, n_done = history
    match asked[0][0]:
        case "undo":
            history[1] -= 1
        case "redo":
            history[1] += 1
        case _:
            history[:] = [[*strokes[:n_done], asked[1]], n_done + 1]


def draw(strokes):
    """Labels of the two images."""
    labels = {1: np.zeros(SHAPE, np.uint8), 2: np.zeros(SHAPE, np.uint8)}
    for fields in strokes:
        rows, cols = brush_pixels(np.reshape(fields["points"], (-1, 2)), fields["radius"], SHAPE)
        labels[fields["image"]][rows, cols] = fields["class"]
    return labels


def read(folder):
    """What is in the project: labels, and numbers of actions done and undone."""
    project = Project(folder)
    painting = Painting(project, Sources(project))
    labels = {image: painting.labels_of(image, 0, "labels") for image in (1, 2)}
    n_done, n_undone = len(project.actions("pixels")), 0
    while project.redo() is not None:
        n_undone += 1
    for _ in range(n_undone):
        project.undo()
    project.close()
    return labels, (n_done, n_done + n_undone)


def is_same(found, history):
    labels, counts = found
    expected = draw(history[0][: history[1]])
    return counts == (history[1], len(history[0])) and all(np.array_equal(labels[key], expected[key]) for key in labels)


def kill(folder, rng, history, seconds, lost):
    """Start a studio, paint, kill it, and compare; `history` is what is there afterwards.

    Returns what was sent last, and whether it was saved.
    """
    with Server(folder) as server:
        asked = paint_until_killed(server, rng, history, seconds, lost)
    found = read(folder)
    if is_same(found, history):
        return asked, False
    if asked is not None:
        follow(history, asked)
        if is_same(found, history):
            return asked, True
    raise AssertionError("an acknowledged stroke was lost, or something else was saved")


def run(n_kills, folder, seed=0):
    """Kill a studio several times, each time with the project of the time before."""
    rng = np.random.default_rng(seed)
    history, lost = [[], 0], (None, False)
    for number in range(n_kills):
        started = time.monotonic()
        lost = kill(folder, rng, history, float(rng.uniform(0.05, 2.0)), lost)
        seconds = time.monotonic() - started
        what = "saved" if lost[1] else "not saved"
        yield f"kill {number + 1}: {history[1]} of {len(history[0])} actions, the last was {what}, {seconds:.1f} s"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        for line in run(int(sys.argv[1]) if len(sys.argv) > 1 else 100, write_images(Path(name))):
            print(line, flush=True)
    print("No acknowledged stroke was lost.")
