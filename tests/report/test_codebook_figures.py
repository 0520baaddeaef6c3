import numpy as np
import pytest

from invariance.codebooks import BagOfFeatures, ClusteringForest, CodebookClassifier, RandomWindows
from invariance.report import save_figure, word_figure, word_map_figure


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    images = [rng.random((40, 50)).astype(np.float32) * (0.4 + 0.6 * (index % 2)) for index in range(10)]
    bag = BagOfFeatures(ClusteringForest(2, n_leaves=10), sampler=RandomWindows(50, 20))
    return CodebookClassifier(bag, random_state=0).fit(images, np.arange(10) % 2), images


def test_a_word_map_is_drawn_beside_its_image(fitted, tmp_path):
    model, images = fitted
    figure = word_map_figure(model, images[0], 1, n_windows=500)
    image, strength = (axes.images[0].get_array() for axes in figure.axes[:2])
    np.testing.assert_array_equal(image, images[0])
    np.testing.assert_allclose(np.asarray(strength), model.word_map(images[0], 1, 500))
    save_figure(figure, tmp_path / "map.png")
    assert (tmp_path / "map.png").stat().st_size > 1000


def test_the_windows_of_a_word_are_shown(fitted):
    model, images = fitted
    words = model.bag_.codebook_.transform(model.bag_.extract(images[0], 100)[0])
    figure = word_figure(model, images[:3], int(words[0, 0]), n=6, n_windows=100)
    shown = [axes for axes in figure.axes if axes.images]
    assert 1 <= len(shown) <= 6


def test_a_word_without_windows_is_named(fitted):
    model, _ = fitted
    words = model.bag_.codebook_.transform(model.bag_.extract(np.zeros((30, 30)), 100)[0])
    other = next(word for word in range(model.bag_.n_words_) if word not in words)
    with pytest.raises(ValueError, match=f"assigned to word {other}"):
        word_figure(model, [np.zeros((30, 30))], other, n_windows=100)
