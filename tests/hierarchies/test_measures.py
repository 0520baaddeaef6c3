"""The measure ρ_H over positions and transformations weighs what is pooled, and is uniform unless it is given."""

import numpy as np
import pytest
from sklearn.base import clone

from invariance.hierarchies import Layer, NeuralResponse, encoding
from invariance.hierarchies._jit import Scratch
from invariance.hierarchies.pooling import check_pooling, pool
from invariance.models import load, save
from invariance.transformations import Reflections, Rotations
from tests import reference
from tests.hierarchies.toys import draw_signed

every_pooling = pytest.mark.parametrize("pooling", ["max", "mean", 3])
# Zeros in the first and last rows, so that a maximum that counted them would be seen.
UNEVEN = {
    (2, 2): np.array([[0.0, 3.0], [1.0, 0.5]]),
    (3, 3): np.array([[0.0, 0.0, 2.0], [1.0, 4.0, 0.0], [0.0, 0.5, 0.0]]),
}


def measured_layers():
    """Patches of 2 and 4 pixels in images of 6."""
    return [Layer(2, 4, measure=UNEVEN[3, 3]), Layer(4, 5, measure=UNEVEN[3, 3].T)]


@every_pooling
@pytest.mark.parametrize("shape", UNEVEN, ids=str)
def test_windows_are_pooled_under_the_measure(pooling, shape):
    values, measure = draw_signed((6, 5, 4)), UNEVEN[shape] / UNEVEN[shape].sum()
    pooled = pool(values, shape, check_pooling(pooling), Scratch(), measure)
    expected = np.empty((6 - shape[0] + 1, 5 - shape[1] + 1, 4))
    for row, col, k in np.ndindex(expected.shape):
        inside = values[row : row + shape[0], col : col + shape[1], k].astype(float)
        expected[row, col, k] = reference.pool_literally(list(inside.ravel()), pooling, list(measure.ravel()))
    np.testing.assert_allclose(pooled, expected, atol=1e-6)
    assert np.shares_memory(pooled, pooled.reshape(-1, 4))  # it is normalised in place


@every_pooling
def test_every_layer_has_a_measure_of_its_own(pooling):
    images = draw_signed((4, 6, 6))
    model = NeuralResponse(measured_layers(), pooling=pooling, random_state=0).fit(images)
    uniform = [layer.set_params(measure=None) for layer in clone(measured_layers())]
    other = NeuralResponse(uniform, pooling=pooling, random_state=0).fit(images).transform(images[:2])
    measures = [layer.measure for layer in measured_layers()]
    for image, without in zip(images[:2], other, strict=True):
        arguments = (model.templates_, reference.inner_kernel, {}, pooling, 1, measures)
        expected = reference.at_length_one(reference.generalized_response([image[..., None]], *arguments))
        np.testing.assert_allclose(model.transform(image[None])[0], expected, atol=2e-6)
        assert np.abs(expected - without).max() > 4e-5


@every_pooling
def test_transformations_and_positions_have_the_product_of_their_measures(pooling):
    images, phi, shares = draw_signed((4, 7, 7)), Rotations(4), [1.0, 0.0, 5.0, 2.0]
    layers = [Layer(3, 4), Layer(5, 6, measure=UNEVEN[3, 3])]
    model = NeuralResponse(layers, pooling=pooling, transformations=phi, measure=shares, random_state=0).fit(images)
    uniform = clone(model).set_params(measure=None).fit(images).transform(images[:2])
    for image, without in zip(images[:2], uniform, strict=True):
        versions = phi.operators((7, 7)).apply(image[None])[0][..., None]
        measures = (np.ones((3, 3)), UNEVEN[3, 3])
        arguments = (model.templates_, reference.inner_kernel, {}, pooling, 1, measures, shares)
        expected = reference.at_length_one(reference.generalized_response(versions, *arguments))
        np.testing.assert_allclose(model.transform(image[None])[0], expected, atol=2e-6)
        assert np.abs(expected - without).max() > 1e-4


@every_pooling
def test_an_even_measure_is_none(pooling):
    images = draw_signed((4, 9, 9))
    layers = [Layer(3, 4, measure=np.full((3, 3), 7.0)), Layer(5, 6, measure=np.full((5, 5), 0.1))]
    given = NeuralResponse(layers, pooling=pooling, transformations=Reflections(), measure=[2, 2], random_state=0)
    none = NeuralResponse([Layer(3, 4), Layer(5, 6)], pooling=pooling, transformations=Reflections(), random_state=0)
    np.testing.assert_allclose(given.fit_transform(images), none.fit_transform(images), atol=1e-6)


def test_all_weight_on_one_place_looks_at_that_place_only():
    images, centre = draw_signed((4, 9, 9)), np.zeros((5, 5))
    centre[2, 2] = 1
    model = NeuralResponse([Layer(5, 6, measure=centre)], random_state=0).fit(images)
    around = images.copy()
    around[:, 2:7, 2:7] = 0
    np.testing.assert_array_equal(model.transform(images - around), model.transform(images))
    np.testing.assert_array_equal(model.transform(around), 0)


@every_pooling
@pytest.mark.parametrize("hop", [1, 2])
def test_bands_share_the_measure_and_those_without_weight_are_left_out(pooling, hop, monkeypatch):
    images = draw_signed((4, 21, 13))
    rows, cols = (21 - 5) // hop + 1, (13 - 5) // hop + 1
    measure = np.random.default_rng(0).random((rows, cols))
    measure[rows // 2 :] = 0
    layers = [Layer(3, 5), Layer(5, 7, measure=measure)]
    model = NeuralResponse(layers, pooling=pooling, hop=hop, random_state=0).fit(images)
    whole = model.transform(images)
    calls = []
    respond = encoding._respond
    monkeypatch.setattr(encoding, "_respond", lambda *all_of_it: calls.append(1) or respond(*all_of_it))
    monkeypatch.setattr(encoding, "BAND_BYTES", 1)
    np.testing.assert_allclose(model.transform(images), whole, atol=1e-6)
    assert len(calls) == len(images) * (rows // 2)


def test_a_saved_model_keeps_its_measures(tmp_path):
    images = draw_signed((6, 6, 6))
    model = NeuralResponse(
        measured_layers(), transformations=Rotations(4), measure=[1, 0, 1, 3], embedding="pca", embedding_components=2
    ).fit(images)
    np.testing.assert_array_equal(load(save(model, tmp_path / "model.zip")).transform(images), model.transform(images))


@pytest.mark.parametrize(
    ("layer", "parameters", "named"),
    [
        (Layer(3, 4, measure=np.ones((3, 3))), {}, r"measure of layers\[0\] .*\(5, 5\).*\(3, 3\)"),
        (Layer(3, 4, measure=-np.ones((5, 5))), {}, r"measure of layers\[0\] .*nowhere negative"),
        (Layer(3, 4, measure=np.zeros((5, 5))), {}, r"measure of layers\[0\] .*somewhere positive"),
        (Layer(3, 4), {"measure": [1, 2]}, "measure needs transformations"),
        (Layer(3, 4), {"measure": [1, 2], "transformations": Rotations(4)}, r"measure .*\(4,\).*\(2,\)"),
        (Layer(3, 4), {"measure": [1, np.nan], "transformations": Reflections()}, "measure must be finite"),
    ],
)
def test_mistakes_are_named(layer, parameters, named):
    with pytest.raises(ValueError, match=named):
        NeuralResponse([layer], **parameters).fit(draw_signed((4, 7, 7)))
