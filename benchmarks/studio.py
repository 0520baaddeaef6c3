"""The studio without a browser: seconds from the end of a stroke to its tiles, and memory after many strokes.

Usage, from the repository: python -m benchmarks.studio [number of strokes, default 50]
A client paints on the WebSocket of a studio in another process, as a person does: a stroke, a look, the next stroke.
The engine alone, given the same strokes in this process, stands beside it. Uses the ISBI 2012 sections if available,
else generated membranes.
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks.live import SIDE, TILE_SIDE, view_around
from benchmarks.segmentation import load_sections, tile_sections
from invariance.segmentation import LiveSegmenter, View, brush_pixels
from invariance.segmentation.live.views import tiles_of
from tests.studio.driving import Client, Server

N_TIMED, N_VIEWS, N_MANY = 50, 5, 500
N_WARM = 10
VIEW_SIDE = 1024
PAUSE = 0.3  # seconds in which a person moves the mouse to the next stroke
RADIUS = 1.5
FIRST_SECONDS, VIEW_SECONDS = 0.7, 2.5  # what is required on an idle machine


def draw_lines(mask, n_strokes, seed=0):
    """Straight strokes within one class: (two points, label)."""
    rng = np.random.default_rng(seed)
    lines = []
    while len(lines) < n_strokes:
        start, angle = rng.uniform(40, SIDE - 40, 2), rng.uniform(0, 2 * np.pi)
        points = np.clip([start, start + 12 * np.array([np.sin(angle), np.cos(angle)])], 0, SIDE - 1)
        rows, cols = brush_pixels(points, RADIUS, mask.shape)
        if len(np.unique(mask[rows, cols])) == 1:
            lines.append((np.round(points * 8) / 8, int(mask[rows[0], cols[0]]) + 1))
    return lines


def time_stroke(client, points, number, side):
    """Seconds from the end of a stroke to its first tile and to its last."""
    view = view_around(points[:, 0], points[:, 1], side)
    client.must("view", page=0, **view._asdict() | {"image": 1})
    drain(client)
    started = time.perf_counter()
    version = max((frame[0].get("version", 0) for frame in client.frames), default=0)
    client.frames.clear()
    reply = client.stroke(1, points, number, RADIUS)
    assert reply["ok"], reply
    acknowledged = time.perf_counter() - started
    n_tiles = len(tiles_of(view, (SIDE, SIDE)))
    found = {}
    while len(found) < n_tiles:
        kind, frame = client.receive()
        if kind == "frame" and frame[0]["kind"] == "prediction" and frame[0]["version"] > version:
            found.setdefault((frame[0]["top"], frame[0]["left"]), frame[2] - started)
    return acknowledged, min(found.values()), max(found.values())


def drain(client, seconds=PAUSE):
    """Read what comes in while a person looks."""
    deadline = time.perf_counter() + seconds
    while (left := deadline - time.perf_counter()) > 0:
        try:
            client.receive(left)
        except TimeoutError:
            return


def time_engine(image, lines, side):
    """The same strokes by the engine alone: seconds to the first tile and to the last."""
    seconds = []
    with LiveSegmenter(n_jobs=2, refine=False, random_state=0) as live:
        live.add_image(image)
        for n, (points, number) in enumerate(lines):
            rows, cols = brush_pixels(points, RADIUS, image.shape)
            view = View(*view_around(points[:, 0], points[:, 1], side))
            started = time.perf_counter()
            live.add_stroke(0, rows, cols, number)
            if len({label for _, label in lines[: n + 1]}) < 2:
                continue
            live.update()
            times = [time.perf_counter() - started for _ in live.predict(view)]
            seconds.append((times[0], times[-1]))
    return np.array(seconds)


def memory_of(process):
    """Resident megabytes of a process, now and at most."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    values = dict(line.split(":", 1) for line in status.splitlines())
    return tuple(int(values[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM"))


def main(n_timed=N_TIMED, n_many=N_MANY):
    images, masks = load_sections()
    image, mask = tile_sections(images, SIDE), tile_sections(masks, SIDE).astype(int)
    lines = draw_lines(mask, N_WARM + n_timed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        Image.fromarray(
            np.round(255 * np.clip(image, 0, 1)).astype(np.uint8) if image.dtype.kind == "f" else image
        ).save(folder / "sections.png")
        with Server(folder) as server:
            client = Client(server)
            client.must("open")
            print(f"before painting: {memory_of(server.process)[0]:.0f} MB")
            for points, number in sorted(lines[:2], key=lambda line: line[1]) + lines[2:N_WARM]:
                client.stroke(1, points, number, RADIUS)
            drain(client, 3)
            for side in (TILE_SIDE, VIEW_SIDE):
                chosen = lines[N_WARM:] if side == TILE_SIDE else lines[N_WARM : N_WARM + N_VIEWS + 1]
                seconds = np.array([time_stroke(client, points, number, side) for points, number in chosen])
                engine = time_engine(image, lines[:N_WARM] + chosen, side)[-len(chosen) :]
                acknowledged, first, last = np.median(seconds, axis=0)
                _, late_first, late_last = np.percentile(seconds, 95, axis=0)
                alone = np.median(engine, axis=0)
                print(f"View of {side} x {side}, median of {len(seconds)} strokes (95th percentile), engine alone:")
                print(f"  acknowledged {acknowledged:.3f} s")
                print(f"  first tile {first:.2f} s ({late_first:.2f}), {alone[0]:.2f} s; required {FIRST_SECONDS} s")
                print(f"  last tile {last:.2f} s ({late_last:.2f}), {alone[1]:.2f} s; required {VIEW_SECONDS} s")
            for points, number in draw_lines(mask, n_many, seed=3):
                client.stroke(1, points, number, RADIUS)
            drain(client, 5)
            now, most = memory_of(server.process)
            print(f"after {n_many} strokes more: {now:.0f} MB, at most {most:.0f} MB")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
