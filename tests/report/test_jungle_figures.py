"""The figures of a jungle show its filters, nodes, edges and growth, and the winning transformations."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from invariance import (
    IlluminationCorrections,
    InvariantFeatures,
    JungleClassifier,
    Perspective,
    Reflections,
    Rotations,
    Scales,
    Shears,
    Shifts,
    TreeClassifier,
)
from invariance.jungles.dag import Dag
from invariance.report import describe_member, filters_figure, growth_figure, jungle_figure, winners_figure
from invariance.report.jungle_figures import filter_image, largest_filters
from invariance.report.jungle_graph import Edge, edge_flows, list_edges
from tests.report.drawing import assert_nothing_is_cut_off

RNG = np.random.default_rng(0)
LABELS = np.arange(90) % 3
STRIPES = np.sin(np.arange(7) * (1 + LABELS[:, None]))[:, None]
NOISE = RNG.random((90, 7, 7))
# Three kinds of stripes under noise; under much noise jungles grow deep.
IMAGES, NOISY = ((0.15 + 0.7 * NOISE + share * STRIPES).clip(0, 1) for share in (0.4, 0.1))
NAMES = ["flat", "wavy", "striped"]


@pytest.fixture(scope="module")
def model():
    return JungleClassifier(
        Rotations(4), n_jungles=3, max_samples=1.0, max_depth=5, max_width=3, patience=9, random_state=0
    ).fit(IMAGES, LABELS)


@pytest.fixture(scope="module")
def deep():
    """A jungle with mergers, more than six layers and nodes that pass on their samples."""
    jungles = JungleClassifier(n_jungles=1, max_depth=9, max_width=4, validation_fraction=0, rank=5, random_state=1)
    return jungles.fit(NOISY, LABELS)


def drawn(figure, kind):
    return [a.get_gid() for a in figure.findobj() if (a.get_gid() or "").startswith(kind)]


def titles(figure):
    return [axes.get_title() for axes in figure.axes if axes.get_title()]


def test_filters_are_the_largest_nodes_with_name_and_samples(model):
    shown = titles(filters_figure(model, n=5))
    assert shown[:3] == [f"{jungle}.0\n90 images" for jungle in range(3)]
    assert len(shown) == 5
    sizes = [f.n_samples for f in largest_filters(model, 1000)]
    assert sizes == sorted(sizes, reverse=True)
    assert len(sizes) == len(model.filters_)


def test_a_filter_is_that_of_its_node(model):
    chosen = largest_filters(model, 1000)[-1]
    dag = model.dags_[chosen.jungle]
    expected = model.reduced_.basis @ dag.filters[dag.feature[chosen.node]]
    assert np.allclose(chosen.theta.ravel(), expected, atol=1e-5)


def test_images_of_filters_are_symmetric_about_zero():
    grey = filter_image(np.array([[1.0, 0.0, -1.0]]))
    assert grey.shape == (1, 3, 3)
    assert grey[0, 0, 0] > grey[0, 0, 2]  # red above zero
    assert grey[0, 2, 2] > grey[0, 2, 0]  # blue below
    assert grey[0, 1].min() > 0.9  # white is zero
    colour = np.array([[[2.0, 0.0, -2.0]]])
    assert np.array_equal(filter_image(colour), [[[1.0, 0.5, 0.0]]])
    assert filter_image(np.ones((4, 5, 2))).shape == (4, 10, 3)
    assert np.isfinite(filter_image(np.zeros((3, 3)))).all()


@pytest.mark.parametrize("jungle", range(3))
def test_every_node_and_edge_is_drawn(model, jungle):
    dag = model.dags_[jungle]
    figure = jungle_figure(model, jungle, max_layers=99, class_names=NAMES)
    n_edges = 2 * np.count_nonzero(dag.feature >= 0) + np.count_nonzero((dag.feature < 0) & (dag.left >= 0))
    assert sorted(drawn(figure, "node-")) == sorted(f"node-{i}" for i in range(dag.n_nodes))
    assert len(drawn(figure, "edge-")) == n_edges
    assert len(figure.axes[0].images) == np.count_nonzero(dag.feature >= 0)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == NAMES
    assert [t.get_text() for t in figure.axes[0].texts] == [f"{n:.0f}" for n in dag.histogram.sum(axis=1)]


def test_of_a_deep_jungle_the_first_layers_are_drawn_and_the_title_says_so(deep):
    dag = deep.dags_[0]
    assert dag.layer.max() > 5
    figure = jungle_figure(deep)
    assert len(drawn(figure, "node-")) == np.count_nonzero(dag.layer < 6)
    title = figure.get_suptitle()
    assert f"the first 6 of {dag.layer.max() + 1} layers" in title
    assert f"{np.count_nonzero(dag.layer < 6)} of {dag.n_nodes} nodes" in title


def test_flows_add_up_at_every_node_and_mergers_have_several_parents(deep):
    dag = deep.dags_[0]
    edges = list_edges(dag)
    assert any(edge.side == "passed on" for edge in edges)
    assert len({edge.child for edge in edges}) < len(edges)
    flows = edge_flows(dag, edges)
    for node in range(dag.n_nodes):
        leaving = sum(flow for edge, flow in zip(edges, flows, strict=True) if edge.parent == node)
        coming = sum(flow for edge, flow in zip(edges, flows, strict=True) if edge.child == node)
        assert node == 0 or np.allclose(coming, dag.histogram[node], atol=0.5)
        assert dag.is_leaf[node] or np.allclose(leaving, dag.histogram[node], atol=0.5)


def test_flows_are_exact_where_there_is_no_choice():
    dag = Dag(
        filters=np.zeros((2, 1)),
        members=np.zeros(1, int),
        feature=np.array([0, 1, -1, -1]),
        threshold=np.zeros(4),
        left=np.array([1, 2, -1, -1]),
        right=np.array([2, 3, -1, -1]),
        layer=np.array([0, 1, 2, 2]),
        histogram=np.array([[10.0], [6.0], [7.0], [3.0]]),
    )
    edges = list_edges(dag)
    assert edges == [Edge(0, 1, "below"), Edge(0, 2, "above"), Edge(1, 2, "below"), Edge(1, 3, "above")]
    assert np.allclose(edge_flows(dag, edges).ravel(), [6, 4, 3, 3])


def test_growth_shows_every_jungle_and_the_depth_it_kept(model):
    leaves, loss = growth_figure(model).axes
    assert leaves.get_ylabel() == "leaves"
    assert "held-out" in loss.get_ylabel()
    curves = [line for line in leaves.lines if line.get_marker() == "None"]
    assert [list(line.get_ydata()) for line in curves] == [
        [layer.n_leaves for layer in c] for c in model.growth_curves_
    ]
    marks = [line.get_xdata() for line in loss.lines if line.get_marker() == "o"]
    assert np.ravel(marks).tolist() == [dag.layer.max() for dag in model.dags_]


def test_growth_without_samples_held_out_shows_leaves_only(deep):
    assert [axes.get_ylabel() for axes in growth_figure(deep).axes] == ["leaves"]


def test_the_winner_is_the_rotation_that_the_filter_needs(model):
    theta = largest_filters(model, 1)[0].theta
    image = (theta - theta.min()) / np.ptp(theta)
    images = np.stack([image, np.rot90(image, -1), np.rot90(image, 2)])
    shown = titles(winners_figure(model, images))
    assert shown[:3] == ["image 0", "image 1", "image 2"]
    assert shown[3:6] == ["unchanged", "rotated 90°", "rotated 180°"]
    assert all(title.startswith("filter 0.0\nresponse") for title in shown[6:])


def test_the_version_shown_is_the_winning_one(model):
    theta = largest_filters(model, 1)[0].theta
    image = (theta - theta.min()) / np.ptp(theta)
    axes = winners_figure(model, np.rot90(image, -1)[None]).axes
    assert np.allclose(axes[1].images[0].get_array(), image, atol=1e-5)


def test_a_filter_or_jungle_that_does_not_exist_is_named(model):
    with pytest.raises(ValueError, match="filter_index must be below .* got 999"):
        winners_figure(model, IMAGES[:2], 999)
    with pytest.raises(ValueError, match="jungle must be below .* 3; got 3"):
        jungle_figure(model, 3)


def test_colour_and_features_and_trees_and_alterations_are_drawn():
    colour = np.stack([IMAGES, IMAGES**2, 1 - IMAGES], axis=-1)
    phi = Rotations(3, limit=15) | IlluminationCorrections((2.0,))
    features = InvariantFeatures(phi, n_jungles=2, max_depth=3, max_members=0.7, random_state=0).fit(colour, LABELS)
    tree = TreeClassifier(Shifts(1), max_depth=3, random_state=0).fit(IMAGES, LABELS)
    for model, images in ((features, colour), (tree, IMAGES)):
        figures = [filters_figure(model), jungle_figure(model), winners_figure(model, images[:4]), growth_figure(model)]
        for figure in figures:
            assert isinstance(figure, Figure)
            assert_nothing_is_cut_off(figure)


def test_nothing_is_cut_off(model, deep):
    names = ["a class with quite a long name", "another one that is long", "short"]
    for figure in (jungle_figure(model, class_names=names), jungle_figure(deep, max_layers=2), growth_figure(model)):
        assert_nothing_is_cut_off(figure)


@pytest.mark.parametrize(
    ("phi", "words"),
    [
        (Rotations(4), ["unchanged", "rotated 90°", "rotated 180°", "rotated −90°"]),
        (Rotations(3, limit=15), ["unchanged", "rotated −15°", "rotated 15°"]),
        (Reflections("both"), ["unchanged", "mirrored", "upside down", "rotated 180°"]),
        (Scales(3, limit=1.25), ["unchanged", "scaled 0.8", "scaled 1.25"]),
        (IlluminationCorrections((8.0,)), ["unchanged", "even illumination 8"]),
        (Rotations(2) * Shifts(0), ["unchanged", "rotated 180°"]),
    ],
)
def test_members_in_words(phi, words):
    described = [describe_member(member) for member in phi.members((9, 9))]
    assert sorted(described) == sorted(words)


def test_shifts_shears_and_perspective_in_words():
    shifts = {describe_member(member) for member in Shifts(1).members((9, 9))}
    assert {"unchanged", "shifted 1 right", "shifted 1 left and 1 up", "shifted 1 right and 1 down"} <= shifts
    assert len(shifts) == 9
    assert {describe_member(member) for member in Shears(3).members((9, 9))} == {"unchanged", "sheared"}
    assert {describe_member(member) for member in Perspective(2).members((9, 9))} == {"unchanged", "tilted"}


def test_words_say_what_happens_to_the_content():
    image = np.zeros((9, 9))
    image[2, 6] = 1.0
    for phi, where in ((Shifts(1), "shifted 1 right and 1 down"), (Rotations(4), "rotated 90°")):
        operators = phi.operators((9, 9))
        at = [describe_member(member) for member in operators.members].index(where)
        expected = np.roll(image, (1, 1), (0, 1)) if isinstance(phi, Shifts) else np.rot90(image)
        assert np.allclose(operators.apply(image[None])[0, at], expected)
