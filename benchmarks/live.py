"""Painting: seconds from the end of a stroke to what is seen of it, and whether 500 strokes make it slower or larger.

Usage, from the repository: python -m benchmarks.live
Beside `fastfilters2` and a random forest, as ilastik has them, if they can be imported; features are kept by both. Uses
the ISBI 2012 sections if available, else generated membranes.
"""

import time

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from benchmarks.segmentation import load_sections, tile_sections
from invariance.images import as_float32
from invariance.segmentation import LiveSegmenter, View, brush_pixels
from invariance.segmentation.bank import N_RESPONSES
from invariance.segmentation.description import TILE_SIDE
from invariance.segmentation.live.strokes import SQUARE_SIDE
from invariance.segmentation.live.views import grid_tile

try:
    from experiments.peers.fast_filters import describe_pixels as fast_filters
except ImportError:
    fast_filters = None

SIDE, VIEW_SIDE = 2048, 1024
N_WARM, N_TIMED, N_VIEWS, N_MANY = 10, 40, 5, 500
LENGTH, RADIUS = 60, 1.5
MAX_BYTES, MAX_PIXELS = 2**29, 10_000
MEDIAN_SECONDS, LATE_SECONDS, VIEW_SECONDS = 0.5, 1.0, 2.0  # what is required on an idle machine


class KeptForest:
    """A random forest on kept features of tiles, fitted to all pixels of all strokes: the peer of the engine."""

    HALO = 32  # more than the widest of the peer's filters reaches

    def __init__(self, image, describe):
        self._image, self._describe = as_float32(image), describe
        self._features, self._rows, self._labels = {}, [], []

    def features(self, tile):
        """Describe a tile, once."""
        if tile not in self._features:
            top, left = max(tile.top - self.HALO, 0), max(tile.left - self.HALO, 0)
            part = self._image[top : tile.bottom + self.HALO, left : tile.right + self.HALO]
            inside = slice(tile.top - top, tile.bottom - top), slice(tile.left - left, tile.right - left)
            self._features[tile] = self._describe(np.ascontiguousarray(part))[inside]
        return self._features[tile]

    def add_stroke(self, rows, cols, label):
        """Keep the features of all pixels of a stroke."""
        tiles = [grid_tile(row, col, self._image.shape) for row, col in zip(rows.tolist(), cols.tolist(), strict=True)]
        for tile in set(tiles):
            inside = np.array([other == tile for other in tiles])
            self._rows.append(self.features(tile)[rows[inside] - tile.top, cols[inside] - tile.left])
            self._labels.append(np.full(inside.sum(), label))

    def update(self):
        """Fit a forest to all strokes."""
        self._forest = RandomForestClassifier(100, n_jobs=2, random_state=0)
        self._forest.fit(np.concatenate(self._rows), np.concatenate(self._labels))

    def predict(self, tile):
        """Predict all pixels of a tile."""
        features = self.features(tile)
        return self._forest.predict_proba(features.reshape(-1, features.shape[-1]))


def draw_strokes(mask, n_strokes, seed=0):
    """Lines of hand-like length, cut where the label changes: (rows, cols, label)."""
    rng = np.random.default_rng(seed)
    while n_strokes > 0:
        start, angle = rng.uniform(0, SIDE, 2), rng.uniform(0, 2 * np.pi)
        rows, cols = brush_pixels(
            [start, start + LENGTH * np.array([np.sin(angle), np.cos(angle)])], RADIUS, mask.shape
        )
        for label in np.unique(mask[rows, cols]):
            chosen = mask[rows, cols] == label
            yield rows[chosen], cols[chosen], int(label)
            n_strokes -= 1


def view_around(rows, cols, side):
    """The view of a side around the middle of a stroke."""
    top = int(np.clip(rows.mean() - side / 2, 0, SIDE - side))
    left = int(np.clip(cols.mean() - side / 2, 0, SIDE - side))
    return View(0, top, left, top + side, left + side)


def time_first_tile(live, peer, strokes):
    """Seconds from the end of a stroke to the first tile, (engine, peer) for every stroke."""
    seconds = []
    for rows, cols, label in strokes:
        view = view_around(rows, cols, TILE_SIDE)
        started = time.perf_counter()
        live.add_stroke(0, rows, cols, label)
        live.update()
        tile = next(live.predict(view)).tile
        ours = time.perf_counter() - started
        started = time.perf_counter()
        if peer is not None:
            peer.add_stroke(rows, cols, label)
            peer.update()
            peer.predict(tile)
        seconds.append((ours, time.perf_counter() - started if peer is not None else np.nan))
    return np.array(seconds)


def report(label, seconds, required):
    ours, theirs = np.percentile(seconds, required[1], axis=0)
    print(f"  {label:<28} engine {ours:.2f} s   fastfilters2 + forest {theirs:.2f} s   required {required[0]} s")


def compare_first_tiles(live, peer, strokes):
    print(f"From the end of a stroke to the first {TILE_SIDE} x {TILE_SIDE} tile, {N_TIMED} strokes after {N_WARM}")
    time_first_tile(live, peer, strokes[:N_WARM])
    seconds = time_first_tile(live, peer, strokes[N_WARM:])
    report("median", seconds, (MEDIAN_SECONDS, 50))
    report("95th percentile", seconds, (LATE_SECONDS, 95))


def compare_views(live, peer, strokes):
    print(f"From the end of a stroke to a whole view of {VIEW_SIDE} x {VIEW_SIDE}, median of {N_VIEWS} strokes")
    seconds, view = [], View(0, 0, 0, VIEW_SIDE, VIEW_SIDE)
    for rows, cols, label in strokes:
        started = time.perf_counter()
        live.add_stroke(0, rows, cols, label)
        live.update()
        tiles = [tile.tile for tile in live.predict(view)]
        ours = time.perf_counter() - started
        started = time.perf_counter()
        if peer is not None:
            peer.add_stroke(rows, cols, label)
            peer.update()
            for tile in tiles:
                peer.predict(tile)
        seconds.append((ours, time.perf_counter() - started if peer is not None else np.nan))
    report("features new", np.array(seconds[:1]), (VIEW_SECONDS, 50))
    report("features kept", np.array(seconds[1:]), (VIEW_SECONDS, 50))


def paint_many(image, mask):
    """500 strokes in a row: the last are no slower than the first, and memory stays within its formula."""
    strokes = list(draw_strokes(mask, N_MANY, seed=2))[:N_MANY]
    print(f"{N_MANY} strokes in a row, max_bytes = {MAX_BYTES / 1e6:.0f} MB, max_pixels = {MAX_PIXELS:,}")
    with LiveSegmenter(max_bytes=MAX_BYTES, max_pixels=MAX_PIXELS, refine=False, n_jobs=2, random_state=0) as live:
        live.add_image(image)
        live.add_stroke(0, *strokes[0])
        live.add_stroke(0, *next(stroke for stroke in strokes if stroke[2] != strokes[0][2]))
        seconds, kept = [], []
        for stroke in strokes:
            seconds.append(time_first_tile(live, None, [stroke])[0, 0])
            kept.append(live.nbytes)
        n_painted = sum(len(rows) for rows, _, _ in strokes)
        squares = {(*corner,) for rows, cols, _ in strokes for corner in np.stack([rows, cols], 1) // SQUARE_SIDE}
    bound = MAX_BYTES + 2 * MAX_PIXELS * N_RESPONSES * 4 + 29 * n_painted + 4 * SQUARE_SIDE**2 * len(squares)
    fifth = N_MANY // 5
    for name, part in (("first", seconds[:fifth]), ("last", seconds[-fifth:])):
        print(f"  {name} {fifth}: median {np.median(part):.2f} s, 95th percentile {np.percentile(part, 95):.2f} s")
    print(f"  kept at most {max(kept) / 1e6:.0f} MB, bound {bound / 1e6:.0f} MB")


def main():
    images, masks = load_sections()
    image, mask = tile_sections(images, SIDE), tile_sections(masks, SIDE).astype(int)
    peer = None if fast_filters is None else KeptForest(image, fast_filters)
    if peer is None:
        print("fastfilters2 cannot be imported: without the peer")
    strokes = list(draw_strokes(mask, N_WARM + N_TIMED + N_VIEWS + 1))
    with LiveSegmenter(n_jobs=2, random_state=0) as live:
        live.add_image(image)
        for label in (0, 1):
            first = next(stroke for stroke in draw_strokes(mask, 100, seed=1) if stroke[2] == label)
            live.add_stroke(0, *first)
            if peer is not None:
                peer.add_stroke(*first)
        compare_first_tiles(live, peer, strokes[: N_WARM + N_TIMED])
        compare_views(live, peer, strokes[N_WARM + N_TIMED :][: N_VIEWS + 1])
    paint_many(image, mask)


if __name__ == "__main__":
    main()
