"""Draw the images of the pages of the methods, one idea each, and the result that README shows.

    python docs/ideas.py

needs nothing but the library; the images are the same for the same version.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from skimage import data

from invariance import (
    BagOfFeatures,
    CodebookClassifier,
    Identity,
    JungleClassifier,
    Layer,
    NeuralResponse,
    Reflections,
    Rotations,
    Scales,
    Shifts,
    TangentDistance,
    TradeoffClassifier,
    datasets,
    invariance_profile,
    tangent_vectors,
)
from invariance.codebooks import RandomWindows
from invariance.images import resize
from invariance.report import (
    image_grid_figure,
    orbit_figure,
    profile_figure,
    save_figure,
    weights_figure,
    winners_figure,
    word_map_figure,
)
from invariance.report.demo.page import result_figure
from invariance.report.demo.pixels import run_pixels
from invariance.tradeoff import ImageKernel

FOLDER = Path(__file__).parent / "images"


def transformations() -> Figure:
    """The orbit of an image under a product of two sets."""
    image = resize(data.camera() / 255.0, (64, 64))
    orbit = (Rotations(8) * Reflections()).operators(image.shape).apply(image[None])[0]
    return orbit_figure(orbit, "Rotations(8) * Reflections()")


def jungles() -> Figure:
    """Patches, the member of each with the largest response, and the filter."""
    windows = datasets.load_textures(n_windows=50, size=9)
    model = JungleClassifier(Rotations(24), n_jungles=5, random_state=0).fit(windows.images, windows.labels)
    striking = np.argsort(-windows.images.std(axis=(1, 2)))[:6]
    return winners_figure(model, windows.images[striking])


def segmentation() -> Figure:
    """Strokes on one section, and what becomes of another."""
    return result_figure(run_pixels())


def codebooks() -> Figure:
    """Where the words of a class are found."""
    images = [data.brick(), data.grass(), data.gravel()]
    corners = [(i, j) for i in (0, 128) for j in (0, 128, 256)]
    pieces = [photo[i : i + 128, j : j + 128] for photo in images for i, j in corners]
    bag = BagOfFeatures(sampler=RandomWindows(n_windows=1000, max_scale=0.4))
    model = CodebookClassifier(bag, random_state=0).fit(pieces, np.repeat(["brick", "grass", "gravel"], 6))
    both = np.hstack([images[0][256:384, :128], images[1][256:384, :128]])
    return word_map_figure(model, both, "grass")


def hierarchies() -> Figure:
    """Distances between versions of an image against those between images."""
    images = datasets.load_textures(n_windows=60).images
    new = datasets.load_textures(n_windows=8, split="test").images
    layers = [Layer(8, n_templates=100), Layer(16, n_templates=100)]
    kernels = ("inner", "histogram")
    responses = {kernel: NeuralResponse(layers, kernel=kernel, random_state=0).fit(images) for kernel in kernels}
    return profile_figure({name: invariance_profile(one, new, Rotations(4)) for name, one in responses.items()})


def tangents() -> Figure:
    """A digit, and the directions in which its pixels move."""
    digit = datasets.load_digits().images[:1]
    vectors = tangent_vectors(digit, Shifts() * Rotations(3) * Scales(3))[0]
    vectors = 0.5 + 0.5 * vectors / np.abs(vectors).max(axis=(1, 2), keepdims=True)
    return image_grid_figure([digit[0], *vectors], ["digit", "shift", "shift", "rotation", "scale"][: 1 + len(vectors)])


def tradeoff() -> Figure:
    """The weights that every class gives to every invariance."""
    digits = datasets.load_digits().take(slice(0, 200))
    sets = {"none": Identity(), "rotations": Rotations(3), "shifts": Shifts()}
    kernels = [ImageKernel(TangentDistance(phi), name=name) for name, phi in sets.items()]
    return weights_figure(TradeoffClassifier(kernels, scheme="ova").fit(digits.images, digits.labels), "Digits")


IDEAS: tuple[Callable[[], Figure], ...] = (
    transformations, jungles, segmentation, codebooks, hierarchies, tangents, tradeoff,
)  # fmt: skip


def main() -> None:
    """Draw all."""
    for draw in IDEAS:
        path = FOLDER / f"idea-{draw.__name__}.png"
        save_figure(draw(), path)
        print(f"{path}: {path.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
