import os
from functools import partial

import numpy as np
import pytest

from experiments import isbi2012, reproductions
from experiments.pixel_runs import FOREST, judge
from invariance.datasets import load_isbi2012, make_membranes

needs_data = pytest.mark.skipif("INVARIANCE_DATA" not in os.environ, reason="INVARIANCE_DATA is not set")
TINY = isbi2012.Plan(
    training=(0, 1),
    few=((1,),),
    test=(2, 3),
    n_pixels=400,
    moments=(2, 1),
)
FAST = {
    FOREST: isbi2012.train_forest,
    "segmenter": partial(isbi2012.train_segmenter, n_rounds=1, n_trees=30, max_depth=2, n_pseudo_labels=0),
}


@pytest.fixture(scope="module")
def data():
    return make_membranes(4, (96, 96))


@pytest.fixture
def lessons(monkeypatch):
    """The labels that a stand-in for the U-Net was given; it calls dark pixels membrane."""
    given = []

    def train_unet(images, masks, seconds, *, checkpoints, random_state, on_checkpoint):
        given.append((images, masks))
        for moment in sorted(checkpoints):
            on_checkpoint(moment + 0.1, lambda image: np.clip(1 - image, 0, 1))

    monkeypatch.setattr(isbi2012, "load_unet", lambda: train_unet)
    return given


def remember_labels(seen):
    """A method that learns nothing and keeps its labels."""

    def train(images, masks, n_pixels, seed):
        seen.append((images, masks))
        return lambda image: np.full(image.shape, 0.5, np.float32)

    return train


def error_of_calling_all_cell(truths):
    n_cells = np.count_nonzero(~truths)
    return 100 * (1 - 2 * n_cells / (n_cells + truths.size))


def test_a_run_is_judged_by_cells_and_regions(data):
    truths = data.masks[:2]
    maps = iter(truths.astype(np.float32))
    perfect = judge("t", "a", "perfect", 3.0, lambda image: next(maps), data.images[:2], truths)
    assert (perfect.error, perfect.v_rand, perfect.training_seconds) == (0, 1, 3.0)
    blind = judge("t", "a", "blind", 0.0, lambda image: np.full(image.shape, 0.5), data.images[:2], truths)
    assert blind.error == pytest.approx(error_of_calling_all_cell(truths))


def test_methods_learn_membranes_from_whole_sections(data, capsys):
    runs = isbi2012.run_sections(data, TINY, methods=FAST)
    assert [(run.task, run.method) for run in runs] == [("2 labelled sections", method) for method in FAST]
    assert all(run.error < 0.5 * error_of_calling_all_cell(data.masks[2:]) for run in runs)
    assert all(run.training_seconds > 0 and run.section_seconds > 0 for run in runs)
    assert capsys.readouterr().out.splitlines() == [str(run) for run in runs]


def test_all_methods_and_the_unet_learn_from_the_same_labels(data, lessons):
    seen = []
    runs = isbi2012.run_few(data, TINY, unet=True, methods={"blind": remember_labels(seen)})
    assert [run.method for run in runs] == ["blind", "U-Net, 1 s", "U-Net, 2 s"]
    assert [run.training_seconds for run in runs[1:]] == [1.1, 2.1]
    for images, masks in (*seen, *lessons):
        assert np.array_equal(images, data.images[1:2])
        assert np.array_equal(masks, data.masks[1:2])


def test_no_section_is_both_learned_from_and_tested_on():
    for plan in (isbi2012.FULL, isbi2012.QUICK):
        learned = {*plan.training, *(section for sections in plan.few for section in sections)}
        assert not learned & set(plan.test)


def test_the_experiment_with_the_unet_has_a_row_and_a_place_per_moment(data, lessons, monkeypatch):
    monkeypatch.setattr("invariance.datasets.load_isbi2012", lambda: data)
    monkeypatch.setattr(isbi2012, "QUICK", TINY)
    monkeypatch.setattr(isbi2012, "METHODS", dict.fromkeys(isbi2012.METHODS, remember_labels([])))
    monkeypatch.setattr(isbi2012, "warm_up", lambda data: None)
    found = reproductions.isbi_unet(2, 0, True)
    rows = {row.method: row.figures for row in found.tables[0].outcomes}
    assert list(rows) == [FOREST, "segmenter, no context", "U-Net, 1 s", "U-Net, 2 s"]
    assert all(len(figures) == 2 for figures in rows.values())
    unet, *others = found.plots[0].curves
    assert unet.places == (1, 2)
    assert np.array_equal(unet.rates[:, 1], rows["U-Net, 2 s"])
    assert [curve.method for curve in others] == [FOREST, "segmenter, no context"]


@needs_data
def test_membranes_are_found_from_the_pixels_of_one_section():
    plan = isbi2012.QUICK._replace(test=(18,), n_pixels=1000)
    runs = isbi2012.run_few(load_isbi2012(), plan, methods=FAST)
    assert all(run.error < 9.5 for run in runs)  # calling everything a cell gives 11.2
