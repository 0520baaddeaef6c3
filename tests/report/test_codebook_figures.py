import numpy as np
import pytest

from invariance.codebooks import BagOfFeatures, ClusteringForest, CodebookClassifier
from invariance.report import save_figure, word_figure, word_map_figure


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    pictures = [rng.random((40, 50)).astype(np.float32) * (0.4 + 0.6 * (index % 2)) for index in range(10)]
    bag = BagOfFeatures(ClusteringForest(2, n_leaves=10), n_windows=50, n_training_windows=20)
    return CodebookClassifier(bag, random_state=0).fit(pictures, np.arange(10) % 2), pictures


def test_a_word_map_is_drawn_beside_its_picture(fitted, tmp_path):
    model, pictures = fitted
    figure = word_map_figure(model, pictures[0], 1, n_windows=500)
    picture, strength = (axes.images[0].get_array() for axes in figure.axes[:2])
    np.testing.assert_array_equal(picture, pictures[0])
    np.testing.assert_allclose(np.asarray(strength), model.word_map(pictures[0], 1, 500))
    save_figure(figure, tmp_path / "map.png")
    assert (tmp_path / "map.png").stat().st_size > 1000


def test_the_windows_of_a_word_are_shown(fitted):
    model, pictures = fitted
    words = model.bag_.codebook_.transform(model.bag_.windows_of(pictures[0], 100).descriptors)
    figure = word_figure(model, pictures[:3], int(words[0, 0]), n=6, n_windows=100)
    shown = [axes for axes in figure.axes if axes.images]
    assert 1 <= len(shown) <= 6


def test_a_word_that_no_window_got_is_named(fitted):
    model, _ = fitted
    words = model.bag_.codebook_.transform(model.bag_.windows_of(np.zeros((30, 30)), 100).descriptors)
    other = next(word for word in range(model.bag_.n_words_) if word not in words)
    with pytest.raises(ValueError, match=f"got the word {other}"):
        word_figure(model, [np.zeros((30, 30))], other, n_windows=100)
