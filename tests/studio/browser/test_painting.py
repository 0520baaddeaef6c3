"""Painting in the page: strokes, tools, undo and redo, what survives, and that two tabs agree."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from invariance.segmentation import brush_pixels, fill_pixels
from tests.studio.browser.conftest import Studio
from tests.studio.browser.driving import (
    colour_at,
    drag,
    label_at,
    state,
    wait_for_label,
    wait_until,
    wait_until_saved,
)

PINCH = """
([from, to]) => {
  const canvas = document.getElementById('canvas');
  canvas.setPointerCapture = () => {};  // pointers that are made up cannot be captured
  const touch = (type, id, x, y) => canvas.dispatchEvent(
    new PointerEvent(type, {pointerId: id, pointerType: 'touch', clientX: x, clientY: y, buttons: 1, bubbles: true}));
  const middle = {x: (from.x + to.x) / 2, y: (from.y + to.y) / 2};
  touch('pointerdown', 11, from.x, from.y);
  touch('pointermove', 11, from.x - 4, from.y);
  touch('pointerdown', 12, to.x, to.y);
  touch('pointermove', 11, 2 * from.x - middle.x, 2 * from.y - middle.y);
  touch('pointermove', 12, 2 * to.x - middle.x, 2 * to.y - middle.y);
  touch('pointerup', 11, from.x, from.y);
  touch('pointerup', 12, to.x, to.y);
  delete canvas.setPointerCapture;
}
"""
# The first reply to a stroke is dropped with its line, as if the network had failed after the server had saved it.
LOSE_REPLIES = """
  window.nSent = window.nLost = 0;
  const strokes = new Set(), { send, addEventListener } = WebSocket.prototype;
  WebSocket.prototype.send = function (text) {
    const message = JSON.parse(text);
    if (message.do === 'stroke') {
      window.nSent += 1;
      strokes.add(message.id);
    }
    send.call(this, text);
  };
  WebSocket.prototype.addEventListener = function (type, run) {
    addEventListener.call(this, type, (event) => {
      const isReply = type === 'message' && typeof event.data === 'string' && strokes.has(JSON.parse(event.data).reply);
      if (!isReply || window.nLost) return run(event);
      window.nLost += 1;
      this.close();
    });
  };
"""
RADII = [0.5, 1.5, 2.5, 3.5, 5.5, 11.5, 15.5, 30.5]  # of the page
VISIT = """
async strokes => {
  const { visitStroke } = await import('/page/raster.js');
  return strokes.map(stroke => {
    const runs = [];
    visitStroke(stroke, stroke.height, stroke.width, (row, start, stop) => runs.push(row, start, stop));
    return runs.join();
  });
}
"""


def random_stroke(rng: np.random.Generator) -> dict[str, Any]:
    """Draw a stroke as the page sends it: rounded to eighths, in part outside of the image."""
    tool = str(rng.choice(["brush", "fill"]))
    height, width = (int(side) for side in rng.integers(20, 200, 2))
    points = np.round(8 * rng.uniform(-30, 230, (int(rng.integers(3 if tool == "fill" else 1, 12)), 2))) / 8
    if rng.random() < 0.3:
        points = np.round(points)  # corners on the centres of pixels: ties
    radius = float(rng.choice(RADII))
    return {"tool": tool, "points": points.ravel().tolist(), "radius": radius, "height": height, "width": width}


@pytest.fixture(scope="module")
def opened(studio: Studio, open_page: Callable[..., Any]) -> Any:
    """The page of the shared studio."""
    return open_page(studio)


@pytest.fixture
def page(opened: Any) -> Any:
    """The page of the shared studio, without labels, with the first class and the brush."""
    opened.bring_to_front()
    while state(opened)["can_undo"]:
        opened.keyboard.press("Control+z")
        opened.wait_for_timeout(20)
    for key in "01b":
        opened.keyboard.press(key)
    wait_until(opened, "studio.isIdle() && studio.labelCounts().slice(1).every(n => n === 0)")
    return opened


def test_a_stroke_is_shown_at_once_and_saved(page: Any) -> None:
    before = colour_at(page, 50, 60)
    points = [page.evaluate("place => studio.pageOf(...place)", place) for place in ([50, 40], [50, 80])]
    page.mouse.move(points[0]["x"], points[0]["y"])
    page.mouse.down()
    page.mouse.move(points[1]["x"], points[1]["y"], steps=5)
    assert label_at(page, 50, 60) == 1  # before the button is let go
    page.mouse.up()
    wait_until_saved(page)
    assert label_at(page, 50, 60) == 1
    assert label_at(page, 60, 60) == 0
    page.mouse.move(5, 400)
    assert colour_at(page, 50, 60) != before


def test_the_prediction_of_two_classes_appears_and_changes_the_canvas(page: Any) -> None:
    before = colour_at(page, 250, 350)
    drag(page, (50, 40), (50, 80))
    page.keyboard.press("2")
    drag(page, (150, 40), (150, 80))
    wait_until(page, "studio.predictionAt(250, 350)")
    shares = page.evaluate("() => studio.predictionAt(250, 350)")
    assert set(shares) == {"1", "2"}
    assert abs(sum(shares.values()) - 1) < 0.02
    wait_until(page, "!studio.state().status.busy && studio.isIdle()")
    assert colour_at(page, 250, 350) != before
    assert state(page)["status"]["seconds"] > 0
    page.keyboard.press("s")  # off
    wait_until(page, "studio.isIdle()")
    assert colour_at(page, 250, 350) == before


def test_undo_and_redo_go_stroke_by_stroke(page: Any) -> None:
    drag(page, (50, 40), (50, 80))
    drag(page, (90, 40), (90, 80))
    wait_until_saved(page)
    page.keyboard.press("Control+z")
    wait_for_label(page, 90, 60, 0)
    assert label_at(page, 50, 60) == 1
    page.click("#undo")
    wait_for_label(page, 50, 60, 0)
    page.keyboard.press("Control+y")
    wait_for_label(page, 50, 60, 1)
    page.keyboard.press("Control+Shift+z")
    wait_for_label(page, 90, 60, 1)
    wait_until(page, "!studio.state().can_redo")


@pytest.mark.parametrize("how", ["tool", "right button", "shift"])
def test_erasing(page: Any, how: str) -> None:
    drag(page, (50, 40), (50, 80))
    if how == "tool":
        page.keyboard.press("e")
    if how == "shift":
        page.keyboard.down("Shift")
    drag(page, (40, 60), (60, 60), button="right" if how == "right button" else "left")
    page.keyboard.up("Shift")
    wait_until_saved(page)
    assert label_at(page, 50, 60) == 0
    assert label_at(page, 50, 45) == 1


def test_line_and_fill(page: Any) -> None:
    page.keyboard.press("i")
    drag(page, (20, 20), (35, 90), (20, 100))  # the detour does not matter
    page.keyboard.press("f")
    drag(page, (100, 100), (100, 160), (160, 160), (160, 100))
    wait_until_saved(page)
    assert label_at(page, 20, 60) == 1
    assert label_at(page, 35, 90) == 0
    assert label_at(page, 130, 130) == 1
    assert label_at(page, 130, 90) == 0


def test_space_moves_and_the_wheel_zooms_at_the_pointer(page: Any) -> None:
    place = page.evaluate("() => studio.pageOf(100, 100)")
    page.mouse.move(place["x"], place["y"])
    page.mouse.wheel(0, -300)
    wait_until(page, "studio.isIdle()")
    after = page.evaluate("() => studio.pageOf(100, 100)")
    assert abs(after["x"] - place["x"]) < 1
    assert abs(after["y"] - place["y"]) < 1
    row = state(page)["view"]["row"]
    page.keyboard.down("Space")
    drag(page, (100, 100), (80, 100))
    page.keyboard.up("Space")
    assert state(page)["view"]["row"] > row
    assert label_at(page, 100, 100) == 0


def test_two_fingers_zoom_and_leave_no_stroke(page: Any) -> None:
    zoom = state(page)["view"]["zoom"]
    places = [page.evaluate("place => studio.pageOf(...place)", place) for place in ([100, 100], [140, 160])]
    page.evaluate(PINCH, places)
    assert 1.8 < state(page)["view"]["zoom"] / zoom < 2.2
    wait_until(page, "studio.isIdle() && studio.labelCounts().slice(1).every(n => n === 0)")
    assert not state(page)["can_undo"]


def test_the_page_covers_the_same_pixels_as_the_server(page: Any) -> None:
    rng = np.random.default_rng(0)
    strokes = [random_stroke(rng) for _ in range(200)]
    n_pixels = 0
    for stroke, runs in zip(strokes, page.evaluate(VISIT, strokes), strict=True):
        shape = stroke["height"], stroke["width"]
        shown, expected = np.zeros(shape, bool), np.zeros(shape, bool)
        for row, start, stop in np.fromstring(runs, int, sep=",").reshape(-1, 3):
            shown[row, start:stop] = True
        points = np.reshape(stroke["points"], (-1, 2))
        is_fill = stroke["tool"] == "fill"
        expected[fill_pixels(points, shape) if is_fill else brush_pixels(points, stroke["radius"], shape)] = True
        assert np.array_equal(shown, expected), stroke
        n_pixels += int(expected.sum())
    assert n_pixels > 100_000


def test_two_tabs_agree(page: Any, studio: Studio, open_page: Callable[..., Any]) -> None:
    other = open_page(studio, page.context)
    drag(page, (50, 40), (50, 80))
    wait_for_label(other, 50, 60, 1)
    other.bring_to_front()
    other.keyboard.press("2")
    drag(other, (50, 70), (50, 100))
    wait_for_label(page, 50, 90, 2)
    assert label_at(page, 50, 50) == 1
    other.keyboard.press("Control+z")
    wait_for_label(page, 50, 90, 0)
    wait_for_label(page, 50, 75, 1)
    assert page.evaluate("() => studio.labelCounts()") == other.evaluate("() => studio.labelCounts()")


def test_live_is_switched_in_all_tabs(page: Any, studio: Studio, open_page: Callable[..., Any]) -> None:
    other = open_page(studio, page.context)
    for is_live in ("false", "true"):
        page.bring_to_front()
        page.keyboard.press("l")
        other.wait_for_selector(f"#live[aria-checked={is_live}]")
    page.wait_for_selector("#live[aria-checked=true]")
    other.close()


def test_a_stroke_whose_reply_is_lost_is_there_once(studio: Studio, page: Any, open_page: Callable[..., Any]) -> None:
    other = open_page(studio, page.context, before=LOSE_REPLIES)
    drag(other, (50, 40), (50, 80))
    wait_until(other, "window.nLost === 1 && window.nSent === 2 && studio.state().n_unsaved === 0")
    wait_for_label(page, 50, 60, 1)
    page.keyboard.press("Control+z")  # in the tab that did not paint
    for tab in (page, other):
        wait_for_label(tab, 50, 60, 0)
        wait_until(tab, "!studio.state().can_undo")
    other.close()


def test_nothing_is_lost_when_the_server_is_killed(page: Any, studio: Studio, open_page: Callable[..., Any]) -> None:
    drag(page, (50, 40), (50, 80))
    page.keyboard.press("2")
    drag(page, (90, 40), (90, 80))
    wait_until_saved(page)
    n_first = page.evaluate("() => studio.labelCounts()[1]")
    studio.kill()
    wait_until(page, "studio.state().line === 'lost'")
    drag(page, (200, 40), (200, 80))  # painted without the server: kept
    assert label_at(page, 200, 60) == 2
    assert "not saved" in page.locator("#status").inner_text()
    studio.start()
    again = open_page(studio, page.context)
    wait_until(again, f"studio.labelCounts()[1] === {n_first}")
    wait_for_label(again, 50, 60, 1)
    wait_for_label(again, 90, 60, 2)
    # The cookie of the new address is shared, so that the first tab finds back and saves what it kept.
    wait_until(page, "studio.state().line === 'open' && studio.state().n_unsaved === 0")
    wait_for_label(again, 200, 60, 2)
    for row in (200, 90, 50):  # the history survived too
        again.keyboard.press("Control+z")
        wait_for_label(again, row, 60, 0)
