"""`invariance fit-pixels`: learn to label every pixel from images with labelled pixels."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from invariance.cli.console import say, say_aside
from invariance.cli.options import FitScaleOption, JobsOption, Scale, SeedOption, report_skipped
from invariance.cli.output import MODEL, OverwriteOption, claim_file

if TYPE_CHECKING:
    from invariance.images import MaskedImages

BACKGROUND_SHARE = 0.95  # of pixels; where more are 0, they are seldom a class
EXAMPLES = """Examples:

  invariance fit-pixels cells/ masks/ -o cells.inv

  invariance fit-pixels stack.tif labels.tif -o membranes.inv --seed 7

  invariance fit-pixels photo.png scribbles.png -o leaves.inv --unlabelled 0

  invariance fit-pixels air/ masks/ -o roofs.inv --invariant-to rotations:8

  invariance fit-pixels volume.zarr strokes.zarr -o membranes.inv --unlabelled 0"""


ImagesArgument = Annotated[Path, typer.Argument(help="An image, a stack, or a folder of them.")]
MasksArgument = Annotated[
    Path,
    typer.Argument(
        help="The labels, one integer per pixel: a file for a file, a folder with the same names for a folder."
    ),
]
UnlabelledOption = Annotated[
    int | None, typer.Option(help="The value of mask pixels without a label. Default: all pixels are labelled.")
]
MaxClassesOption = Annotated[
    int | None,
    typer.Option(min=2, help="Maximum number of values in the masks; more are probably a mistake. Default: 32."),
]


def run(
    images: ImagesArgument,
    masks: MasksArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="The model, a file ending in .inv.")],
    overwrite: OverwriteOption = False,
    invariant_to: Annotated[
        str | None,
        typer.Option(help="What does not matter, as in `invariance transformations`. Default: rotations:16."),
    ] = None,
    unlabelled: UnlabelledOption = None,
    patch_size: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE|auto",
            help="Side in pixels, odd, of the square around a pixel that is used; auto tries several. Default: 31.",
        ),
    ] = None,
    pixels: Annotated[
        int | None, typer.Option(min=2, help="Maximum number of pixels to train on. Default: 50000.")
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option(min=1, help="Number of rounds; each uses the predictions of the previous one. Default: 2."),
    ] = None,
    max_classes: MaxClassesOption = None,
    level: Annotated[int, typer.Option(min=0, help="Resolution level of an OME-Zarr; 0 is full resolution.")] = 0,
    channel: Annotated[int | None, typer.Option(min=0, help="The one channel of a Zarr store to use, from 0.")] = None,
    scale: FitScaleOption = Scale.DTYPE,
    jobs: JobsOption = -1,
    seed: SeedOption = 0,
) -> None:
    """Learn to label every pixel from images in which some or all pixels are labelled."""
    path = claim_file(output, MODEL, overwrite, [images, masks])

    from invariance.models import save
    from invariance.segmentation import JungleSegmenter
    from invariance.segmentation.plan import plan_pixels
    from invariance.transformations.parsing import parse_transformations

    settings = {
        "transformations": None if invariant_to is None else parse_transformations(invariant_to),
        "max_pixels": pixels,
        "n_rounds": rounds,
        "unlabelled": unlabelled,
        "max_classes": max_classes,
        "scale": None if scale == Scale.DTYPE else str(scale),
    }
    chosen: dict[str, Any] = {name: value for name, value in settings.items() if value is not None}
    if patch_size is not None:
        chosen["patch_size"] = _read_patch_size(patch_size)
    segmenter = JungleSegmenter(random_state=seed, **chosen)
    data = read_masked(images, masks, unlabelled, max_classes, level, channel)
    if unlabelled is None:
        _note_background(data)
    started = time.perf_counter()
    segmenter.fit(data.images, data.masks)
    seconds = time.perf_counter() - started
    save(segmenter, path)
    for label, count in zip(segmenter.classes_, segmenter.n_labelled_, strict=True):
        say(f"class {label!s:<6}{count:>12,} labelled pixels")
    for part in plan_pixels(chosen.get("transformations")):
        default = "" if invariant_to else ", by default"
        say(f"Ignores {part.text} ({part.treatment}{default}). {part.sentence}")
    n_labelled = int(segmenter.n_labelled_.sum())
    n_images = sum(unlabelled is None or bool((mask != unlabelled).any()) for mask in data.masks)
    of_images = f"of {n_images} image{'s' * (n_images != 1)}"
    drawn = f"{segmenter.max_pixels:,} of these" if segmenter.max_pixels < n_labelled else f"all {n_labelled:,}"
    say(f"Trained on {drawn} pixels {of_images} in {seconds:.1f} s; patches are {segmenter.patch_size_} pixels wide.")
    say(f"Model: {path.resolve()}")


def _note_background(data: "MaskedImages") -> None:
    """Say so if nearly all pixels are 0, as where strokes were painted and 0 means unlabelled."""
    n_pixels = sum(mask.size for mask in data.masks)
    share = sum(int((mask == 0).sum()) for mask in data.masks) / n_pixels
    if BACKGROUND_SHARE < share < 1:
        say_aside(f"Note: {share:.1%} of the mask pixels are 0. If these have no label, add --unlabelled 0.")


def read_masked(
    images: Path,
    masks: Path,
    unlabelled: int | None,
    max_classes: int | None,
    level: int = 0,
    channel: int | None = None,
) -> "MaskedImages":
    """Read images and masks; refuse different numbers of channels and implausible classes, naming the file."""
    from invariance.segmentation.inputs import MAX_CLASSES, check_class_count, find_classes

    data = read_pairs(images, masks, unlabelled, level, channel)
    _check_channels(data)
    for image_path, mask in zip(data.paths, data.masks, strict=True):
        classes = find_classes([mask], unlabelled)
        check_class_count(classes, max_classes or MAX_CLASSES, f"the pixels of the mask of '{image_path}'")
    labelled = find_classes(data.masks, unlabelled)
    if len(labelled) == 1 < len(find_classes(data.masks, None)):
        raise ValueError(
            f"the masks have one class only, {labelled[0]!s}: --unlabelled {unlabelled} leaves {unlabelled} out. "
            f"Omit it if every pixel is labelled, or label pixels of another class."
        )
    return data


def read_pairs(
    images: Path, masks: Path, unlabelled: int | None, level: int = 0, channel: int | None = None
) -> "MaskedImages":
    """Read files and folders of images, or the labelled sections of Zarr stores and HDF5 files, as they are."""
    data = _read(images, masks, unlabelled, level, channel)
    report_skipped(data.skipped)
    return data


def _read(images: Path, masks: Path, unlabelled: int | None, level: int, channel: int | None) -> "MaskedImages":
    from invariance.images import read_mask_folder, read_masked_stack
    from invariance.volumes.opening import is_store

    if is_store(images) or is_store(masks):
        from invariance.cli.cluster import check_installed
        from invariance.cli.volume_output import NEEDED
        from invariance.volumes import read_labelled_sections

        check_installed(NEEDED, "volumes")
        return read_labelled_sections(images, masks, unlabelled, level, channel)
    if level or channel is not None:
        raise ValueError("--level and --channel are for Zarr stores and HDF5 files. Omit them, or name one.")
    return (read_mask_folder if images.is_dir() else read_masked_stack)(images, masks)


def _read_patch_size(text: str) -> int | None:
    """A number, or None for "auto"; the segmenter validates the number."""
    if text == "auto":
        return None
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"--patch-size must be an odd whole number or auto; got {text!r}. Try 31.") from None


def _check_channels(data: "MaskedImages") -> None:
    """Refuse images with different numbers of channels, with an error that names the files."""
    n_channels = [1 if image.ndim == 2 else image.shape[2] for image in data.images]
    for number, path in zip(n_channels, data.paths, strict=True):
        if number != n_channels[0]:
            raise ValueError(
                f"image '{path}' has {number} channels, but '{data.paths[0]}' has {n_channels[0]}. Convert one of them."
            )
