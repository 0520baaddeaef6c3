"""A segmenter does with every part of Φ what its plan says."""

import numpy as np
import pytest

from invariance.segmentation import JungleSegmenter
from invariance.segmentation.plan import PixelTreatment, plan_pixels
from invariance.transformations import Identity, Illumination, Reflections, Rotations
from invariance.transformations.parsing import WORDS, parse_transformations
from invariance.transformations.sets import parts_of
from tests.segmentation.pixel_tasks import handed_figures

SETS = sorted({kind.text_form.example for kind in WORDS.values()} | {"rotations:5:15", "identity"})


@pytest.mark.parametrize("text", SETS)
def test_every_part_has_a_treatment_and_a_sentence(text):
    phi = parse_transformations(text)
    parts = plan_pixels(phi)
    assert [part.part for part in parts] == parts_of(phi)
    for part in parts:
        assert part.treatment in PixelTreatment
        assert part.sentence.endswith(".")
        assert part.as_json()["part"] == part.text


def test_the_plan_lists_all_parts_of_products_and_unions_and_none_means_the_default():
    assert [part.text for part in plan_pixels()] == ["rotations:16"]
    parts = plan_pixels((Rotations(4) | Reflections()) * Illumination(8))
    assert [part.treatment for part in parts] == ["exact", "exact", "normalized"]
    with pytest.raises(ValueError, match="normalized once only"):
        plan_pixels(Illumination(4) * Illumination(8))


def change(phi, transform, back):
    """Mean change of class probabilities of an image when it is transformed."""
    images, masks = handed_figures(2, side=64)
    settings = {"patch_size": 9, "max_pixels": 200, "n_rounds": 2, "n_trees": 20, "n_pseudo_labels": 0}
    settings["sampling"] = "balanced"  # so that no correction for the shares of the classes scales the changes
    segmenter = JungleSegmenter(phi, unlabelled=0, random_state=0, **settings).fit(images, masks)
    before = segmenter.predict_proba(images[0])
    after = back(segmenter.predict_proba(np.ascontiguousarray(transform(images[0]))))
    return np.abs(after - before).mean()


TURNS = {
    "rotations:4": (np.rot90, lambda maps: np.rot90(maps, -1)),
    "reflections": (np.fliplr, np.fliplr),
}


@pytest.mark.parametrize("text", TURNS)
def test_exact_means_that_predictions_turn_with_the_image(text):
    phi = parse_transformations(text)
    assert [part.treatment for part in plan_pixels(phi)] == [PixelTreatment.EXACT]
    assert change(phi, *TURNS[text]) < 0.01
    assert change(Identity(), *TURNS[text]) > 0.02


def test_normalized_means_that_the_light_of_an_image_does_not_matter():
    light = np.linspace(0.6, 1, 64, dtype=np.float32)
    assert [part.treatment for part in plan_pixels(Illumination(4))] == [PixelTreatment.NORMALIZED]
    evened, plain = (change(phi, lambda image: image * light, np.asarray) for phi in (Illumination(4), Identity()))
    assert evened < 0.5 * plain


def test_scales_are_ignored_by_learned_filters_only_and_standardizing_removes_contrast():
    assert [part.treatment for part in plan_pixels(parse_transformations("scales:3"))] == [PixelTreatment.PARTLY]
    assert "standardizing" in plan_pixels(parse_transformations("contrast:3:2"))[0].sentence
    assert change(Identity(), lambda image: 0.5 * image + 0.2, np.asarray) < 1e-3
