"""The studio in Chromium, driven by the mouse: latency, frames per second, memory, and sections from a few strokes.

Usage, from the repository: python -m benchmarks.studio_browser [latency] [frames] [memory] [sections] [--strokes N]
Without a name all four parts run; --strokes is for latency (default 50) and memory (default 500). A studio runs in
another process. Uses the ISBI 2012 sections if available, else
generated membranes; the last part needs ISBI. Beside it, `fastfilters2` and a random forest, given the labels that the
studio wrote, if they can be imported.
"""

import argparse
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import cv2
import numpy as np
import tifffile
from playwright.sync_api import sync_playwright

from benchmarks.segmentation import load_sections, tile_sections
from benchmarks.studio import memory_of
from invariance.segmentation import segmentation_scores
from tests.studio.browser.conftest import ARGUMENTS, BROWSERS, Studio, shutil
from tests.studio.browser.driving import drag, wait_until

VIEWPORT = {"width": 1600, "height": 1000}
SIDE, LARGE_SIDE = 1024, 4096
N_WARM, N_TIMED, N_MANY = 6, 50, 500
FIRST_SECONDS, VIEW_SECONDS, FRAMES_PER_SECOND = 0.7, 2.5, 50  # what is required on an idle machine
N_STROKES, LENGTH = 30, 24  # of the part that labels sections
PAUSE = 0.2  # seconds in which a person moves the mouse to the next stroke
PRECISE = "--enable-precise-memory-info"  # without it, Chromium rounds the size of the heap and updates it rarely

# Both run in the page, where the clock of the mouse and that of the frames are the same.
WATCH_UP = (
    "() => { window.lastUp = 0; addEventListener('pointerup', () => { window.lastUp = performance.now(); }, true); }"
)
WATCH_FRAMES = """() => {
  window.frames = []; let last = performance.now();
  const step = (now) => { window.frames.push(now - last); last = now; window.watching = requestAnimationFrame(step); };
  window.watching = requestAnimationFrame(step);
}"""


class Painter:
    """A page of a studio on a folder, and the mouse in it."""

    def __init__(self, folder, playwright):
        path = next(filter(None, map(shutil.which, BROWSERS)))
        self.studio = Studio(folder)
        self.browser = playwright.chromium.launch(executable_path=path, args=[*ARGUMENTS, PRECISE])
        context = self.browser.new_context(viewport=VIEWPORT)
        context.add_init_script("localStorage.setItem('studio.guide.done', 'yes')")
        self.page = context.new_page()
        self.page.goto(self.studio.address)
        wait_until(self.page, "window.studio?.state().is_loaded && studio.state().view && studio.isIdle()", 60)
        self.page.evaluate(WATCH_UP)

    def paint(self, points, number):
        """Paint a line with the class of a key, 1 or 2."""
        self.page.keyboard.press(str(number))
        drag(self.page, *[tuple(map(float, point)) for point in points])

    def choose_width(self, pixels):
        """Choose the brush of a width by its keys."""
        self.page.keyboard.press("b")
        for _ in range(20):
            self.page.keyboard.press(",")
        while self.page.evaluate("() => studio.state().size") < pixels:
            self.page.keyboard.press(".")

    def newest(self):
        """The largest version of a predicted tile."""
        return self.page.evaluate("() => Math.max(0, ...studio.predictionFrames().map((frame) => frame.version))")

    def wait_for_tiles(self, version, n_tiles, seconds=60):
        """Milliseconds from the end of the stroke to the first and to the last of some tiles of a newer version."""
        wait_until(
            self.page,
            f"studio.predictionFrames().filter((frame) => frame.version > {version}).length >= {n_tiles}",
            seconds,
        )
        times = self.page.evaluate(
            "version => studio.predictionFrames().filter((frame) => frame.version > version)"
            ".map((frame) => frame.time - window.lastUp)",
            version,
        )
        return times[0], times[n_tiles - 1]

    def memory(self):
        """Megabytes: objects of JavaScript, the process of the page now, the server now and at most."""
        heap = self.page.evaluate("() => performance.memory.usedJSHeapSize / 2 ** 20")
        processes = self.browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
        page = max((found for found in processes if found["type"] == "renderer"), key=lambda found: found["cpuTime"])
        return heap, memory_of(SimpleNamespace(pid=page["id"]))[0], *memory_of(self.studio.process)

    def close(self):
        """End browser and studio."""
        self.browser.close()
        self.studio.stop()


def draw_lines(mask, n_lines, length, rng):
    """Lines within one class, by turns of each: (two points, number of the class)."""
    lines, depth = [], [cv2.distanceTransform((mask == label).astype(np.uint8), cv2.DIST_L2, 5) for label in (0, 1)]
    while len(lines) < n_lines:
        label = len(lines) % 2
        start, angle = rng.uniform(8, np.array(mask.shape) - 8), rng.uniform(0, 2 * np.pi)
        along = start + np.linspace(0, length, 13)[:, None] * np.array([np.sin(angle), np.cos(angle)])
        places = np.round(along).astype(int)
        is_inside = ((places >= 4) & (places < np.array(mask.shape) - 4)).all()
        if is_inside and (depth[label][places[:, 0], places[:, 1]] > 2).all():
            lines.append((along, label + 1))
    return lines


def write_image(folder, image):
    Path(folder).mkdir(exist_ok=True)
    cv2.imwrite(str(Path(folder) / "sections.png"), image)


def measure_latency(playwright, image, mask, folder, n_strokes=N_TIMED):
    """From the end of a stroke to the first changed tile, and to the last of a view of 1024 x 1024."""
    write_image(folder, image[:SIDE, :SIDE])
    painter, rng = Painter(folder, playwright), np.random.default_rng(0)
    painter.choose_width(3)
    seconds = []
    for number, line in enumerate(draw_lines(mask[:SIDE, :SIDE], N_WARM + n_strokes, 12, rng)):
        version = painter.newest()
        painter.paint(*line)
        if number < 2:
            painter.page.wait_for_timeout(1000)
            continue
        found = painter.wait_for_tiles(version, (SIDE // 256) ** 2)
        painter.page.wait_for_timeout(1000 * PAUSE)
        if number >= N_WARM:
            seconds.append(found)
    first, last = np.array(seconds).T / 1000
    for name, values, required in (("first changed tile", first, FIRST_SECONDS), ("1024 x 1024", last, VIEW_SECONDS)):
        print(
            f"end of a stroke to {name}: median {np.median(values):.2f} s, 95th percentile "
            f"{np.percentile(values, 95):.2f} s, required {required} s ({len(values)} strokes)"
        )
    painter.close()


def measure_frames(playwright, image, mask, folder):
    """Frames per second while a line is painted on a large image and the rest is predicted."""
    write_image(folder, image)
    painter, rng = Painter(folder, playwright), np.random.default_rng(1)
    painter.choose_width(11)
    for line in draw_lines(mask, 4, 12, rng):
        painter.paint(*line)
        painter.page.wait_for_timeout(1500)
    found = []
    for _ in range(5):
        rows = np.linspace(600, LARGE_SIDE - 600, 12)
        cols = LARGE_SIDE / 2 + 900 * np.sin(rows / 200 + rng.uniform(0, 6))
        painter.page.evaluate(WATCH_FRAMES)
        started = time.perf_counter()
        painter.paint(np.stack([rows, cols], 1), 1)
        while time.perf_counter() - started < 2:
            painter.page.wait_for_timeout(50)
        frames = painter.page.evaluate("() => { cancelAnimationFrame(window.watching); return window.frames; }")
        found.append((len(frames) / (sum(frames) / 1000), np.percentile(frames, 95)))
        painter.page.wait_for_timeout(1000)
    rate, late = np.median(found, axis=0)
    print(
        f"painting on {LARGE_SIDE} x {LARGE_SIDE} while a prediction runs: median {rate:.0f} frames per second, 95th "
        f"percentile of a frame {late:.0f} ms, required {FRAMES_PER_SECOND} frames per second"
    )
    painter.close()


def measure_memory(playwright, image, mask, folder, n_strokes=N_MANY):
    """Memory of page and server after many strokes."""
    write_image(folder, image[:SIDE, :SIDE])
    painter, rng = Painter(folder, playwright), np.random.default_rng(2)
    painter.choose_width(3)
    lines = draw_lines(mask[:SIDE, :SIDE], n_strokes, 12, rng)
    for number, line in enumerate(lines):
        painter.paint(*line)
        painter.page.wait_for_timeout(1000 * PAUSE)
        if number + 1 in (10, 100, len(lines)):
            wait_until(painter.page, "studio.state().n_unsaved === 0 && studio.isIdle()", 60)
            painter.page.wait_for_timeout(3000)
            heap, page, now, most = painter.memory()
            print(
                f"after {number + 1} strokes: page {page:.0f} MB, {heap:.0f} MB of it objects; "
                f"server {now:.0f} MB, at most {most:.0f} MB",
                flush=True,
            )
    painter.close()


def label_sections(playwright, folder):
    """From an empty folder of sections to masks of all of them, by mouse; 1 - F on sections 18 to 23."""
    from invariance.datasets import load_isbi2012

    data = load_isbi2012()
    images, masks = np.asarray(data.images), np.asarray(data.masks).astype(int)
    folder.mkdir(exist_ok=True)
    tifffile.imwrite(folder / "sections.tif", images if images.dtype == np.uint8 else (255 * images).astype(np.uint8))
    started = time.perf_counter()
    painter, rng = Painter(folder, playwright), np.random.default_rng(3)
    painter.choose_width(3)
    for line in draw_lines(masks[0], N_STROKES, LENGTH, rng):
        painter.paint(*line)
        painter.page.wait_for_timeout(1000 * PAUSE)
    painter.page.wait_for_timeout(1000)
    painted = time.perf_counter() - started
    painter.page.click("#jobs-button")
    painter.page.click("button[data-kind=export-masks]")
    painter.page.wait_for_selector(".job[data-kind=export-masks][data-state=done]", timeout=600_000)
    seconds = time.perf_counter() - started
    # The score takes the best of all thresholds, so that it needs probabilities.
    painter.page.click("button[data-kind=export-probabilities]")
    painter.page.wait_for_selector(".job[data-kind=export-probabilities][data-state=done]", timeout=600_000)
    painter.page.click("button[data-kind=export-scribbles]")
    painter.page.wait_for_selector(".job[data-kind=export-scribbles][data-state=done]", timeout=600_000)
    painter.close()
    exports = folder / "invariance-studio" / "exports"
    predicted = tifffile.imread(next((exports / "masks").glob("*.tif")))
    maps = tifffile.imread(next((exports / "probabilities").glob("*.tif")))
    maps = maps / 255 if maps.dtype == np.uint8 else maps
    second = maps[:, 1] if maps.shape[1] == 2 else maps[..., 1]
    labels = tifffile.imread(next((exports / "scribbles").glob("*.tif"))).astype(int) - 1
    test = slice(18, 24)
    print(
        f"{N_STROKES} strokes on one section, painted in {painted:.0f} s; masks of all sections after {seconds:.0f} s"
    )
    print(
        f"  studio: 1 - F {error_of(second[test], masks[test]):.2f} %, wrong pixels {share_wrong(predicted, masks):.2%}"
    )
    try:
        from experiments.peers.fast_filters import FastFiltersForest
    except ImportError:
        print("  fastfilters2 cannot be imported: without the peer")
        return
    forest = FastFiltersForest(0).fit([images[0]], [labels[0].astype(np.int8)])
    peer = np.stack([forest.predict_proba(image) for image in images[test]])
    print(f"  fastfilters2 + forest on the same strokes: 1 - F {error_of(peer, masks[test]):.2f} %")


def error_of(maps, truths):
    return 100 * (1 - segmentation_scores(np.asarray(maps, np.float32), truths.astype(bool), thresholds=(0.5,)).cell_f)


def share_wrong(predicted, masks):
    return float(np.mean((predicted[18:24] == 2) != masks[18:24].astype(bool)))


def main(parts, n_strokes=None):
    images, masks = load_sections()
    image, mask = tile_sections(images, LARGE_SIDE), tile_sections(masks, LARGE_SIDE).astype(int)
    image = image if image.dtype == np.uint8 else np.round(255 * np.clip(image, 0, 1)).astype(np.uint8)
    measures = {"latency": measure_latency, "frames": measure_frames, "memory": measure_memory}
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as name:
        for part in parts or [*measures, "sections"]:
            if part == "sections":
                label_sections(playwright, Path(name) / part)
            else:
                chosen = {"n_strokes": n_strokes} if n_strokes and part != "frames" else {}
                measures[part](playwright, image, mask, Path(name) / part, **chosen)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help="latency, frames, memory or sections")
    parser.add_argument("--strokes", type=int)
    arguments = parser.parse_args()
    main(arguments.parts, arguments.strokes)
