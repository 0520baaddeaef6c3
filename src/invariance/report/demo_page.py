"""The report of the demonstration: one function a section."""

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
from invariance.report import demo_job as job
from invariance.report.demo_job import COPIES, PHI, PLAIN, SVM_COPIES, TOLD, Demo
from invariance.report.figures import GREEN, RED
from invariance.transformations import check_group

N_EXAMPLES = 8


def demo_report(demo: Demo, seed: int) -> Report:
    """What was asked, what was told, what came out, where it fails, and what was learned."""
    accuracy = {name: values.mean() for name, values in demo.accuracies(job.SHOWN_COUNT).items()}
    report = Report(
        "Textures from few labels",
        f"Windows of {len(demo.class_names)} textures, each turned by a random angle, classified from "
        f"{job.SHOWN_COUNT} labelled windows per class. Telling jungles of learned filters that rotation does not "
        f"matter changes the share classified right from {accuracy[PLAIN]:.0%} to {accuracy[TOLD]:.0%}. "
        f"{compare_with_peers(demo)}",
        settings=_settings(demo, seed),
    )
    report.facts(
        {
            f"right, {TOLD}": f"{accuracy[TOLD]:.1%}",
            f"right, {PLAIN}": f"{accuracy[PLAIN]:.1%}",
            "difference, in points": f"{100 * (accuracy[TOLD] - accuracy[PLAIN]):+.1f}",
            "labelled windows per class": job.SHOWN_COUNT,
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
    """One sentence on the best of the other methods, whichever way it turns out."""
    accuracies = demo.accuracies(job.SHOWN_COUNT)
    peers = [name for name in accuracies if name not in (TOLD, PLAIN)]
    peer = max(peers, key=lambda name: accuracies[name].mean())
    points = 100 * (accuracies[TOLD] - accuracies[peer])
    return (
        f"Of the other methods the best is “{peer}” with {accuracies[peer].mean():.1%}; the difference to it is "
        f"{points.mean():+.1f} points on average, and the jungles are ahead in {np.sum(points > 0)} of "
        f"{len(points)} draws."
    )


def _settings(demo: Demo, seed: int) -> dict:
    n_train, n_test = len(demo.train.labels), len(demo.test.labels)
    height, width = demo.test.images.shape[1:3]
    return {
        "seed": seed,
        "transformations": repr(PHI),
        "windows": f"{n_train} to draw labels from, {n_test} to test on; {height} x {width} pixels",
        "patches": f"{job.PATCH_SIZE} x {job.PATCH_SIZE} pixels, every {job.STRIDE} pixels, cut to a disc, "
        f"without mean, divided by their norm plus {job.LEAST_CONTRAST}",
        "jungles": ", ".join(f"{name}={value}" for name, value in job.JUNGLES.items()) + ", the rest by default",
        "support vector machines": f"RBF kernel, C={job.SVM_COST:g}, gamma='scale'; copies at {COPIES.n} angles",
        "local binary patterns": "uniform; " + ", ".join(f"{n} points at radius {r}" for n, r in job.RINGS),
        "draws of labels": len(demo.trials[job.SHOWN_COUNT]),
        "chosen on": "windows from the upper halves of the photographs alone",
    }


def _show_task(report: Report, demo: Demo) -> None:
    (windows, labels), names = demo.train, demo.class_names
    chosen = np.concatenate([np.flatnonzero(labels == c)[:N_EXAMPLES] for c in range(len(names))])
    report.section("The task").figure(
        image_grid_figure(windows[chosen], [names[labels[i]] for i in chosen]),
        "Windows of each texture. The angle is random and says nothing about the class.",
    )


def _show_transformations(report: Report, demo: Demo) -> None:
    window = demo.train.images[_first_trial(demo).labelled[0]]
    orbit = PHI.operators(window.shape).apply(window[None])[0]
    report.section("What the learner was told").text(
        f"A texture has no centre, so not the window is classified but its {job.PATCH_SIZE} x {job.PATCH_SIZE} "
        f"patches; the window gets the class that they find most probable on average. A filter of a jungle and its "
        f"turned versions count as one: its response to a patch is the largest over {len(orbit)} rotations, also while "
        f"it is learned. The other jungles have the same settings, but each filter in its one orientation only.",
        f"Is this set of rotations a group on {job.PATCH_SIZE} x {job.PATCH_SIZE} pixels? "
        f"{check_group(PHI, job.SHAPE).sentence} There are two reasons: corners leave a square when it turns, which is "
        f"why the patches here are cut to a disc, and interpolating between so few pixels blurs.",
    ).figure(orbit_figure(orbit), f"The {len(orbit)} versions of one window that count as the same.")


def _show_accuracies(report: Report, demo: Demo) -> None:
    shown = {name: 100 * values.mean() for name, values in demo.accuracies(job.SHOWN_COUNT).items()}
    n_trials = len(demo.trials[job.SHOWN_COUNT])
    columns = {n_labels: demo.accuracies(n_labels) for n_labels in demo.trials}
    rows = [(name, *(_mean_and_range(values[name]) for values in columns.values())) for name in job.CONTESTANTS]
    report.section("How well it does").text(
        compare_with_peers(demo),
        f"The support vector machine (SVM, RBF kernel) learns from the same patches; with turned copies it is shown "
        f"every patch at {COPIES.n} angles, the usual way to say that rotation does not matter. Local binary patterns "
        "are histograms of the whole window, made by hand to ignore rotation.",
    ).figure(
        bar_figure(shown, "windows classified right, %", limit=100),
        f"{job.SHOWN_COUNT} labelled windows per class; the mean of {n_trials} draws of labels.",
    ).table(
        ("windows classified right", *(f"{n_labels} labels per class" for n_labels in columns)),
        rows,
        f"The mean, and in brackets the lowest and the highest of {n_trials} draws of labels. Test windows come from "
        "the lower half of each photograph, labelled ones from the upper half.",
    )


def _show_confusions(report: Report, demo: Demo) -> None:
    report.section("What is confused with what")
    for name in (TOLD, PLAIN, SVM_COPIES):
        counts = confusion_matrix(demo.test.labels, _first_trial(demo).predictions[name])
        report.figure(confusion_figure(counts, demo.class_names, name), f"Test windows, first draw of labels, {name}.")


def _show_examples(report: Report, demo: Demo) -> None:
    report.section("Right and wrong")
    (windows, labels), names = demo.test, demo.class_names
    predicted = _first_trial(demo).predictions[TOLD]
    for word, colour, mask in (("right", GREEN, predicted == labels), ("wrong", RED, predicted != labels)):
        candidates = np.flatnonzero(mask)
        if len(candidates) == 0:
            report.text(f"No window was classified {word}.")
            continue
        chosen = candidates[np.linspace(0, len(candidates) - 1, min(N_EXAMPLES, len(candidates))).astype(int)]
        titles = [f"said {names[predicted[i]]}\nis {names[labels[i]]}" for i in chosen]
        report.figure(
            image_grid_figure(windows[chosen], titles, frames=[colour] * len(chosen)),
            f"Some of {len(candidates)} windows classified {word} by the jungles that ignore rotation.",
        )


def _show_filters(report: Report, demo: Demo) -> None:
    trial = _first_trial(demo)
    windows = demo.train.images[trial.labelled]
    # The patch of most contrast of some windows of every class: there is something to be seen in it.
    spread = windows[np.linspace(0, len(windows) - 1, N_EXAMPLES).astype(int)]
    patches = job.cut_patches(spread)
    striking = patches[np.arange(len(patches)), np.linalg.norm(patches, axis=2).argmax(axis=1)]
    report.section("What was learned").figure(
        filters_figure(trial.jungles),
        "Filters of the nodes that most patches reached, named jungle.node, with the number of these patches. Red "
        "looks for bright pixels, blue for dark ones; each filter has its own scale.",
    ).figure(
        winners_figure(trial.jungles, striking),
        "Above, patches of labelled windows; in the middle, each as the filter below likes it best, and which rotation "
        "that is; below, the filter and its response.",
    )


def _show_graph(report: Report, demo: Demo) -> None:
    report.section("A jungle").text(
        "Every patch starts at the top. At a node its largest response to the node's filter decides where it goes; "
        "when a layer gets too wide, leaves with similar shares of classes are merged, so that a node may have several "
        "parents. The number below a bar is how many patches of labelled windows came by, the bar their classes."
    ).figure(
        jungle_figure(_first_trial(demo).jungles, class_names=demo.class_names),
        "One of the jungles. The wider a line, the more patches took it; a dotted one leads from a leaf that was "
        "merged, but not split, to its merger.",
    )


def _show_growth(report: Report, demo: Demo) -> None:
    report.section("How deep to grow").text(
        f"The jungles above were grown to depth {job.JUNGLES['max_depth']}. Here others are grown deeper on all "
        "patches of the same windows, but for a fifth that is held out and watched: a jungle keeps the depth at which "
        "these are predicted best."
    ).figure(growth_figure(demo.watched), "Leaves, and loss on the patches held out, layer by layer.")


def _mean_and_range(values: np.ndarray) -> str:
    return f"{values.mean():.1%} ({100 * values.min():.0f}–{values.max():.0%})"


def _first_trial(demo: Demo) -> job.Trial:
    return demo.trials[job.SHOWN_COUNT][0]
