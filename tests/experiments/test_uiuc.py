import os

import numpy as np
import pytest

from invariance.descriptors.maximum_responses import MaximumResponses
from invariance.descriptors.patch_grid import PatchGrid
from invariance.experiments import uiuc_textures
from invariance.experiments.uiuc_textures import Entry
from invariance.images import write_pages

needs_data = pytest.mark.skipif("INVARIANCE_DATA" not in os.environ, reason="INVARIANCE_DATA is not set")
QUICK = {
    "patch": Entry(PatchGrid(5, step=8), 82.39, 91.46),
    "responses": Entry(MaximumResponses("rotation", 8), 93.0, 96.69),
}


@pytest.fixture
def few_words(monkeypatch):
    monkeypatch.setattr(uiuc_textures, "N_WORDS", 12)
    monkeypatch.setattr(uiuc_textures, "N_VECTORS", 2000)


@pytest.fixture
def textures(tmp_path):
    """Paths and labels of two textures, stripes and noise, three pictures each."""
    rng = np.random.default_rng(0)
    paths = []
    for i in range(6):
        stripes = np.broadcast_to(127 + 100 * np.sin(np.arange(40) + i), (30, 40))
        image = stripes if i < 3 else 127 + 30 * rng.standard_normal((30, 40))
        paths.append(tmp_path / f"{i}.tif")
        write_pages(paths[-1], np.clip(image, 0, 255).astype(np.uint8)[None])
    return paths, np.repeat([0, 1], 3)


def test_a_split_takes_twenty_pictures_of_every_class_and_tests_on_the_others():
    labels = np.repeat(np.arange(25), 40)
    training, test = uiuc_textures.draw_split(labels, seed=3)
    assert np.array_equal(np.bincount(labels[training]), np.full(25, 20))
    assert sorted([*training, *test]) == list(range(1000))
    assert not np.array_equal(training, uiuc_textures.draw_split(labels, seed=4)[0])


def test_the_table_has_the_eight_descriptors_of_the_paper():
    assert len(uiuc_textures.TABLE) == 8
    assert sum("rotation" in entry.descriptor.invariances for entry in uiuc_textures.TABLE.values()) == 5


def test_words_are_learned_from_training_pictures_only(textures, few_words, monkeypatch):
    paths, labels = textures
    seen = []
    fit = uiuc_textures.WordHistograms.fit
    monkeypatch.setattr(uiuc_textures, "N_TRAINING", 2)
    monkeypatch.setattr(
        uiuc_textures.WordHistograms, "fit", lambda bag, images, y: seen.extend(images) or fit(bag, images, y)
    )
    uiuc_textures.distance_stack(paths, labels, 1, table={"patch": QUICK["patch"]})
    training, _ = uiuc_textures.draw_split(labels, 1)
    assert seen == [paths[i] for i in training]


def test_a_cache_gives_the_same_distances_and_is_read_again(textures, few_words, monkeypatch, tmp_path):
    paths, labels = textures
    monkeypatch.setattr(uiuc_textures, "N_TRAINING", 2)
    plain = uiuc_textures.distance_stack(paths, labels, 0, table=QUICK)
    cached = uiuc_textures.distance_stack(paths, labels, 0, tmp_path, QUICK)
    assert plain.shape == (2, 6, 6)
    np.testing.assert_allclose(cached, plain, atol=0.05)  # vectors are kept in half precision
    monkeypatch.setattr(uiuc_textures, "WordHistograms", None)
    np.testing.assert_array_equal(uiuc_textures.distance_stack(paths, labels, 0, tmp_path, QUICK), cached)
    monkeypatch.setattr(uiuc_textures, "N_WORDS", 13)
    with pytest.raises(TypeError):
        uiuc_textures.distance_stack(paths, labels, 0, tmp_path, QUICK)


def test_near_pictures_are_judged_right_and_far_ones_wrong():
    labels = np.array([0, 0, 1, 1, 0, 1])
    training, test = np.arange(4), np.array([4, 5])
    right = np.where(labels[:, None] == labels, 0.1, 0.9)
    np.fill_diagonal(right, 0)
    for judge in (uiuc_textures.judge_nearest, uiuc_textures.judge_svm):
        assert judge(right, labels, training, test) == 100
        assert judge(right, labels[[0, 1, 2, 3, 5, 4]], training, test) == 0
    stack = np.stack([right, right])
    assert uiuc_textures.judge_combination(stack, labels, training, test, scheme="ovo", weights="equal") == 100


@needs_data
def test_four_textures_are_told_apart(few_words):
    combinations = {name: uiuc_textures.COMBINATIONS[name] for name in ("learned, one against one",)}
    classes = ["T01_bark1", "T12_pebbles", "T16_glass1", "T25_plaid"]
    tables = uiuc_textures.run(1, table=QUICK, combinations=combinations, classes=classes)
    assert set(tables) == {"1NN", "SVM", "combined"}
    assert tables["SVM"][1].mean > 70  # chance is 25
    assert tables["combined"][0].mean > 80
