"""What commands share: options, reading folders and models, and reporting files that cannot be read."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from invariance.cli.console import say_aside

if TYPE_CHECKING:
    from invariance.methods import ImageClassifier, ImageFolder
    from invariance.transformations import TransformationSet

MAX_SKIPPED_SHOWN = 5
MAX_SEED = 2**32 - 1  # the largest that scikit-learn accepts
MAX_JOBS = 4096  # far more than a machine has cores; larger numbers are mistakes


def use_jobs(context: typer.Context, jobs: int) -> int:
    """Run the command on `jobs` threads; -1 is all cores, -2 all but one.

    Estimators keep `n_jobs=None`, so that a model file does not depend on the machine it was fitted on.
    """
    if jobs == 0 or jobs > MAX_JOBS:
        raise ValueError(f"--jobs must be a number of threads up to {MAX_JOBS}, or -1 for all cores; got {jobs}.")

    from joblib import parallel_config

    context.with_resource(parallel_config(backend="threading", n_jobs=jobs))
    return jobs


FolderArgument = Annotated[Path, typer.Argument(help="Labelled images: FOLDER/<class>/<image>.")]
ModelArgument = Annotated[Path, typer.Argument(help="A model made by `invariance fit`.")]
InvariantToOption = Annotated[
    str | None,
    typer.Option(
        help="What does not matter, such as rotations:8,shifts:2, as in `invariance transformations`. "
        "Default: that of the method."
    ),
]
StrictOption = Annotated[
    bool, typer.Option("--strict", help="Stop at an image that cannot be read, instead of skipping it.")
]
SeedOption = Annotated[int, typer.Option(min=0, max=MAX_SEED, help="Seed of all random draws.")]
JobsOption = Annotated[
    int,
    typer.Option(
        callback=use_jobs,
        help="Number of threads; -1 uses all cores. Results depend on it only if a budget limits what is tried.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for other programs.")]


def parse_invariance(text: str | None) -> "TransformationSet | None":
    """Return the transformations of `--invariant-to`, or None; pixels at the edges of an image are repeated outside."""
    from invariance.transformations.parsing import parse_transformations

    return None if text is None else parse_transformations(text, "edge")


def read_folder(folder: Path, strict: bool, min_classes: int = 2) -> "ImageFolder":
    """Read the images of a folder; report those that cannot be read on standard error."""
    from invariance.methods import read_images

    found = read_images(folder, strict, min_classes)
    report_skipped(found.skipped)
    return found


def list_files(paths: Iterable[Path], recursive: bool = False) -> list[Path]:
    """Return files and the images in folders, including sub-folders if `recursive`, without duplicates."""
    from invariance.images import image_paths

    files: dict[Path, None] = {}
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(f"image '{path}' does not exist. Check the path.")
        found = image_paths(path, recursive=recursive) if path.is_dir() else [path]
        if not found:
            raise FileNotFoundError(f"folder '{path}' holds no images. Name another.")
        files.update(dict.fromkeys(found))
    return list(files)


def report_skipped(skipped: Sequence[tuple[Path, str]]) -> None:
    """Print a line on standard error for each of the first skipped files, and how many more there are."""
    for _, reason in skipped[:MAX_SKIPPED_SHOWN]:
        say_aside(f"Skipped: {reason}")
    if len(skipped) > MAX_SKIPPED_SHOWN:
        say_aside(f"Skipped: {len(skipped) - MAX_SKIPPED_SHOWN} more that cannot be read.")


def list_skipped(skipped: Iterable[tuple[Path, str]]) -> list[dict[str, str]]:
    """Return skipped files for JSON."""
    return [{"path": str(path), "reason": reason} for path, reason in skipped]


def load_classifier(path: Path) -> "ImageClassifier":
    """Load a model that classifies images."""
    from invariance.methods import ImageClassifier
    from invariance.models import load

    model: Any = load(path)
    if not isinstance(model, ImageClassifier):
        raise ValueError(
            f"model '{path}' is a {type(model).__name__}, which does not classify images of any sizes. "
            f"Make one with invariance fit."
        )
    return model
