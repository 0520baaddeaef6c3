"""The report of the demonstration: one function a section."""

import numpy as np
from sklearn.metrics import confusion_matrix

from invariance.experiments import demo as job
from invariance.experiments.demo import Demo
from invariance.report import Report, bar_figure, confusion_figure, image_grid_figure, orbit_figure
from invariance.report.figures import GREEN, RED
from invariance.transformations import check_group

TOLD, PLAIN = job.CONTESTANTS
PHI = job.CONTESTANTS[TOLD]


def demo_report(demo: Demo, seed: int) -> Report:
    """What was asked, what was told, what came out, and where it fails."""
    accuracy = {name: values.mean() for name, values in demo.accuracies(job.SHOWN_COUNT).items()}
    report = Report(
        "Textures from few labels",
        f"Windows of {len(demo.class_names)} textures, each turned by a random angle, classified from "
        f"{job.SHOWN_COUNT} labelled windows a class. Being told that rotation does not matter changes the share "
        f"classified right from {accuracy[PLAIN]:.0%} to {accuracy[TOLD]:.0%}.",
        settings=_settings(demo, seed),
    )
    report.facts(
        {
            f"right, {TOLD}": f"{accuracy[TOLD]:.1%}",
            f"right, {PLAIN}": f"{accuracy[PLAIN]:.1%}",
            "difference, in points": f"{100 * (accuracy[TOLD] - accuracy[PLAIN]):+.1f}",
            "labelled windows a class": job.SHOWN_COUNT,
        }
    )
    _show_task(report, demo)
    _show_transformations(report, demo)
    _show_accuracies(report, demo)
    _show_confusions(report, demo)
    _show_examples(report, demo)
    return report


def _settings(demo: Demo, seed: int) -> dict:
    n_train, n_test = len(demo.train.labels), len(demo.test.labels)
    height, width = demo.test.images.shape[1:3]
    return {
        "seed": seed,
        "transformations": repr(PHI),
        "windows": f"{n_train} to draw labels from, {n_test} to test on; {height} x {width} pixels",
        "patches": f"{job.PATCH_SIZE} x {job.PATCH_SIZE} pixels, every {job.STRIDE} pixels",
        "filters": job.N_FILTERS,
        "classifier": "logistic regression, C = 1, on standardised features",
        "draws of labels": len(demo.trials[job.SHOWN_COUNT]),
    }


def _show_task(report: Report, demo: Demo) -> None:
    (windows, labels), names = demo.train, demo.class_names
    chosen = np.concatenate([np.flatnonzero(labels == c)[:8] for c in range(len(names))])
    report.section("The task").figure(
        image_grid_figure(windows[chosen], [names[labels[i]] for i in chosen]),
        "Windows of each texture. The angle is random and says nothing about the class.",
    )


def _show_transformations(report: Report, demo: Demo) -> None:
    shape = (job.PATCH_SIZE, job.PATCH_SIZE)
    window = demo.train.images[_first_trial(demo).labelled[0]]
    orbit = PHI.operators(window.shape).apply(window[None])[0]
    report.section("What the learner was told").text(
        f"A filter and its turned versions count as one: a window is described by the largest responses over "
        f"{len(orbit)} rotations. The other learner has the same filters and the same classifier, but each filter "
        f"in its one orientation only.",
        f"Is this set of rotations a group on {job.PATCH_SIZE} x {job.PATCH_SIZE} pixels? "
        f"{check_group(PHI, shape).sentence} There are two reasons: corners leave a square when it turns, which is "
        f"why the patches here are cut to a disc, and interpolating between so few pixels blurs.",
    ).figure(orbit_figure(orbit), f"The {len(orbit)} versions of one window that count as the same.")


def _show_accuracies(report: Report, demo: Demo) -> None:
    shown = {name: 100 * values.mean() for name, values in demo.accuracies(job.SHOWN_COUNT).items()}
    n_trials = len(demo.trials[job.SHOWN_COUNT])
    rows = [(n_labels, *map(_mean_and_range, demo.accuracies(n_labels).values())) for n_labels in demo.trials]
    report.section("How many labels it takes").figure(
        bar_figure(shown, "windows classified right, %", limit=100),
        f"{job.SHOWN_COUNT} labelled windows a class; the mean of {n_trials} draws of labels.",
    ).table(
        ("labels a class", *job.CONTESTANTS),
        rows,
        f"Windows classified right: the mean, the lowest and the highest of {n_trials} draws. "
        "Test windows come from the lower half of each photograph, labelled ones from the upper half.",
    )


def _show_confusions(report: Report, demo: Demo) -> None:
    report.section("What is confused with what")
    for name, predicted in _first_trial(demo).predictions.items():
        counts = confusion_matrix(demo.test.labels, predicted)
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
        chosen = candidates[np.linspace(0, len(candidates) - 1, min(8, len(candidates))).astype(int)]
        titles = [f"said {names[predicted[i]]}\nis {names[labels[i]]}" for i in chosen]
        report.figure(
            image_grid_figure(windows[chosen], titles, frames=[colour] * len(chosen)),
            f"Some of {len(candidates)} windows classified {word} by the learner that ignores rotation.",
        )


def _mean_and_range(values: np.ndarray) -> str:
    return f"{values.mean():.1%} ({100 * values.min():.0f}–{values.max():.0%})"


def _first_trial(demo: Demo) -> job.Trial:
    return demo.trials[job.SHOWN_COUNT][0]
