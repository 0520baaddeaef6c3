"""What ends a race: a number of seconds, or a number of trials that is the same on a slow and on a fast machine."""

import math
import time
from typing import Protocol

CAUTION = 1.2  # factor of expected times, which are often too short for the first fold on more images


class Limit(Protocol):
    """What ends a race.

    Attributes
    ----------
    is_timed : bool
        Whether decisions may depend on how long something takes.
    """

    is_timed: bool

    def spend(self) -> None:
        """Note that a trial begins."""

    def lap(self) -> float:
        """Return the seconds since the last lap, or since the beginning."""

    def charge(self, lap: float) -> None:
        """End a lap that took so many seconds in an earlier race, where more was done in it."""

    def is_reached(self) -> bool:
        """Return whether no further trial may begin."""

    def allows(self, seconds: float) -> bool:
        """Return whether there is time for something that is expected to take so long."""

    def share_spent(self) -> float:
        """Return the share of the time that is over; 0 where time does not matter."""

    def seconds(self, share: float) -> float:
        """Return the seconds of a share of the whole; infinity where time does not matter."""

    def left(self) -> float:
        """Return the seconds that are left; infinity where time does not matter."""


class Budget:
    """A budget of seconds from now on."""

    is_timed = True

    def __init__(self, seconds: float):
        self._whole = seconds
        self._lap_began = time.monotonic()
        self._deadline = self._lap_began + seconds

    def spend(self) -> None:
        """Nothing but time counts."""

    def lap(self) -> float:
        """Return the seconds since the last lap."""
        began, self._lap_began = self._lap_began, time.monotonic()
        return self._lap_began - began

    def charge(self, lap: float) -> None:
        """Bring the end nearer by what this lap took less than that one."""
        self._deadline -= max(0.0, lap - self.lap())

    def is_reached(self) -> bool:
        """Return whether the time is over."""
        return self.left() <= 0

    def allows(self, seconds: float) -> bool:
        """Return whether something ends in time, with caution."""
        return CAUTION * seconds <= self.left()

    def share_spent(self) -> float:
        """Return the share of the budget that is over."""
        return 1 - self.left() / self._whole if self._whole else 1.0

    def seconds(self, share: float) -> float:
        """Return the seconds of a share of the budget."""
        return share * self._whole

    def left(self) -> float:
        """Return the seconds that are left."""
        return self._deadline - time.monotonic()


class MaxTrials:
    """A number of trials; no clock is read."""

    is_timed = False

    def __init__(self, n_trials: int):
        self._left = n_trials

    def spend(self) -> None:
        """Count a trial."""
        self._left -= 1

    def lap(self) -> float:
        """Return 0: time does not matter."""
        return 0.0

    def charge(self, lap: float) -> None:
        """Nothing but trials counts."""

    def is_reached(self) -> bool:
        """Return whether all trials are spent."""
        return self._left <= 0

    def allows(self, seconds: float) -> bool:
        """Return True: time does not matter."""
        return True

    def share_spent(self) -> float:
        """Return 0: time does not matter."""
        return 0.0

    def seconds(self, share: float) -> float:
        """Return infinity: time does not matter."""
        return math.inf

    def left(self) -> float:
        """Return infinity: time does not matter."""
        return math.inf
