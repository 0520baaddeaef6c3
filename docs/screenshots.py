"""Take the screenshots of `studio.md`: open the studio on its sample images and work in it, as the page tells.

    python docs/screenshots.py

needs the extra `[studio]`, Playwright, and an installed Chromium. The images are the same for the same version, except
for the times that the page shows.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image

from invariance.studio.samples import make_samples

FOLDER = Path(__file__).parent / "images"
SIZE = {"width": 1280, "height": 800}
COLOURS = 256  # of a screenshot, so that none takes more than 300 KB
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
LONG = 600  # seconds


def main() -> None:
    """Take all screenshots."""
    from playwright.sync_api import sync_playwright

    with (
        tempfile.TemporaryDirectory() as place,
        sync_playwright() as playwright,
        studio(make_samples(Path(place) / "samples")) as address,
    ):
        path = next(filter(None, map(shutil.which, BROWSERS)))
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        page = browser.new_page(viewport=SIZE)
        page.add_init_script("localStorage.setItem('studio.guide.done', 'yes')")
        page.goto(address)
        show_pixels(page)
        show_exports(page)
        show_images(page)
        browser.close()


@contextmanager
def studio(folder: Path) -> Iterator[str]:
    """Run the studio on a folder; yield its address."""
    command = [sys.executable, "-u", "-m", "invariance", "studio", str(folder), "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    try:
        assert process.stdout is not None
        yield next(found.group() for line in process.stdout if (found := re.search(r"http://\S+", line)))
    finally:
        process.terminate()
        process.wait()


def show_pixels(page: Any) -> None:
    """The page with strokes and a prediction, then the layer of uncertainty."""
    wait(page, "studio.state().scores?.overall && studio.state().status.stage === 'refined' && studio.isIdle()")
    shoot(page, "pixels")
    page.keyboard.press("u")
    page.wait_for_timeout(1000)
    shoot(page, "uncertainty")
    page.keyboard.press("s")


def show_exports(page: Any) -> None:
    """The panel with an exported model and its command line."""
    page.click("#jobs-button")
    page.click("button[data-kind=export-model]")
    page.wait_for_selector(".job[data-kind=export-model][data-state=done]", timeout=LONG * 1000)
    page.locator(".job[data-kind=export-model] summary").click()
    shoot(page, "export")
    page.keyboard.press("Escape")


def show_images(page: Any) -> None:
    """The grid, then what is doubtful after training, then advice."""
    page.click("#mode-images")
    page.select_option(".grid-stage .select", "unlabelled")
    page.locator(".tile[aria-posinset='8']").click()
    page.locator(".tile[aria-posinset='10']").click(modifiers=["Shift"])
    page.wait_for_timeout(1500)
    shoot(page, "images")
    page.select_option(".grid-stage .select", "all")
    page.click("#train")
    wait(page, "studio.state().image_predictions")
    page.click("#see-doubt")
    page.wait_for_timeout(1500)
    shoot(page, "doubt")
    page.click("#advise")
    page.wait_for_selector(".advice-row", timeout=LONG * 1000)
    page.locator("#section-image-advice").scroll_into_view_if_needed()
    page.evaluate("() => document.querySelector('#advice').scrollIntoView({ block: 'start' })")
    shoot(page, "advice")


def wait(page: Any, condition: str) -> None:
    """Wait until an expression is true; the page does not run strings, so it is asked again and again."""
    end = time.monotonic() + LONG
    while not page.evaluate(f"() => Boolean({condition})"):
        if time.monotonic() > end:
            raise TimeoutError(condition)
        page.wait_for_timeout(200)


def shoot(page: Any, name: str) -> None:
    """Save a screenshot with few colours."""
    path = FOLDER / f"studio-{name}.png"
    page.mouse.move(640, 790)
    page.screenshot(path=path)
    with Image.open(path) as image:
        few = image.convert("RGB").quantize(COLOURS, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    few.save(path, optimize=True)
    print(f"{path}: {path.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
