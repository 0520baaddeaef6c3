"""Descriptions are kept by contents and settings, bit for bit; what cannot be told apart is not kept."""

import numpy as np
import pytest

from invariance._core import keeping
from invariance._core.caching import ArrayCache
from invariance.codebooks import BagOfFeatures, KMeansCodebook
from invariance.descriptors import (
    ColourGrid,
    DenseSift,
    FractalFeatures,
    GeometricBlur,
    HaarPatches,
    MaximumResponses,
    PatchGrid,
    SortedRings,
)
from invariance.descriptors.kept import KeptDescriptions, describe_settings
from invariance.transformations import Reflections, Rotations

KEPT = [
    DenseSift(9, (6, 9)),
    DenseSift(9, (8,), "opponent"),
    ColourGrid(),
    MaximumResponses(),
    PatchGrid(),
    SortedRings(),
    FractalFeatures(),
]


@pytest.fixture
def forget(tmp_path, monkeypatch):
    """Use a folder of its own; a call forgets what is in memory, as the next process does."""
    monkeypatch.setenv("INVARIANCE_CACHE", str(tmp_path / "kept"))

    def forget_memory():
        monkeypatch.setattr(keeping, "_memory", ArrayCache(10**7))

    forget_memory()
    return forget_memory


@pytest.mark.parametrize("descriptor", KEPT, ids=str)
def test_a_kept_description_is_the_same_bit_for_bit(descriptor, photo, forget, monkeypatch):
    expected = descriptor.extract(photo)
    first = KeptDescriptions(descriptor, is_new=True).extract(photo)
    forget()
    monkeypatch.setattr(type(descriptor), "_describe", lambda *_: pytest.fail("it was computed again"))
    for again in (first, KeptDescriptions(descriptor, is_new=False).extract(photo.copy())):
        for found, array in zip(again, expected, strict=True):
            np.testing.assert_array_equal(found, array)
            assert (found.dtype, found.flags.c_contiguous) == (array.dtype, array.flags.c_contiguous)


def test_other_settings_are_another_description(photo, forget):
    kinds = {describe_settings(descriptor) for descriptor in [*KEPT, DenseSift(8, (6, 9)), DenseSift(9, (6, 8))]}
    assert len(kinds) == len(KEPT) + 2
    assert describe_settings(DenseSift(np.int64(9), [6, 9])) == describe_settings(KEPT[0])


def test_a_descriptor_that_may_have_changed_is_asked_each_time(photo, forget):
    class Own(ColourGrid):
        def _describe(self, image):
            asked.append(1)
            return super()._describe(image)

    asked = []
    assert describe_settings(Own()) is None
    assert describe_settings(MaximumResponses(scales=iter([1.0]))) is None
    for descriptor in (Own(), GeometricBlur(), HaarPatches()):
        for _ in range(2):
            found = KeptDescriptions(descriptor, is_new=True).extract(photo)[0]
            np.testing.assert_array_equal(found, descriptor.extract(photo)[0])
    assert len(asked) == 4
    assert keeping.shared_store().usage().n_arrays == 0


@pytest.mark.parametrize(("phi", "n_kept"), [(None, 5), (Reflections(), 10), (Rotations(6), 0)], ids=str)
def test_bags_are_the_same_with_and_without_what_is_kept(phi, n_kept, forget, monkeypatch):
    """A bag keeps what it learns from, and not the many copies of a large set."""
    images = list(np.random.default_rng(0).random((7, 30, 40), np.float32))
    bag = BagOfFeatures(KMeansCodebook(6), DenseSift(6, (5, 8)), transformations=phi, random_state=0)

    def count():
        forget()
        return bag.fit_transform(images[:5]), bag.transform(images)

    cold = count()
    assert keeping.shared_store().usage().n_arrays == n_kept + 1  # and the words
    warm = count()
    monkeypatch.setenv("INVARIANCE_CACHE", "0")
    without = count()
    for first, second, third in zip(cold, warm, without, strict=True):
        np.testing.assert_array_equal(first, second)
        np.testing.assert_array_equal(first, third)
