"""The report of the demonstration: one function per section."""

import numpy as np
from sklearn.metrics import confusion_matrix

from invariance.report import (
    Report,
    bar_figure,
    confusion_figure,
    filters_figure,
    growth_figure,
    image_grid_figure,
    jungle_figure,
    orbit_figure,
    winners_figure,
)
from invariance.report import demo_experiment as experiment
from invariance.report.demo_experiment import COPIES, INVARIANT, PHI, PLAIN, SHOWN_COUNT, SVM_COPIES, Demo, Trial
from invariance.report.figures import GREEN, RED, pick_evenly
from invariance.transformations import check_group

N_EXAMPLES = 8  # images per row


def demo_report(demo: Demo, seed: int) -> Report:
    """Return the page about the demonstration: task, invariance, accuracy, errors, and what was learned."""
    accuracy = {name: values.mean() for name, values in demo.accuracies(SHOWN_COUNT).items()}
    report = Report(
        "Textures from few labels",
        f"Windows of {len(demo.class_names)} textures at random rotations are classified from {SHOWN_COUNT} labelled "
        f"windows per class. Making jungles of learned filters invariant to rotation changes their accuracy from "
        f"{accuracy[PLAIN]:.0%} to {accuracy[INVARIANT]:.0%}. {compare_with_peers(demo)}",
        settings=_settings(demo, seed),
    )
    report.facts(
        {
            f"accuracy, {INVARIANT}": f"{accuracy[INVARIANT]:.1%}",
            f"accuracy, {PLAIN}": f"{accuracy[PLAIN]:.1%}",
            "difference, points": f"{100 * (accuracy[INVARIANT] - accuracy[PLAIN]):+.1f}",
            "labelled windows per class": SHOWN_COUNT,
        }
    )
    _show_task(report, demo)
    _show_transformations(report, demo)
    _show_accuracies(report, demo)
    _show_confusions(report, demo)
    _show_examples(report, demo)
    _show_filters(report, demo)
    _show_graph(report, demo)
    _show_growth(report, demo)
    return report


def compare_with_peers(demo: Demo) -> str:
    """Return a sentence that compares the invariant jungles with the best of the other classifiers."""
    accuracies = demo.accuracies(SHOWN_COUNT)
    peers = [name for name in accuracies if name not in (INVARIANT, PLAIN)]
    peer = max(peers, key=lambda name: accuracies[name].mean())
    points = 100 * (accuracies[INVARIANT] - accuracies[peer])
    return (
        f"The best of the other classifiers is “{peer}” with {accuracies[peer].mean():.1%}; the jungles that ignore "
        f"rotation differ from it by {points.mean():+.1f} points on average, and are more accurate in "
        f"{np.sum(points > 0)} of {len(points)} draws."
    )


def _settings(demo: Demo, seed: int) -> dict:
    n_train, n_test = len(demo.train.labels), len(demo.test.labels)
    height, width = demo.test.images.shape[1:3]
    size = experiment.PATCH_SIZE
    return {
        "seed": seed,
        "transformations": repr(PHI),
        "windows": f"{n_train} to draw labelled windows from, {n_test} to test on; {height} x {width} pixels",
        "patches": f"{size} x {size} pixels, every {experiment.STRIDE} pixels, masked by a disc, of zero mean, divided "
        f"by their norm plus {experiment.MIN_CONTRAST}",
        "jungles": ", ".join(f"{name}={value}" for name, value in experiment.JUNGLES.items()) + ", otherwise defaults",
        "support vector machines": f"RBF kernel, C={experiment.SVM_COST:g}, gamma='scale'; copies at {COPIES.n} angles",
        "local binary patterns": "uniform; " + ", ".join(f"{n} points at radius {r}" for n, r in experiment.RINGS),
        "draws of labelled windows": len(demo.trials[SHOWN_COUNT]),
        "settings chosen on": "windows from the upper halves of the photographs only",
    }


def _show_task(report: Report, demo: Demo) -> None:
    (windows, labels), names = demo.train, demo.class_names
    chosen = np.concatenate([np.flatnonzero(labels == c)[:N_EXAMPLES] for c in range(len(names))])
    report.section("Task").figure(
        image_grid_figure(windows[chosen], [names[labels[i]] for i in chosen]),
        "Windows of each texture. The angle is random and unrelated to the class.",
    )


def _show_transformations(report: Report, demo: Demo) -> None:
    window = demo.train.images[_first_trial(demo).labelled[0]]
    orbit = PHI.operators(window.shape).apply(window[None])[0]
    size = f"{experiment.PATCH_SIZE} x {experiment.PATCH_SIZE}"
    report.section("Invariance").text(
        f"A texture has no centre, so a window is not classified as a whole: its {size} patches are, and the class of "
        f"the window is the one with the highest mean probability over its patches. The response of a patch to a "
        f"filter is the maximum over {len(orbit)} rotations, also while the filter is learned. The jungles that do not "
        f"ignore rotation have the same settings, but every filter has one orientation only.",
        f"Is this set of rotations a group on {size} pixels? {check_group(PHI, experiment.SHAPE).sentence} There are "
        f"two reasons for deviations: the corners leave a square when it is rotated, which is why the patches are "
        f"masked by a disc, and interpolation between so few pixels blurs.",
    ).figure(orbit_figure(orbit), f"The {len(orbit)} versions of one window that count as the same.")


def _show_accuracies(report: Report, demo: Demo) -> None:
    shown = {name: 100 * values.mean() for name, values in demo.accuracies(SHOWN_COUNT).items()}
    n_trials = len(demo.trials[SHOWN_COUNT])
    columns = {n_labels: demo.accuracies(n_labels) for n_labels in demo.trials}
    rows = [(name, *(_mean_and_range(values[name]) for values in columns.values())) for name in shown]
    report.section("Accuracy").text(
        compare_with_peers(demo),
        f"The support vector machine (SVM, RBF kernel) learns from the same patches; with rotated copies it is trained "
        f"on every patch at {COPIES.n} angles, the usual way to learn an invariance. Local binary patterns are "
        f"histograms of the whole window, designed to ignore rotation.",
    ).figure(
        bar_figure(shown, "accuracy on test windows, %", limit=100),
        f"{SHOWN_COUNT} labelled windows per class; mean of {n_trials} draws of labelled windows.",
    ).table(
        ("classifier", *(f"{n_labels} labelled windows per class" for n_labels in columns)),
        rows,
        f"Mean accuracy, and in brackets the lowest and the highest of {n_trials} draws of labelled windows. Test "
        "windows are of the lower half of each photograph, labelled windows of the upper half.",
    )


def _show_confusions(report: Report, demo: Demo) -> None:
    report.section("Confusions")
    for name in (INVARIANT, PLAIN, SVM_COPIES):
        counts = confusion_matrix(demo.test.labels, _first_trial(demo).predictions[name])
        caption = f"Test windows, first draw of labelled windows, {name}."
        report.figure(confusion_figure(counts, demo.class_names, name), caption)


def _show_examples(report: Report, demo: Demo) -> None:
    report.section("Examples")
    (windows, labels), names = demo.test, demo.class_names
    predicted = _first_trial(demo).predictions[INVARIANT]
    for word, colour, mask in (("correctly", GREEN, predicted == labels), ("wrongly", RED, predicted != labels)):
        candidates = np.flatnonzero(mask)
        if len(candidates) == 0:
            report.text(f"No window was classified {word}.")
            continue
        chosen = candidates[pick_evenly(len(candidates), N_EXAMPLES)]
        titles = [f"predicted {names[predicted[i]]}\nis {names[labels[i]]}" for i in chosen]
        report.figure(
            image_grid_figure(windows[chosen], titles, frames=[colour] * len(chosen)),
            f"{len(chosen)} of {len(candidates)} windows classified {word} by the jungles that ignore rotation.",
        )


def _show_filters(report: Report, demo: Demo) -> None:
    trial = _first_trial(demo)
    windows = demo.train.images[trial.labelled]
    # The patch of highest contrast of each window: its structure is visible.
    patches = experiment.cut_patches(windows[pick_evenly(len(windows), N_EXAMPLES)])
    striking = patches[np.arange(len(patches)), np.linalg.norm(patches, axis=2).argmax(axis=1)]
    report.section("What was learned").figure(
        filters_figure(trial.jungles),
        "Filters of the nodes that most patches reached, named jungle.node, with the number of these patches. Red "
        "pixels have positive weights, blue pixels negative ones; each filter has its own scale.",
    ).figure(
        winners_figure(trial.jungles, striking),
        "Top: patches of labelled windows. Middle: each patch at the rotation with the largest response. Bottom: the "
        "filter and this response.",
    )


def _show_graph(report: Report, demo: Demo) -> None:
    report.section("A jungle").text(
        "Every patch starts at the top. At a node, its maximum response to the filter of the node decides where it "
        "goes. When a layer gets too wide, leaves with similar class shares are merged, so that a node may have "
        "several parents. A bar shows the classes of the training patches that reached a node, and the number below it "
        "how many there were."
    ).figure(
        jungle_figure(_first_trial(demo).jungles, class_names=demo.class_names),
        "One of the jungles. The width of a line is proportional to the number of patches on it; a dotted line leads "
        "from a leaf to the node that it was merged into.",
    )


def _show_growth(report: Report, demo: Demo) -> None:
    report.section("Depth").text(
        f"The jungles above have depth {experiment.JUNGLES['max_depth']}. Those below are grown deeper on the patches "
        "of the same windows, of which a fifth is held out: a jungle is pruned to the depth with the lowest loss on "
        "the held-out patches."
    ).figure(growth_figure(demo.deep_jungles), "Number of leaves, and loss on the held-out patches, by depth.")


def _mean_and_range(values: np.ndarray) -> str:
    return f"{values.mean():.1%} ({100 * values.min():.0f}–{values.max():.0%})"


def _first_trial(demo: Demo) -> Trial:
    return demo.trials[SHOWN_COUNT][0]
