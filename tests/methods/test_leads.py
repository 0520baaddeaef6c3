"""Who is clearly worse in a race: by standard errors, and unless more images may still change it."""

from types import SimpleNamespace

import numpy as np
import pytest

from invariance.methods.heats import Heat
from invariance.methods.leads import gain, is_ahead, is_clearly_worse
from invariance.methods.trial import Judged, join_folds

N_IMAGES = 60_000


def trial_of(n_wrong, n_judged, n_images=480):
    """A trial that errs on the first of the judged images, so that errors of two trials coincide."""
    classes = np.arange(n_judged) % 2
    classes[:n_wrong] = 1 - classes[:n_wrong]
    probabilities = np.eye(2)[classes]
    judged = Judged(np.arange(n_judged), probabilities, 1.0, 1.0)
    return join_folds("any", None, np.arange(n_images) % 2 == 1, [judged])


def runner_of(n_wrong, n_judged, n_learned, max_learned=N_IMAGES):
    def room_to_learn(n_images):
        return min(n_images, max_learned) / min(n_learned, max_learned)

    return SimpleNamespace(trial=trial_of(n_wrong, n_judged), n_learned=n_learned, room_to_learn=room_to_learn)


def heat_of(rung, is_full=False):
    return Heat((np.arange(2), np.arange(2)), rung, False, is_full)


def test_the_gain_is_over_the_images_that_both_were_judged_on():
    mean, error = gain(trial_of(10, 100), trial_of(20, 50))
    assert mean == pytest.approx(10 / 52)
    assert 0 < error < 0.1


def test_who_is_ahead_is_so_of_all_others():
    best, close, far = (runner_of(n_wrong, 480, 240) for n_wrong in (20, 21, 60))
    assert is_ahead([best, far])
    assert not is_ahead([best, far, close])


@pytest.mark.parametrize(
    ("n_wrong", "rung", "n_learned", "is_dropped"),
    [
        (27, 0, 40, False),  # 2.5 standard errors, and twice as many errors
        (34, 0, 40, True),
        (28, 1, 240, False),  # 2.7 standard errors, but fewer than twice as many errors
        (43, 1, 240, True),
        (28, 2, 1440, True),
        (23, 2, 1440, False),  # 1.3 standard errors
    ],
)
def test_with_few_training_images_a_gap_must_be_wide(n_wrong, rung, n_learned, is_dropped):
    leader = runner_of(13 if rung == 0 else 20, 480, n_learned)
    behind = runner_of(n_wrong if rung else n_wrong - 6, 480, n_learned)
    assert is_clearly_worse(behind, leader, heat_of(rung), N_IMAGES) == is_dropped


def test_on_all_images_standard_errors_decide():
    leader, behind = (runner_of(n_wrong, 480, 240) for n_wrong in (20, 28))
    assert is_clearly_worse(behind, leader, heat_of(1, is_full=True), N_IMAGES)
    assert not is_clearly_worse(leader, behind, heat_of(1, is_full=True), N_IMAGES)


def test_what_stops_learning_is_dropped_sooner_and_does_not_drop_what_goes_on():
    def is_dropped(n_wrong, n_learned, max_behind, max_leader):
        leader, behind = runner_of(20, 480, n_learned, max_leader), runner_of(n_wrong, 480, n_learned, max_behind)
        return is_clearly_worse(behind, leader, heat_of(1), N_IMAGES)

    assert is_dropped(28, 240, 3000, N_IMAGES)  # it would not be with room for as many images
    assert not is_dropped(28, 240, 3000, 3000)
    assert is_dropped(28, 1440, N_IMAGES, N_IMAGES)
    assert not is_dropped(28, 1440, N_IMAGES, 3000)  # it may catch up
    assert is_dropped(43, 1440, N_IMAGES, 3000)  # twice as many errors are too many, whoever leads
