"""Labelling every pixel: speed against a pixel forest, growth, memory, dense against patch-wise, scribbles.

Usage, from the repository: python -m benchmarks.segmentation
Uses the ISBI 2012 sections if available, else generated membranes; every ratio compares two figures of the same run.
"""

import multiprocessing
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from benchmarks.timing import best, timed
from experiments.peers.pixel_forest import UNLABELLED, PixelForest
from experiments.strokes import draw_scribbles
from invariance.datasets import DatasetMissing, load_isbi2012, make_membranes
from invariance.segmentation import JungleSegmenter
from invariance.segmentation.dense import context_of, predict_maps
from invariance.segmentation.description import BANK_ALONE
from invariance.segmentation.standard import StandardImage

TRAINING, TEST = range(18), 18
N_PIXELS, N_REPEATS = 50_000, 5
SIDES, LARGE_SIDE = (256, 512, 1024, 2048), 4096
N_COMPARED, TILE_SIDES = 2000, (64, 100, 300, 1000)
N_DISCS, RADIUS = 160, 4


def load_sections():
    """Images (n, 512, 512) uint8, and masks that are True on membranes."""
    try:
        data = load_isbi2012()
    except DatasetMissing:
        data = make_membranes(24, (512, 512))
    images = data.images if data.images.dtype == np.uint8 else np.uint8(np.round(255 * data.images))
    return images, data.masks


def mark_pixels(masks, n_pixels, seed=0):
    """Masks int8 of 0 and 1 at `n_pixels` random pixels, and -1 elsewhere: all methods learn from the same pixels."""
    drawn = np.random.default_rng(seed).choice(masks.size, n_pixels, replace=False)
    marked = np.full(masks.shape, UNLABELLED, np.int8)
    marked.flat[drawn] = masks.flat[drawn]
    return marked


def make_segmenter(seed=0):
    return JungleSegmenter(unlabelled=UNLABELLED, n_jobs=2, random_state=seed)


def tile_sections(images, side):
    """One image (side, side) made of different sections side by side, or cut from one."""
    n_across = -(-side // images.shape[1])
    order = np.arange(n_across**2).reshape(n_across, n_across) % len(images)
    return np.vstack([np.hstack(images[row]) for row in order])[:side, :side]


def train_both(images, masks):
    """The forest and the segmenter, trained on the same pixels after compilation."""
    warm_up(images, masks)
    print(f"Training on {N_PIXELS:,} pixels of {len(TRAINING)} sections")
    chosen, models = list(TRAINING), (PixelForest(), make_segmenter())
    marked = mark_pixels(masks[chosen], N_PIXELS)
    seconds = [timed(model.fit, list(images[chosen]), list(marked))[0] for model in models]
    print(f"  forest {seconds[0]:.1f} s   segmenter {seconds[1]:.1f} s")
    return models


def warm_up(images, masks):
    corner, truth = images[:1, :96, :96], masks[:1, :96, :96].astype(np.int8)
    for model in (PixelForest(), make_segmenter()):
        model.fit(list(corner), list(truth)).predict_proba(corner[0])


def compare_with_forest(forest, segmenter, image):
    """Seconds for one section, features included: at most half of the forest's."""
    models = forest, segmenter
    print(f"One section of {image.shape[0]} x {image.shape[1]}, median of {N_REPEATS}")
    # Alternately, so that other load on the machine affects both.
    seconds = np.median([[timed(model.predict_proba, image)[0] for model in models] for _ in range(N_REPEATS)], axis=0)
    print(f"  forest {seconds[0]:.2f} s   segmenter {seconds[1]:.2f} s   ratio {seconds[1] / seconds[0]:.2f}")


def show_growth(segmenter, images):
    """Seconds against pixels."""
    print("Seconds per image (linear growth: the last column is constant)")
    for side in SIDES:
        image = tile_sections(images, side)
        seconds, _ = best(lambda image=image: segmenter.predict_proba(image), 2)
        print(f"  {side:4d} x {side:4d}  {seconds:7.2f} s  {1e6 * seconds / image.size:6.2f} µs per pixel")


def show_memory(segmenter, images):
    """Peak memory of labelling a large memory-mapped image: at most 2 GB beyond its own size."""
    print(f"{LARGE_SIDE} x {LARGE_SIDE} memory-mapped, in a process of its own")
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        path = Path(folder) / "large.dat"
        tile_sections(images, LARGE_SIDE).tofile(path)
        seconds, beyond = pool.submit(measure_memory, segmenter, path, LARGE_SIDE).result()
    maps = 4 * len(segmenter.classes_) * LARGE_SIDE**2 / 2**30
    print(f"  {beyond:.2f} GB beyond the image (the maps of each round are {maps:.2f} GB of it), {seconds:.0f} s")


def measure_memory(segmenter, path, side):
    """In a new process: seconds of labelling, and GB at its peak beyond what was resident before and the image."""
    image = np.memmap(path, np.uint8, "r", shape=(side, side))
    before = resident_bytes("VmRSS")
    seconds, _ = timed(segmenter.predict_proba, image)
    return seconds, (resident_bytes("VmHWM") - before - image.nbytes) / 2**30


def resident_bytes(key):
    """Resident memory of this process on Linux: VmRSS now, VmHWM at its peak.

    The `ru_maxrss` of getrusage is not used because a new process inherits the peak of its parent.
    """
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(key))


def compare_with_patches(segmenter, image):
    """Largest deviation of probabilities from patch-wise ones, and from other tile sizes: at most 1e-3."""
    rows, cols = np.random.default_rng(0).integers(image.shape[0], size=(2, N_COMPARED))
    dense = segmenter.predict_proba(image)
    patch_wise = predict_patches(segmenter, image, rows, cols)
    print("Largest deviation of a probability")
    print(f"  dense against patch-wise, {N_COMPARED} pixels: {np.abs(dense[rows, cols] - patch_wise).max():.1e}")
    standard = StandardImage(image, segmenter.standardize)
    for side in TILE_SIDES:
        others = predict_maps(segmenter._description(), segmenter.final_estimators_, standard, dense.shape[2], 2, side)
        print(f"  tiles of {side:4d} against 256: {np.abs(dense - others).max():.1e}")


def predict_patches(segmenter, image, rows, cols):
    """Probabilities (n, K) of some pixels: filters applied to cut patches, and scikit-learn's own heads."""
    standard, description = StandardImage(image, segmenter.standardize), segmenter._description()
    own = features = description.at(standard, rows, cols)
    for number in range(1, len(segmenter.final_estimators_)):
        # A further round uses whole maps of the previous one, so these are computed densely.
        maps = predict_maps(description, segmenter.final_estimators_[:number], standard, len(segmenter.classes_), 2)
        features = np.concatenate([own, BANK_ALONE.at(context_of(maps), rows, cols)], axis=1)
    return segmenter.final_estimators_[-1].predict_proba(features)


def show_scribbles(images, masks):
    """Training seconds from discs of one section: at most 5 s."""
    print(f"Training on {N_DISCS} discs of one section, median of 3")
    seconds = []
    for draw in range(3):
        scribbled = draw_scribbles(masks[0], N_DISCS, RADIUS, np.random.default_rng(draw))
        models = PixelForest(draw), make_segmenter(draw)
        seconds.append([timed(model.fit, [images[0]], [scribbled])[0] for model in models])
    print("  forest {:.1f} s   segmenter {:.1f} s".format(*np.median(seconds, axis=0)))


def main():
    sys.stdout.reconfigure(line_buffering=True)
    images, masks = load_sections()
    forest, segmenter = train_both(images, masks)
    compare_with_forest(forest, segmenter, images[TEST])
    show_growth(segmenter, images)
    compare_with_patches(segmenter, images[TEST])
    show_scribbles(images, masks)
    show_memory(segmenter, images)


if __name__ == "__main__":
    main()
