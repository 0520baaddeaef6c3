"""Automatic selection, with a made-up clock and trials: what is tried, what wins, and when it must end."""

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

from invariance.datasets import make_glyphs
from invariance.methods import Trial, draw_folds, get_method, method_names, select_method
from invariance.methods import contest as module
from invariance.methods.decisions import Basis, Cause
from invariance.methods.trial import Forecast, Timing


class Speed(NamedTuple):
    """Seconds to fit n images, fixed + each * n^growth, and to classify one; share right from 32 and from many."""

    fixed: float
    each: float
    image: float
    right: tuple[float, float]


# About what two cores do with small images.
SPEEDS = {
    "codebook": Speed(0.3, 0.02, 0.009, (0.7, 0.97)),
    "jungle": Speed(1.0, 0.004, 0.0004, (0.5, 0.95)),
    "hierarchy": Speed(0.5, 0.005, 0.004, (0.6, 0.9)),
    "tangent": Speed(1.0, 6e-5, 0.05, (0.8, 0.96)),
    "texture": Speed(1.0, 0.15, 0.09, (0.3, 0.5)),
    "objects": Speed(1.0, 0.05, 0.03, (0.5, 0.6)),
    "landmarks": Speed(0.1, 0.003, 0.002, (0.4, 0.6)),
    "encoder": Speed(0.5, 0.02, 0.02, (0.3, 0.5)),
    "photos": Speed(1.5, 0.07, 0.05, (0.5, 0.6)),
    "tradeoff": Speed(20.0, 5e-4, 0.1, (0.97, 0.99)),
}


@pytest.fixture
def world(monkeypatch):
    """A clock that only trials move; `world.speeds` may be changed, and `world.tried` has (name, n learned from)."""
    world = SimpleNamespace(now=1000.0, speeds=dict(SPEEDS), tried=[])

    def seconds_to_fit(name, n_images):
        speed = world.speeds[name]
        return speed.fixed + speed.each * n_images ** get_method(name).growth

    def cross_validate(name, classifier, images, labels, folds, deadline=None):
        speed, rng = world.speeds[name], np.random.default_rng(len(name))
        is_judged = np.zeros(len(images), bool)
        is_right = np.zeros(len(images), bool)
        for training, held in folds:
            if is_judged.any() and world.now > deadline:
                break
            world.now += seconds_to_fit(name, len(training)) + speed.image * len(held)
            world.tried.append((name, len(training)))
            is_judged[held] = True
            few, many = speed.right
            is_right[held] = rng.random(len(held)) < many + (few - many) * 32 / len(training)
        probabilities = np.zeros((len(images), 2))
        seconds = seconds_to_fit(name, len(training))
        return Trial(name, classifier, probabilities, is_right, is_judged, seconds, speed.image)

    monkeypatch.setattr(module, "cross_validate", cross_validate)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: world.now))
    world.seconds_to_fit = seconds_to_fit
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
def test_choosing_and_fitting_end_in_time(side, n_images, budget, world):
    begun = world.now
    selected = select_method(*task(n_images, side, n_classes=2), budget=budget)
    total = world.now - begun + world.seconds_to_fit(selected.method, n_images)
    if (n_images, budget) == (3000, 20):  # fitting alone takes three quarters of it, and trials come before
        assert selected.basis == Basis.FASTEST_TO_FIT
        assert total <= 1.6 * budget
    else:
        assert total <= 1.1 * budget


def test_ten_thousand_images_are_not_all_tried_on_every_method(world):
    begun = world.now
    selected = select_method(*task(10_000), budget=120)
    assert selected.method in ("jungle", "hierarchy")
    assert world.now - begun + world.seconds_to_fit(selected.method, 10_000) < 150
    assert {"tangent", "texture", "tradeoff"} <= set(causes(selected))


def test_the_most_often_right_wins_though_it_is_slow(world):
    selected = select_method(*task(300), budget=1000)
    assert selected.method == "tradeoff"
    assert selected.trials[0].name == "tradeoff"
    assert [trial.accuracy for trial in selected.trials] == sorted((t.accuracy for t in selected.trials), reverse=True)
    assert selected.basis == Basis.MOST_ACCURATE


def test_of_those_equally_right_the_quickest_to_classify_wins(world):
    for name in world.speeds:
        world.speeds[name] = world.speeds[name]._replace(right=(1.0, 1.0))
    selected = select_method(*task(300), budget=1000)
    assert selected.method == "jungle"
    assert selected.basis == Basis.FASTER_OF_EQUALS
    assert causes(selected)["tradeoff"] == Cause.NOTHING_TO_GAIN


def test_the_trade_off_is_tried_only_if_it_can_be_fitted_too(world):
    selected = select_method(*task(300), budget=60)
    assert "tradeoff" not in names(world)
    assert causes(selected)["tradeoff"] == Cause.TOO_SLOW


def test_a_method_that_cannot_be_fitted_in_time_does_not_win(world):
    world.speeds["tangent"] = Speed(1.0, 5e-4, 0.01, (0.99, 0.999))
    selected = select_method(*task(1400), budget=200)
    assert selected.method != "tangent"
    assert "tangent" in {*causes(selected), *selected.slower}


def test_a_small_first_round_keeps_whoever_is_not_far_behind(world):
    world.speeds["codebook"] = Speed(0.3, 0.01, 0.001, (0.6, 1.0))
    selected = select_method(*task(1000), budget=300)
    assert selected.method == "codebook"


def test_a_method_far_ahead_at_first_is_chosen_though_there_is_no_time_to_try_it_again(world):
    world.speeds["texture"] = Speed(1.0, 0.15, 0.09, (0.99, 1.0))
    world.speeds |= {
        name: Speed(0.3, 1e-4, 0.001, (0.2, 0.6)) for name in ("codebook", "jungle", "hierarchy", "tangent", "objects")
    }
    selected = select_method(*task(500, 128), budget=120)
    assert selected.method == "texture"


def test_a_method_far_ahead_at_first_goes_straight_to_the_last_round_if_there_is_time(world):
    world.speeds |= {
        name: Speed(0.3, 1e-4, 0.001, (0.2, 0.6)) for name in ("codebook", "jungle", "hierarchy", "tangent", "objects")
    }
    world.speeds["texture"] = Speed(0.3, 0.01, 0.01, (0.99, 0.99))
    world.speeds["tradeoff"] = Speed(20.0, 5e-4, 0.1, (0.9, 0.9))
    selected = select_method(*task(1000, 128), budget=600)
    assert selected.method == "texture"
    assert [n for name, n in world.tried if name == "texture"] == [32, 32, 800, 800, 800, 800, 800]
    assert selected.n_learned == 800
    assert Cause.NO_TIME not in causes(selected).values()
    assert "tradeoff" in names(world)


def test_a_method_far_ahead_may_take_a_little_longer_than_the_budget_but_no_more(world):
    world.speeds |= {
        name: Speed(0.3, 1e-4, 0.001, (0.2, 0.6)) for name in ("codebook", "jungle", "hierarchy", "tangent", "objects")
    }
    world.speeds["texture"] = Speed(0.1, 0.3, 0.09, (0.99, 1.0))
    selected = select_method(*task(500, 128), budget=120)
    assert selected.method == "texture"
    assert selected.basis == Basis.FAR_AHEAD
    assert selected.overrun > 0
    world.speeds["texture"] = Speed(0.1, 0.5, 0.09, (0.99, 1.0))
    assert select_method(*task(500, 128), budget=120).method != "texture"


def test_textures_are_for_large_images(world):
    left_out = causes(select_method(*task(100, 28)))
    assert left_out["texture"] == left_out["objects"] == Cause.IMAGES_TOO_SMALL
    select_method(*task(100, 128))
    assert "texture" in names(world)


def test_a_method_that_fails_is_left_out_and_says_why(world, monkeypatch):
    works = module.cross_validate

    def fail(name, *rest):
        if name == "codebook":
            raise ValueError("no window fits.")
        return works(name, *rest)

    monkeypatch.setattr(module, "cross_validate", fail)
    selected = select_method(*task(100))
    assert causes(selected)["codebook"] == Cause.FAILED
    assert "no window fits." in selected.reason


def test_if_all_methods_fail_the_error_says_why(world, monkeypatch):
    def fail(name, *rest):
        raise ValueError(f"{name} is ill")

    monkeypatch.setattr(module, "cross_validate", fail)
    with pytest.raises(ValueError, match="no method could learn .* jungle: it failed: jungle is ill"):
        select_method(*task(100))


def test_two_images_per_class_are_too_few_to_try_anything(world):
    selected = select_method(*task(10, n_classes=5))
    assert selected.trials == []
    assert selected.basis == Basis.UNTRIED
    assert world.tried == []


@pytest.mark.parametrize("budget", [-1, float("nan"), float("inf"), "long"])
def test_a_budget_that_is_no_number_of_seconds_is_refused(budget):
    with pytest.raises(ValueError, match="budget must be a number"):
        select_method(*task(10), budget=budget)


def test_a_forecast_passes_through_what_was_measured_and_grows_as_it_should():
    forecast = Forecast(growth=2)
    forecast.timings.append(Timing(10, 3.0, 0.1))
    assert forecast.fit(20) == pytest.approx(6.0)  # one time alone: proportional
    forecast.timings.append(Timing(20, 6.0, 0.2))  # 2 + n² / 100
    assert forecast.fit(20) == pytest.approx(6.0)
    assert forecast.fit(100) == pytest.approx(102.0)
    assert forecast.fold((np.arange(100), np.arange(30))) == pytest.approx(102 + 30 * 1.0)


def test_what_does_not_grow_is_not_multiplied():
    forecast = Forecast(growth=1, startup=0.5)
    forecast.timings.append(Timing(10, 4.0, 0.1))
    assert forecast.fit(40) == pytest.approx(2 + 2 * 4)


def test_a_slow_first_trial_does_not_make_a_forecast_of_no_growth():
    forecast = Forecast(growth=1)
    forecast.timings += [Timing(10, 5.0, 0.1), Timing(100, 2.0, 0.1)]  # the first loaded compiled code
    assert forecast.fit(1000) == pytest.approx(1 + 10)


def test_real_images_are_tried_for_real():
    glyphs = make_glyphs(8, 28, random_state=0)
    selected = select_method(list(glyphs.images), glyphs.labels, budget=4, n_jobs=1)
    assert selected.trials[0].accuracy > 1.5 / 6
    assert set(causes(selected)) | {trial.name for trial in selected.trials} == set(method_names())
    assert not hasattr(selected.classifier, "model_")
    assert draw_folds(glyphs.labels, 5)[0][1].size <= selected.trials[0].n_judged
