import numpy as np
import pytest

from invariance.methods import ImageClassifier, get_method
from invariance.methods.preparation import remove_illumination
from invariance.transformations import Identity, Illumination, IlluminationCorrections, Reflections, Rotations, Shifts


@pytest.mark.parametrize(
    ("phi", "width", "computed"),
    [
        (Shifts(1), None, "Shifts()"),
        (Illumination(4), 4, "Identity()"),
        (Shifts(2) * Illumination(8), 8, "Shifts(reach=2)"),
        (IlluminationCorrections((8,)), None, "IlluminationCorrections(widths=(8,))"),
        (Illumination(4) * Rotations(4), 4, "Rotations(n=4)"),
        (Rotations(4) * Illumination(4) * Reflections(), 4, "Rotations(n=4) * Reflections()"),
    ],
)
def test_illumination_is_a_factor_that_is_normalized_before_anything_else(phi, width, computed):
    plan = get_method("jungle").plan(phi)
    assert plan.illumination_width == width
    assert repr(plan.computed) == computed


def test_illumination_in_a_union_has_no_plan():
    with pytest.raises(ValueError, match="cannot be a part of .* multiply"):
        get_method("jungle").plan(Identity() | Illumination(4))


@pytest.mark.parametrize("shape", [(32, 32), (60, 90, 3)])
def test_a_slope_of_light_is_removed(shape):
    rng = np.random.default_rng(0)
    image = 0.4 + 0.2 * rng.random(shape)
    slope = np.linspace(0.3, 1, shape[1]).reshape(1, -1, *(1,) * (len(shape) - 2))
    before = np.abs(image - image * slope).mean()
    after = np.abs(remove_illumination(image, 4) - remove_illumination(image * slope, 4)).mean()
    assert after < before / 4


def test_objects_lit_from_the_left_are_recognized_when_lit_from_the_right():
    rng = np.random.default_rng(0)
    faces = 0.5 + 0.2 * rng.random((4, 8, 8)).repeat(4, axis=1).repeat(4, axis=2)
    slope = np.linspace(0.1, 1, 32)

    def photograph(light):
        return [np.clip(face * light + 0.02 * rng.standard_normal((32, 32)), 0, 1) for face in faces for _ in range(3)]

    labels, left, right = np.repeat(list("abcd"), 3), photograph(slope), photograph(slope[::-1])
    normalized = ImageClassifier("tangent", Shifts(1) * Illumination(4)).fit(left, labels)
    assert normalized.score(right, labels) == 1
    assert ImageClassifier("tangent", Shifts(1)).fit(left, labels).score(right, labels) < 1
