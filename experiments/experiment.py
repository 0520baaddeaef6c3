"""What the catalogue says of one table or figure of a paper."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from experiments.outcome import Found
from experiments.verdicts import Claim
from invariance.datasets import list_datasets


class Experiment(NamedTuple):
    """A reproduction.

    `run(runs, seed, is_quick)` is None where there is nothing to run. `runs` is the default number, `minutes` what that
    takes on one quiet core, roughly. `lacking` names what the paper had and is not to be had, `differs` what else is
    not the paper's. `others` are figures of the paper for methods that are not in this library.
    """

    name: str
    paper: str
    place: str
    protocol: str
    data: tuple[str, ...] = ()
    run: Callable[[int, int, bool], Found] | None = None
    runs: int = 0
    minutes: float = 0.0
    most_runs: int | None = None
    has_seed: bool = True
    lacking: str = ""
    differs: str = ""
    claims: tuple[Claim, ...] = ()
    others: Mapping[str, float] = {}


def absent_data(experiment: Experiment) -> list[str]:
    """The data sets that the experiment needs and that are not on this machine."""
    present = {status.name for status in list_datasets() if status.present}
    return [name for name in experiment.data if name not in present]
