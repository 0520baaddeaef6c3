"""Neural responses equal the direct recursion of the paper, whatever the layers, kernel, pooling and hop."""

import inspect
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_limits

from invariance.hierarchies import Layer, NeuralResponse, encoding
from invariance.hierarchies._jit import Scratch
from invariance.hierarchies.pooling import check_pooling, pool
from invariance.images import RangeWarning
from invariance.models import load, save
from tests import reference
from tests.hierarchies.toys import Quadratic, draw_blocks, draw_for, draw_images, draw_signed, nearby, two_layers

TOLERANCE = 1e-6

# pooling._root keeps the order of the moved axes, so that encoding._respond normalises a copy of the vectors and goes
# on with those that are not. Take this mark away with the bug.
POOLINGS = ["max", "mean", 3]


def with_channels(images):
    return images if images.ndim == 4 else images[..., None]


def literal_kernel(kernel, templates):
    """The kernel on smallest patches as a plain function of two of them."""
    if kernel == "gaussian":
        return reference.gaussian_kernel(templates[0])
    if callable(kernel):
        single = kernel.diag if hasattr(kernel, "diag") else lambda P: np.ones(len(P))

        def normalised(f, g):
            P, T = f.reshape(1, -1), g.reshape(1, -1)
            return float(kernel(P, T)[0, 0] / np.sqrt(single(P)[0] * single(T)[0]))

        return normalised
    return {"inner": reference.inner_kernel, "histogram": reference.histogram_kernel}[kernel]


def literal_responses(model, images):
    """What `model` should answer, from its templates alone."""
    kernel = literal_kernel(model.kernel, model.templates_)
    recursion = (model.templates_, kernel, model.pooling, model.hop)
    return np.array([reference.at_length_one(reference.neural_response(f, *recursion)) for f in with_channels(images)])


def assert_is_the_recursion(model, images):
    responses, expected = model.transform(images), literal_responses(model, images)
    np.testing.assert_allclose(responses, expected, atol=TOLERANCE)
    # Responses of different images lie further apart than that, so that the line above can fail.
    assert np.abs(expected[0] - expected[1]).max() > 15 * TOLERANCE
    assert responses.dtype == np.float64


KERNELS = {
    "inner": "inner",
    "histogram": "histogram",
    "gaussian": "gaussian",
    "a function": nearby,
    "a kernel with diag": Quadratic(),
}
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())


@pytest.mark.parametrize("hop", [1, 2, 3])
@pytest.mark.parametrize("pooling", POOLINGS)
@every_kernel
def test_two_layers(kernel, pooling, hop):
    """Of 3 and 6 of 8 pixels: a hop of 2 divides the second difference only, one of 3 the first only."""
    layers = [Layer(3, n_templates=3), Layer(6, n_templates=4)]
    images = draw_for(kernel, (5, 8, 8))
    model = NeuralResponse(layers, kernel=kernel, pooling=pooling, hop=hop, random_state=0).fit(images)
    assert_is_the_recursion(model, images[:2])


@pytest.mark.parametrize("pooling", ["max", "mean", 3])
@every_kernel
def test_one_layer(kernel, pooling):
    images = draw_for(kernel, (5, 7, 6))
    layers = [Layer((4, 3), n_templates=6)]
    model = NeuralResponse(layers, kernel=kernel, pooling=pooling, random_state=1).fit(images)
    assert_is_the_recursion(model, images[:2])


@pytest.mark.parametrize("hop", [1, 2, 3])
@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("kernel", ["inner", "histogram"])
def test_three_layers(kernel, pooling, hop):
    grow = 1 if hop == 1 else 3  # direct recursion over few positions: hops of 2 and 3 leave as many as 1 does
    layers = [Layer(2 + grow * k, n_templates=2 + k) for k in range(3)]
    images = draw_for(kernel, (4, 2 + 3 * grow, 2 + 3 * grow))
    model = NeuralResponse(layers, kernel=kernel, pooling=pooling, hop=hop, random_state=2).fit(images)
    assert_is_the_recursion(model, images[:2])


@pytest.mark.parametrize("hop", [1, 2, 3])
@pytest.mark.parametrize("kernel", ["inner", "histogram", "gaussian"])
def test_colour_and_sides_of_different_length(kernel, hop):
    images = draw_for(kernel, (5, 7, 9, 3))
    layers = [Layer((2, 4), n_templates=3), Layer((5, 7), n_templates=4)]
    model = NeuralResponse(layers, kernel=kernel, hop=hop, random_state=3).fit(images)
    assert [templates.shape for templates in model.templates_] == [(3, 2, 4, 3), (4, 5, 7, 3)]
    assert_is_the_recursion(model, images[:2])


@pytest.mark.parametrize("sizes", [(1, 1), (1, 6), (6, 6), (3, 3)], ids=str)
def test_layers_of_one_pixel_of_the_whole_image_and_of_the_same_size(sizes):
    images = draw_signed((6, 6, 6, 2))  # one pixel of one colour would only have a sign
    layers = [Layer(size, n_templates=5) for size in sizes]
    assert_is_the_recursion(NeuralResponse(layers, random_state=0).fit(images), images[:2])


def test_a_hop_beyond_the_image_looks_at_its_corner_only():
    images = draw_signed((5, 7, 7))
    model = NeuralResponse(two_layers(), hop=20, random_state=0).fit(images)
    assert_is_the_recursion(model, images[:2])
    changed = images.copy()
    changed[:, 3:], changed[:, :, 3:] = 0, 0
    np.testing.assert_array_equal(model.transform(changed), model.transform(images))


@pytest.mark.parametrize("window", [(1, 1), (2, 3), (4, 1), (6, 3), (4, 7), (6, 7)], ids=str)
@pytest.mark.parametrize("pooling", ["max", "mean", 2, 3.5])
def test_pooling_over_windows(pooling, window):
    values = draw_signed((6, 7, 3))
    pooled = pool(values, window, check_pooling(pooling), Scratch())
    expected = np.empty((6 - window[0] + 1, 7 - window[1] + 1, 3))
    for row, col, k in np.ndindex(expected.shape):
        inside = values[row : row + window[0], col : col + window[1], k].astype(float)
        expected[row, col, k] = reference.pool_literally(list(inside.ravel()), pooling)
    np.testing.assert_allclose(pooled, expected, atol=1e-6)


@pytest.mark.parametrize("p", [1.0, 3.0])
def test_what_is_pooled_can_be_normalised_in_place(p):
    pooled = pool(draw_signed((6, 7, 3)), (2, 3), p, Scratch())
    assert np.shares_memory(pooled, pooled.reshape(-1, 3))


def test_a_p_of_one_is_the_mean_and_a_large_one_nears_the_maximum():
    images = draw_images((6, 7, 7))

    def responses(pooling):
        return NeuralResponse([Layer(3, n_templates=9)], pooling=pooling, random_state=0).fit_transform(images)

    np.testing.assert_array_equal(responses(1), responses("mean"))
    np.testing.assert_array_equal(responses(float("inf")), responses("max"))
    gaps = [np.abs(responses(p) - responses("max")).max() for p in (1, 300)]
    assert gaps[0] > 20 * gaps[1] > 0


def test_the_derived_kernel_is_the_product_of_rows():
    images = draw_signed((4, 7, 7))
    model = NeuralResponse(two_layers(), random_state=0).fit(images)
    rows = model.transform(images)
    for i, j in ((0, 0), (0, 1), (2, 3)):
        expected = reference.derived_kernel(
            images[i][..., None], images[j][..., None], model.templates_, reference.inner_kernel
        )
        assert rows[i] @ rows[j] == pytest.approx(expected, abs=TOLERANCE)


def test_histograms_round_grey_levels_and_take_what_is_outside_for_black_or_white():
    images = draw_blocks((5, 6, 6))
    model = NeuralResponse([Layer(2, n_templates=8)], kernel="histogram", random_state=0).fit(images)
    before = model.transform(images)
    np.testing.assert_array_equal(model.transform(np.where(images == 0, -3, images)), before)
    np.testing.assert_array_equal(model.transform(images + np.float32(0.002)), before)
    assert not np.array_equal(model.transform(images + np.float32(0.01)), before)


def test_bytes_are_taken_for_parts_of_255():
    images = np.random.default_rng(0).integers(0, 256, (6, 7, 7)).astype(np.uint8)
    model = NeuralResponse(two_layers(), kernel="histogram", random_state=0)
    np.testing.assert_array_equal(model.fit_transform(images), model.fit_transform(images / np.float32(255)))


def test_a_layer_by_default_is_three_and_five_sevenths_of_the_image():
    model = NeuralResponse(random_state=0).fit(draw_images((4, 28, 14)))
    assert [templates.shape for templates in model.templates_] == [(500, 12, 6, 1), (500, 20, 10, 1)]
    assert model.transform(draw_images((2, 28, 14))).shape == (2, 500)
    assert len(model.get_feature_names_out()) == 500


class TestInvariance:
    """Prop. 4.1: what the first kernel does not see, and the grid of positions allows, the responses do not see."""

    turns = pytest.mark.parametrize("turns", [0, 1, 2, 3])
    flips = pytest.mark.parametrize("flip", [False, True], ids=["", "flipped"])

    @staticmethod
    def turn(images, turns, flip):
        turned = np.rot90(images, turns, (1, 2))
        return np.ascontiguousarray(turned[:, :, ::-1] if flip else turned)

    @turns
    @flips
    @pytest.mark.parametrize("sizes", [(3,), (3, 5), (2, 5, 8)], ids=str)
    @pytest.mark.parametrize("n_channels", [1, 3])
    def test_histograms_make_responses_invariant_up_to_rounding(self, sizes, n_channels, turns, flip):
        images = draw_blocks((6, 11, 11, n_channels))
        layers = [Layer(size, n_templates=12) for size in sizes]
        model = NeuralResponse(layers, kernel="histogram", random_state=0).fit(images)
        responses = model.transform(images)
        # BLAS of some processors sums the same products of a patch in another order at another place of the image.
        np.testing.assert_allclose(model.transform(self.turn(images, turns, flip)), responses, rtol=1e-6)
        assert np.abs(responses[0] - responses[1]).max() > 1e-4

    def test_inner_products_do_not(self):
        images = draw_signed((6, 11, 11))
        model = NeuralResponse(two_layers(), kernel="inner", random_state=0).fit(images)
        for turns, flip in ((1, False), (2, False), (0, True)):
            change = model.transform(self.turn(images, turns, flip)) - model.transform(images)
            assert np.abs(change).max() > 1e-2

    def test_nor_do_histograms_with_a_hop_that_does_not_map_the_positions_onto_each_other(self):
        images = draw_blocks((6, 12, 12))
        model = NeuralResponse([Layer(3, n_templates=8)], kernel="histogram", hop=2, random_state=0).fit(images)
        assert np.abs(model.transform(self.turn(images, 1, False)) - model.transform(images)).max() > 1e-2

    def test_shifting_a_pattern_within_a_black_image_changes_nothing(self):
        images = np.zeros((4, 16, 16), np.float32)
        images[:, 5:10, 5:10] = draw_images((4, 5, 5)) + np.float32(0.1)
        model = NeuralResponse([Layer(3, n_templates=9)], random_state=0).fit(images)
        shifted = np.roll(images, (2, -3), axis=(1, 2))
        np.testing.assert_allclose(model.transform(shifted), model.transform(images), atol=1e-7)


class TestTemplates:
    def drawn_from(self, template, images):
        """The (image, row, col) at which a template is found."""
        places = []
        for index, image in enumerate(with_channels(images)):
            patches = reference.patches_of(image, *template.shape[:2], 1)
            places += [(index, *place) for place, patch in patches.items() if np.array_equal(patch, template)]
        return places

    def places_of(self, model, images, layer=0):
        found = [self.drawn_from(template, images) for template in model.templates_[layer]]
        assert all(len(places) == 1 for places in found)
        return np.array([places[0] for places in found])

    def test_they_are_patches_of_the_images_from_everywhere(self):
        images = draw_signed((3, 6, 5, 2))
        model = NeuralResponse([Layer((3, 2), n_templates=400)], random_state=0).fit(images)
        places = self.places_of(model, images)
        assert set(map(tuple, places)) == set(np.ndindex(3, 4, 4))

    def test_they_come_only_from_images_with_weight(self):
        images = draw_signed((5, 6, 6))
        model = NeuralResponse(two_layers(n_templates=(60, 60)), random_state=0)
        model.fit(images, sample_weight=[0, 3, 0, 1, 0])
        for layer in (0, 1):
            chosen = self.places_of(model, images, layer)[:, 0]
            assert set(chosen) == {1, 3}
            assert np.mean(chosen == 1) == pytest.approx(0.75, abs=0.15)

    def test_they_touch_what_is_attended_to(self):
        images, attention = draw_signed((4, 9, 9)), np.zeros((9, 9))
        attention[1:3, 6] = 1
        model = NeuralResponse([Layer(2, n_templates=120)], random_state=0).fit(images, attention=attention)
        places = self.places_of(model, images)
        counts = {place: np.sum((places[:, 1:] == place).all(axis=1)) for place in set(map(tuple, places[:, 1:]))}
        assert set(counts) == {(row, col) for row in (0, 1, 2) for col in (5, 6)}
        # Two pixels that are attended to lie in the patches of the middle row, one in the others.
        assert counts[1, 5] + counts[1, 6] == pytest.approx(60, abs=20)

    def test_each_image_has_its_own_attention(self):
        images, attention = draw_signed((3, 8, 8)), np.zeros((3, 8, 8))
        corners = {0: (0, 0), 1: (0, 7), 2: (7, 7)}
        for index, corner in corners.items():
            attention[index][corner] = 0.1
        model = NeuralResponse([Layer(2, n_templates=60)], random_state=0)
        model.fit(images, sample_weight=[1, 1, 2], attention=attention)
        assert {tuple(place) for place in self.places_of(model, images)} == {(0, 0, 0), (1, 0, 6), (2, 6, 6)}

    def test_equal_weights_are_no_weights_but_for_the_drawing(self):
        images = draw_signed((3, 6, 6))
        model = NeuralResponse([Layer(5, n_templates=300)], random_state=0)
        for measure in ({}, {"sample_weight": np.ones(3)}, {"attention": np.ones((6, 6))}):
            places = self.places_of(model.fit(images, **measure), images)
            _, counts = np.unique(places, axis=0, return_counts=True)
            assert len(counts) == 12
            assert counts.min() > 8

    @pytest.mark.parametrize(
        ("measure", "named"),
        [
            ({"sample_weight": np.ones(5)}, r"sample_weight .*\(4,\).*\(5,\)"),
            ({"sample_weight": np.zeros(4)}, "sample_weight .*all zero"),
            ({"sample_weight": [1, 1, -1, 1]}, "sample_weight .*negative"),
            ({"sample_weight": [1, 1, np.nan, 1]}, "sample_weight"),
            ({"attention": np.ones((6, 6))}, r"attention .*\(7, 7\).*\(4, 7, 7\).*\(6, 6\)"),
            ({"attention": np.ones((3, 7, 7))}, r"attention .*\(3, 7, 7\)"),
            ({"attention": np.zeros((7, 7))}, "attention .*positive"),
            ({"attention": -np.eye(7)}, "attention .*negative"),
            ({"attention": np.full((7, 7), np.inf)}, "attention .*finite"),
            ({"attention": np.ones((4, 7, 7)) * [[[0]], [[1]], [[1]], [[1]]]}, "attention .*every image"),
        ],
    )
    def test_measures_that_are_none_are_refused(self, measure, named):
        with pytest.raises(ValueError, match=named):
            NeuralResponse(two_layers()).fit(draw_images((4, 7, 7)), **measure)


@pytest.fixture(scope="module")
def images():
    return draw_images((40, 12, 12))


@pytest.fixture(scope="module")
def model(images):
    layers = [Layer(3, n_templates=30), Layer(7, 37, embedding="kpca", n_components=12)]
    return NeuralResponse(layers, random_state=0).fit(images)


class TestOneImageAtATime:
    def test_neighbours_in_the_batch_do_not_matter(self, model, images):
        together = model.transform(images)
        alone = np.concatenate([model.transform(image[None]) for image in images])
        np.testing.assert_array_equal(alone, together)
        np.testing.assert_array_equal(model.transform(images[::-1])[::-1], together)

    def test_nor_does_the_number_of_jobs(self, model, images):
        responses = model.transform(images)
        for n_jobs in (1, 2, 3):
            with threadpool_limits(limits=2):
                other = clone(model).set_params(n_jobs=n_jobs).fit(images)
                np.testing.assert_array_equal(other.transform(images), responses)
            for ours, theirs in zip(model.stages_, other.stages_, strict=True):
                np.testing.assert_array_equal(ours.filters, theirs.filters)

    def test_the_seed_does(self, model, images):
        other = clone(model).set_params(random_state=1).fit(images)
        assert not np.array_equal(other.templates_[0], model.templates_[0])
        assert not np.array_equal(other.transform(images), model.transform(images))

    def test_a_generator_is_a_seed_as_well(self, model, images):
        fits = [clone(model).set_params(random_state=np.random.default_rng(7)).fit(images) for _ in range(2)]
        np.testing.assert_array_equal(fits[0].transform(images), fits[1].transform(images))

    def test_images_and_parameters_stay_as_they_were(self, model, images):
        before, parameters = images.copy(), model.get_params()
        model.fit(images).transform(images)
        np.testing.assert_array_equal(images, before)
        assert all(model.get_params()[name] is value for name, value in parameters.items())

    def test_flat_rows_are_the_same_images(self, model, images):
        flat = clone(model).set_params(image_shape=(12, 12)).fit(images.reshape(40, -1))
        np.testing.assert_array_equal(flat.transform(images.reshape(40, -1)), model.transform(images))


class TestBands:
    @pytest.mark.parametrize("hop", [1, 2, 3])
    @pytest.mark.parametrize("pooling", POOLINGS)
    @pytest.mark.parametrize("sizes", [(3,), (3, 6), (2, 5, 9)], ids=str)
    def test_a_large_image_in_bands_responds_as_in_one_piece(self, sizes, pooling, hop, monkeypatch):
        images = draw_signed((4, 23, 17, 2))
        layers = [Layer(size, n_templates=7) for size in sizes]
        model = NeuralResponse(layers, pooling=pooling, hop=hop, random_state=0).fit(images)
        whole = model.transform(images)
        heights = []
        respond = encoding._respond
        monkeypatch.setattr(
            encoding, "_respond", lambda image, *rest: heights.append(len(image)) or respond(image, *rest)
        )
        for band_bytes in (40_000, 10_000, 1):
            monkeypatch.setattr(encoding, "BAND_BYTES", band_bytes)
            np.testing.assert_allclose(model.transform(images), whole, atol=1e-6)
        n_rows = (23 - sizes[-1]) // hop + 1
        assert heights[-n_rows:] == [sizes[-1]] * n_rows  # at last a band is one row of patches
        assert len(set(heights)) > 1

    @pytest.mark.parametrize("kernel", ["histogram", "gaussian", nearby], ids=["histogram", "gaussian", "a function"])
    def test_whatever_the_kernel(self, kernel, monkeypatch):
        images = draw_images((4, 20, 11))
        model = NeuralResponse(two_layers(), kernel=kernel, random_state=0).fit(images)
        whole = model.transform(images)
        monkeypatch.setattr(encoding, "BAND_BYTES", 3_000)
        np.testing.assert_allclose(model.transform(images), whole, atol=1e-6)


class TestBlankImages:
    """Warnings of the library are errors in these tests."""

    @pytest.mark.parametrize("pooling", ["max", "mean", 3])
    @pytest.mark.parametrize("embedding", [None, "pca"])
    def test_they_respond_zero(self, pooling, embedding):
        images = draw_images((5, 9, 9))
        images[2] = 0
        model = NeuralResponse(two_layers(embedding=embedding), pooling=pooling, random_state=0).fit(images)
        responses = model.transform(images)
        np.testing.assert_array_equal(responses[2], 0)
        np.testing.assert_allclose(np.linalg.norm(np.delete(responses, 2, axis=0), axis=1), 1, rtol=1e-12)

    def test_nothing_else_to_learn_from_gives_zeros(self):
        images = np.zeros((3, 9, 9))
        for embedding in (None, "pca", "kpca"):
            model = NeuralResponse(two_layers(embedding=embedding), random_state=0).fit(images)
            assert np.isfinite(model.transform(draw_images((3, 9, 9)))).all()
        model = NeuralResponse(two_layers(), random_state=0).fit(images)
        np.testing.assert_array_equal(model.transform(draw_images((3, 9, 9))), 0)

    @pytest.mark.parametrize("kernel", ["histogram", "gaussian", nearby], ids=["histogram", "gaussian", "a function"])
    def test_kernels_that_tell_black_from_nothing_respond_to_it(self, kernel):
        images = draw_images((5, 9, 9))
        images[2] = 0
        model = NeuralResponse(two_layers(), kernel=kernel, random_state=0).fit(images)
        np.testing.assert_allclose(np.linalg.norm(model.transform(images), axis=1), 1, rtol=1e-12)

    def test_a_kernel_whose_diag_is_zero_for_black_responds_zero_to_it(self):
        class Product(Quadratic):
            def __call__(self, P, T):
                return P @ T.T

            def diag(self, P):
                return (P**2).sum(axis=1)

        images = draw_images((5, 9, 9))
        images[2] = 0
        model = NeuralResponse(two_layers(), kernel=Product(), random_state=0).fit(images)
        expected = NeuralResponse(two_layers(), kernel="inner", random_state=0).fit(images)
        np.testing.assert_array_equal(model.transform(images)[2], 0)
        np.testing.assert_allclose(model.transform(images), expected.transform(images), atol=1e-6)


class TestFaintResponses:
    """Values below 1e-38 have fewer digits, and 1 over their length is more than float32 holds."""

    def test_a_faint_image_responds_as_the_same_image_in_full_light(self):
        images = draw_images((5, 9, 9))
        model = NeuralResponse(two_layers(), random_state=0).fit(images)
        with pytest.warns(RangeWarning, match="7.14e-40"):
            faint = model.transform(images * 1e-39)
        np.testing.assert_allclose(faint, model.transform(images), atol=1e-4)

    def test_an_image_far_from_all_templates_of_a_gaussian_has_a_finite_response(self):
        images = draw_images((1, 6, 6)) + draw_signed((9, 6, 6)) / 100
        model = NeuralResponse([Layer(6, n_templates=5)], kernel="gaussian", random_state=0).fit(images)
        gamma = 1 / (2 * nearest_distances(model.templates_[0].reshape(5, -1)).mean() ** 2)
        for exponent in range(70, 120):
            far = images[:1] + np.sqrt(exponent / gamma / 36)
            assert np.isfinite(model.transform(far)).all()


def nearest_distances(vectors):
    return np.array(
        [min(np.linalg.norm(v - w) for j, w in enumerate(vectors) if j != i) for i, v in enumerate(vectors)]
    )


class TestSaving:
    @pytest.mark.parametrize(
        "model",
        [
            NeuralResponse(two_layers(), random_state=0),
            NeuralResponse(two_layers(embedding="pca", n_components=3), "histogram", "mean", 2, random_state=0),
            NeuralResponse(two_layers(embedding="kpca", n_components=3), "gaussian", 3, random_state=0),
            NeuralResponse(two_layers(embedding=TruncatedSVD(3, random_state=0)), random_state=0),
        ],
        ids=["inner", "histogram and pca", "gaussian and kpca", "any transformer"],
    )
    def test_a_saved_model_responds_the_same(self, model, tmp_path):
        images = draw_images((8, 9, 9))
        model = clone(model).fit(images)
        for copy in (load(save(model, tmp_path / "model.zip")), pickle.loads(pickle.dumps(model))):
            assert type(copy) is NeuralResponse
            assert repr(copy) == repr(model)
            np.testing.assert_array_equal(copy.transform(images), model.transform(images))


class TestMistakes:
    images = draw_images((4, 8, 8))

    @pytest.mark.parametrize(
        ("parameters", "named"),
        [
            ({"layers": []}, r"layers .*\[\]"),
            ({"layers": Layer(3)}, r"layers .*Layer\(size=3\)"),
            ({"layers": [Layer(3), 5]}, "layers .*5"),
            ({"layers": [Layer(5), Layer(3)]}, r"layers .*\(5, 5\) before \(3, 3\)"),
            ({"layers": [Layer(9)]}, r"layers .*\(9, 9\) before \(8, 8\)"),
            ({"layers": [Layer((2, 9))]}, r"layers .*\(2, 9\)"),
            ({"layers": [Layer(0)]}, "size .*0"),
            ({"layers": [Layer(2.5)]}, "size .*2.5"),
            ({"layers": [Layer((3, 3, 3))]}, r"size .*\(3, 3, 3\)"),
            ({"layers": [Layer(3, n_templates=0)]}, "n_templates .*0"),
            ({"layers": [Layer(3, n_templates="many")]}, "n_templates .*'many'"),
            ({"kernel": "cosine"}, "kernel .*'inner', 'histogram', 'gaussian'.*'cosine'"),
            ({"kernel": None}, "kernel .*None"),
            ({"kernel": lambda P, T: np.ones((2, 3))}, r"kernel .*\(2, 3\)"),
            ({"kernel": lambda P, T: np.full((len(P), len(T)), np.nan)}, "kernel .*finite"),
            ({"pooling": "min"}, "pooling .*'min'"),
            ({"pooling": 0.5}, "pooling .*0.5"),
            ({"pooling": float("nan")}, "pooling .*nan"),
            ({"pooling": True}, "pooling .*True"),
            ({"hop": 0}, "hop .*0"),
            ({"hop": 1.5}, "hop .*1.5"),
            ({"image_shape": (4, 4)}, r"image_shape .*\(4, 4\)"),
        ],
    )
    def test_a_bad_parameter_is_named_with_its_value(self, parameters, named):
        with pytest.raises(ValueError, match=named):
            NeuralResponse(**{"layers": two_layers()} | parameters).fit(self.images)

    def test_other_images_than_those_fitted_to_are_refused(self):
        model = NeuralResponse(two_layers()).fit(self.images)
        with pytest.raises(ValueError, match=r"7.*8|8.*7"):
            model.transform(self.images[:, :7])
        with pytest.raises(NotFittedError):
            NeuralResponse().transform(self.images)

    def test_layers_keep_what_they_are_given(self):
        names = inspect.signature(Layer).parameters
        values = ((3, 4), 10, "pca", 5, False, [[1, 2]])
        layer = Layer(*values)
        assert layer.get_params() == dict(zip(names, values, strict=True))
        assert clone(layer).get_params() == layer.get_params()
