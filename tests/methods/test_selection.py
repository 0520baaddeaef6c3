"""The race of methods, with a made-up clock and trials: what is tried, what wins, and when it must end."""

import sys
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

from invariance.datasets import make_glyphs
from invariance.methods import (
    ImageClassifier,
    Selection,
    Stage,
    Step,
    get_method,
    kept_trials,
    limits,
    method_names,
    race_methods,
    runner,
    select_method,
)
from invariance.methods.decisions import Basis, Cause
from invariance.methods.trial import Judged
from invariance.transformations import Custom, Shifts


class Speed(NamedTuple):
    """Seconds to fit n images, fixed + each * n^growth, and to classify one; share right from 40 and from many."""

    fixed: float
    each: float
    image: float
    right: tuple[float, float]


# About what two cores do with small images.
SPEEDS = {
    "codebook": Speed(0.3, 0.02, 0.009, (0.7, 0.97)),
    "jungle": Speed(1.0, 0.004, 0.0004, (0.5, 0.95)),
    "hierarchy": Speed(0.5, 0.005, 0.004, (0.6, 0.9)),
    "tangent": Speed(0.3, 6e-5, 0.005, (0.8, 0.96)),
    "texture": Speed(1.0, 0.05, 0.03, (0.3, 0.5)),
    "objects": Speed(1.0, 0.05, 0.03, (0.5, 0.6)),
    "landmarks": Speed(0.1, 0.003, 0.002, (0.4, 0.6)),
    "encoder": Speed(0.5, 0.02, 0.02, (0.3, 0.5)),
    "photos": Speed(1.5, 0.07, 0.05, (0.5, 0.6)),
    "tradeoff": Speed(20.0, 5e-4, 0.1, (0.97, 0.99)),
}
FIRST = 40  # images of the first rung of few classes


@pytest.fixture
def world(monkeypatch):
    """A clock that only trials and fits move; `world.speeds` may be changed, `world.tried` has (name, n trained on).

    Methods in `world.shares` are right about the same images, namely this share of them as a function of the number of
    training images.
    """
    world = SimpleNamespace(now=1000.0, speeds=dict(SPEEDS), shares={}, tried=[], fitted=[], ill=set())

    def spend_fitting(name, n_images):
        speed, method = world.speeds[name], get_method(name)
        n_learned = min(n_images, method.max_learned or n_images)
        seconds = speed.fixed + speed.each * n_learned**method.growth
        world.now += seconds
        return seconds

    def judge_fold(classifier, images, labels, fold):
        name, (training, held) = classifier.method_name, fold
        if name in world.ill:
            raise ValueError(f"{name} is ill")
        speed, n_classes = world.speeds[name], len(np.unique(labels))
        seconds = spend_fitting(name, len(training))
        world.now += speed.image * len(held)
        world.tried.append((name, len(training)))
        few, many = speed.right
        seed, share = sum(map(ord, name)), many + (few - many) * FIRST / len(training)
        if name in world.shares:
            seed, share = 0, world.shares[name](len(training))
        is_right = np.random.default_rng(seed).random(len(images))[held] < share
        probabilities = np.eye(n_classes)[(labels[held] + ~is_right) % n_classes]
        return Judged(held, probabilities, seconds, speed.image * len(held))

    def fit(self, X, y):
        if f"{self.method_name} fits" in world.ill:
            raise ValueError("it is ill when all images come")
        spend_fitting(self.method_name, len(X))
        world.fitted.append((self.method_name, len(X)))
        return self

    clock = SimpleNamespace(monotonic=lambda: world.now, perf_counter=lambda: world.now)
    monkeypatch.setattr(runner, "judge_fold", judge_fold)
    monkeypatch.setattr(runner, "time", clock)
    monkeypatch.setattr(limits, "time", clock)
    monkeypatch.setattr(ImageClassifier, "fit", fit)
    monkeypatch.setenv("INVARIANCE_CACHE", "0")  # worlds differ, their images do not
    for name in ("texture", "objects", "photos"):
        monkeypatch.setattr(type(get_method(name)), "startup", 0.0)  # as it is in this world
    return world


def task(n_images, side=28, n_classes=5):
    return [np.zeros((side, side), np.float32)] * n_images, np.arange(n_images) % n_classes


def causes(selected):
    return {out.method: out.cause for out in selected.left_out}


def names(world):
    return {name for name, _ in world.tried}


@pytest.mark.parametrize("budget", [20, 60, 120, 600])
@pytest.mark.parametrize("n_images", [10, 40, 150, 300, 1000, 3000])
@pytest.mark.parametrize("side", [28, 200])
def test_a_race_has_a_model_soon_and_ends_in_time(side, n_images, budget, world):
    begun, times = world.now, []
    for event in race_methods(*task(n_images, side, n_classes=2), budget=budget):
        if isinstance(event, Selection):
            times.append(world.now - begun)
            last = event
    assert times[0] <= 0.25 * budget
    assert times[-1] <= 1.25 * budget
    assert world.fitted[-1] == (last.method, last.n_fitted)
    assert last.n_fitted == n_images or last.method in ("tangent", "texture", "objects", "photos", "codebook")


def test_time_that_is_over_before_the_first_trial_still_gives_a_model(world):
    selected = select_method(*task(60), budget=1e-9)
    assert len(world.tried) == 1
    assert world.fitted[0][0] == selected.method == world.tried[0][0]
    assert Cause.NO_TIME in causes(selected).values()


def test_a_large_budget_does_not_delay_the_first_model(world):
    begun = world.now
    first = next(event for event in race_methods(*task(3000), budget=6000) if isinstance(event, Selection))
    assert world.now - begun < 15
    assert first.n_fitted < 3000


def test_every_selection_but_the_last_says_that_the_race_goes_on(world):
    selections = [event for event in race_methods(*task(1000), budget=300) if isinstance(event, Selection)]
    assert len(selections) >= 2
    assert {selection.basis for selection in selections[:-1]} == {Basis.SO_FAR}
    assert selections[-1].basis != Basis.SO_FAR
    assert selections[-1].n_fitted == 1000


def test_steps_say_what_is_begun_who_leads_and_what_time_is_left(world):
    events = list(race_methods(*task(300), budget=60))
    steps = [event for event in events if isinstance(event, Step)]
    assert [step.method for step in steps if step.stage == Stage.TRYING] == [name for name, _ in world.tried]
    assert [(step.method, step.n_images) for step in steps if step.stage == Stage.FITTING] == world.fitted
    assert steps[0].best is None
    assert all(step.best is not None for step in steps[2:])
    left = [step.seconds_left for step in steps]
    assert left == sorted(left, reverse=True)
    assert left[0] <= 60


def test_methods_are_tried_first_in_their_order(world):
    select_method(*task(300), budget=600)
    facts = SimpleNamespace(side=28)
    n_first = len({name for name, n in world.tried if n == FIRST})
    order = [name for name, _ in world.tried[:n_first]]
    assert order == sorted(order, key=lambda name: get_method(name).rank_for(facts))


def test_a_hundred_thousand_images_are_not_all_tried_on_every_method(world):
    begun = world.now
    selected = select_method(*task(10_000), budget=120)
    assert world.now - begun < 150
    assert {"texture", "tradeoff"} <= set(causes(selected))
    assert selected.n_learned < 10_000


@pytest.mark.parametrize("n_images", [15_000, 30_000, 60_000])
def test_rivals_that_are_slower_and_a_little_worse_do_not_run_on_many_images(n_images, world):
    # About what digits take.
    world.ill = {"jungle", "tradeoff"}
    world.speeds["landmarks"] = Speed(1.0, 0.0008, 0.0003, (0.85, 0.99))
    world.speeds["codebook"] = Speed(0.3, 0.006, 0.003, (0.8, 0.975))
    world.speeds["tangent"] = Speed(0.3, 6e-6, 0.002, (0.84, 0.965))
    assert select_method(*task(n_images, n_classes=10), budget=600).method == "landmarks"
    assert max(n for name, n in world.tried if name != "landmarks") < 2000


def test_a_method_is_not_left_out_for_a_guess_from_few_images(world):
    world.ill = set(method_names()) - {"landmarks", "hierarchy"}
    world.speeds["landmarks"] = Speed(2.0, 0.0005, 0.0003, (0.85, 0.99))  # 32 s for all, not 1500 times 2 s
    assert select_method(*task(60_000, n_classes=10), budget=300).method == "landmarks"


def only(world, **shares):
    """Let only these methods take part, equally fast, and right as they say."""
    world.ill = set(method_names()) - set(shares)
    for name in shares:
        world.speeds[name] = Speed(0.3, 0.005, 0.001, (0.0, 0.0))
    world.shares = shares


def test_a_lead_by_chance_does_not_replace_a_model_of_all_images(world):
    shares = {40: 0.8, 240: 0.911}  # at 240 images ahead, by one to two standard errors
    only(world, landmarks=lambda n: 0.9, codebook=lambda n: shares.get(n, 0.85))
    assert select_method(*task(3000), budget=900).method == "landmarks"
    assert [name for name, n in world.fitted if n == 3000] == ["landmarks"]


def test_a_tie_on_the_first_rung_is_not_fitted_to_all_images(world):
    only(world, landmarks=lambda n: 0.8, codebook=lambda n: 0.8 if n < 240 else 0.95)
    assert select_method(*task(3000), budget=900).method == "codebook"
    assert [name for name, n in world.fitted if n == 3000] == ["codebook"]


def test_what_is_worse_than_any_that_goes_on_learning_is_dropped(world):
    # 'tangent' leads, but learns from 3,000 images at most: what it leads by may be made up for.
    only(world, tangent=lambda n: 0.965, landmarks=lambda n: 0.964, codebook=lambda n: 0.945)
    world.speeds["tangent"] = Speed(0.3, 5e-6, 0.001, (0.0, 0.0))
    selected = select_method(*task(30_000), budget=900)
    assert causes(selected)["codebook"] == Cause.WORSE
    assert max(n for name, n in world.tried if name == "codebook") < 2000


def test_a_clear_leader_on_many_images_is_not_left_behind_for_a_slow_trial(world):
    only(world, tangent=lambda n: 0.96, landmarks=lambda n: 0.925)
    world.speeds["tangent"] = Speed(0.3, 2e-5, 0.008, (0.0, 0.0))  # 180 s to fit, 250 s to try on 8,640 images
    world.speeds["landmarks"] = Speed(0.3, 0.001, 0.001, (0.0, 0.0))
    assert select_method(*task(60_000), budget=600).method == "tangent"


def test_the_most_often_right_wins_though_it_is_slow(world):
    selected = select_method(*task(300), budget=1000)
    assert selected.method == "tradeoff"
    assert selected.trials[0].name == "tradeoff"
    assert selected.basis in (Basis.MOST_ACCURATE, Basis.NARROWLY)


def test_of_those_equally_right_the_quickest_to_classify_wins(world):
    for name in world.speeds:
        world.speeds[name] = world.speeds[name]._replace(right=(2.0, 2.0))
    selected = select_method(*task(300), budget=1000)
    assert selected.method == "jungle"
    assert selected.basis == Basis.FASTER_OF_EQUALS
    assert causes(selected)["tradeoff"] == Cause.NOTHING_TO_GAIN


def test_the_trade_off_is_tried_only_if_it_can_be_fitted_too(world):
    world.speeds["tradeoff"] = Speed(40.0, 5e-4, 0.1, (0.97, 0.99))
    selected = select_method(*task(300), budget=20)
    assert "tradeoff" not in names(world)
    assert causes(selected)["tradeoff"] in (Cause.TOO_SLOW, Cause.NO_TIME)


def test_a_method_that_cannot_be_fitted_in_time_does_not_win(world):
    world.speeds["tangent"] = Speed(1.0, 5e-4, 0.01, (0.99, 0.999))
    selected = select_method(*task(1400), budget=200)
    assert selected.method != "tangent"
    assert "tangent" in {*causes(selected), *selected.slower}


def test_a_leader_on_few_images_without_time_for_more_leaves_the_race_to_others(world):
    world.speeds["tangent"] = Speed(0.1, 2e-5, 0.02, (0.97, 0.97))  # 20 s for 1000 images
    world.speeds["landmarks"] = Speed(0.1, 0.001, 0.001, (0.88, 0.99))
    selected = select_method(*task(1000), budget=38)
    assert (selected.method, selected.n_learned) == ("landmarks", 800)
    assert causes(selected)["tangent"] == Cause.TOO_SLOW


@pytest.mark.parametrize(("is_coloured", "few", "method"), [(True, 0.6, "objects"), (False, 0.6, "codebook"),
                                                           (True, 0.1, "codebook")])  # fmt: skip
def test_a_method_made_for_such_images_needs_less_proof(is_coloured, few, method, world):
    world.ill.update(set(method_names()) - {"objects", "codebook"})
    world.speeds["objects"] = Speed(0.1, 0.07, 0.03, (few, 0.9))
    world.speeds["codebook"] = Speed(0.3, 0.02, 0.009, (0.7, 0.75))
    images, labels = task(600, 200)
    if is_coloured:
        images = [np.tile(np.float32([1, 0, 0]), (200, 200, 1))] * len(images)
    started = world.now
    selected = select_method(images, labels, budget=60)
    assert selected.method == method
    assert selected.n_fitted == 600
    assert (selected.basis == Basis.SUITED) <= (method == "objects")
    assert world.now - started <= 1.25 * 60


def test_a_small_first_rung_keeps_whoever_is_not_far_behind(world):
    world.speeds["codebook"] = Speed(0.3, 0.01, 0.001, (0.6, 1.2))
    assert select_method(*task(1000), budget=300).method == "codebook"


def test_what_is_clearly_worse_is_not_tried_again(world):
    world.speeds |= {name: Speed(0.3, 1e-4, 0.001, (0.1, 0.2)) for name in ("hierarchy", "jungle")}
    selected = select_method(*task(1000), budget=300)
    assert causes(selected)["hierarchy"] == causes(selected)["jungle"] == Cause.WORSE
    assert max(n for name, n in world.tried if name in ("hierarchy", "jungle")) <= FIRST


def test_a_race_without_rivals_ends_early(world):
    for name in set(world.speeds) - {"codebook"}:
        world.speeds[name] = Speed(0.3, 1e-4, 0.001, (0.1, 0.2))
    begun = world.now
    selected = select_method(*task(1000), budget=600)
    assert selected.method == "codebook"
    assert selected.trials[0].n_judged >= 100
    assert world.now - begun < 200


def test_a_method_that_has_no_time_for_rivals_does_not_run_on_alone(world):
    for name in world.speeds:
        world.speeds[name] = Speed(2.0, 1e-6, 0.0001, (0.7, 0.7))
    world.speeds["landmarks"] = Speed(0.01, 1e-6, 0.0001, (0.75, 0.75))
    select_method(*task(40), budget=30)
    last = [name for name, _ in world.tried[-3:]]
    assert len(set(last)) > 1


def test_few_images_are_judged_several_times(world):
    for name in world.speeds:  # alike, so that nothing is dropped
        world.speeds[name] = Speed(0.05, 1e-6, 0.0001, (0.7, 0.7))
    few, many = (select_method(*task(n), budget=300) for n in (40, 600))
    assert few.trials[0].n_judgements.min() == 5
    assert many.trials[0].n_judgements.max() == 1


@pytest.mark.parametrize(
    ("each", "is_all", "basis"),
    [(0.1, True, Basis.MOST_ACCURATE), (0.13, True, Basis.AHEAD), (0.5, False, Basis.MOST_ACCURATE)],
)
def test_a_method_ahead_is_fitted_to_as_many_images_as_there_is_time_for(each, is_all, basis, world):
    world.speeds = {name: Speed(0.3, 1e-4, 0.001, (0.2, 0.6)) for name in world.speeds}
    world.speeds["texture"] = Speed(0.1, each, 0.01, (0.99, 1.0))
    begun = world.now
    selected = select_method(*task(500, 128), budget=75)
    assert selected.method == "texture"
    assert world.now - begun <= 1.25 * 75
    assert selected.basis == basis
    assert (selected.overrun > 0) == (basis == Basis.AHEAD)
    assert (selected.n_fitted == 500) == is_all
    assert (f"fitted to {selected.n_fitted} of 500 images" in selected.reason) != is_all


def test_textures_are_for_large_images(world):
    left_out = causes(select_method(*task(100, 28)))
    assert left_out["texture"] == left_out["objects"] == Cause.IMAGES_TOO_SMALL
    select_method(*task(100, 128))
    assert "texture" in names(world)


def test_a_method_that_fails_is_left_out_and_says_why(world):
    world.ill = {"codebook"}
    selected = select_method(*task(100))
    assert causes(selected)["codebook"] == Cause.FAILED
    assert "codebook is ill" in selected.reason


def test_if_the_winner_cannot_be_fitted_the_next_one_is(world):
    winner = select_method(*task(100)).method
    world.ill = {f"{winner} fits"}
    selected = select_method(*task(100))
    assert selected.method != winner
    assert causes(selected)[winner] == Cause.FAILED
    assert selected.n_fitted == 100


def test_if_all_methods_fail_the_error_says_why(world):
    world.ill = set(SPEEDS)
    with pytest.raises(ValueError, match="no method could learn .* jungle: it failed: jungle is ill"):
        select_method(*task(100))


def test_two_images_per_class_are_too_few_to_try_anything(world):
    selected = select_method(*task(10, n_classes=5))
    assert selected.trials == []
    assert selected.basis == Basis.UNTRIED
    assert world.tried == []
    assert world.fitted == [(selected.method, 10)]


def without_a_clock():
    raise AssertionError("a decision looked at the clock")


@pytest.mark.parametrize("max_trials", [1, 3, 8, 20, 60])
def test_the_same_number_of_trials_chooses_the_same_on_a_slow_machine(max_trials, world, monkeypatch):
    monkeypatch.setattr(limits, "time", SimpleNamespace(monotonic=without_a_clock))

    def choose():
        world.tried, world.fitted = [], []
        selected = select_method(*task(1000), budget=1, max_trials=max_trials)
        return selected.method, selected.basis, causes(selected), world.tried, world.fitted

    fast = choose()
    world.speeds["tangent"] = world.speeds["tangent"]._replace(fixed=1000.0, image=100.0)
    world.speeds["jungle"] = world.speeds["jungle"]._replace(fixed=1e6)
    assert choose() == fast
    assert len(fast[3]) <= max_trials


def test_more_trials_are_more_of_the_same_race(world):
    races = []
    for max_trials in (5, 15, 40):
        world.tried = []
        selected = select_method(*task(1000), max_trials=max_trials)
        assert selected.n_trials == len(world.tried) <= max_trials
        races.append(world.tried)
    assert races[1][:5] == races[0]
    assert races[2][: len(races[1])] == races[1]
    assert len(races[2]) > 15


def test_of_equals_the_first_in_order_wins_where_no_clock_is_read(world):
    for name in world.speeds:
        world.speeds[name] = world.speeds[name]._replace(right=(2.0, 2.0))
    selected = select_method(*task(300), max_trials=100)
    assert selected.method == "tangent"
    assert selected.basis == Basis.FIRST_OF_EQUALS


def test_what_a_number_of_trials_left_untried_is_named(world):
    selected = select_method(*task(300), max_trials=2)
    assert set(world.tried) == {("tangent", FIRST), ("landmarks", FIRST)}
    assert causes(selected)["jungle"] == Cause.NO_TRIALS_LEFT


@pytest.fixture
def kept(world, monkeypatch, tmp_path):
    """The same world, where trials are kept in a folder of the test."""
    monkeypatch.setenv("INVARIANCE_CACHE", str(tmp_path))
    return world


def race_again(world, *given, **settings):
    """Return a selection, what was tried for it, and the seconds that passed."""
    world.tried, begun = [], world.now
    selected = select_method(*given, **settings)
    return selected, world.tried, world.now - begun


@pytest.mark.parametrize("limit", [{"budget": 60}, {"budget": 600}, {"max_trials": 20}])
def test_a_second_race_of_the_same_images_repeats_the_decisions_of_the_first(limit, kept):
    first, tried, seconds = race_again(kept, *task(300), **limit)
    again, tried_again, seconds_again = race_again(kept, *task(300), **limit)
    assert first.n_found == 0 < first.n_trials == len(tried)
    assert tried_again == []
    assert (again.method, again.basis, causes(again)) == (first.method, first.basis, causes(first))
    assert again.n_found == again.n_trials == first.n_trials
    assert [trial.accuracy for trial in again.trials] == [trial.accuracy for trial in first.trials]
    assert seconds_again < seconds


def test_what_took_time_between_trials_is_counted_in_the_second_race_too(kept):
    def race(pause):
        events = []
        for event in race_methods(*task(1000), budget=60):
            kept.now += pause  # a model is written, code is compiled
            events.append(event)
        return events[-1]

    first = race(4.0)
    kept.tried = []
    again = race(0.0)
    assert kept.tried == []
    assert (again.method, again.basis, causes(again)) == (first.method, first.basis, causes(first))
    kept.tried = []
    assert (
        race_again(kept, *task(1001), budget=60)[0].n_trials > first.n_trials
    )  # without pauses there is time for more


def test_a_larger_budget_goes_on_where_the_first_race_ended(kept):
    first, _, _ = race_again(kept, *task(1000), budget=30)
    more, tried, _ = race_again(kept, *task(1000), budget=300)
    assert first.n_trials >= more.n_found > first.n_trials // 2
    assert len(tried) == more.n_trials - more.n_found > 0


def test_trials_are_kept_where_only_the_weights_of_a_network_are_installed(kept, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    monkeypatch.setattr(kept_trials, "missing_packages", lambda: ("onnx",))
    images, labels = task(60)
    tradeoff = ImageClassifier("tradeoff", random_state=0)
    trials = kept_trials.KeptTrials(images, labels)
    assert trials.find_trial(tradeoff, (np.arange(40), np.arange(40, 60))) is None


def another_image(images, labels):
    return [*images[:-1], np.ones_like(images[-1])], labels


def another_label(images, labels):
    return images, np.append(labels[:-1], 0)


@pytest.mark.parametrize("change", [another_image, another_label])
def test_other_images_are_tried_anew(change, kept):
    images, labels = task(100)
    race_again(kept, images, labels, budget=60)
    selected, tried, _ = race_again(kept, *change(images, labels), budget=60)
    of_all = [n for _, n in tried if n > FIRST]
    assert of_all
    assert selected.n_found < selected.n_trials


@pytest.mark.parametrize(
    "settings",
    [{"random_state": 1}, {"transformations": Shifts(2)}, {"max_side": 64}, {"scale": "image"}],
)
def test_other_settings_are_tried_anew(settings, kept):
    race_again(kept, *task(40), budget=60)
    selected, _, _ = race_again(kept, *task(40), budget=60, **settings)
    assert selected.n_found == 0


def test_what_no_text_describes_and_methods_of_other_packages_are_not_kept(kept, monkeypatch):
    custom = Custom([np.fliplr])
    race_again(kept, *task(40), transformations=custom, max_trials=5)
    assert race_again(kept, *task(40), transformations=custom, max_trials=5)[0].n_found == 0
    race_again(kept, *task(40), max_trials=5)
    monkeypatch.setattr(type(get_method("jungle")), "__module__", "elsewhere")
    assert race_again(kept, *task(40), max_trials=5)[0].n_found == 0


def test_renamed_classes_are_not_those_of_a_kept_model(monkeypatch):
    monkeypatch.setattr("invariance.methods.kept_trials.WORTH_KEEPING", 0.0)
    glyphs = make_glyphs(4, 28, random_state=2)
    for prefix in ("old", "new"):
        names = np.array([f"{prefix} {label}" for label in glyphs.labels])
        found = select_method(list(glyphs.images), names, n_jobs=1, max_trials=1, random_state=3)
        assert set(found.classifier.classes_) == set(names)


def test_kept_trials_of_real_images_give_the_same_model():
    glyphs = make_glyphs(6, 28, random_state=1)
    first, again = (
        select_method(list(glyphs.images), glyphs.labels, n_jobs=1, max_trials=3, random_state=7) for _ in range(2)
    )
    assert again.n_found == again.n_trials == 3
    assert "3 of 3 trials are of an earlier fit" in again.reason
    np.testing.assert_array_equal(
        again.classifier.predict_proba(glyphs.images), first.classifier.predict_proba(glyphs.images)
    )


@pytest.mark.parametrize("budget", [-1, float("nan"), float("inf"), "long"])
def test_a_budget_that_is_no_number_of_seconds_is_refused(budget):
    with pytest.raises(ValueError, match="budget must be a number"):
        select_method(*task(10), budget=budget)


@pytest.mark.parametrize("max_trials", [0, 1.5, True])
def test_a_number_of_trials_that_is_none_is_refused(max_trials):
    with pytest.raises(ValueError, match="max_trials must be a whole number"):
        select_method(*task(10), max_trials=max_trials)


def test_real_images_are_tried_for_real():
    glyphs = make_glyphs(8, 28, random_state=0)
    images = list(glyphs.images)
    selected = select_method(images, glyphs.labels, n_jobs=1, max_trials=4)
    assert selected.trials[0].accuracy > 1.5 / 6
    assert set(causes(selected)) | {trial.name for trial in selected.trials} == set(method_names())
    assert selected.classifier.predict(images).shape == (48,)
    assert selected.n_fitted == 48
