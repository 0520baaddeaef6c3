"""Exports and imports in a browser: started from the panel, followed, cancelled, downloaded."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from invariance import datasets
from invariance.models import load
from invariance.studio.painting import Painting
from invariance.studio.project import Project
from invariance.studio.rasters import PageKey
from invariance.studio.sources import Sources
from tests.studio.browser.conftest import Studio
from tests.studio.browser.driving import wait_until

SIDE = 96
LONG = 120_000  # milliseconds


@pytest.fixture(scope="module")
def painted(tmp_path_factory: pytest.TempPathFactory, browser: Any) -> Iterator[Studio]:
    """A studio on two small images, of which one is painted, and a mask beside them."""
    folder = tmp_path_factory.mktemp("painted")
    found = datasets.make_membranes(2, (SIDE, SIDE), cell_size=24, random_state=3)
    for name, image in zip("ab", found.images, strict=True):
        cv2.imwrite(str(folder / f"{name}.png"), np.rint(255 * image).astype(np.uint8))
    project = Project(folder)
    sources = Sources(project)
    painting, image = Painting(project, sources), sources.images()[0].id
    for number, where in ((1, ~found.masks[0]), (2, found.masks[0])):
        mask = np.where(where, number, 0).astype(np.uint8)
        mask[::2] = mask[:, ::2] = 0  # many small strokes
        painting.paint_mask(PageKey(image, 0, "labels"), mask)
    project.close()
    (folder / "masks").mkdir()
    cv2.imwrite(str(folder / "masks" / "b.png"), found.masks[1].astype(np.uint8) * 2)
    shared = Studio(folder)
    yield shared
    shared.stop()


@pytest.fixture(scope="module")
def opened(painted: Studio, open_page: Callable[..., Any]) -> Any:
    """The page of that studio, which all tests share."""
    return open_page(painted)


@pytest.fixture
def page(opened: Any) -> Any:
    """The page with the panel of exports."""
    if opened.locator("#jobs-panel").is_hidden():
        opened.click("#jobs-button")
    opened.wait_for_selector("#jobs-panel:visible")
    return opened


def finish(page: Any, kind: str, state: str = "done") -> Any:
    """Wait for the newest job of a kind; return its entry."""
    entry = page.locator(f".job[data-kind={kind}]").first
    page.wait_for_selector(f".job[data-kind={kind}][data-state={state}]", timeout=LONG)
    return entry


def test_a_model_is_exported_and_downloaded(page: Any, painted: Studio, tmp_path: Path) -> None:
    page.click("button[data-kind=export-model]")
    entry = finish(page, "export-model")
    assert (painted.folder / "invariance-studio" / "exports" / "model.inv").is_file()
    with page.expect_download() as download:
        entry.get_by_text("Download").click()
    assert download.value.suggested_filename == "model.inv"
    download.value.save_as(tmp_path / "model.inv")
    assert load(tmp_path / "model.inv").classes_.tolist() == [1, 2]
    entry.locator("summary").click()
    command = entry.locator(".command").inner_text()
    assert command.startswith("invariance fit-pixels ")
    entry.locator("details button").click()
    page.wait_for_selector("text=/Copied|does not allow/")


def test_masks_are_written_to_a_folder(page: Any, painted: Studio) -> None:
    page.click("button[data-kind=export-masks]")
    entry = finish(page, "export-masks")
    folder = painted.folder / "invariance-studio" / "exports" / "masks"
    assert (folder / "a.png").is_file()
    assert (folder / "b.png").is_file()
    assert str(folder) in entry.inner_text()


def test_masks_are_imported_and_undone(page: Any) -> None:
    page.fill("#import-path", "masks")
    page.click("#import-masks")
    entry = finish(page, "import-masks")
    assert "1 pages of 1 images" in entry.inner_text()
    n_painted = "studio.state().images.filter((image) => image.n_labelled_pages > 0).length"
    wait_until(page, f"{n_painted} === 2")
    page.keyboard.press("Escape")
    page.keyboard.press("Control+z")
    wait_until(page, f"{n_painted} === 1")


def test_a_wrong_path_is_said(page: Any) -> None:
    page.fill("#import-path", "../..")
    page.click("#import-masks")
    entry = finish(page, "import-masks", "failed")
    assert "not under the opened folder" in entry.inner_text()


def test_a_job_is_cancelled(page: Any) -> None:
    page.click("button[data-kind=export-probabilities]")
    page.click("button[data-kind=export-report]")  # it waits for the one before it
    waiting = page.locator(".job[data-kind=export-report]").first
    waiting.get_by_label("Cancel Report").click()
    finish(page, "export-report", "cancelled")
    finish(page, "export-probabilities")


def test_the_panel_closes_by_key_and_outside(page: Any) -> None:
    page.keyboard.press("Escape")
    page.wait_for_selector("#jobs-panel", state="hidden")
    assert page.evaluate("() => document.activeElement.id") == "jobs-button"
    page.keyboard.press("Enter")
    page.wait_for_selector("#jobs-panel:visible")
    page.mouse.click(600, 500)
    page.wait_for_selector("#jobs-panel", state="hidden")
