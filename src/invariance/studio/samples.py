"""Sample images to try the studio on, with a few strokes and labels: generated, or shipped with scikit-image."""

import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from invariance.datasets import load_textures, make_membranes
from invariance.images import Layout, page_writer
from invariance.studio.painting import Painting
from invariance.studio.project import Project
from invariance.studio.rasters import PageKey
from invariance.studio.sources import Sources

NAME = "studio-samples"
N_PAGES, SIDE = 4, 320
STACK = "membranes.tif"
N_TEXTURES, N_LABELLED, TEXTURE_SIDE = 16, 3, 96  # windows per texture, of which so many are labelled
NM_PER_PIXEL = 4  # of the generated sections, as of real ones in an electron microscope
CELL, MEMBRANE = 1, 2
STROKES_PER_PAGE = {0: 6, 3: 4}  # and class
BRUSH_RADIUS = 1.5
SEED = 7


def make_samples(folder: Path | None = None) -> Path:
    """Make a folder of sample images with a project in it, unless it is there; return the folder.

    A generated stack of sections has strokes of two classes, so that a prediction shows at once; small photographs of
    three textures have some labels, so that image mode can be trained at once.

    Parameters
    ----------
    folder : Path or None, default=None
        None means a folder in the cache of the user. An existing one stays as it is: work on it is not lost.

    Returns
    -------
    folder : Path
    """
    if folder is None:
        from invariance.datasets._sources import cache_folder

        folder = cache_folder() / NAME
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished = folder.with_name(f".{folder.name}-{secrets.token_hex(4)}.unfinished")
    try:
        unfinished.mkdir()
        masks = _write_images(unfinished)
        _write_project(unfinished, masks)
        os.rename(unfinished, folder)
    except OSError:
        if not folder.is_dir():  # another process was faster otherwise
            raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return folder


def _write_images(folder: Path) -> np.ndarray:
    """Write all images; return the masks (pages, h, w) of the stack, True on membranes."""
    from skimage import data

    sections = make_membranes(N_PAGES, (SIDE, SIDE), random_state=SEED)
    pixels_per_unit = (1000 // NM_PER_PIXEL, 1)  # per micrometre
    layout = Layout(
        "Z", (N_PAGES,), "imagej", (pixels_per_unit, pixels_per_unit), 1, (("unit", "um"), ("spacing", "0.05"))
    )
    with page_writer(folder / STACK, layout) as write:
        for section in sections.images:
            write(_as_bytes(section))
    (folder / "photographs").mkdir()  # listed after the stack, which has strokes
    for name in ("coins", "cell"):
        _write_image(folder / "photographs" / f"{name}.png", getattr(data, name)())
    textures = load_textures(N_TEXTURES, TEXTURE_SIDE, random_state=SEED)
    (folder / "textures").mkdir()
    for number, row in enumerate(_texture_order(), 1):
        _write_image(folder / "textures" / f"{number:02}.png", _as_bytes(textures.images[row]))
    return np.asarray(sections.masks)


def _texture_order() -> np.ndarray:
    """The order in which textures are shown: mixed."""
    return np.random.default_rng(SEED).permutation(3 * N_TEXTURES)


def _write_project(folder: Path, masks: np.ndarray) -> None:
    """Write a project with named classes, strokes and some labels of images."""
    project = Project(folder)
    try:
        sources = Sources(project)
        painting = Painting(project, sources)
        images = {image.name: image.id for image in sources.images()}
        project.change_class("pixels", CELL, name="cell")
        project.change_class("pixels", MEMBRANE, name="membrane")
        for page, count in STROKES_PER_PAGE.items():
            for number, points in _draw_strokes(masks[page], count, np.random.default_rng([SEED, page])):
                painting.stroke(PageKey(images[STACK], page, "labels"), "brush", number, BRUSH_RADIUS, points)
        numbers = [project.add_class("images", name).number for name in ("brick", "grass", "gravel")]
        labels, counts = {}, dict.fromkeys(numbers, 0)
        for place, row in enumerate(_texture_order(), 1):
            number = numbers[row // N_TEXTURES]
            if counts[number] < N_LABELLED:
                labels[images[f"textures/{place:02}.png"]] = number
                counts[number] += 1
        project.label_images(labels)
    finally:
        project.close()


def _draw_strokes(mask: np.ndarray, count: int, rng: np.random.Generator) -> Iterator[tuple[int, np.ndarray]]:
    """Draw strokes as a person would: lines across cells, and along membranes; class by class in turn."""
    from scipy.ndimage import distance_transform_edt
    from skimage.morphology import skeletonize

    depth, middle = distance_transform_edt(~mask), skeletonize(mask)
    depth[[0, -1]] = depth[:, [0, -1]] = 0
    taken = np.zeros(mask.shape, bool)
    for _ in range(count):
        place = np.argmax(np.where(taken, 0, depth * rng.uniform(0.5, 1, mask.shape)))
        row, col = map(int, np.unravel_index(place, mask.shape))
        angle, reach = rng.uniform(0, np.pi), max(1.0, depth[row, col] - 2 * BRUSH_RADIUS)
        end = reach * np.array([np.sin(angle), np.cos(angle)])
        yield CELL, np.array([row, col]) + np.outer((-1, 0, 1), end)
        _take(taken, row, col)
        path = _walk_along(middle & ~taken, rng)
        yield MEMBRANE, path
        _take(taken, *path[len(path) // 2].astype(int))


def _walk_along(line: np.ndarray, rng: np.random.Generator, n_steps: int = 30) -> np.ndarray:
    """Walk along a line of pixels from a random one of them; the longest of some walks."""
    rows, cols = np.nonzero(line)
    walks = []
    for start in rng.choice(len(rows), 20, replace=False):
        left = line.copy()
        walk = [(int(rows[start]), int(cols[start]))]
        while len(walk) < n_steps:
            row, col = walk[-1]
            left[row, col] = False
            around = [
                (r, c)
                for r in range(max(0, row - 1), min(len(left), row + 2))
                for c in range(max(0, col - 1), min(left.shape[1], col + 2))
                if left[r, c]
            ]
            if not around:
                break
            walk.append(around[0])
        walks.append(walk)
    return np.array(max(walks, key=len), float)


def _take(taken: np.ndarray, row: int, col: int, reach: int = 40) -> None:
    taken[max(0, row - reach) : row + reach, max(0, col - reach) : col + reach] = True


def _as_bytes(image: np.ndarray) -> np.ndarray:
    return np.rint(255 * np.clip(image, 0, 1)).astype(np.uint8)


def _write_image(path: Path, image: np.ndarray) -> None:
    with page_writer(path) as write:
        write(image)
