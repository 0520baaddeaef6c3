import os
import sys
from functools import partial

import numpy as np
import pytest

from experiments import isbi2012
from experiments.pixel_runs import FOREST, Run, as_table, judge, seconds_figure
from invariance.datasets import DatasetMissing, load_isbi2012, make_membranes

needs_data = pytest.mark.skipif("INVARIANCE_DATA" not in os.environ, reason="INVARIANCE_DATA is not set")
TINY = isbi2012.Plan(
    training=(0, 1),
    few=((1,),),
    test=(2, 3),
    n_pixels=400,
    moments=(2, 1),
    n_discs=(10, 40),
    scribbled=(0, 1),
    n_draws=2,
    scribble_moment=1,
)
FAST = {
    FOREST: isbi2012.train_forest,
    "jungles": partial(isbi2012.train_jungles, n_rounds=1, n_trees=30, max_depth=2, n_pseudo_labels=0),
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

    monkeypatch.setattr(isbi2012, "find_unet", lambda: train_unet)
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


def make_run(method, error, draw="a", task="t", seconds=1.0):
    return Run(task, draw, method, error, 0.9, 0.95, seconds, 0.5)


def test_scribbles_show_the_truth_inside_discs(data):
    mask = data.masks[0]
    scribbled = isbi2012.draw_scribbles(mask, 5, 4, np.random.default_rng(0))
    marked = scribbled != -1
    assert scribbled.shape == mask.shape
    assert np.array_equal(scribbled[marked], mask[marked])
    one = isbi2012.draw_scribbles(mask, 1, 4, np.random.default_rng(0)) != -1
    rows, cols = np.nonzero(one)
    assert one.sum() == 49
    assert np.all((rows - rows.mean()) ** 2 + (cols - cols.mean()) ** 2 <= 16)


def test_scribbles_of_one_class_are_drawn_again():
    mask = np.zeros((64, 64), bool)
    mask[20:24, 20:24] = True
    for seed in range(5):
        assert {0, 1} < set(isbi2012.draw_scribbles(mask, 1, 4, np.random.default_rng(seed)).ravel().tolist())


def test_a_mask_of_one_class_cannot_be_scribbled_on():
    with pytest.raises(ValueError, match="both classes; got True everywhere"):
        isbi2012.draw_scribbles(np.ones((20, 20), bool), 3, 4, np.random.default_rng(0))


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


def test_scribbles_are_drawn_anew_for_every_draw_and_section(data, lessons):
    seen = []
    runs = isbi2012.run_scribbles(data, TINY, unet=True, methods={"blind": remember_labels(seen)})
    blind = [run for run in runs if run.method == "blind"]
    assert len({(run.task, run.draw) for run in blind}) == len(blind) == 2 * 2 * 2
    assert len({masks.tobytes() for _, masks in seen}) == len(seen)
    assert [np.array_equal(images[0], data.images[1]) for images, _ in seen] == 2 * [False, False, True, True]
    assert {run.draw for run in runs if run.method == "U-Net, 1 s"} == {"section 0, draw 0", "section 1, draw 0"}
    assert all(any(np.array_equal(masks, others) for _, others in seen) for _, masks in lessons)


def test_no_section_is_both_learned_from_and_tested_on_and_scribbles_avoid_those_that_chose_settings():
    for plan in (isbi2012.FULL, isbi2012.QUICK):
        learned = {*plan.training, *plan.scribbled, *(section for sections in plan.few for section in sections)}
        assert not learned & set(plan.test)
        assert not {15, 16, 17} & set(plan.scribbled)


def test_the_table_compares_with_the_forest_on_the_same_draws():
    runs = [make_run(FOREST, 8.0), make_run(FOREST, 4.0, "b"), make_run("U-Net", 6.0), make_run("late", 3.0, "c")]
    title, _, forest, unet, late = as_table(runs, {FOREST: 7.9}).splitlines()
    assert title == "t"
    assert forest.split() == ["pixel", "forest", "7.9", "6.00", "2.83", "2", "1.00", "0.900", "0.950", "1.0", "0.50"]
    assert unet.split()[1:6] == ["-", "6.00", "-", "1", "0.75"]
    assert late.split()[5] == "-"


def test_the_figure_joins_the_moments_of_the_unet():
    methods = {FOREST: (1, 7), "jungles": (4, 6), "U-Net, 20 s": (20, 8), "U-Net, 50 s": (50, 5)}
    runs = [
        make_run(method, error, task=task, seconds=seconds)
        for task in ("some", "few", "scribbles", "one more")
        for method, (seconds, error) in methods.items()
    ]
    runs.append(make_run("jungles", 8.0, task="some", seconds=8.0))
    figure = seconds_figure(runs)
    panels = [axes for axes in figure.axes if axes.axison]
    assert [axes.get_title() for axes in panels] == ["some", "few", "scribbles", "one more"]
    lines = [line.get_xydata().tolist() for line in panels[0].lines]
    assert lines == [[[1, 7]], [[6, 7]], [[20, 8], [50, 5]]]
    assert [text.get_text() for text in figure.legends[0].texts] == [FOREST, "jungles", "U-Net"]


def test_without_torch_the_unet_is_left_out_with_one_line(data, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "experiments.peers.unet", raising=False)
    isbi2012.find_unet.cache_clear()
    runs = isbi2012.run_scribbles(data, TINY, unet=True, methods={})
    isbi2012.find_unet.cache_clear()
    assert runs == []
    [line] = capsys.readouterr().out.splitlines()
    assert line.startswith("No U-Net: the U-Net needs PyTorch")


def test_the_command_prints_tables_and_writes_the_figure(data, lessons, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(isbi2012, "load_isbi2012", lambda: data)
    monkeypatch.setattr(isbi2012, "QUICK", TINY._replace(n_draws=1, n_discs=(10,), scribbled=(0,)))
    monkeypatch.setattr(isbi2012, "SCRIBBLE_METHODS", FAST)
    monkeypatch.setitem(isbi2012.PARTS, "scribbles", partial(isbi2012.run_scribbles, methods=FAST))
    isbi2012.main(["--part", "scribbles", "--quick", "--unet", "--figure", str(tmp_path / "errors.svg")])
    lines = capsys.readouterr().out.splitlines()
    table = lines[lines.index("10 discs of one section") :]
    rows = [line[2:].split("  ")[0] for line in table if line.startswith("  ")]
    assert rows == ["method", FOREST, "jungles", "U-Net, 1 s"]
    assert (tmp_path / "errors.svg").stat().st_size > 1000


@pytest.mark.parametrize("name", ["missing/errors.png", "errors.xyz"])
def test_a_figure_that_cannot_be_written_is_refused_at_once(name, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(isbi2012, "load_isbi2012", lambda: pytest.fail("the work had begun"))
    with pytest.raises(SystemExit, match="2"):
        isbi2012.main(["--figure", str(tmp_path / name)])
    assert "must end in .png, .svg or .pdf" in capsys.readouterr().err


def test_missing_data_end_the_command_with_one_line(monkeypatch, capsys):
    def load():
        raise DatasetMissing("the data set is not here: get it.")

    monkeypatch.setattr(isbi2012, "load_isbi2012", load)
    with pytest.raises(SystemExit, match="2"):
        isbi2012.main([])
    assert capsys.readouterr().err.endswith("error: the data set is not here: get it.\n")


@needs_data
def test_membranes_are_found_from_the_pixels_of_one_section():
    plan = isbi2012.QUICK._replace(test=(18,), n_pixels=1000)
    runs = isbi2012.run_few(load_isbi2012(), plan, methods=FAST)
    assert all(run.error < 9.5 for run in runs)  # calling everything a cell gives 11.2
