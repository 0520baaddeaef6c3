"""Forged and damaged model files through `load` and `predict`: refused, or answered with finite numbers."""

from functools import partial
from pathlib import Path

from campaign.commands import OK, run_command
from campaign.part import Case, Findings, Part
from campaign.world import make_world

SECONDS = 120.0


def prepare(inputs: Path, is_short: bool) -> None:
    """Fit and save a model of every method, a segmenter, and all estimators; or two models that exist anyway."""
    make_world(inputs)
    if not is_short:
        from tests.models.forging import make_estimators, make_methods

        (inputs / "models").mkdir(exist_ok=True)
        make_estimators(inputs / "models")
        make_methods(inputs / "models")


def run(case: Case) -> Findings:
    """Forge one file, and let a child load it and its model answer."""
    from tests.models.forging import forged_models

    folder = case.inputs / "models"
    sources = {path.stem: path for path in (folder if folder.exists() else case.inputs / "world").glob("*.inv")}
    what, path = next(forged_models(case.folder, int(case.rng.integers(2**31)), sources))
    ended = run_command(["load", what], case.folder, SECONDS, target=partial(_judge, path))
    findings = Findings()
    findings.add(ended.out.strip(), [f"forged model {what}\n{fault}" for fault in ended.faults(allowed=[OK])])
    return findings


def _judge(path: Path) -> int:
    from tests.models.forging import outcome

    print(outcome(path))
    return OK


PART = Part("models", 1000, lambda number: 1200.0, prepare, run, n_together=50)
