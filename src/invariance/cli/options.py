"""What commands share: options, reading folders and models, and reporting files that cannot be read."""

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from invariance.cli.console import say_aside

if TYPE_CHECKING:
    from invariance.encoders import OnnxEncoder
    from invariance.methods import ImageClassifier, ImageFolder
    from invariance.segmentation import JungleSegmenter
    from invariance.transformations import TransformationSet

MAX_SKIPPED_SHOWN = 5  # reasons
MAX_NAMES_SHOWN = 3  # further files per reason
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
SegmenterArgument = Annotated[Path, typer.Argument(help="A model made by `invariance fit-pixels`.")]
InvariantToOption = Annotated[
    str | None,
    typer.Option(
        help="What does not matter, such as rotations:8,shifts:2, as in `invariance transformations`. "
        "Default: that of the method."
    ),
]
StrictOption = Annotated[
    bool, typer.Option("--strict", help="Stop at an image or folder that cannot be read, instead of skipping it.")
]


class Scale(StrEnum):
    """The values of `--scale`, those of `invariance.images.SCALES`."""

    DTYPE = "dtype"
    IMAGE = "image"
    PERCENTILE = "percentile"


_SCALES = "dtype by the white of the file, image by the extremes of each image, percentile by its 1st and 99th"
FitScaleOption = Annotated[Scale, typer.Option(help=f"How intensities are scaled: {_SCALES}. Kept with the model.")]
ScaleOption = Annotated[
    Scale | None, typer.Option(help=f"How intensities are scaled: {_SCALES}. Default: as the model was fitted.")
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


EncoderOption = Annotated[
    Path | None,
    typer.Option(help="A pretrained network, FILE.onnx, for methods that take one; see `invariance encoder`."),
]


def find_encoder(path: Path | None, embed: bool = False) -> "OnnxEncoder | None":
    """Return the encoder of `--encoder`, checked; None leaves it to the methods, where nothing is to be embedded."""
    if path is None and not embed:
        return None
    from invariance.encoders import default_encoder
    from invariance.encoders.finding import open_encoder

    encoder = default_encoder() if path is None else open_encoder(path)
    encoder.fit()  # a network that cannot be used is refused before images are read
    return type(encoder)(**{**encoder.get_params(deep=False), "embed": embed})


def parse_invariance(text: str | None) -> "TransformationSet | None":
    """Return the transformations of `--invariant-to`, or None; pixels at the edges of an image are repeated outside."""
    from invariance.transformations.parsing import parse_transformations

    return None if text is None else parse_transformations(text, "edge")


def read_folder(folder: Path, strict: bool, min_classes: int = 2) -> "ImageFolder":
    """Read the images of a folder; report on standard error those that cannot be read, and those in sub-folders."""
    from invariance.methods import read_images

    found = read_images(folder, strict, min_classes)
    report_skipped(found.skipped)
    deeper = [path for path in found.paths if path.parent.parent != folder]
    note_deeper(len(deeper), len(found.paths), deeper[0] if deeper else None)
    return found


def note_deeper(n_deeper: int, n_images: int, first: Path | None) -> None:
    """Say on standard error that images lie in sub-folders of class folders, if there are any."""
    if n_deeper:
        say_aside(
            f"Note: {n_deeper} of {n_images} images lie in sub-folders of class folders and belong to these "
            f"classes, the first '{first}'."
        )


def list_files(
    paths: Iterable[Path], skipped: list[tuple[Path, str]], recursive: bool = False, strict: bool = False
) -> list[Path]:
    """Return what `iterate_files` yields, without duplicates."""
    return list(dict.fromkeys(iterate_files(paths, skipped, recursive, strict)))


def iterate_files(
    paths: Iterable[Path], skipped: list[tuple[Path, str]], recursive: bool = False, strict: bool = False
) -> Iterator[Path]:
    """Yield files and the images in folders, including sub-folders if `recursive`.

    What is left out is appended to `skipped`, with the reason, or an error if `strict`.
    """
    from invariance.images import ImageError
    from invariance.images.listing import iterate_images

    for path in paths:
        if not path.exists():
            raise FileNotFoundError(f"image or folder '{path}' does not exist. Check the path.")
        if not path.is_dir():
            yield path
            continue
        left_out: list[tuple[Path, str]] = []
        is_empty = True
        for file in iterate_images(path, left_out, recursive=recursive):
            is_empty = False
            yield file
        if left_out and (strict or is_empty):
            raise ImageError(min(left_out)[1])
        if is_empty:
            raise FileNotFoundError(f"folder '{path}' holds no images. Name another.")
        skipped.extend(sorted(left_out))


def report_skipped(skipped: Sequence[tuple[Path, str]]) -> None:
    """Print a line on standard error for each of the first reasons: the first files, and how many more there are."""
    by_reason: dict[str, list[tuple[Path, str]]] = {}
    for path, reason in skipped:
        by_reason.setdefault(reason.replace(str(path), ""), []).append((path, reason))
    groups = list(by_reason.values())
    for (_, reason), *others in groups[:MAX_SKIPPED_SHOWN]:
        say_aside(f"Skipped: {reason}{_same_for(others)}")
    n_left = sum(map(len, groups[MAX_SKIPPED_SHOWN:]))
    if n_left:
        say_aside(f"Skipped: {n_left} more that cannot be read, for other reasons.")


def _same_for(others: Sequence[tuple[Path, str]]) -> str:
    """Return the number and the first names of further files with the same reason."""
    if not others:
        return ""
    names = ", ".join(f"'{path.name}'" for path, _ in others[:MAX_NAMES_SHOWN])
    return f" The same for {len(others)} more: {names}{', ...' if len(others) > MAX_NAMES_SHOWN else '.'}"


def list_skipped(skipped: Iterable[tuple[Path, str]]) -> list[dict[str, str]]:
    """Return skipped files for JSON."""
    return [{"path": str(path), "reason": reason} for path, reason in skipped]


def load_classifier(path: Path, scale: Scale | None = None) -> "ImageClassifier":
    """Load a model that classifies images, and change how it scales them if `scale` is given."""
    from invariance.methods import ImageClassifier

    cure = (
        "does not classify whole images. Make one that does with invariance fit; a model of pixels is used with "
        "invariance segment, and judged with invariance evaluate-pixels."
    )
    return _load(path, ImageClassifier, cure, scale)


def load_segmenter(path: Path, scale: Scale | None = None) -> "JungleSegmenter":
    """Load a model that labels pixels, and change how it scales images if `scale` is given."""
    from invariance.segmentation import JungleSegmenter

    return _load(path, JungleSegmenter, "does not label pixels. Make one with invariance fit-pixels.", scale)


def _load(path: Path, kind: type[Any], cure: str, scale: Scale | None) -> Any:
    """Load a model of a kind; if it is of another, say what it does not do and the cure."""
    from invariance.models import load

    model: Any = load(path)
    if not isinstance(model, kind):
        raise ValueError(f"model '{path}' is a {type(model).__name__}, which {cure}")
    return model if scale is None else model.set_params(scale=str(scale))
