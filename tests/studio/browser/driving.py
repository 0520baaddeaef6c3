"""Driving the page as a person does, and looking at it through `window.studio`."""

import time
from typing import Any

# The page must not run strings as code, which Playwright's own `wait_for_function` does; so we ask again and again.
POLL_MILLISECONDS = 30


def wait_until(page: Any, expression: str, seconds: float = 120) -> None:
    """Wait until an expression of JavaScript is true."""
    end = time.monotonic() + seconds
    while not page.evaluate(f"() => Boolean({expression})"):
        assert time.monotonic() < end, f"in {seconds} s this did not become true: {expression}"
        page.wait_for_timeout(POLL_MILLISECONDS)


def state(page: Any) -> dict[str, Any]:
    """Return the state of the page."""
    return page.evaluate("() => studio.state()")


def drag(page: Any, *places: tuple[float, float], button: str = "left") -> None:
    """Press the mouse at the first place (row, column) of the image, move it along the others, let go."""
    points = [page.evaluate("place => studio.pageOf(...place)", list(place)) for place in places]
    page.mouse.move(points[0]["x"], points[0]["y"])
    page.mouse.down(button=button)
    for point in points[1:]:
        page.mouse.move(point["x"], point["y"], steps=5)
    page.mouse.up(button=button)


def label_at(page: Any, row: int, col: int, layer: str = "labels") -> int:
    """Return the class number that is painted at a pixel."""
    return page.evaluate("place => studio.labelAt(...place)", [row, col, layer])


def wait_for_label(page: Any, row: int, col: int, number: int, layer: str = "labels") -> None:
    """Wait until a pixel has a class number."""
    wait_until(page, f"studio.labelAt({row}, {col}, '{layer}') === {number}")


def wait_until_saved(page: Any) -> None:
    """Wait until the server has saved all strokes."""
    wait_until(page, "studio.state().n_unsaved === 0 && studio.isIdle()")


def colour_at(page: Any, row: int, col: int) -> list[int]:
    """Return red, green and blue of the canvas at a pixel of the image."""
    return page.evaluate(
        """([row, col]) => {
          const canvas = document.getElementById('canvas');
          const box = canvas.getBoundingClientRect();
          const {x, y} = studio.pageOf(row, col);
          const scale = canvas.width / box.width;
          const data = canvas.getContext('2d').getImageData((x - box.left) * scale, (y - box.top) * scale, 1, 1).data;
          return [...data.slice(0, 3)];
        }""",
        [row, col],
    )
