"""Responses pooled over Φ: the literal pooling over all of H, and exact invariance where Φ is a group."""

import numpy as np
import pytest
from sklearn.base import clone

from invariance.hierarchies import DerivedKernel, Layer, NeuralResponse
from invariance.models import load, save
from invariance.transformations import (
    Contrast,
    Custom,
    Elastic,
    Identity,
    IlluminationCorrections,
    Morphology,
    Operators,
    Reflections,
    Rotations,
    Scales,
    Shifts,
)
from tests import reference
from tests.hierarchies.toys import draw_for, draw_images, draw_signed, nearby, two_layers
from tests.laws.catalogue import GROUPS, name_of

POOLINGS = ["max", "mean", 3]
# (set, image shape) that are groups exactly: their members only move pixels around.
MOVING_GROUPS = [(phi, shape) for phi, shape in GROUPS if not isinstance(phi, Identity)]
SETS = {
    "rotations": Rotations(3),
    "rotations and reflections": Rotations(4) * Reflections(),
    "scales": Scales(3, limit=1.4, border="edge"),
    "elastic": Elastic(2, smoothness=2.0),
    "contrast": Contrast(3, limit=2.0),
    "morphology": Morphology(("erode", "dilate")),
    "illumination and shifts": IlluminationCorrections((2.0,)) * Shifts(1, step=1, border="wrap"),
    "a function": Custom([np.flipud]),
}
every_set = pytest.mark.parametrize("phi", SETS.values(), ids=SETS.keys())
every_pooling = pytest.mark.parametrize("pooling", POOLINGS)


def literal_responses(model, images, kernel=reference.inner_kernel):
    """Responses over all of H by recursion, from the templates alone."""
    orbits = model.transformations.operators(images.shape[1:]).apply(images)
    orbits = orbits if images.ndim == 4 else orbits[..., None]
    recursion = (model.templates_, kernel, model.pooling, model.hop)
    return np.array([reference.at_length_one(reference.neural_response_over(orbit, *recursion)) for orbit in orbits])


@every_set
@every_pooling
def test_responses_are_pooled_over_translations_and_transformations(phi, pooling):
    images = draw_signed((5, 5, 5))
    layers = [Layer(3, n_templates=2), Layer(4, n_templates=3)]
    model = NeuralResponse(layers, pooling=pooling, transformations=phi, random_state=0).fit(images)
    expected = literal_responses(model, images[:2])
    np.testing.assert_allclose(model.transform(images[:2]), expected, atol=1e-6)
    untransformed = clone(model).set_params(transformations=None).fit(images).transform(images[:2])
    assert np.abs(expected - untransformed).max() > 1e-5  # the assertion above can fail


@pytest.mark.parametrize("kernel", ["histogram", "gaussian"])
def test_the_initial_kernel_may_be_any(kernel):
    images = draw_for(kernel, (5, 6, 6, 2))
    layers = [Layer(2, n_templates=3), Layer(4, n_templates=2)]
    model = NeuralResponse(layers, kernel, hop=2, transformations=Rotations(3), random_state=0).fit(images)
    literal = (
        reference.histogram_kernel if kernel == "histogram" else reference.gaussian_kernel(list(model.templates_[0]))
    )
    np.testing.assert_allclose(model.transform(images[:2]), literal_responses(model, images[:2], literal), atol=1e-6)


@every_pooling
@pytest.mark.parametrize(("phi", "shape"), MOVING_GROUPS, ids=name_of)
def test_a_group_of_images_leaves_the_response_unchanged(phi, shape, pooling):
    images = draw_signed((6, *shape))
    layers = [Layer(2, n_templates=6), Layer(4, n_templates=9)]
    model = NeuralResponse(layers, pooling=pooling, transformations=phi, random_state=0).fit(images)
    orbits = phi.operators(shape).apply(images[:2])[:, -12:]
    versions = orbits.reshape(-1, *shape)
    expected = model.transform(images[:2]).repeat(orbits.shape[1], axis=0)
    np.testing.assert_allclose(model.transform(versions), expected, atol=2e-6)
    plain = clone(model).set_params(transformations=None).fit(images)
    assert np.abs(plain.transform(phi.operators(shape).apply(images)[:, -1]) - plain.transform(images)).max() > 1e-3


@every_pooling
@pytest.mark.parametrize("hop", [2, 3])
@pytest.mark.parametrize("kernel", ["inner", "histogram", "gaussian", pytest.param(nearby, id="function")])
def test_so_it_is_for_every_kernel_hop_and_embedding(kernel, hop, pooling):
    images = draw_for(kernel, (6, 9, 9, 3))
    phi = Rotations(4) * Reflections()
    model = NeuralResponse(two_layers(embedding="pca"), kernel, pooling, hop, phi, random_state=0).fit(images)
    expected = model.transform(images)
    for turned in (np.rot90(images, axes=(1, 2)), images[:, ::-1], np.swapaxes(images, 1, 2)):
        np.testing.assert_allclose(model.transform(turned), expected, atol=3e-6)


@every_pooling
def test_no_transformations_and_the_identity_are_the_same_bit_for_bit(pooling):
    images = draw_images((9, 8, 8))
    plain = NeuralResponse(two_layers(), pooling=pooling, random_state=0).fit(images)
    identity = clone(plain).set_params(transformations=Identity()).fit(images)
    np.testing.assert_array_equal(identity.transform(images), plain.transform(images))


@every_set
def test_other_images_and_the_number_of_jobs_do_not_matter(phi):
    images = 1 + draw_signed((70, 9, 9)) / 4
    model = NeuralResponse(two_layers(), transformations=phi, random_state=0).fit(images)
    together = model.transform(images)
    np.testing.assert_array_equal(np.concatenate([model.transform(image[None]) for image in images]), together)
    np.testing.assert_array_equal(clone(model).set_params(n_jobs=2).fit(images).transform(images), together)


def test_templates_do_not_depend_on_the_transformations():
    images = draw_images((9, 8, 8))
    models = [NeuralResponse(two_layers(), transformations=phi, random_state=0).fit(images) for phi in (None, Shifts())]
    for ours, theirs in zip(models[0].stages_, models[1].stages_, strict=True):
        np.testing.assert_array_equal(ours.filters, theirs.filters)


def test_one_transformed_copy_of_one_image_is_held_at_a_time(monkeypatch):
    images = draw_images((9, 8, 8))
    model = NeuralResponse(two_layers(), transformations=Rotations(8), random_state=0).fit(images)
    shapes, apply = set(), Operators.apply
    monkeypatch.setattr(Operators, "apply", lambda self, part: shapes.add(apply(self, part).shape) or apply(self, part))
    model.transform(images)
    assert shapes == {(1, 1, 8, 8)}


def test_functions_see_grey_images_without_a_channel_axis_and_colours_with_it():
    seen = set()

    def look(image):
        seen.add(image.shape)
        return image

    for shape in ((8, 8), (8, 8, 3)):
        NeuralResponse(two_layers(), transformations=Custom([look]), random_state=0).fit_transform(
            draw_images((3, *shape))
        )
    assert seen == {(8, 8), (8, 8, 3)}


def test_the_derived_kernel_is_invariant_as_well():
    images = draw_signed((5, 8, 8))
    kernel = DerivedKernel(NeuralResponse(two_layers(), transformations=Rotations(4), random_state=0)).fit(images)
    turned = np.rot90(images, axes=(1, 2))
    np.testing.assert_allclose(kernel(images, turned), kernel(images), atol=1e-6)
    assert np.diag(kernel.distances(images, turned)).max() < 1e-5


def test_a_saved_model_responds_the_same(tmp_path):
    images = draw_images((8, 9, 9))
    model = NeuralResponse(two_layers(), transformations=Rotations(4) * Contrast(), random_state=0).fit(images)
    np.testing.assert_array_equal(load(save(model, tmp_path / "model.zip")).transform(images), model.transform(images))


@pytest.mark.parametrize(
    ("phi", "named"), [("rotations", "transformations .*'rotations'"), (Rotations(0), "n must be .*got 0")]
)
def test_mistakes_are_named(phi, named):
    with pytest.raises(ValueError, match=named):
        NeuralResponse(two_layers(), transformations=phi).fit(draw_images((4, 8, 8)))
