"""Transformation sets written as text."""

import pytest
from sklearn.base import clone

from invariance import Gamma, Illumination, Morphology, Reflections, Rotations, Shifts
from invariance.transformations.parsing import WORDS, parse_transformations


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
        ("illumination:4:8:16", Illumination((4, 8, 16))),
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
    assert WORDS[word].example.partition(":")[0] == word
    assert WORDS[word].meaning.endswith(".")
    assert isinstance(parse_transformations(word), WORDS[word].make)
    assert len(clone(parse_transformations(WORDS[word].example)).members((9, 9))) >= 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'' is not a known set.*rotations, shifts"),
        ("rotations:4,,shifts", "'' is not a known set"),
        ("turning:4", "'turning' is not a known set"),
        ("affine", "'affine' is not a known set"),
        ("rotations:0", "'rotations:0'.*n must be.*got 0.*Example: rotations:24"),
        ("rotations:4.5", r"'rotations:4.5'.*n must be a whole number"),
        ("rotations:", "n must be a whole number"),
        ("shifts:1:2:3", "'shifts:1:2:3' has 3 values.*at most 2.*reach, step"),
        ("identity:3", "takes none"),
        ("reflections:diagonal", "'diagonal'"),
    ],
)
def test_a_wrong_text_is_named_in_one_line(text, message):
    with pytest.raises(ValueError, match=message) as caught:
        parse_transformations(text)
    assert "\n" not in str(caught.value)
