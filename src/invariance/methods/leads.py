"""Who is ahead of whom in a race, on the same held-out images, and who need not run on."""

import math
from collections.abc import Sequence

from invariance.methods.heats import Heat
from invariance.methods.paired import mean_gain
from invariance.methods.runner import Runner
from invariance.methods.trial import Trial

# Standard errors by which a method is clearly worse: on the first rung, which is small, and after it. They were chosen
# for rounds of 40, 240, ... images on flowers, textures, faces and digits, so that the best method there stays.
N_ERRORS_FIRST, N_ERRORS = 3.0, 2.0
N_ERRORS_AHEAD = 1.0  # standard errors by which a method is ahead
# Training images from which on the order of methods seldom changes with more. With fewer, what is worse must also err
# twice as often. On digits, methods that differ by less at 240 images change places; at 1,440 none does.
N_SETTLED, TIMES_ERRORS = 1000, 2.0
LEARNING_RATE = 0.5  # power of the number of images with which errors fall, where they fall; about that of digits


def gain(trial: Trial, other: Trial) -> tuple[float, float]:
    """Return by how much a trial is more accurate on the images that both were judged on, and the standard error."""
    both = trial.is_judged & other.is_judged
    return mean_gain(trial.shares_right[both] - other.shares_right[both])


def is_ahead(ranked: Sequence[Runner]) -> bool:
    """Return whether the first of some runners is ahead of all others by more than a standard error."""
    leads = (gain(ranked[0].trial, other.trial) for other in ranked[1:])
    return all(mean > N_ERRORS_AHEAD * error for mean, error in leads)


def is_clearly_worse(runner: Runner, other: Runner, heat: Heat, n_images: int) -> bool:
    """Return whether a runner is behind another by standard errors, and more images would not change that.

    Parameters
    ----------
    runner, other : Runner
        Both on the rung of the heat.
    heat : Heat
        The last one.
    n_images : int
        Number of all images.
    """
    behind, error = gain(other.trial, runner.trial)
    if heat.is_full:
        return behind > N_ERRORS * error
    n_errors = N_ERRORS_FIRST if heat.rung == 0 else N_ERRORS
    needed = TIMES_ERRORS if runner.n_learned < N_SETTLED else 1.0
    # A method that stops learning at some number of images is caught up with by one that does not.
    needed *= math.pow(runner.room_to_learn(n_images) / other.room_to_learn(n_images), LEARNING_RATE)
    needed = min(needed, TIMES_ERRORS)
    return behind > n_errors * error and 1 - runner.trial.accuracy > needed * (1 - other.trial.accuracy)
