"""Layers with few components, [Wibisono10] sec. 6.4, figs 4 and 5: PCA, Gaussian kernel PCA and the full kernel.

The task of `sample_complexity`, with 5 training images per class (fig. 4) and 30 (fig. 5). The feature maps are those
of def. 3.1: the responses of all patches but the smallest, and of the image, become k components, scaled to length 1.
That of the image is fitted to 500 of the images that templates are drawn from. Every trial draws its own images; all
methods share them and the templates. Rates are in per cent. The paper says: in fig. 4, 20 to 25 components do as well
as all; in fig. 5, PCA is stable from 30 on, slightly below the full kernel, Gaussian kernel PCA from 150 on, level with
it, and below 50 PCA is the better of the two.
"""

from typing import NamedTuple

import numpy as np

from experiments import sample_complexity
from experiments.outcome import Curve
from experiments.sample_complexity import Run
from invariance._core.progress import track

PCA_COMPONENTS = (1, 2, 5, 10, 15, 20, 25, 30, 50, 100)
KPCA_COMPONENTS = (10, 25, 50, 100, 150, 200)


class Method(NamedTuple):
    """A hierarchy: its layers, their embedding, and the numbers of components to try."""

    layers: str
    embedding: str | None
    components: tuple[int, ...]


class Experiment(NamedTuple):
    """Training images per class, and the methods compared."""

    n_training: int
    methods: dict[str, Method]


FIGURES = {
    "fig. 4": Experiment(
        5,
        {
            "pca, 3 layers": Method("3 layers", "pca", PCA_COMPONENTS),
            "pca, 2 layers": Method("2 layers", "pca", PCA_COMPONENTS),
            "full, 3 layers": Method("3 layers", None, ()),
            "full, 2 layers": Method("2 layers", None, ()),
        },
    ),
    "fig. 5": Experiment(
        30,
        {
            "pca": Method("3 layers", "pca", PCA_COMPONENTS),
            "kpca": Method("3 layers", "kpca", KPCA_COMPONENTS),
            "full": Method("3 layers", None, ()),
        },
    ),
}


def judge(method: Method, n_components: int | None, trial: Run, seed: int) -> float:
    """The rate in per cent of the nearest neighbour by a hierarchy with `n_components` at all layers."""
    response = sample_complexity.make_response(method.layers, seed, method.embedding, n_components)
    response.fit(trial.template_images)
    (training, labels), (test, test_labels) = trial.training, trial.test
    return sample_complexity.classify(response.transform(training), labels, response.transform(test), test_labels)


def run(n_trials: int = 10, experiment: Experiment = FIGURES["fig. 5"], label: str = "", seed: int = 0) -> list[Curve]:
    """Rates by number of components; a method without an embedding has one rate, at as many as there are templates."""
    trials = [sample_complexity.draw_run(experiment.n_training, number) for number in range(seed, seed + n_trials)]
    curves = []
    for name, method in experiment.methods.items():
        rates = [
            [judge(method, k, trial, number) for k in method.components or (None,)]
            for number, trial in enumerate(track(trials, f"{label} {name}"), start=seed)
        ]
        places = method.components or (sample_complexity.N_TEMPLATES,)
        curves.append(Curve(name, tuple(places), np.array(rates)))
    return curves
