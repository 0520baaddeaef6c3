"""Image mode in a browser: a grid of thousands, labels by keys and by dragging, training, mistakes, advice."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from tests.studio.browser.conftest import Studio
from tests.studio.browser.driving import state, wait_until

N_PER_CLASS, SIDE = 10, 32
LONG = 120_000  # milliseconds; training takes a few seconds where nothing else runs


def draw(kind: str, rng: np.random.Generator) -> np.ndarray:
    """Draw dots or bars, easy to tell apart."""
    image = rng.normal(80, 6, (SIDE, SIDE))
    if kind == "bars":
        image[:, rng.integers(0, 4) :: 8] = 220
    for _ in range(12 if kind == "dots" else 0):
        row, col = rng.integers(2, SIDE - 4, 2)
        image[row : row + 3, col : col + 3] = 220
    return image.clip(0, 255).astype(np.uint8)


@pytest.fixture(scope="module")
def sorted_studio(tmp_path_factory: pytest.TempPathFactory, browser: Any) -> Iterator[Studio]:
    """A studio on images in two sub-folders."""
    folder, rng = tmp_path_factory.mktemp("sorted"), np.random.default_rng(0)
    for kind in ("bars", "dots"):
        (folder / kind).mkdir()
        for number in range(N_PER_CLASS):
            cv2.imwrite(str(folder / kind / f"{number:02}.png"), draw(kind, rng))
    shared = Studio(folder)
    yield shared
    shared.stop()


@pytest.fixture(scope="module")
def opened(sorted_studio: Studio, open_page: Callable[..., Any]) -> Any:
    """The page of that studio, which all tests share."""
    return show_images(open_page(sorted_studio))


@pytest.fixture
def page(opened: Any) -> Any:
    """The grid of that studio: all images by name, none selected, nothing over them."""
    opened.bring_to_front()
    for _ in range(2):  # once for the panel of exports, once for the selection
        opened.keyboard.press("Escape")
    opened.select_option(".grid-stage .select", "all")
    opened.locator(".grid-stage .segmented label", has_text="Name").click()
    opened.wait_for_selector(".tile[aria-posinset='1']")
    opened.wait_for_selector(".tile.is-selected", state="detached")
    return opened


def show_images(page: Any) -> Any:
    page.click("#mode-images")
    page.wait_for_selector(".tile")
    return page


def wait(page: Any, condition: str) -> None:
    wait_until(page, condition, LONG / 1000)


def labels(page: Any) -> dict[int, int]:
    """The labels that the server has."""
    return {int(image): number for image, number in (state(page)["image_labels"] or {}).items()}


def test_folders_are_offered_as_classes_and_undone(page: Any) -> None:
    offer = page.locator(".offer")
    assert "“bars”, “dots”" in offer.inner_text()
    page.click("#use-folders")
    wait(page, "studio.state().images.every((image) => image.label)")
    assert page.locator(".image-class .class-name").all_inner_texts() == ["bars", "dots", "No label"]
    assert offer.is_hidden()
    assert page.locator(".tile-chip:not(.is-predicted)").count() == 2 * N_PER_CLASS
    page.keyboard.press("Control+z")
    wait(page, "studio.state().images.every((image) => !image.label)")
    page.wait_for_selector(".tile-chip:visible", state="detached")


def test_keys_alone_label_and_move_on(page: Any) -> None:
    page.locator(".grid").focus()
    page.keyboard.press("Home")
    page.keyboard.press("1")
    wait(page, "Object.keys(studio.state().image_labels ?? {}).length === 1")
    wait(page, "document.querySelector('.tile.is-selected')?.ariaPosInSet === '2'")
    page.keyboard.press("2")
    wait(page, "document.querySelector('.tile.is-selected')?.ariaPosInSet === '3'")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("2")
    wait(page, "Object.keys(studio.state().image_labels).length === 4")
    numbers = sorted(labels(page).values())
    assert numbers == [1, 2, 2, 2]
    page.keyboard.press("Control+a")
    page.keyboard.press("0")
    wait(page, "Object.keys(studio.state().image_labels).length === 0")


def test_a_number_without_a_class_says_how_to_add_one(page: Any) -> None:
    page.locator(".tile").first.click()
    page.keyboard.press("7")
    page.wait_for_selector("text=There is no class 7 yet")


def test_images_are_dragged_to_a_class(page: Any) -> None:
    first, second = page.locator(".tile").nth(0), page.locator(".tile").nth(1)
    first.click()
    second.click(modifiers=["Control"])
    second.drag_to(page.locator(".image-class", has_text="bars"))
    wait(page, "Object.keys(studio.state().image_labels ?? {}).length === 2")
    assert page.locator(".image-class", has_text="bars").locator(".class-count").inner_text() == "2"
    page.keyboard.press("Control+z")
    wait(page, "Object.keys(studio.state().image_labels).length === 0")


def test_classes_are_added_renamed_and_removed(page: Any) -> None:
    page.keyboard.press("a")
    page.keyboard.type("other")
    page.keyboard.press("Enter")
    row = page.locator(".image-class", has_text="other")
    row.wait_for()
    row.locator(".assign").dblclick()
    page.keyboard.type("rest")
    page.keyboard.press("Enter")
    renamed = page.locator(".image-class", has_text="rest")
    renamed.wait_for()
    renamed.hover()
    renamed.get_by_label("Remove rest").click()
    renamed.wait_for(state="detached")


def test_train_look_at_mistakes_accept_and_export(page: Any, tmp_path: Path) -> None:
    assert page.locator("#train").is_disabled()
    assert page.locator("#train-hint").inner_text()
    ids = [image["id"] for image in state(page)["images"]]
    wrong = ids[0]  # bars, labelled as dots
    for number, chosen in ((1, ids[1:6]), (2, [wrong, *ids[N_PER_CLASS : N_PER_CLASS + 5]])):
        for place, image in enumerate(chosen):
            page.click(f"#tile-{image}", modifiers=["Control"] if place else [])
        page.keyboard.press(str(number))
        wait(page, f"studio.state().image_labels?.[{chosen[-1]}] === {number}")
    page.select_option(".train-row select", "10")
    page.click("#train")
    wait(page, "studio.state().image_predictions")
    assert "%" in page.locator("#train-result .score-value").inner_text()
    page.click("#see-mistakes")
    first = page.locator(".tile[aria-posinset='1']")
    assert first.get_attribute("id") == f"tile-{wrong}"
    assert "looks like bars" in first.inner_text()
    page.click("#see-doubt")
    doubts = page.evaluate(
        """() => [...document.querySelectorAll('.tile')].sort((a, b) => a.ariaPosInSet - b.ariaPosInSet).map((tile) =>
        studio.state().image_predictions.items.find((item) => item.image === Number(tile.dataset.id))?.doubt ?? -1)"""
    )
    assert doubts == sorted(doubts, reverse=True)
    page.locator("#certainty").fill("0.5")
    n_before = len(labels(page))
    n_accepted = int(page.locator("#accept-all").inner_text().split()[1])
    page.click("#accept-all")
    wait(page, f"Object.keys(studio.state().image_labels).length === {n_before + n_accepted}")
    page.click("#export-classifier")
    page.click("#jobs-button")
    with page.expect_download(timeout=LONG) as download:
        page.locator(".job[data-kind=export-classifier] a").click(timeout=LONG)
    download.value.save_as(tmp_path / "images.inv")

    from invariance.models import load

    assert set(load(tmp_path / "images.inv").classes_) == {"bars", "dots"}


def test_advice_is_clicked_and_plans_follow(page: Any) -> None:
    """After the training above, on its labels."""
    page.click("#advise")
    page.wait_for_selector(".advice-row", timeout=LONG)
    row = page.locator(".advice-row").first
    row.focus()
    page.keyboard.press("Enter")
    wait(page, "studio.state().settings.image_invariant_to")
    phi = state(page)["settings"]["image_invariant_to"]
    assert phi in page.locator(".phi-row").inner_text()
    page.locator("#section-image-plans > summary").click()
    page.wait_for_selector(".plan")
    assert page.locator(".plan").count() >= 5
    page.locator(".plan summary").first.click()
    assert page.locator(".plan[open] .plan-parts li").first.inner_text()


def test_predictions_come_back_after_reloading(page: Any) -> None:
    """After the training above: the model lives as long as the studio, whenever the parts of the page arrive."""
    held: list[Any] = []
    page.route("**/jobs.js", lambda route: held.append(route))
    page.reload()
    wait_until(page, "window.studio?.state().is_loaded")  # after the events
    while not held:  # the page asks for it, which a busy browser may tell us later
        page.wait_for_timeout(30)
    held.pop().continue_()
    page.unroute("**/jobs.js")
    show_images(page)
    page.wait_for_selector("#train-result .score-value")
    assert page.locator("#train-result .score-value").is_visible()


def test_thousands_of_images_are_few_elements(tmp_path: Path, open_page: Callable[..., Any]) -> None:
    count = 1500
    data = cv2.imencode(".png", np.arange(64, dtype=np.uint8).reshape(8, 8))[1].tobytes()
    for number in range(count):
        (tmp_path / f"{number:04}.png").write_bytes(data)
    studio = Studio(tmp_path)
    try:
        page = show_images(open_page(studio))
        assert page.locator(".tile").count() < 150
        assert page.locator(".tile").first.get_attribute("aria-setsize") == str(count)
        page.locator(".grid").focus()
        page.keyboard.press("End")
        page.wait_for_selector(f".tile[aria-posinset='{count}']")
        assert page.locator(".tile").count() < 150
        page.keyboard.press("Home")
        page.wait_for_selector(".tile[aria-posinset='1']")
    finally:
        studio.stop()
