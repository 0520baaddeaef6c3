import os
from types import SimpleNamespace

import numpy as np
import pytest
import tifffile
from scipy import ndimage

from experiments import uiuc_textures
from experiments.peers.block_l1 import BlockL1Classifier
from experiments.uiuc_textures import Combination, Entry, ShapeColumns
from invariance.descriptors import MaximumResponses, PatchGrid
from invariance.transformations import Rotations

needs_data = pytest.mark.skipif("INVARIANCE_DATA" not in os.environ, reason="INVARIANCE_DATA is not set")
QUICK = {
    "patch": Entry(PatchGrid(5, step=8), 82.39, 91.46),
    "responses": Entry(MaximumResponses("rotation", 8), 93.0, 96.69),
    "columns": Entry(ShapeColumns()),
}


@pytest.fixture
def few_words(monkeypatch):
    monkeypatch.setattr(uiuc_textures, "N_WORDS", 12)
    monkeypatch.setattr(uiuc_textures, "N_VECTORS", 2000)


@pytest.fixture
def textures(tmp_path):
    """Paths and labels of two textures, stripes and noise, three images each."""
    rng = np.random.default_rng(0)
    paths = []
    for i in range(6):
        stripes = np.broadcast_to(127 + 100 * np.sin(np.arange(40) + i), (30, 40))
        image = stripes if i < 3 else 127 + 30 * rng.standard_normal((30, 40))
        paths.append(tmp_path / f"{i}.tif")
        tifffile.imwrite(paths[-1], np.clip(image, 0, 255).astype(np.uint8))
    return paths, np.repeat([0, 1], 3)


def test_a_split_takes_twenty_images_of_every_class_and_tests_on_the_others():
    labels = np.repeat(np.arange(25), 40)
    training, test = uiuc_textures.draw_split(labels, seed=3)
    assert np.array_equal(np.bincount(labels[training]), np.full(25, 20))
    assert sorted([*training, *test]) == list(range(1000))
    assert not np.array_equal(training, uiuc_textures.draw_split(labels, seed=4)[0])


def test_the_table_has_the_eight_descriptors_of_the_paper():
    assert len(uiuc_textures.TABLE) == 8
    assert not set(uiuc_textures.TABLE) & set(uiuc_textures.MORE)
    assert sum(Rotations in entry.descriptor.invariances for entry in uiuc_textures.TABLE.values()) == 5


def test_words_are_learned_from_training_images_only(textures, few_words, monkeypatch):
    paths, labels = textures
    seen = []
    fit = uiuc_textures.BagOfFeatures.fit
    monkeypatch.setattr(uiuc_textures, "N_TRAINING", 2)
    monkeypatch.setattr(uiuc_textures.BagOfFeatures, "fit", lambda bag, images: seen.extend(images) or fit(bag, images))
    uiuc_textures.distance_stack(paths, labels, 1, table={"patch": QUICK["patch"]})
    training, _ = uiuc_textures.draw_split(labels, 1)
    assert seen == [paths[i] for i in training]


def test_a_cache_gives_the_same_distances_and_is_read_again(textures, few_words, monkeypatch, tmp_path):
    paths, labels = textures
    monkeypatch.setattr(uiuc_textures, "N_TRAINING", 2)
    plain = uiuc_textures.distance_stack(paths, labels, 0, table=QUICK)
    cached = uiuc_textures.distance_stack(paths, labels, 0, tmp_path, QUICK)
    assert plain.shape == (3, 6, 6)
    np.testing.assert_allclose(cached, plain, atol=0.05)  # vectors are kept in half precision
    monkeypatch.setattr(uiuc_textures, "BagOfFeatures", None)
    np.testing.assert_array_equal(uiuc_textures.distance_stack(paths, labels, 0, tmp_path, QUICK), cached)
    monkeypatch.setattr(uiuc_textures, "N_WORDS", 13)
    with pytest.raises(TypeError):
        uiuc_textures.distance_stack(paths, labels, 0, tmp_path, QUICK)


def test_columns_of_shapes_turn_with_the_image_and_do_not_see_its_light():
    image = ndimage.gaussian_filter(np.random.default_rng(0).random((50, 60)), 1.5).astype(np.float32)
    shares = ShapeColumns().extract(image)[0]
    assert shares.shape == (1, 1296)
    assert shares.sum() == pytest.approx(1)
    np.testing.assert_allclose(ShapeColumns().extract(np.rot90(image))[0], shares, atol=2e-3)
    np.testing.assert_allclose(ShapeColumns().extract(0.5 * image + 0.3)[0], shares, atol=2e-3)
    assert np.abs(ShapeColumns().extract(-image)[0] - shares).max() > 0.01
    assert np.abs(ShapeColumns(normalize_width=6.0).extract(image)[0] - shares).max() > 1e-4


def test_shapes_are_told_apart():
    rows, columns = np.mgrid[-20:21, -20:21].astype(np.float32)
    planes = [rows, rows**2 + columns**2, -(rows**2) - columns**2, rows**2, -(rows**2), rows * columns]
    assert [uiuc_textures.strongest_shape(plane, 2.0)[20, 20] for plane in planes] == [0, 1, 2, 3, 4, 5]


def test_near_images_are_judged_right_and_far_ones_wrong():
    labels = np.array([0, 0, 1, 1, 0, 1])
    training, test = np.arange(4), np.array([4, 5])
    right = np.where(labels[:, None] == labels, 0.1, 0.9)
    np.fill_diagonal(right, 0)
    for predict in (uiuc_textures.predict_nearest, uiuc_textures.predict_svm):
        assert list(predict(right, labels, training, test)) == [0, 1]
        assert list(predict(right[:, [2, 3, 0, 1, 4, 5]], labels, training, test)) == [1, 0]
    stack = np.stack([right, right])
    for model in (uiuc_textures.OVO_EQUAL, BlockL1Classifier()):
        assert list(uiuc_textures.predict_combination(model, stack, labels, training, test)) == [0, 1]


def test_every_combination_is_what_its_name_says():
    for name, (model, _, with_more) in uiuc_textures.COMBINATIONS.items():
        assert with_more == name.startswith("with added")
        assert isinstance(model, BlockL1Classifier) == ("block-l1" in name)
        if "block-l1" not in name:
            assert (model.weights == "equal") == ("equal weights" in name)
            assert model.scheme == ("ovo" if name.endswith("one against one") else "ova")
        assert model.C == 1000


def test_figures_are_judged_on_images_that_no_setting_was_chosen_on(textures, monkeypatch, tmp_path):
    """An image that settings were chosen on is right, every other one is wrong: the tables to quote must say 0."""
    paths, labels = textures
    monkeypatch.setattr(uiuc_textures, "N_TRAINING", 1)
    data = SimpleNamespace(paths=paths, labels=labels)
    monkeypatch.setattr(uiuc_textures, "load_uiuc_textures", lambda classes: data)
    monkeypatch.setattr(uiuc_textures, "distance_stack", lambda *_: np.zeros((1, 6, 6)))
    chosen_on, _ = uiuc_textures.draw_split(labels, uiuc_textures.SETTINGS_SEED)

    def know_the_chosen(labels, training, test):
        return np.where(np.isin(test, chosen_on), labels[test], -1)

    rows = [((which, "row"), 50.0, know_the_chosen) for which in ("1NN", "SVM", "combined")]
    monkeypatch.setattr(uiuc_textures, "_methods", lambda *_: iter(rows))
    tables = uiuc_textures.run(4, tmp_path)
    assert next(iter(tables)) == "combined, without images that settings were chosen on"
    assert len(tables) == 6
    for title, [row] in tables.items():
        is_quoted = title.endswith(", without images that settings were chosen on")
        assert (row.mean == 0) == is_quoted
        assert row.paper == (50 if is_quoted else None)


@needs_data
def test_four_textures_are_told_apart(few_words):
    combinations = {
        "learned": Combination(uiuc_textures.OVO),
        "one descriptor": Combination(uiuc_textures.OVO, 90.0),
        "block-l1": Combination(BlockL1Classifier(), None, True),
    }
    combinations["learned"] = combinations["learned"]._replace(with_more=True)
    table, more = {"patch": QUICK["patch"]}, {"responses": QUICK["responses"]}
    classes = ["T01_bark1", "T12_pebbles", "T16_glass1", "T25_plaid"]
    tables = uiuc_textures.run(1, table=table, more=more, combinations=combinations, classes=classes)
    assert len(tables) == 6
    assert tables["SVM, with images that settings were chosen on"][1].mean > 70  # chance is 25
    both, single, block = tables["combined, with images that settings were chosen on"]
    assert both.mean > 80
    assert block.mean > 80
    assert single.mean == tables["SVM, with images that settings were chosen on"][0].mean
    assert tables["combined, without images that settings were chosen on"][1].paper == 90
