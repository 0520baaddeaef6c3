"""A studio on generated images, and one installed Chromium for all tests of the page."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from invariance import datasets
from tests.studio.browser.driving import wait_until

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SHAPE = (300, 400)


def skip(reason: str) -> None:
    """Skip the test, or fail where a browser is required."""
    if os.environ.get("INVARIANCE_REQUIRE_BROWSER"):
        pytest.fail(reason)
    pytest.skip(reason)


class Studio:
    """The command `invariance studio` as a process of its own.

    Parameters
    ----------
    folder : Path
        The folder of the images.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self.port = 0
        self.start()

    def start(self) -> None:
        """Start it, on the same port as before, and read its address."""
        command = [sys.executable, "-m", "invariance", "studio", str(self.folder), "--no-browser"]
        command += ["--port", str(self.port)] if self.port else []
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
        )
        said = ""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            said += line
            found = re.search(r"http://\S+:(\d+)/\S*", line)
            if found:
                self.address, self.port = found.group(), int(found.group(1))
                return
        raise AssertionError(f"the studio did not start:\n{said}")

    def kill(self) -> None:
        """End it as `kill -9` does."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """End it in the usual way."""
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.kill()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """An installed Chromium."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        skip("no Chromium is installed, so the page of the studio is not tested. Try: apt install chromium")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield launched
        launched.close()


def write_images(folder: Path) -> Path:
    """Write two grey images into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    images = datasets.make_membranes(2, SHAPE, random_state=0).images
    for name, image in zip("ab", images, strict=True):
        cv2.imwrite(str(folder / f"{name}.png"), np.round(255 * image.clip(0, 1)).astype(np.uint8))
    return folder


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory, browser: Any) -> Iterator[Studio]:
    """A studio that the tests of a file share; each leaves it as it likes, and none expects it empty."""
    shared = Studio(write_images(tmp_path_factory.mktemp("studio") / "images"))
    yield shared
    shared.stop()


def state_is_pixels(page: Any) -> bool:
    """Whether the page opened in the pixel mode."""
    return page.evaluate("() => studio.state().mode === 'pixels'")


@pytest.fixture(scope="module")
def open_page(browser: Any) -> Iterator[Callable[..., Any]]:
    """Return a function that opens a page in a fresh profile; complaints of pages fail the last test of the file."""
    contexts, complaints = [], []

    def open_one(studio: Studio, context: Any = None, is_fresh: bool = False, before: str = "", **options: Any) -> Any:
        if context is None:
            context = browser.new_context(viewport={"width": 1280, "height": 800}, **options)
            contexts.append(context)
            if not is_fresh:
                context.add_init_script("localStorage.setItem('studio.guide.done', 'yes')")
        page = context.new_page()
        if before:
            page.add_init_script(before)
        page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(studio.address)
        wait_until(page, "window.studio?.state().is_loaded")
        if state_is_pixels(page):
            wait_until(page, "studio.state().view && studio.isIdle()")
        return page

    yield open_one
    for context in contexts:
        context.close()
    expected = ("net::ERR_CONNECTION_", "WebSocket connection to", "status of 403")
    assert [said for said in complaints if not any(part in said for part in expected)] == []
