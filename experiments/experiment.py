"""What the catalogue says about one table or figure of a paper."""

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import NamedTuple

from experiments.outcome import Found
from experiments.verdicts import DATA_MISSING, MIN_RUNS, NOT_RUN, RUN, Claim, count
from invariance.datasets import list_datasets


class Experiment(NamedTuple):
    """A reproduction of one table or figure, or a comparison beyond the paper.

    Attributes
    ----------
    name : str
    paper : str
        Key of the paper in `docs/references.bib`.
    place : str
        The table, figure or section of the paper.
    protocol : str
        What is trained and tested, in one sentence.
    data : tuple of str
        Names of the data sets, as listed by `invariance datasets`.
    run : callable or None
        `run(runs, seed, is_quick)` returns what was `Found`; None if there is nothing to run.
    runs : int
        Default number of runs.
    minutes : float
        Rough duration of the default number of runs on two otherwise idle cores.
    paper_runs : int or None
        Number of runs in the paper, None if it does not say or has a single one.
    why_fewer : str
        Why there are fewer runs than in the paper or than a verdict needs, if it is not their duration.
    max_runs : int or None
        Upper limit of the number of runs, where the splits are given.
    has_seed : bool
        False if the splits are fixed.
    unavailable : str
        Data of the paper that cannot be obtained.
    differs : str
        Other differences from the paper.
    claims : tuple of Claim
        What the paper says about pairs of methods.
    others : mapping of str to float
        Figures of the paper for methods that this library does not have.
    packages : tuple of str
        Packages beyond the dependencies of `invariance` that the experiment imports.
    dependence : str
        Why the runs are not independent, for example because they share their training data: then no claim about
        them is reached. Empty if they are independent.
    units : mapping of str to str
        What one figure of a table stands for, by the title of the table, where it is not a run.
    """

    name: str
    paper: str
    place: str
    protocol: str
    data: tuple[str, ...] = ()
    run: Callable[[int, int, bool], Found] | None = None
    runs: int = 0
    minutes: float = 0.0
    paper_runs: int | None = None
    why_fewer: str = ""
    max_runs: int | None = None
    has_seed: bool = True
    unavailable: str = ""
    differs: str = ""
    claims: tuple[Claim, ...] = ()
    others: Mapping[str, float] = {}
    packages: tuple[str, ...] = ()
    dependence: str = ""
    units: Mapping[str, str] = {}

    @property
    def has_independent_runs(self) -> bool:
        """Whether claims can be reached by these runs."""
        return not self.dependence

    def unit_of(self, table: str) -> str:
        """What one figure of the table with this title stands for."""
        return self.units.get(table, RUN)


def explain_few_runs(experiment: Experiment, n_runs: int | None = None) -> str:
    """Why there are fewer runs than in the paper, than a verdict needs or than by default; empty if there are not.

    `n_runs` is the number of runs of a stored result, None for the default number.
    """
    done, needed = experiment.runs if n_runs is None else n_runs, []
    if experiment.paper_runs is not None and done < experiment.paper_runs:
        needed.append(f"the paper has {experiment.paper_runs}")
    if 0 < done < MIN_RUNS:
        needed.append(f"a verdict on a claim needs {MIN_RUNS}")
    if done < experiment.runs:
        needed.append(f"the default is {experiment.runs}")
    if not needed:
        return ""
    duration = f"a run takes about {experiment.minutes / experiment.runs:.2g} min on two cores"
    is_default = done == experiment.runs
    reason = experiment.why_fewer if experiment.why_fewer and is_default else duration
    return f"{'By default ' * is_default}{count(done)}, where {_listed(needed)}: {reason}."


def explain_not_run(experiment: Experiment) -> str:
    """Why an experiment has no result: data, packages or time.

    What packages are installed here makes no difference, so that the page is the same on every machine with the data.
    """
    if absent := missing_data(experiment):
        return f"{DATA_MISSING}: {', '.join(absent)}"
    if experiment.run is None:
        return f"{DATA_MISSING}: {experiment.unavailable}" if experiment.unavailable else NOT_RUN
    needs = f"needs {', '.join(experiment.packages)}, and " if experiment.packages else ""
    return f"{NOT_RUN}: {needs}{count(experiment.runs)} would take about {experiment.minutes:g} min on two cores"


def _listed(parts: Sequence[str]) -> str:
    """Parts of a sentence with commas and a last "and"."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def missing_data(experiment: Experiment) -> list[str]:
    """The data sets that the experiment needs and that are not on this machine."""
    present = {status.name for status in list_datasets() if status.present}
    return [name for name in experiment.data if name not in present]


def missing_packages(experiment: Experiment) -> list[str]:
    """The packages that the experiment needs and that are not installed."""
    return [name for name in experiment.packages if find_spec(name) is None]


def can_run(experiment: Experiment) -> bool:
    """Whether the experiment can be run on this machine."""
    return experiment.run is not None and not missing_data(experiment) and not missing_packages(experiment)
