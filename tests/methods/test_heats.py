"""The heats of a race, and how long they are expected to take."""

import numpy as np
import pytest

from invariance.methods.forecast import Forecast, Timing
from invariance.methods.heats import draw_heats


@pytest.mark.parametrize(
    ("n_images", "n_classes", "rungs"),
    [
        (40, 4, [32]),
        (75, 15, [60]),
        (500, 25, [100, 400]),
        (1000, 10, [40, 240, 800]),
        (60_000, 10, [40, 240, 1440, 8640, 48_000]),
    ],
)
def test_rungs_have_six_times_the_images_until_all_are_near(n_images, n_classes, rungs):
    heats = draw_heats(np.arange(n_images) % n_classes)
    starts = [heat for heat in heats if heat.starts_rung]
    assert [len(heat.fold[0]) for heat in starts] == pytest.approx(rungs, rel=0.05)
    assert [heat.is_full for heat in starts] == [False] * (len(rungs) - 1) + [True]


@pytest.mark.parametrize("seed", [0, 2**32 - 1])
def test_what_is_held_out_is_not_trained_on_and_all_classes_are(seed):
    labels = np.repeat([0, 1, 2, 3], [200, 150, 3, 2])
    for heat in draw_heats(labels, seed):
        training, held = heat.fold
        assert len(np.intersect1d(training, held)) == 0
        assert np.bincount(labels[training], minlength=4).min() >= 2
        assert len(held) > 0


def test_early_heats_judge_as_many_images_as_they_learn_from_after_the_first_rung():
    heats = [heat for heat in draw_heats(np.arange(20_000) % 10) if not heat.is_full]
    counts = [(len(training), len(held)) for training, held in (heat.fold for heat in heats)]
    assert counts == [(40, 40)] * 2 + [(240, 240)] * 2 + [(1440, 1440)] * 2


def test_heats_depend_on_the_seed_only():
    labels = np.arange(300) % 5
    first, again, other = (draw_heats(labels, seed) for seed in (1, 1, 2))
    assert all(np.array_equal(a.fold[0], b.fold[0]) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[0].fold[0], other[0].fold[0])
    assert not np.array_equal(first[0].fold[0], first[1].fold[0])


def test_a_forecast_passes_through_what_was_measured_and_grows_as_it_should():
    forecast = Forecast(growth=2)
    forecast.note(Timing(10, 3.0, 0.1))
    assert forecast.fit(20) == pytest.approx(6.0)  # one time alone: proportional
    forecast.note(Timing(20, 6.0, 0.2))  # 2 + n² / 100
    assert forecast.fit(20) == pytest.approx(6.0)
    assert forecast.fit(100) == pytest.approx(102.0)
    assert forecast.fold(100, 30) == pytest.approx(102 + 30 * 1.0)


def test_what_does_not_grow_is_not_multiplied():
    forecast = Forecast(growth=1, startup=0.5)
    forecast.note(Timing(10, 4.0, 0.1))
    assert forecast.fit(40) == pytest.approx(2 + 2 * 4)


def test_a_slow_first_trial_does_not_make_a_forecast_of_no_growth():
    forecast = Forecast(growth=1)
    forecast.note(Timing(10, 5.0, 0.1))  # it also loaded compiled code
    forecast.note(Timing(100, 2.0, 0.1))
    assert forecast.fit(1000) == pytest.approx(1 + 10)


def test_what_did_not_grow_may_never_grow():
    forecast = Forecast(growth=1)
    forecast.note(Timing(10, 2.0, 0.1))
    assert forecast.fit_at_least(100) == forecast.fit(100) == pytest.approx(20.0)  # one time alone: proportional
    forecast.note(Timing(20, 2.1, 0.1))  # 1.9 + n / 100
    assert forecast.fit_at_least(1000) == pytest.approx(11.9)
    assert forecast.fit(1000) == pytest.approx(1.05 + 50 * 1.05)  # half of it may grow


def test_of_equally_many_images_the_shortest_time_counts():
    forecast = Forecast(growth=1)
    forecast.note(Timing(10, 5.0, 0.2))
    forecast.note(Timing(10, 1.0, 0.1))
    assert forecast.fold(20, 10) == pytest.approx(2.0 + 1.0)


def test_images_that_were_never_described_take_longer():
    forecast = Forecast(growth=1)
    forecast.note(Timing(10, 1.0, 0.1, describe_seconds=0.5))
    assert forecast.fit(20, n_new=10) == pytest.approx(2.0 + 5.0)


def test_a_fit_refines_the_forecast_of_more_images():
    forecast = Forecast(growth=2)
    forecast.note(Timing(10, 1.0, 0.1))
    forecast.note_fit(100, 100.0)
    assert forecast.fit(100) == pytest.approx(100.0)
    assert forecast.fold(100, 5) == pytest.approx(100.0 + 5 * 1.0)
    forecast.note(Timing(50, 25.0, 0.5))  # fewer images later: the largest still count
    assert forecast.fit(100) == pytest.approx(100.0)


@pytest.mark.parametrize("growth", [1, 2])
def test_as_many_images_are_reached_as_are_forecast(growth):
    forecast = Forecast(growth)
    forecast.note(Timing(10, 1.0, 0.1))
    assert forecast.reach(4.0) == (40 if growth == 1 else 20)
    forecast.note(Timing(100, 2.0, 0.1))
    n_images = forecast.reach(5.1)
    assert forecast.fit(n_images) <= 5.1 < forecast.fit(n_images + 2)
