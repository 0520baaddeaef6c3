"""A method does with every part of Φ what its plan says."""

import numpy as np
import pytest

from invariance.datasets import make_glyphs
from invariance.methods import Facts, ImageClassifier, Treatment, get_method, get_methods, learn_facts
from invariance.transformations import Identity, Illumination, Reflections, Rotations, Shifts
from invariance.transformations.parsing import WORDS, parse_transformations
from invariance.transformations.sets import factors_of, parts_of

NAMES = [method.name for method in get_methods()]
SETS = sorted({kind.text_form.example for kind in WORDS.values()} | {"rotations:5:15", "shifts:2", "identity"})
# Groups that map a square grid of pixels to itself.
GROUPS = {"rotations:4": np.rot90, "reflections": np.fliplr, "reflections:vertical": np.flipud}
SIDE = 32


def images_of(name, n_per_class=4):
    """Small images of three classes, large enough for the method."""
    side = max(SIDE, get_method(name).min_side)
    glyphs = make_glyphs(n_per_class, side, rotation=10, random_state=0)
    chosen = glyphs.labels < 3
    return list(glyphs.images[chosen]), glyphs.labels[chosen]


@pytest.mark.parametrize("text", SETS)
@pytest.mark.parametrize("name", NAMES)
def test_every_part_has_a_treatment_and_a_sentence(name, text):
    phi = parse_transformations(text)
    plan = get_method(name).plan(phi)
    assert [part.part for part in plan.parts] == parts_of(phi)
    for part in plan.parts:
        assert part.treatment in Treatment
        assert part.sentence.strip().endswith(".")
        assert set(part.as_json()) == {"part", "treatment", "sentence"}


@pytest.mark.parametrize("name", NAMES)
def test_a_default_has_a_plan_that_refuses_nothing(name):
    plan = get_method(name).plan()
    assert plan.is_default
    assert plan.parts
    assert not plan.has(Treatment.REFUSED)


@pytest.mark.parametrize("name", NAMES)
def test_a_given_set_replaces_the_default_and_nothing_is_added(name):
    """Neither wider nor narrower: what is left to compute is made of factors of Φ, and the rest is accounted for."""
    method = get_method(name)
    for phi in (Identity(), Rotations(5, limit=15), Shifts(2), Rotations(4) * Reflections() * Illumination(4)):
        plan = method.plan(phi)
        computed = {repr(part) for part in parts_of(plan.computed)} - {repr(Identity())}
        assert computed <= {repr(part) for part in parts_of(phi)}
        settled = {Treatment.NORMALIZED, Treatment.DESCRIPTOR, Treatment.BUILT_IN}
        for factor in factors_of(phi):
            treatments = {part.treatment for part in plan.parts if part.part is factor}
            assert repr(factor) in computed | {repr(Identity())} or treatments <= settled


@pytest.mark.parametrize("name", NAMES)
def test_a_limited_rotation_never_becomes_a_full_one(name):
    for part in get_method(name).plan(Rotations(5, limit=15)).parts:
        assert part.treatment not in (Treatment.DESCRIPTOR, Treatment.BUILT_IN, Treatment.NORMALIZED)


@pytest.mark.parametrize("text", sorted(GROUPS))
@pytest.mark.parametrize("name", [name for name in NAMES if not get_method(name).combines])
def test_a_group_leaves_probabilities_unchanged(name, text):
    """The members of a group permute: by a maximum, minimum or sum over them exactly, by a descriptor nearly."""
    phi = parse_transformations(text)
    treatments = {part.treatment for part in get_method(name).plan(phi).parts}
    assert treatments <= {Treatment.EXACT, Treatment.POOLED, Treatment.TANGENT, Treatment.DESCRIPTOR}
    change = change_of_probabilities(name, phi, GROUPS[text])
    if Treatment.DESCRIPTOR in treatments:
        assert change.mean() < 0.2 * change_of_probabilities(name, Identity(), GROUPS[text]).mean()
    else:
        assert change.max() < 2e-3


@pytest.mark.parametrize("name", [name for name in NAMES if not get_method(name).combines])
def test_this_law_can_fail(name):
    """Without an invariance a rotated image has other probabilities."""
    assert change_of_probabilities(name, Identity(), np.rot90).max() > 0.02


def change_of_probabilities(name, phi, transform):
    """Absolute differences of class probabilities of images and of transformed images."""
    images, labels = images_of(name)
    model = ImageClassifier(name, phi, random_state=0).fit(images, labels)
    transformed = [np.ascontiguousarray(transform(image)) for image in images]
    return np.abs(model.predict_proba(transformed) - model.predict_proba(images))


@pytest.mark.parametrize("name", NAMES)
def test_built_in_means_that_the_estimator_does_not_depend_on_it(name):
    method, facts = get_method(name), Facts(12, 3, 4, 1, 64, 64)
    plan = method.plan(Shifts(2))
    if plan.has(Treatment.BUILT_IN):
        made = [
            method.make(some, facts, {"random_state": 0, "n_jobs": None}) for some in (plan, method.plan(Identity()))
        ]
        assert repr(made[0]) == repr(made[1])


def test_an_encoder_is_trained_on_copies_where_pooling_would_take_too_long():
    method = get_method("encoder")
    assert method.plan(Shifts(2)).has(Treatment.POOLED)
    assert method.plan(Shifts(3)).has(Treatment.COPIES)
    made = [
        method.make(method.plan(phi), Facts(12, 3, 4, 1, 64, 64), {"random_state": 0, "n_jobs": None})
        for phi in (Shifts(2), Shifts(3))
    ]
    assert repr(made[0].encoder.transformations) == repr(Shifts(2))
    assert made[1].encoder.transformations is None


@pytest.mark.parametrize("name", NAMES)
def test_normalized_means_that_images_are_normalized_first(name):
    method = get_method(name)
    assert method.plan(Illumination(4)).parts[0].treatment == Treatment.NORMALIZED
    images, labels = images_of(name)
    classifier = ImageClassifier(name, Illumination(4))
    classifier.facts_ = learn_facts(images, labels)
    np.testing.assert_allclose(classifier.prepare(images[:1])[0], classifier.prepare([0.4 * images[0]])[0], atol=5e-3)
