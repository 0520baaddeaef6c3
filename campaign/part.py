"""What a part of the campaign is: numbered cases, each of which depends on the seed and its number only."""

import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np


class Case(NamedTuple):
    """One case of a part.

    Attributes
    ----------
    number : int
    seed : int
        The seed of the campaign.
    rng : Generator
        Depends on the seed, the part and the number, and on nothing else.
    inputs : Path
        What `Part.prepare` of this and earlier parts made; never changed by a case.
    folder : Path
        Empty at the beginning, of this case alone, and removed afterwards.
    is_short : bool
        Whether the case should take seconds.
    """

    number: int
    seed: int
    rng: np.random.Generator
    inputs: Path
    folder: Path
    is_short: bool


@dataclass
class Findings:
    """What cases found: how often each kind of ending was seen, and what is wrong."""

    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def add(self, kind: str, faults: list[str]) -> None:
        """Count one trial as `kind`, or as a fault for each of `faults`."""
        if faults:
            self.faults += faults
        else:
            self.counts[kind] += 1


class Part(NamedTuple):
    """A part of the campaign.

    Attributes
    ----------
    name : str
    n_cases : int
        The number of cases at scale 1.
    seconds : callable
        Called with the number of a case; returns after how many seconds of the clock it hangs, on a busy machine too.
    prepare : callable
        Called once with the folder of all inputs, and whether they should be made in seconds; what an earlier part has
        made there need not be made again.
    run : callable
        Called with a case, returns its findings; whatever it raises is a fault.
    n_together : int, default=1
        Number of cases that one process runs in succession.
    jobs : int or None, default=None
        Number of cases at a time, if not that of the campaign.
    """

    name: str
    n_cases: int
    seconds: Callable[[int], float]
    prepare: Callable[[Path, bool], None]
    run: Callable[[Case], Findings]
    n_together: int = 1
    jobs: int | None = None


class Failure(NamedTuple):
    """A fault, the case that found it, and the command that repeats it."""

    part: str
    case: int
    seed: int
    is_short: bool
    fault: str

    @property
    def repeat(self) -> str:
        """The command that repeats the case."""
        which = f"--case {self.case}" if self.case >= 0 else "--scale 0"
        return f"python -m campaign {self.part} --seed {self.seed} {which}{' --short' * self.is_short}"


def case_rng(part: str, seed: int, number: int) -> np.random.Generator:
    """Return the random generator of a case."""
    return np.random.default_rng([seed, zlib.crc32(part.encode()), number])
