"""All methods combined: every kernel alone and together, learned from training images alone."""

import numpy as np
import pytest
from sklearn.preprocessing import FunctionTransformer

from experiments import all_methods
from experiments.all_methods import CROSS_VALIDATED, Draw
from invariance.codebooks import BagOfFeatures, KMeansCodebook
from invariance.descriptors import PatchGrid
from invariance.tangents import TangentDistance
from invariance.tradeoff import FeatureKernel, ImageKernel, TradeoffClassifier
from invariance.transformations import Shifts
from tests.experiments.fitted import are_equal, watch_fits
from tests.tangents.toys import draw_strokes


def flatten(X):
    return np.asarray(X).reshape(len(X), -1)


def few_kernels(transformations=None, random_state=None, n_jobs=None):
    words = BagOfFeatures(KMeansCodebook(6), PatchGrid(3, step=2), normalization="sum", random_state=random_state)
    return [
        ImageKernel(TangentDistance(Shifts(1), n_jobs=1), name="tangents"),
        FeatureKernel(words, name="words", labelled=False),
        FeatureKernel(FunctionTransformer(flatten), "euclidean", name="pixels", labelled=False),
    ]


@pytest.fixture
def draw(monkeypatch):
    monkeypatch.setattr(all_methods, "default_kernels", few_kernels)
    monkeypatch.setattr("invariance.tradeoff.classifier.default_kernels", few_kernels)
    return Draw(*draw_strokes(10), *draw_strokes(15, seed=1))


def test_every_kernel_is_judged_alone_and_all_together(draw):
    rates = all_methods.compare(draw, 0)
    alone = [f"{name}{suffix}" for name in ("tangents", "words", "pixels") for suffix in ("", ", one against all")]
    assert list(rates) == [*alone, *all_methods.COMBINATIONS, CROSS_VALIDATED]
    assert rates["tangents"] > 80  # chance is 50
    assert rates["all, learned weights"] > 80


@pytest.mark.parametrize("what", ["images", "labels"])
def test_test_data_change_nothing_that_is_fitted(draw, what, monkeypatch):
    fitted = watch_fits(monkeypatch, {KMeansCodebook: "words_", TradeoffClassifier: "weights_"})
    rates = all_methods.compare(draw, 0)
    first = list(fitted)
    fitted.clear()
    if what == "images":
        poisoned = draw._replace(test=np.random.default_rng(0).random(draw.test.shape).astype(np.float32))
    else:
        names = np.unique(draw.test_labels)
        poisoned = draw._replace(test_labels=np.where(draw.test_labels == names[0], names[1], names[0]))
    others = all_methods.compare(poisoned, 0)
    assert len(first) > 20
    assert are_equal(first, fitted)
    assert others["all, learned weights"] < rates["all, learned weights"] - 15
