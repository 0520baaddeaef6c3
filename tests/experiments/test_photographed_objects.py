"""VOC 2005 and the horses, on small copies of their layouts."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from experiments import photographed_objects as objects
from experiments.catalogue import EXPERIMENTS
from experiments.results import perform
from invariance.codebooks import ClusteringForest
from invariance.datasets import load_inria_horses, load_voc2005
from tests.datasets.make_objects import make_horses, make_voc
from tests.experiments.poison import check_only_tested_on, watch_fits


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("INVARIANCE_DATA", str(tmp_path))
    monkeypatch.setattr("invariance.datasets._sources.cache_folder", lambda: tmp_path / "cache")
    return tmp_path


@pytest.mark.parametrize(("name", "make"), [("pascal_2005", make_voc), ("horses", make_horses)])
def test_the_experiments_run_when_the_data_are_there(name, make, folder):
    make(folder / EXPERIMENTS[name].data[0], 6)
    result = perform(EXPERIMENTS[name], is_quick=True)
    [table] = result.found.tables
    rows = {row.method: row for row in table.outcomes}
    assert {claim.first for claim in EXPERIMENTS[name].claims} | {c.second for c in EXPERIMENTS[name].claims} == set(
        rows
    )
    assert all(np.all(row.figures > 60) for row in rows.values())  # chance is 50
    assert [row.paper is not None for row in table.outcomes] == [", words of boxes" not in name for name in rows]


def test_halves_share_no_image_and_have_both_classes():
    labels = np.repeat([0, 1], [7, 9])
    training, test = objects.split_halves(labels, 0)
    assert sorted([*training, *test]) == list(range(16))
    assert np.bincount(labels[training]).tolist() == [4, 5]
    assert not np.array_equal(training, objects.split_halves(labels, 1)[0])


@pytest.mark.parametrize("on_boxes", [False, True])
def test_test_images_and_labels_are_only_tested_on(on_boxes, folder, monkeypatch):
    make_horses(folder / "inria_horses", 6)
    data = load_inria_horses()
    training, test = objects.split_halves(data.labels, 0)
    fits = watch_fits(monkeypatch, ClusteringForest, LinearSVC)

    def run(poisoned):
        bag = objects.make_bag(objects.RandomWindows(50, 20), 20)
        shown = {"horse": np.asarray(poisoned.labels) == 1}
        return list(objects.judge(bag, poisoned, training, test, shown, 0, on_boxes).values())

    paths, labels = list(data.paths), np.array(data.labels)
    for place, other in zip(test, test[::-1], strict=True):  # horses for other images, and the other way round
        paths[place] = data.paths[other]
    labels[test] = 1 - labels[test]
    other_images, other_labels = replace(data, paths=tuple(paths)), replace(data, labels=labels)
    check_only_tested_on(run, fits, data, other_images, other_labels)
    assert len(fits) == 2  # of one forest and one machine


def test_voc_is_tested_on_images_that_were_not_learned_from(folder, monkeypatch):
    make_voc(folder / "voc2005", 3)
    seen = []

    def watch(bag, data, training, test, shown, seed, on_boxes):
        seen.append((training, test, shown))
        return dict.fromkeys(shown, 50.0)

    monkeypatch.setattr(objects, "judge", watch)
    objects.run_voc(1, 0, 10, 10)
    data = load_voc2005()
    for training, test, shown in seen:
        assert not set(training) & set(test)
        assert len(training) == 24
        assert len(test) == 12
        assert all(np.array_equal(shown[name], data.labels == i) for i, name in enumerate(data.class_names))
