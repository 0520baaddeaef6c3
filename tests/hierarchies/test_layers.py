"""Feature maps between layers: all of one changes nothing, part of one is the best part."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.decomposition import TruncatedSVD
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import FunctionTransformer

from invariance.hierarchies import Layer, NeuralResponse
from invariance.hierarchies.initial import nearest_neighbour_gamma
from invariance.hierarchies.layers import GaussianSubspace, PrincipalSubspace
from tests import reference
from tests.hierarchies.toys import draw_for, draw_signed, nearby, two_layers

IMAGES = draw_signed((6, 9, 9))


def fit(**last):
    return NeuralResponse(two_layers(**last), random_state=0).fit(IMAGES)


def vectors_of(model, patches):
    """N̂ of patches of the second layer's size, by recursion."""
    first = model.templates_[:1]
    return np.array(
        [reference.at_length_one(reference.neural_response(patch, first, reference.inner_kernel)) for patch in patches]
    )


def responses_by(model, image, compare):
    """The response of an image by a comparison of N̂ of its patches (n, q) with those of the second templates (m, q)."""
    patches = reference.patches_of(image[..., None], 5, 5, 1).values()
    matches = compare(vectors_of(model, patches), vectors_of(model, model.templates_[1]))
    return reference.at_length_one(matches.max(axis=0))


@pytest.mark.parametrize("kernel", ["inner", "histogram"])
@pytest.mark.parametrize("pooling", ["max", "mean"])
def test_all_principal_components_are_no_embedding(kernel, pooling):
    images = draw_for(kernel, (6, 9, 9))

    def responses(embedding, n_components):
        layers = [
            Layer(3, 8, embedding, n_components, normalize=False),
            Layer(5, 10, embedding, n_components, normalize=False),
        ]
        return NeuralResponse(layers, kernel, pooling, random_state=0).fit_transform(images)

    np.testing.assert_allclose(responses("pca", 1000), responses(None, None), atol=2e-6)
    assert np.abs(responses("pca", 2) - responses(None, None)).max() > 1e-3


@pytest.mark.parametrize("rank", [1, 2, 4])
def test_few_are_the_truncated_svd_of_the_responses_of_the_templates(rank):
    """Sec. 5: the truncated kernel, which has no lengths to divide by."""
    model = fit(embedding="pca", n_components=rank, normalize=False)

    def compare(vectors, templates):
        u, s, vt = np.linalg.svd(templates, full_matrices=False)
        return vectors @ (u[:, :rank] * s[:rank] @ vt[:rank]).T

    assert model.stages_[1].filters.shape == (rank, 5)
    for image in IMAGES[:2]:
        np.testing.assert_allclose(model.transform(image[None])[0], responses_by(model, image, compare), atol=3e-6)


def test_principal_components_are_not_centred_and_leave_the_lengths():
    vectors = np.random.default_rng(0).random((30, 8)).astype(np.float32)
    subspace = PrincipalSubspace(3).fit(vectors)
    np.testing.assert_allclose(subspace.components_ @ subspace.components_.T, np.eye(3), atol=1e-6)
    u, s, vt = np.linalg.svd(vectors.astype(float), full_matrices=False)
    found = subspace.transform(vectors) @ subspace.components_
    np.testing.assert_allclose(found, u[:, :3] * s[:3] @ vt[:3], atol=1e-6)


@pytest.mark.parametrize("rank", [1, 3])
def test_any_transformer_will_do(rank):
    """scikit-learn's truncated SVD is not centered either."""
    svd = TruncatedSVD(rank, algorithm="arpack", random_state=0)
    found = fit(embedding=svd).transform(IMAGES)
    np.testing.assert_allclose(found, fit(embedding="pca", n_components=rank).transform(IMAGES), atol=1e-5)
    assert not hasattr(svd, "components_")


def test_a_transformer_is_what_vectors_and_templates_go_through():
    model = fit(embedding=FunctionTransformer(np.square), normalize=False)
    for image in IMAGES[:2]:
        expected = responses_by(model, image, lambda vectors, templates: vectors**2 @ (templates**2).T)
        np.testing.assert_allclose(model.transform(image[None])[0], expected, atol=3e-6)
        assert np.abs(expected - fit().transform(image[None])[0]).max() > 1e-3


class TestDefinition31:
    """Embedded vectors are compared by their product over both lengths."""

    @pytest.mark.parametrize("pooling", ["max", "mean", 3])
    def test_a_feature_map_is_followed_by_the_lengths(self, pooling):
        images = draw_signed((5, 6, 6))
        layers = [Layer(2, 3), Layer(3, 4, FunctionTransformer(np.square)), Layer(5, 3, FunctionTransformer(np.sinh))]
        model = NeuralResponse(layers, pooling=pooling, random_state=0).fit(images)
        unscaled = [layer.set_params(normalize=False) for layer in clone(layers)]
        other = NeuralResponse(unscaled, pooling=pooling, random_state=0).fit(images).transform(images[:2])
        for image, departed in zip(images[:2], other, strict=True):
            arguments = (model.templates_, reference.inner_kernel, {1: np.square, 2: np.sinh}, pooling)
            expected = reference.at_length_one(reference.generalized_response([image[..., None]], *arguments))
            np.testing.assert_allclose(model.transform(image[None])[0], expected, atol=3e-6)
            assert np.abs(expected - departed).max() > 4e-5

    @pytest.mark.parametrize("rank", [1, 2, 4])
    def test_few_components_are_compared_by_their_angle(self, rank):
        model = fit(embedding="pca", n_components=rank)

        def compare(vectors, templates):
            components = np.linalg.svd(templates, full_matrices=False)[2][:rank]
            ours, theirs = ([reference.at_length_one(v @ components.T) for v in many] for many in (vectors, templates))
            return np.array(ours) @ np.array(theirs).T

        for image in IMAGES[:2]:
            expected = responses_by(model, image, compare)
            np.testing.assert_allclose(model.transform(image[None])[0], expected, atol=3e-6)

    def test_templates_have_length_one_by_default_and_not_without_normalization(self):
        for embedding, n_components in (("pca", 2), ("kpca", 2), (FunctionTransformer(np.square), None)):
            for normalize in (True, False):
                model = fit(embedding=embedding, n_components=n_components, normalize=normalize)
                lengths = np.linalg.norm(model.stages_[1].filters, axis=0)
                assert np.allclose(lengths, 1, atol=1e-6) == normalize

    def test_without_an_embedding_it_changes_nothing(self):
        np.testing.assert_array_equal(fit(normalize=False).transform(IMAGES), fit().transform(IMAGES))


def test_all_components_of_the_kernel_kind_reproduce_the_gaussian_kernel():
    vectors = draw_signed((20, 6))
    subspace = GaussianSubspace(1000).fit(vectors)
    distances = np.linalg.norm(vectors[:, None] - vectors, axis=2) + np.diag(np.full(20, np.inf))
    assert subspace.gamma_ == pytest.approx(1 / (2 * distances.min(axis=1).mean() ** 2), rel=1e-5)
    coordinates = subspace.transform(vectors)
    np.testing.assert_allclose(coordinates @ coordinates.T, rbf_kernel(vectors, gamma=subspace.gamma_), atol=1e-5)
    # And so between templates and anything else, whatever its own length is left out.
    others = draw_signed((9, 6), seed=1)
    expected = rbf_kernel(others, vectors, gamma=subspace.gamma_)
    np.testing.assert_allclose(subspace.transform(others) @ coordinates.T, expected, atol=1e-5)


def test_a_layer_with_all_of_them_compares_by_the_gaussian_kernel():
    model = fit(embedding="kpca", n_components=5, normalize=False)

    def compare(vectors, templates):
        return rbf_kernel(vectors, templates, nearest_neighbour_gamma(templates))

    for image in IMAGES[:2]:
        np.testing.assert_allclose(model.transform(image[None])[0], responses_by(model, image, compare), atol=1e-5)


@pytest.mark.parametrize("rank", [1, 4, 11])
def test_few_are_the_best_approximation_of_the_gaussian_kernel(rank):
    vectors = draw_signed((20, 6))
    subspace = GaussianSubspace(rank, gamma=0.3).fit(vectors)
    values, functions = np.linalg.eigh(rbf_kernel(vectors.astype(float), gamma=0.3))
    best = functions[:, -rank:] * values[-rank:] @ functions[:, -rank:].T
    coordinates = subspace.transform(vectors)
    assert coordinates.shape == (20, rank)
    np.testing.assert_allclose(coordinates @ coordinates.T, best, atol=1e-5)
    # The largest come first.
    np.testing.assert_allclose((coordinates**2).sum(axis=0), values[::-1][:rank], rtol=1e-4)


def test_vectors_that_repeat_leave_fewer_components():
    vectors = np.repeat(draw_signed((4, 3)), 5, axis=0)
    subspace = GaussianSubspace(20, gamma=0.5).fit(vectors)
    coordinates = subspace.transform(vectors)
    assert coordinates.shape == (20, 4)
    np.testing.assert_allclose(coordinates @ coordinates.T, rbf_kernel(vectors, gamma=0.5), atol=1e-5)


@pytest.mark.parametrize(
    ("vectors", "gamma"),
    [([[0.0], [1.0], [4.0]], 1 / (2 * (5 / 3) ** 2)), ([[2.0], [2.0]], 1.0), ([[3.0]], 1.0)],
    ids=["distances", "all the same", "only one"],
)
def test_the_width_is_the_mean_distance_to_the_nearest(vectors, gamma):
    assert nearest_neighbour_gamma(np.array(vectors)) == pytest.approx(gamma)


class OnlyFits(BaseEstimator):
    def fit(self, X, y=None):
        return self


@pytest.mark.parametrize(
    ("layer", "named"),
    [
        (Layer(3, embedding="isomap"), "embedding .*'pca', 'kpca'.*'isomap'"),
        (Layer(3, embedding=7), "embedding .*7"),
        (Layer(3, embedding=OnlyFits()), r"embedding .*OnlyFits\(\)"),
        (Layer(3, n_components=4), "n_components=4 needs an embedding"),
        (Layer(3, embedding="pca", n_components=0), "n_components .*0"),
        (Layer(3, embedding="kpca", n_components=2.5), "n_components .*2.5"),
        (Layer(3, embedding="pca", normalize="yes"), "normalize .*'yes'"),
    ],
)
def test_a_bad_embedding_is_named_with_its_value(layer, named):
    layer.n_templates = 5
    with pytest.raises(ValueError, match=named):
        NeuralResponse([layer]).fit(IMAGES)


@pytest.mark.parametrize("kernel", ["gaussian", nearby], ids=["gaussian", "a function"])
def test_a_first_kernel_that_is_no_product_of_vectors_cannot_be_embedded(kernel):
    with pytest.raises(ValueError, match="first layer.*'inner' or 'histogram'.*(gaussian|nearby)"):
        NeuralResponse([Layer(3, 5, embedding="pca")], kernel=kernel).fit(IMAGES)
    above = NeuralResponse(two_layers(embedding="pca", n_components=2), kernel=kernel, random_state=0)
    assert above.fit_transform(IMAGES).shape == (6, 5)


class TestTheLastFeatureMap:
    """Φ_n, on the responses of whole images."""

    @staticmethod
    def fit(embedding, n_components=None, **parameters):
        layers = two_layers(n_templates=(6, 8))
        return NeuralResponse(
            layers, embedding=embedding, embedding_components=n_components, random_state=0, **parameters
        ).fit(IMAGES)

    def test_responses_go_through_it_and_then_have_length_one(self):
        plain, mapped = self.fit(None).transform(IMAGES), self.fit(FunctionTransformer(np.square)).transform(IMAGES)
        np.testing.assert_allclose(mapped, [reference.at_length_one(row**2) for row in plain], atol=1e-6)
        assert np.abs(mapped - plain).max() > 1e-2

    @pytest.mark.parametrize("rank", [1, 2, 4])
    def test_principal_components_are_those_of_the_training_images(self, rank):
        """Six images and eight templates: all images are drawn."""
        plain, model = self.fit(None).transform(IMAGES), self.fit("pca", rank)
        components = np.linalg.svd(plain, full_matrices=False)[2][:rank]
        others = draw_signed((3, 9, 9), seed=5)
        rows = self.fit(None).transform(others) @ components.T
        expected = np.array([reference.at_length_one(row) for row in rows])
        found = model.transform(others)
        np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-4)
        assert found.shape == (3, rank)
        assert len(model.get_feature_names_out()) == rank

    def test_gaussian_components_have_the_width_of_the_training_images(self):
        plain, model = self.fit(None).transform(IMAGES), self.fit("kpca")
        assert model.embedding_.gamma_ == pytest.approx(nearest_neighbour_gamma(plain), rel=1e-3)
        found = model.transform(IMAGES)
        np.testing.assert_allclose(found @ found.T, rbf_kernel(plain, gamma=model.embedding_.gamma_), atol=1e-4)

    def test_it_is_fitted_to_as_many_images_as_the_last_layer_has_templates(self):
        many = draw_signed((40, 9, 9))
        for weights in (None, np.arange(40) < 10):
            model = NeuralResponse(two_layers(n_templates=(6, 12)), embedding="kpca", random_state=0)
            model.fit(many, sample_weight=weights)
            vectors = model.embedding_.vectors_
            assert len(vectors) == (12 if weights is None else 10)
            assert len(np.unique(vectors, axis=0)) == len(vectors)

    def test_templates_are_the_same_with_and_without_it(self):
        for ours, theirs in zip(self.fit("pca").templates_, self.fit(None).templates_, strict=True):
            np.testing.assert_array_equal(ours, theirs)

    def test_neither_other_images_nor_jobs_change_a_response(self):
        model = self.fit("kpca", 4)
        together = model.transform(IMAGES)
        np.testing.assert_array_equal(np.concatenate([model.transform(image[None]) for image in IMAGES]), together)
        np.testing.assert_array_equal(self.fit("kpca", 4, n_jobs=2).transform(IMAGES), together)

    @pytest.mark.parametrize(
        ("parameters", "named"),
        [
            ({"embedding": "isomap"}, "embedding .*'isomap'"),
            ({"embedding": None, "n_components": 3}, "embedding_components=3"),
        ],
    )
    def test_mistakes_are_named(self, parameters, named):
        with pytest.raises(ValueError, match=named):
            self.fit(**parameters)
