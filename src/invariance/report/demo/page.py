"""The report of the demonstration: pixels, images, what the models saw, and what to run next."""

import numpy as np
from matplotlib.figure import Figure

from invariance._core.randomness import spawn_rngs
from invariance.report import (
    Report,
    advice_figure,
    bar_figure,
    confusion_figure,
    image_grid_figure,
    orbit_figure,
)
from invariance.report.demo.images import ImageDemo
from invariance.report.demo.pixels import CELL, FOREST, MEMBRANE, OURS, UNLABELLED, PixelDemo
from invariance.report.explanation.learned import show_learned, show_plan
from invariance.report.figures import GREEN, RED, pick_evenly
from invariance.transformations.parsing import parse_transformations

N_EXAMPLES = 8
IMAGE_SIDE = 224  # pixels on the page
COLOURS = {CELL: (0.20, 0.50, 0.90), MEMBRANE: (1.0, 0.75, 0.0)}
OPACITY = 0.55
NEXT = """invariance studio --samples                    # paint strokes yourself (needs pip install '.[studio]')
invariance studio my-images/                   # the same on your own images
invariance advise my-folder/                   # one sub-folder per class: which invariances help
invariance fit my-folder/ -o my-model.inv      # the best method, and why
invariance fit-pixels images/ masks/ -o pixels.inv"""


def demo_report(pixels: PixelDemo, images: ImageDemo, seed: int) -> Report:
    """Return the page about the demonstration."""
    ours, forest = pixels.scores[OURS], pixels.scores[FOREST]
    report = Report(
        "What does not matter",
        "Two tasks that people have, from few labels, each beside what is usually taken for it.",
        settings={"seed": seed},
    ).facts(
        {
            "pixels wrong": f"{ours.pixel_error:.1%}",
            "by a pixel forest": f"{forest.pixel_error:.1%}",
            "images right": f"{images.invariant.accuracy:.1%}",
            "ignoring nothing": f"{images.plain.accuracy:.1%}",
        }
    )
    _show_pixels(report, pixels)
    _show_images(report, images)
    _show_seen(report, images, seed)
    return report.section("What to run next").code(NEXT)


def result_figure(demo: PixelDemo) -> Figure:
    """Draw the strokes, a new section, its membranes by both methods, and the truth, side by side."""
    image, truth = demo.images[0], demo.truth[0]
    found = {name: maps[0] >= 0.5 for name, maps in demo.probabilities.items()}
    shown = [paint(demo), image, *(_overlay(image, mask) for mask in (found[FOREST], found[OURS], truth))]
    titles = ["strokes", "new section", FOREST, OURS, "truth"]
    return image_grid_figure(shown, titles, columns=len(shown))


def paint(demo: PixelDemo) -> np.ndarray:
    """Return the section with its strokes in colour, (h, w, 3)."""
    painted = np.repeat(demo.painted[..., None], 3, axis=2)
    for value, colour in COLOURS.items():
        painted[demo.strokes == value] = colour
    return painted


def _show_pixels(report: Report, demo: PixelDemo) -> None:
    share = np.mean(demo.strokes != UNLABELLED)
    report.section("Pixels from strokes").text(
        demo.sentence,
        f"The strokes cover {share:.1%} of the pixels of one generated section of tissue: blue on cells, yellow on "
        "membranes. Both methods learn from them alone and label sections that they have not seen. A pixel forest is a "
        "random forest on intensities, edges and textures at several scales, as in scikit-image and ilastik.",
        "This is one draw of strokes on generated sections, where the two are close: with another --seed either may be "
        "ahead. On real sections the errors of this library were lower, see docs/results.md.",
    )
    report.images([paint(demo)], ["the section with strokes"], "Before.", side=IMAGE_SIDE)
    shown, titles = [], []
    for number, (image, truth) in enumerate(zip(demo.images, demo.truth, strict=True)):
        maps = {name: found[number] >= 0.5 for name, found in demo.probabilities.items()}
        shown += [image, *(_overlay(image, mask) for mask in (*maps.values(), truth))]
        wrong = [f"{name}: {np.mean(mask != truth):.1%} of pixels wrong" for name, mask in maps.items()]
        titles += [f"new section {number + 1}", *wrong, "truth"]
    report.images(shown, titles, "After. Yellow: pixels labelled as membrane.", side=IMAGE_SIDE)
    columns = ("method", "pixels wrong", "F of membranes", "V_rand")
    rows = [
        (name, f"{scores.pixel_error:.1%}", f"{scores.boundary_f:.3f}", f"{scores.v_rand:.3f}")
        for name, scores in demo.scores.items()
    ]
    report.table(
        columns,
        rows,
        "F and V_rand are at the threshold that is best for each method; 1 is perfect. A gap of one pixel in a "
        "membrane merges two cells: V_rand sees it, the share of wrong pixels hardly does.",
    )


def _overlay(image: np.ndarray, mask: np.ndarray) -> np.ndarray:
    rgb = np.repeat(image[..., None], 3, axis=2)
    rgb[mask] = (1 - OPACITY) * rgb[mask] + OPACITY * np.array(COLOURS[MEMBRANE])
    return rgb


def _show_images(report: Report, demo: ImageDemo) -> None:
    labelled = demo.labelled
    report.section("Images: which invariance helps").text(
        demo.sentence,
        f"Handwritten digits at any angle, as on parts that lie on a belt; {len(labelled)} are labelled. Nines "
        "are left out: at any angle they are sixes.",
    ).images(
        list(labelled.images[::5]),
        [str(label) for label in np.asarray(labelled.labels)[::5]],
        "Some of the labelled images.",
        side=64,
    ).text(*demo.advice.reasons[:4])
    report.figure(
        advice_figure(demo.advice),
        "advise: change in accuracy when each candidate is ignored, with 95 % intervals, on the labelled images.",
    )
    phi = parse_transformations(demo.advice.text)
    orbit = phi.operators(labelled.images[0].shape).apply(labelled.images[:1])[0]
    places = pick_evenly(len(orbit), 2 * N_EXAMPLES)
    report.figure(
        orbit_figure(orbit[places], numbers=places.tolist()),
        f"{len(places)} of {len(orbit)} versions of one image that count as the same, as advised.",
    )
    accuracies = {
        f"{demo.selection.method}, ignoring {demo.advice.text}": demo.invariant.accuracy,
        f"{demo.selection.method}, ignoring nothing": demo.plain.accuracy,
        **demo.peers,
    }
    report.text(f"fit: {demo.selection.reason}").figure(
        bar_figure({name: 100 * value for name, value in accuracies.items()}, "accuracy on new images, %", limit=100),
        f"{len(demo.new)} new images. Baselines learn from the same labelled images, some from eight turned copies of "
        "each.",
    )


def _show_seen(report: Report, demo: ImageDemo, seed: int) -> None:
    classifier = demo.selection.classifier
    [rng] = spawn_rngs(seed, 1)
    show_plan(report, classifier)
    show_learned(report, classifier, demo.invariant, rng)
    report.section("Where it is right and wrong").figure(
        confusion_figure(demo.invariant.confusion, [str(name) for name in demo.invariant.classes]),
        "New images by true and predicted class.",
    )
    evaluation = demo.invariant
    for word, colour, mask in (("correctly", GREEN, evaluation.is_right), ("wrongly", RED, ~evaluation.is_right)):
        rows = np.flatnonzero(mask)
        if len(rows) == 0:
            report.text(f"No image was classified {word}.")
            continue
        rows = rows[pick_evenly(len(rows), N_EXAMPLES)]
        names = evaluation.classes
        titles = [f"{names[evaluation.predicted[row]]}, is {names[evaluation.codes[row]]}" for row in rows]
        report.images(
            [evaluation.images[row] for row in rows],
            titles,
            f"{len(rows)} of {mask.sum()} images classified {word}.",
            [colour] * len(rows),
            side=80,
        )
