"""The controls of the page: classes, layers, contrast, keyboard, first steps, final masks, and what is read aloud."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

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


@pytest.fixture(scope="module")
def page(studio: Studio, open_page: Callable[..., Any]) -> Any:
    """The page of the shared studio; every test paints in places of its own."""
    return open_page(studio)


@pytest.fixture
def still(page: Any) -> Iterator[Any]:
    """The page while strokes are not learned from: for tests that are not about predictions."""
    page.keyboard.press("l")
    wait_until(page, "!studio.state().is_live")
    yield page
    page.keyboard.press("l")
    wait_until(page, "studio.state().is_live")


# Whether a stroke over the text of a message would end in it.
HIT_BY_STROKES = """() => {
  const { x, y, width, height } = document.querySelector(".toast p").getBoundingClientRect();
  return Boolean(document.elementFromPoint(x + width / 2, y + height / 2).closest(".toast"));
}"""


def test_first_steps_tick_themselves_off(studio: Studio, open_page: Callable[..., Any]) -> None:
    page = open_page(studio, is_fresh=True)  # the first test of this file: nothing is painted yet
    assert page.locator(".guide li.is-now").count() == 1
    guide = page.locator(".guide")
    assert guide.locator("li").count() == 3
    assert guide.locator("li.is-done").count() == 0
    drag(page, (30, 300), (30, 340))
    wait_until(page, "document.querySelectorAll('.guide li.is-done').length === 1")
    page.locator(".guide .chip").nth(1).click()  # the guide itself leads to the second class
    assert state(page)["class_number"] == 2
    drag(page, (60, 300), (60, 340))
    wait_until(page, "document.querySelectorAll('.guide li.is-done').length === 3", 120)
    page.click(".guide .button.primary")
    assert guide.count() == 0


def test_classes_are_added_renamed_recoloured_and_removed(still: Any) -> None:
    page = still
    page.keyboard.press("a")
    wait_until(page, "document.querySelector('.class-field') === document.activeElement")
    page.keyboard.type("vesicle")
    page.keyboard.press("Enter")
    wait_until(page, "studio.state().classes.pixels.some(item => item.name === 'vesicle')")
    assert state(page)["class_number"] == 3
    page.locator("#class-3 .class-name").dblclick()
    page.keyboard.type("nucleus")
    page.keyboard.press("Enter")
    wait_until(page, "document.querySelector('#class-3 .class-name')?.textContent === 'nucleus'")
    page.evaluate(
        """() => {
          const field = document.querySelector('#class-3 .swatch');
          field.value = '#ff0000';
          field.dispatchEvent(new Event('change'));
        }"""
    )
    wait_until(page, "studio.state().classes.pixels.some(item => item.colour === '#ff0000')")
    drag(page, (200, 200), (200, 240))
    wait_until_saved(page)
    page.click("#class-3 [aria-label^='Remove nucleus']")
    wait_until(page, "studio.state().classes.pixels.length === 2")
    wait_for_label(page, 200, 220, 0)
    page.keyboard.press("Control+z")
    wait_for_label(page, 200, 220, 3)
    wait_until(page, "studio.state().classes.pixels.some(item => item.name === 'nucleus')")
    page.keyboard.press("Control+z")
    wait_for_label(page, 200, 220, 0)


def test_hidden_classes_are_not_shown_and_locked_ones_not_changed(still: Any) -> None:
    page = still
    page.keyboard.press("1")
    bare = colour_at(page, 30, 60)
    drag(page, (30, 40), (30, 80))
    wait_until_saved(page)
    page.mouse.move(5, 400)
    painted = colour_at(page, 30, 60)
    assert painted != bare
    page.keyboard.press("2")
    page.hover("#class-1")
    page.click("#class-1 [aria-label^='Lock']")
    wait_until(page, "studio.state().classes.pixels[0].is_locked")
    drag(page, (20, 60), (40, 60))
    wait_until_saved(page)
    assert label_at(page, 30, 60) == 1
    assert label_at(page, 22, 60) == 2
    page.click("#class-1 [aria-label^='Unlock']")
    page.click("#class-1 [aria-label^='Hide']")
    wait_until(page, "studio.state().classes.pixels[0].is_hidden && studio.isIdle()")
    page.mouse.move(5, 400)
    assert colour_at(page, 30, 60) != painted
    page.click("#class-1")
    drag(page, (30, 100), (30, 120))  # would be invisible: refused, with a way out
    assert label_at(page, 30, 110) == 0
    page.wait_for_selector(".toast p")
    assert not page.evaluate(HIT_BY_STROKES)
    page.locator(".toast button", has_text="Show").click()
    wait_until(page, "!studio.state().classes.pixels[0].is_hidden && !studio.state().classes.pixels[0].is_locked")


def test_keyboard_only(still: Any) -> None:
    page = still
    page.keyboard.press("ArrowRight")
    wait_until(page, "studio.state().image === 2 && studio.isIdle()")
    page.keyboard.press("2")
    page.keyboard.press("b")
    for _ in range(4):
        page.keyboard.press(",")
    assert state(page)["size"] == 1
    for _ in range(3):
        page.keyboard.press("]")
    assert state(page)["size"] == 7
    for _ in range(3):
        page.keyboard.press("Shift+ArrowUp")
    page.keyboard.press("Enter")
    view = state(page)["view"]
    row, col = round(view["row"]) - 3 * 4, round(view["col"])
    assert label_at(page, row, col) == 2
    for _ in range(5):
        page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+Enter")
    wait_until_saved(page)
    assert label_at(page, row, col + 10) == 2
    page.keyboard.press("Control+z")
    wait_for_label(page, row, col + 10, 0)
    page.keyboard.press("e")
    page.keyboard.press("Control+y")
    wait_for_label(page, row, col + 10, 2)
    page.keyboard.press("Enter")
    wait_until_saved(page)
    page.keyboard.press("Control+z")
    page.keyboard.press("ArrowLeft")  # before the reply, which names the image of the stroke that was undone
    wait_until(page, "studio.state().image === 1")
    page.wait_for_timeout(300)
    assert state(page)["image"] == 1


def test_layers_and_contrast_change_what_is_shown(page: Any) -> None:
    page.keyboard.press("1")
    page.keyboard.press("b")
    drag(page, (250, 40), (250, 80))
    page.keyboard.press("2")
    drag(page, (270, 140), (270, 180))
    wait_until(page, "studio.predictionAt(150, 350) && !studio.state().status.busy && studio.isIdle()")
    page.mouse.move(5, 400)
    seen = {}
    for key in "spu":
        if state(page)["layer"] != {"s": "segmentation", "p": "probability", "u": "uncertainty"}[key]:
            page.keyboard.press(key)
        wait_until(page, "studio.isIdle()")
        page.wait_for_timeout(60)
        seen[key] = [colour_at(page, row, 350) for row in range(60, 220, 8)]
    assert seen["s"] != seen["p"] != seen["u"] != seen["s"]
    page.keyboard.press("u")
    assert state(page)["layer"] == "none"
    wait_until(page, "studio.isIdle()")
    plain = [colour_at(page, row, 350) for row in range(60, 220, 8)]
    page.locator("#section-contrast summary").click()
    page.locator("#high").fill("0.4")
    wait_until(page, "studio.state().high === 0.4 && studio.isIdle()")
    page.wait_for_timeout(100)
    wait_until(page, "studio.isIdle()")
    brighter = [colour_at(page, row, 350) for row in range(60, 220, 8)]
    assert all(b[0] >= a[0] for a, b in zip(plain, brighter, strict=True))
    assert sum(b[0] for b in brighter) > sum(a[0] for a in plain) + 100


def test_the_score_appears_and_says_what_it_is(page: Any) -> None:
    for row in (60, 90, 120):
        page.keyboard.press("1")
        drag(page, (row, 40), (row, 70))
        page.keyboard.press("2")
        drag(page, (row, 300), (row, 330))
    wait_until(page, "studio.state().scores?.overall != null", 60)
    assert "%" in page.locator("#score-value").inner_text()
    assert "not learned from it" in page.locator("#scores").inner_text()
    page.keyboard.press("m")
    assert page.locator("#matrix table tbody tr").count() >= 2
    page.keyboard.press("Escape")


def test_accepting_a_page_and_correcting_its_mask(page: Any) -> None:
    page.locator("#section-final summary").click()
    page.click("#accept")
    wait_until(
        page,
        "studio.state().images[0].is_final.includes(0) && studio.labelCounts('final').slice(1).some(n => n > 1000)",
    )
    page.locator("#section-final label", has_text="Correct the mask").click()
    wait_until(page, "studio.state().settings.corrections === 'final'")
    before = label_at(page, 170, 200, "final")  # a place that no message covers
    page.keyboard.press("2" if before == 1 else "1")
    drag(page, (170, 195), (170, 205))
    wait_until_saved(page)
    assert label_at(page, 170, 200, "final") == 3 - before
    assert label_at(page, 170, 200) == 0


def test_where_next_goes_to_a_place(page: Any) -> None:
    before = state(page)["view"]
    page.keyboard.press("w")
    wait_until(page, "document.querySelector('.pulse.is-on')")
    after = state(page)["view"]
    assert (before["row"], before["col"]) != (after["row"], after["col"])


def test_help_lists_keys_and_controls_have_names(page: Any) -> None:
    page.keyboard.press("?")
    assert page.locator("#help[open] kbd").count() > 20
    page.keyboard.press("Escape")
    unnamed = page.evaluate(
        """() => {
          const isNamed = (element) => element.getAttribute('aria-label') || element.textContent.trim()
            || element.labels?.length || element.title || element.getAttribute('aria-describedby');
          return [...document.querySelectorAll('button, input, select, canvas, [role=radio], [role=option]')]
            .filter(element => element.checkVisibility() && !isNamed(element)).map(element => element.outerHTML);
        }"""
    )
    assert unnamed == []
    for role in ("toolbar", "radiogroup", "listbox", "status", "tablist", "switch"):
        assert page.locator(f"[role={role}]").count() > 0, role


def test_themes_follow_the_system_until_one_is_chosen(page: Any) -> None:
    def background(scheme: str) -> str:
        page.emulate_media(color_scheme=scheme)
        wait_until(page, f"matchMedia('(prefers-color-scheme: {scheme})').matches")
        # Styles follow within the next frame or two.
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        return page.evaluate("() => getComputedStyle(document.body).backgroundColor")

    page.evaluate("() => localStorage.removeItem('studio.theme')")
    page.reload()  # another test of this page may have chosen a theme
    wait_until(page, "window.studio?.state().is_loaded")
    light, dark = background("light"), background("dark")
    assert light != dark
    page.click("[aria-label='Light or dark']")  # light, though the system is dark
    assert background("dark") == light
    page.reload()
    wait_until(page, "window.studio?.state().is_loaded")
    assert background("dark") == light
    page.click("[aria-label='Light or dark']")
    assert background("light") == dark
