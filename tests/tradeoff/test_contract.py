"""scikit-learn's contract, on flat rows; what takes images or matrices only says so by its tags."""

import pytest
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from invariance.tangents import TangentDistance, TangentVectorKernel
from invariance.tradeoff import FeatureKernel, ImageKernel, TradeoffClassifier, TradeoffKernel
from invariance.transformations import Identity

PIXELS = TangentDistance(Identity())
FEATURES = FeatureKernel(StandardScaler(), "euclidean")


@parametrize_with_checks([
    # With C=1000, the default, machines on the checks' noise take seconds each.
    TradeoffClassifier([PIXELS, FEATURES], C=10.0),
    TradeoffClassifier([PIXELS, FEATURES], "ova", C=10.0, sigma="cv", probability=True),
    TradeoffKernel([PIXELS, TangentVectorKernel()]),
    FEATURES,
    ImageKernel(PIXELS),
])  # fmt: skip
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kernels", ["all", "precomputed", "distances"])
def test_classifiers_of_images_and_matrices_do_not_take_rows(kernels):
    tags = get_tags(TradeoffClassifier(kernels)).input_tags
    assert not tags.two_d_array
    assert tags.three_d_array
    assert get_tags(TradeoffClassifier("all", image_shape=(8, 8))).input_tags.two_d_array
