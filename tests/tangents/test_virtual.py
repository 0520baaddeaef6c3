"""Virtual support vectors: train, transform the support vectors, train again."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.svm import SVC

from invariance.models import load, save
from invariance.tangents import VirtualSVC
from invariance.transformations import Brightness, Identity, Reflections, Rotations, Shifts
from tests.tangents.toys import draw_strokes

TRAINING, TEST = draw_strokes(15), draw_strokes(40, seed=1)
SETS = {
    "default": None,
    "turns": Rotations(3, limit=10),
    "lighting": Brightness(3, limit=0.1),
    "both": Shifts(1) | Brightness(3, limit=0.1),
    "nothing": Identity(),
}


def by_hand(images, labels, phi, **settings):
    first = SVC(**settings).fit(images.reshape(len(images), -1), labels)
    versions, owners = [], []
    for index in first.support_:
        for version in phi.operators(images.shape[1:]).apply(images[index : index + 1])[0]:
            versions.append(version.ravel())
            owners.append(index)
    return SVC(**settings).fit(versions, labels[owners]), len(first.support_)


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
@pytest.mark.parametrize("phi", SETS.values(), ids=SETS.keys())
def test_it_is_the_machine_trained_by_hand(phi, kernel):
    machine = VirtualSVC(phi, kernel=kernel, C=3.0).fit(*TRAINING)
    expected, n_first = by_hand(*TRAINING, Shifts(1) if phi is None else phi, kernel=kernel, C=3.0)
    rows = TEST[0].reshape(80, -1)
    np.testing.assert_allclose(machine.decision_function(TEST[0]), expected.decision_function(rows), atol=1e-6)
    np.testing.assert_array_equal(machine.predict(TEST[0]), expected.predict(rows))
    assert machine.n_first_support_ == n_first


def test_virtual_samples_help_where_there_are_few_images():
    few, test = draw_strokes(4, seed=3), draw_strokes(100, seed=4)
    assert VirtualSVC(Shifts(2)).fit(*few).score(*test) > VirtualSVC(Identity()).fit(*few).score(*test)


def test_names_colours_flat_rows_and_three_classes():
    images, labels = TRAINING
    images = np.concatenate([images, images[:8, ::-1] + images[:8]])
    names = np.array(["left", "right", "both"])[np.append(labels, np.full(8, 2))]
    colours = np.stack([images, 1 - images, images**2], axis=-1)
    machine = VirtualSVC().fit(colours, names)
    np.testing.assert_array_equal(machine.classes_, ["both", "left", "right"])
    assert machine.score(colours, names) > 0.9
    assert machine.decision_function(colours).shape == (38, 3)
    flat = VirtualSVC(image_shape=(11, 11, 3)).fit(colours.reshape(38, -1), names)
    np.testing.assert_allclose(flat.decision_function(colours.reshape(38, -1)), machine.decision_function(colours))


def test_probabilities_come_from_images_of_which_no_version_was_learned_from(monkeypatch):
    splits = []
    split = StratifiedGroupKFold.split

    def spy(self, X, y=None, groups=None):
        for train, test in split(self, X, y, groups):
            splits.append((set(groups[train]), set(groups[test])))
            yield train, test

    monkeypatch.setattr(StratifiedGroupKFold, "split", spy)
    machine = VirtualSVC(probability=True).fit(*TRAINING)
    assert len(splits) >= 2
    assert all(not train & test for train, test in splits)
    shares = machine.predict_proba(TEST[0])
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert (shares.argmax(axis=1) == TEST[1]).mean() > 0.8
    assert not hasattr(VirtualSVC(), "predict_proba")


def test_a_saved_machine_says_the_same(tmp_path):
    machine = VirtualSVC(Reflections("vertical") | Shifts(1), probability=True).fit(*TRAINING)
    loaded = load(save(machine, tmp_path / "machine.zip"))
    for ask in ("decision_function", "predict", "predict_proba"):
        np.testing.assert_array_equal(getattr(loaded, ask)(TEST[0]), getattr(machine, ask)(TEST[0]))
    decisions = machine.decision_function(TEST[0])
    np.testing.assert_array_equal(clone(machine).fit(*TRAINING).decision_function(TEST[0]), decisions)


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="C must be a number .*got 'big'"):
        VirtualSVC(C="big").fit(*TRAINING)
    with pytest.raises(ValueError, match="n must be a whole number of at least 1; got 0"):
        VirtualSVC(Brightness(0)).fit(*TRAINING)
    with pytest.raises(ValueError, match="at least two classes; got one class only, 0"):
        VirtualSVC().fit(TRAINING[0], np.zeros(30))
    with pytest.raises(ValueError, match="probability=True needs at least two support vectors of every class"):
        VirtualSVC(probability=True).fit(TRAINING[0][:5], [0, 0, 0, 0, 1])
    with pytest.raises(NotFittedError):
        VirtualSVC().predict(TEST[0])


def test_one_that_has_learned_nothing_has_no_decisions():
    with pytest.raises(NotFittedError):
        VirtualSVC().decision_function(TEST[0])
