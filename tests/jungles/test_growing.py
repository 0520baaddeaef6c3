"""Growth: splits, widths, depth, weights and subsets."""

import numpy as np
import pytest
from scipy import stats
from sklearn.utils.class_weight import compute_sample_weight

from invariance.jungles import InvariantFeatures, JungleClassifier, TreeClassifier, growing
from invariance.jungles.dag import cut_below
from invariance.jungles.filters import learn_filter, measure_geometry
from invariance.jungles.growing import Nodes, grow_jungle, split_leaves
from invariance.jungles.splitting import draw_targets, split_leaf
from invariance.transformations import Identity, Rotations
from tests import reference
from tests.jungles.toys import GROWTH, QUICK, samples_of


def assert_same_dags(ours, theirs):
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        for name in one._fields:
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


@pytest.fixture(scope="module")
def two_classes(glyphs):
    (images, labels), _ = glyphs
    kept = labels < 2
    return images[kept], labels[kept]


@pytest.mark.parametrize("threshold", ["gain", "zero"])
def test_a_leaf_is_split_where_it_says(two_classes, threshold):
    samples, reduced = samples_of(*two_classes, Rotations(4))
    geometry = measure_geometry(samples.orbits, reduced.basis, (16, 16))
    growth = GROWTH._replace(threshold=threshold)
    rows = np.arange(len(samples.codes))
    found = split_leaf(samples, 0, rows, rows, geometry, growth, 0.1, np.random.default_rng(3))

    rng = np.random.default_rng(3)
    chosen, targets = draw_targets(samples, rows, "pairs", rng)
    np.testing.assert_array_equal(chosen, rows)
    learned = learn_filter(samples.orbits, targets, samples.weights, geometry, 0.1, growth.max_steps, 1, rng)
    np.testing.assert_array_equal(found.coordinates, learned.coordinates)
    responses = samples.orbits.largest_responses(learned.coordinates[None])[:, 0].astype(np.float64)
    if threshold == "zero":
        assert found.threshold == -learned.bias
    else:
        gains = reference.information_gains(responses, samples.codes, samples.weights, 2)
        assert gains[found.threshold] == pytest.approx(max(gains.values()))
    np.testing.assert_array_equal(np.sort(np.concatenate([found.below, found.above])), rows)
    assert responses[found.below].max() <= found.threshold < responses[found.above].min()


def test_the_pair_is_drawn_by_weight(glyphs):
    (images, labels), _ = glyphs
    weights = np.choose(labels, [1.0, 2.0, 0.0, 3.0, 1.0, 1.0])
    samples, _ = samples_of(images, labels, Identity(), weights=weights)
    rng = np.random.default_rng(0)
    drawn = np.zeros(6)
    for _ in range(3000):
        chosen, targets = draw_targets(samples, np.arange(len(labels)), "pairs", rng)
        above, below = np.unique(labels[chosen[targets > 0]]), np.unique(labels[chosen[targets < 0]])
        assert len(above) == len(below) == 1
        assert above != below
        np.testing.assert_array_equal(chosen, np.flatnonzero((labels == above) | (labels == below)))
        drawn[below] += 1
    presence = np.bincount(labels, weights)
    assert drawn[2] == 0
    # The class of targets -1 is drawn first.
    kept = presence > 0
    assert stats.chisquare(drawn[kept], 3000 * presence[kept] / presence.sum()).pvalue > 1e-3


def test_groups_part_all_classes_in_two(glyphs):
    (images, labels), _ = glyphs
    samples, _ = samples_of(images, labels, Identity())
    rows = np.flatnonzero(labels != 4)
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(50):
        chosen, targets = draw_targets(samples, rows, "groups", rng)
        np.testing.assert_array_equal(chosen, rows)
        above, below = set(labels[rows[targets > 0]].tolist()), set(labels[rows[targets < 0]].tolist())
        assert above | below == {0, 1, 2, 3, 5}
        assert not above & below
        assert abs(len(above) - len(below)) <= 1
        seen.add(frozenset(above))
    assert len(seen) > 5


def test_groups_of_two_classes_are_the_pair(two_classes):
    images, labels = two_classes
    samples, _ = samples_of(images, labels, Identity())
    rows = np.arange(len(labels))
    for kind in ("pairs", "groups"):
        chosen, targets = draw_targets(samples, rows, kind, np.random.default_rng(1))
        np.testing.assert_array_equal(chosen, rows)
        assert abs(np.corrcoef(targets, labels)[0, 1]) == pytest.approx(1)


@pytest.mark.parametrize("targets", ["pairs", "groups"])
def test_both_kinds_of_targets_learn(glyphs, targets):
    (images, labels), (test_images, test_labels) = glyphs
    model = JungleClassifier(Rotations(4), **QUICK, targets=targets).fit(images, labels)
    assert model.score(test_images, test_labels) > 0.75


def test_trivial_splits_relax_the_smoothness(two_classes):
    """A filter so smooth that it answers every image alike leaves the small class on the side of the large one."""
    images, labels = two_classes
    few = np.concatenate([np.flatnonzero(labels == 0), np.flatnonzero(labels == 1)[:3]])
    samples, reduced = samples_of(images[few], labels[few], Identity())
    geometry = measure_geometry(samples.orbits, reduced.basis, (16, 16))
    growth = GROWTH._replace(threshold="zero")
    nodes = Nodes(samples, np.array([0]), None)
    splits, smoothness = split_leaves(samples, nodes, geometry, growth, 100.0, np.random.default_rng(0))
    assert splits
    assert smoothness in [pytest.approx(100 * (2 / 3) ** n) for n in range(1, 20)]
    splits, smoothness = split_leaves(samples, nodes, geometry, growth, 1e-3, np.random.default_rng(0))
    assert len(splits) == 1
    assert smoothness == 1e-3


class Attempts:
    """Stands for `split_leaf`: the first attempts leave one side empty; notes the leaf and smoothness of each."""

    def __init__(self, n_trivial, monkeypatch):
        self.n_trivial, self.tried = n_trivial, []
        self.split_leaf = growing.split_leaf
        monkeypatch.setattr(growing, "split_leaf", self)

    def __call__(self, samples, leaf, rows, training, geometry, growth, smoothness, rng):
        self.tried.append((leaf, smoothness))
        if len(self.tried) <= self.n_trivial:
            return None
        return self.split_leaf(samples, leaf, rows, training, geometry, growth, smoothness, rng)


@pytest.mark.parametrize("relaxation", ["retry", "layer"])
def test_each_trivial_split_takes_a_third_of_the_smoothness(two_classes, monkeypatch, relaxation):
    attempts = Attempts(3, monkeypatch)
    samples, reduced = samples_of(*two_classes, Identity())
    geometry = measure_geometry(samples.orbits, reduced.basis, (16, 16))
    growth = GROWTH._replace(smoothness=27.0, relaxation=relaxation)
    dag, curve = grow_jungle(samples, np.array([0]), geometry, growth, np.random.default_rng(0))
    assert [leaf for leaf, _ in attempts.tried[:4]] == [0] * 4
    assert [smoothness for _, smoothness in attempts.tried[:4]] == pytest.approx([27, 18, 12, 8])
    assert dag.n_nodes > 1
    # A layer without any split is one of the `max_depth` layers, but not one of the graph.
    assert len(curve) - 1 <= growth.max_depth - (3 if relaxation == "layer" else 0)


def test_a_leaf_that_failed_waits_for_the_next_layer_with_less_smoothness_for_all(glyphs, monkeypatch):
    """[Laptev15] sec. 3.3.1: one attempt per leaf and layer; λ falls for the leaves that follow as well."""
    (images, labels), _ = glyphs
    samples, reduced = samples_of(images, labels, Identity())
    geometry = measure_geometry(samples.orbits, reduced.basis, (16, 16))
    growth = GROWTH._replace(relaxation="layer")
    nodes, rng = Nodes(samples, np.array([0]), None), np.random.default_rng(0)
    splits, _ = split_leaves(samples, nodes, geometry, growth, 1.0, rng)
    nodes.add_layer(splits, None)
    left, right = nodes.frontier
    attempts = Attempts(1, monkeypatch)
    splits, smoothness = split_leaves(samples, nodes, geometry, growth, 9.0, rng)
    assert attempts.tried == [(left, 9.0), (right, pytest.approx(6.0))]
    assert [split.node for split in splits] == [right]
    assert smoothness == pytest.approx(6.0)
    nodes.add_layer(splits, None)
    split_leaves(samples, nodes, geometry, growth, smoothness, rng)
    assert left in [leaf for leaf, _ in attempts.tried[2:]]


@pytest.mark.parametrize(("relaxation", "n_attempts"), [("retry", 20), ("layer", 6)])
def test_growth_ends_where_no_split_is_possible(two_classes, monkeypatch, relaxation, n_attempts):
    attempts = Attempts(1000, monkeypatch)
    samples, reduced = samples_of(*two_classes, Identity())
    geometry = measure_geometry(samples.orbits, reduced.basis, (16, 16))
    growth = GROWTH._replace(relaxation=relaxation)
    dag, _ = grow_jungle(samples, np.array([0]), geometry, growth, np.random.default_rng(0))
    assert dag.n_nodes == 1
    assert len(attempts.tried) == n_attempts


@pytest.mark.parametrize("max_width", [2, 5, "auto"])
def test_a_jungle_is_never_wider_than_it_may_be(glyphs, max_width):
    (images, labels), _ = glyphs
    model = JungleClassifier(**QUICK | {"max_depth": 9}, max_width=max_width, patience=9).fit(images, labels)
    for dag, curve in zip(model.dags_, model.growth_curves_, strict=True):
        width = 18 if max_width == "auto" else max_width
        best = np.inf
        for row in curve:
            # The width in force is that before the layer's own loss is known.
            assert row.max_width == width
            assert row.n_leaves <= row.max_width
            if row.depth > 0 and row.loss >= best:
                width = int(np.ceil(1.5 * width))
            best = min(best, row.loss)
        for layer in range(int(dag.layer.max()) + 1):
            assert np.count_nonzero(cut_below(dag, layer).is_leaf) == curve[layer].n_leaves


def test_a_jungle_is_smaller_than_the_tree(glyphs):
    (images, labels), _ = glyphs
    settings = QUICK | {"n_jungles": 1, "max_depth": 8, "validation_fraction": 0.0}
    jungle = JungleClassifier(**settings, max_width=6).fit(images, labels).dags_[0]
    tree = JungleClassifier(**settings, max_width=None).fit(images, labels).dags_[0]
    assert jungle.n_nodes < tree.n_nodes
    assert np.all(np.bincount(tree.layer) <= 2 ** np.arange(tree.layer.max() + 1))


def test_a_tree_is_a_jungle_that_merges_nothing(glyphs):
    (images, labels), _ = glyphs
    settings = {name: value for name, value in QUICK.items() if name != "n_jungles"}
    tree = TreeClassifier(**settings).fit(images, labels)
    whole = {"max_samples": 1.0, "validation_fraction": 0.0}
    jungle = JungleClassifier(**settings, **whole, n_jungles=1, max_width=None).fit(images, labels)
    assert_same_dags(tree.dags_, jungle.dags_)


def test_the_best_depth_is_kept(glyphs):
    (images, labels), _ = glyphs
    model = JungleClassifier(**QUICK | {"max_depth": 12, "n_jungles": 4}, patience=3).fit(images, labels)
    stopped_early = 0
    for dag, curve in zip(model.dags_, model.growth_curves_, strict=True):
        losses = [row.loss for row in curve]
        assert [row.depth for row in curve] == list(range(len(curve)))
        assert dag.layer.max() == np.argmin(losses)
        assert len(curve) - 1 - np.argmin(losses) <= 3
        stopped_early += dag.layer.max() < len(curve) - 1
    assert stopped_early > 0


def test_without_validation_a_tree_grows_until_its_leaves_are_pure(glyphs):
    (images, labels), _ = glyphs
    model = TreeClassifier(Rotations(4), max_depth=40, max_steps=15, rank=48, random_state=0).fit(images, labels)
    dag = model.dags_[0]
    assert np.all(np.count_nonzero(dag.histogram[dag.is_leaf], axis=1) == 1)
    assert model.score(images, labels) == 1
    assert np.isnan(model.growth_curves_[0][-1].loss)


def test_leaves_keep_their_least_size(glyphs):
    (images, labels), _ = glyphs
    model = TreeClassifier(max_depth=10, max_steps=15, rank=24, min_samples_leaf=7, random_state=0).fit(images, labels)
    dag = model.dags_[0]
    assert dag.n_nodes > 3
    assert dag.histogram.sum(axis=1).min() >= 7


def test_a_warm_start_adds_the_jungles_of_a_single_fit(glyphs):
    (images, labels), _ = glyphs
    settings = QUICK | {"max_samples": 0.8, "max_members": 0.5}
    at_once = JungleClassifier(Rotations(4), **settings | {"n_jungles": 4}).fit(images, labels)
    in_steps = JungleClassifier(Rotations(4), **settings, warm_start=True).fit(images, labels)
    first = list(in_steps.dags_)
    in_steps.set_params(n_jungles=4).fit(images, labels)
    assert all(kept is before for kept, before in zip(in_steps.dags_, first, strict=False))
    assert_same_dags(in_steps.dags_, at_once.dags_)
    assert len(in_steps.growth_curves_) == 4
    np.testing.assert_array_equal(in_steps.predict_proba(images), at_once.predict_proba(images))


@pytest.mark.parametrize("validation_fraction", [0.0, 0.2])
def test_a_warm_start_adds_layers_below_those_that_exist(glyphs, validation_fraction):
    (images, labels), _ = glyphs
    settings = QUICK | {"max_depth": 2, "validation_fraction": validation_fraction}
    model = JungleClassifier(Rotations(4), **settings, warm_start=True).fit(images, labels)
    shallow = model.dags_
    model.set_params(max_depth=4).fit(images, labels)
    assert len(model.dags_) == 2
    for before, after in zip(shallow, model.dags_, strict=True):
        assert before.layer.max() == 2
        assert after.layer.max() > 2
        above = cut_below(after, 2)
        # The threshold of a leaf means nothing: that of a layer cut off may stay there.
        above = above._replace(threshold=np.where(above.is_leaf, 0, above.threshold))
        assert_same_dags([above], [before._replace(threshold=np.where(before.is_leaf, 0, before.threshold))])


def test_a_warm_start_with_nothing_new_changes_nothing(glyphs):
    (images, labels), _ = glyphs
    model = JungleClassifier(**QUICK, warm_start=True).fit(images, labels)
    before = list(model.dags_)
    assert_same_dags(model.fit(images, labels).dags_, before)


def test_a_warm_start_refuses_other_classes_and_stays_as_it_was(two_classes):
    images, labels = two_classes
    model = JungleClassifier(**QUICK, warm_start=True).fit(images, labels)
    before = model.predict(images)
    with pytest.raises(ValueError, match=r"warm_start.*\[0, 1\].*\[5, 6\]"):
        model.fit(images, labels + 5)
    np.testing.assert_array_equal(model.predict(images), before)


def test_a_warm_start_does_not_drop_jungles(two_classes):
    """As in scikit-learn's forests: fewer than there are is a mistake."""
    images, labels = two_classes
    model = JungleClassifier(**QUICK | {"n_jungles": 3}, warm_start=True).fit(images, labels)
    with pytest.raises(ValueError, match=r"n_jungles.*1"):
        model.set_params(n_jungles=1, max_depth=5).fit(images, labels)


def test_without_a_warm_start_all_is_new(two_classes):
    images, labels = two_classes
    model = JungleClassifier(**QUICK).fit(images, labels)
    first = model.dags_
    model.fit(images[::-1], labels[::-1] + 5)
    assert model.classes_.tolist() == [5, 6]
    assert all(new is not old for new, old in zip(model.dags_, first, strict=True))


def test_equal_weights_are_no_weights(glyphs):
    (images, labels), _ = glyphs
    plain = JungleClassifier(**QUICK).fit(images, labels)
    weighted = JungleClassifier(**QUICK).fit(images, labels, sample_weight=np.full(len(labels), 2.0))
    assert_same_dags(plain.dags_, weighted.dags_)


def test_class_weights_are_sample_weights(glyphs):
    (images, labels), _ = glyphs
    kept = np.flatnonzero((labels > 1) | (np.arange(len(labels)) % 3 == 0))
    images, labels = images[kept], labels[kept]
    by_class = JungleClassifier(**QUICK, max_samples=1.0, class_weight="balanced").fit(images, labels)
    weights = compute_sample_weight("balanced", labels)
    by_sample = JungleClassifier(**QUICK, max_samples=1.0).fit(images, labels, sample_weight=weights)
    assert_same_dags(by_class.dags_, by_sample.dags_)
    for dag in by_class.dags_:
        np.testing.assert_allclose(dag.histogram[0], len(labels) / 6)


@pytest.mark.parametrize("estimator", [JungleClassifier, InvariantFeatures])
def test_images_without_weight_are_ignored(glyphs, estimator):
    """Wrong labels and wild pixels, but no weight: the same model as without them."""
    (images, labels), _ = glyphs
    rng = np.random.default_rng(0)
    junk = rng.random((40, 16, 16)).astype(np.float32) * 9
    more_images = np.concatenate([junk, images])
    more_labels = np.concatenate([rng.integers(0, 6, 40), labels])
    weights = np.concatenate([np.zeros(40), np.ones(len(labels))])
    without = estimator(Rotations(4), **QUICK).fit(images, labels)
    with_junk = estimator(Rotations(4), **QUICK).fit(more_images, more_labels, sample_weight=weights)
    assert_same_dags(with_junk.dags_, without.dags_)


def test_a_heavy_class_is_missed_less(two_classes):
    rng = np.random.default_rng(0)
    images, labels = two_classes
    blurred = images + rng.normal(0, 1.5, images.shape).astype(np.float32)
    shares = []
    for weight in (0.1, 1.0, 10.0):
        model = JungleClassifier(**QUICK | {"max_depth": 2, "n_jungles": 5}, class_weight={0: 1.0, 1: weight})
        shares.append(model.fit(blurred, labels).predict_proba(blurred)[:, 1].mean())
    assert shares[0] < 0.3 < shares[1] < 0.7 < shares[2]


def test_each_jungle_has_its_own_samples_and_members(glyphs):
    (images, labels), _ = glyphs
    settings = QUICK | {"n_jungles": 3, "max_samples": 0.5, "max_members": 0.5}
    model = JungleClassifier(Rotations(8), **settings).fit(images, labels)
    for dag in model.dags_:
        assert dag.histogram[0].sum() == pytest.approx(0.5 * len(labels))
        assert len(dag.members) == 4
        assert dag.members[0] == 0
        assert np.all(np.diff(dag.members) > 0)
    assert len({dag.members.tobytes() for dag in model.dags_}) > 1
    assert len({dag.histogram[0].tobytes() for dag in model.dags_}) > 1
    assert model.score(images, labels) > 0.5
