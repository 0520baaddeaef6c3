"""Transformation sets written as text."""

import numpy as np
import pytest
from sklearn.base import clone

from invariance import (
    Affine,
    Elastic,
    Gamma,
    Identity,
    Illumination,
    IlluminationCorrections,
    Morphology,
    Reflections,
    Rotations,
    Shears,
    Shifts,
)
from invariance.transformations.parsing import WORDS, describe_word, format_transformations, parse_transformations


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rotations:24", Rotations(24)),
        ("rotation:24", Rotations(24)),
        ("Rotations : 24", Rotations(24)),
        ("rotations:5:30", Rotations(5, limit=30)),
        ("shift:2", Shifts(2)),
        ("reflections", Reflections()),
        ("reflection:both", Reflections("both")),
        ("gamma:3:1.8", Gamma(3, 1.8)),
        ("illumination", Illumination()),
        ("illumination:6.5", Illumination(6.5)),
        ("illumination-corrections:4:8:16", IlluminationCorrections((4, 8, 16))),
        ("morphology:erode:dilate", Morphology(("erode", "dilate"))),
        ("rotations:4,reflections", Rotations(4) * Reflections()),
        ("rotations:4, shifts:1 ,reflections", Rotations(4) * Shifts(1) * Reflections()),
    ],
)
def test_text_means_the_set(text, expected):
    parsed = parse_transformations(text)
    assert repr(parsed) == repr(expected)
    assert parsed.members((9, 9)) == expected.members((9, 9))


@pytest.mark.parametrize("word", WORDS)
def test_every_word_has_a_default_an_example_and_a_meaning(word):
    example = WORDS[word].text_form.example
    assert example.partition(":")[0] == word
    assert describe_word(word).endswith(".")
    assert type(parse_transformations(word)) is WORDS[word]
    assert len(clone(parse_transformations(example)).members((9, 9))) >= 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'' is not a known set.*rotations.*shifts"),
        ("rotations:4,,shifts", "'' is not a known set"),
        ("turning:4", "'turning' is not a known set"),
        ("affine", "'affine' is not a known set"),
        ("rotations:0", "'rotations:0'.*n must be.*got 0.*Example: rotations:24"),
        ("rotations:4.5", r"'rotations:4.5'.*n must be a whole number"),
        ("rotations:", "n must be a whole number"),
        ("shifts:1:2:3", "'shifts:1:2:3' has 3 values.*at most 2.*reach, step"),
        ("identity:3", "takes none"),
        ("reflections:diagonal", "'diagonal'"),
        ("illumination:8:16", "has 2 values.*at most 1.*width.*illumination-corrections:8:16"),
        ("illumination:0", "width must be a number from 0.1 to 10000; got 0"),
        ("illumination:4,shifts,illumination:8", "normalized once only.*Illumination.*Leave one"),
    ],
)
def test_a_wrong_text_is_named_in_one_line(text, message):
    with pytest.raises(ValueError, match=message) as caught:
        parse_transformations(text)
    assert "\n" not in str(caught.value)


def test_sets_that_cannot_be_written_have_no_word():
    assert not any(word.startswith(("affine", "custom")) for word in WORDS)
    assert "rotations" in WORDS


def test_a_border_applies_to_all_parts():
    assert repr(parse_transformations("rotations:4,gamma", "edge")) == repr(Rotations(4, border="edge") * Gamma())


@pytest.mark.parametrize(
    ("phi", "text"),
    [
        (Identity(), "identity"),
        (Rotations(), "rotations"),
        (Rotations(5, limit=15.0) * Shifts(2), "rotations:5:15,shifts:2"),
        (Rotations(4) * (Shifts(1, step=2) * Reflections("both")), "rotations:4,shifts:1:2,reflections:both"),
        (Shears(axis="vertical"), "shears:3:10:vertical"),
        (Gamma(3, 1.8), "gamma:3:1.8"),
        (Illumination(4), "illumination"),
        (Shifts(2) * Illumination(8.5), "shifts:2,illumination:8.5"),
        (IlluminationCorrections([4, 8.5]), "illumination-corrections:4:8.5"),
        (IlluminationCorrections(np.array([8.0, 16.0])), "illumination-corrections"),
        (Morphology(("erode",)), "morphology:erode"),
    ],
    ids=repr,
)
def test_a_set_is_written_as_its_shortest_text(phi, text):
    assert format_transformations(phi) == text
    assert parse_transformations(text).members((9, 9)) == phi.members((9, 9))


@pytest.mark.parametrize(
    "phi",
    [
        Affine([np.eye(2)]),
        Rotations(4) | Shifts(1),
        Rotations(4) * (Shifts(1) | Reflections()),
        Shifts(1).closure(),
        Rotations(24).subsample(3),
        Rotations(4, border="edge"),
        Elastic(random_state=3),
        Morphology(()),
        Morphology(radius=2),
        Rotations(0),
        Illumination((8, 16)),
        IlluminationCorrections(8),
    ],
    ids=repr,
)
def test_a_set_that_no_text_describes_is_written_as_python(phi):
    assert format_transformations(phi) == repr(phi)


def test_the_border_that_will_be_given_is_not_written():
    assert format_transformations(Rotations(4, border="edge") * Gamma(), border="edge") == "rotations:4,gamma"
    assert format_transformations(Rotations(4), border="edge") == "Rotations(n=4)"
