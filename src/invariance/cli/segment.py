"""`invariance segment`: label every pixel of images and stacks."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from invariance.cli.console import list_shares, say
from invariance.cli.options import (
    JobsOption,
    ScaleOption,
    SegmenterArgument,
    list_files,
    load_segmenter,
    report_skipped,
)
from invariance.cli.output import OverwriteOption, check_folder, claim_files, claim_store

if TYPE_CHECKING:
    import numpy as np

    from invariance.images import LazyStack
    from invariance.segmentation import JungleSegmenter

LINE_COLOUR = (255, 255, 0)  # yellow, which is rare in images
EXAMPLES = """Examples:

  invariance segment cells.inv new/ -o results

  invariance segment membranes.inv stack.tif -o results --probabilities

  invariance segment leaves.inv photo.png other.jpg -o results --overlay

  invariance segment membranes.inv volume.zarr -o labels.zarr --workers 4"""
STORE = ".zarr"


class Labelled(NamedTuple):
    """A page (h, w) or (h, w, c), its class probabilities (h, w, n_classes), and the most probable classes (h, w)."""

    image: "np.ndarray"
    probabilities: "np.ndarray"
    codes: "np.ndarray"


class Result(NamedTuple):
    """A file to write, and the function that computes its content from a labelled page."""

    path: Path
    content: "Callable[[Labelled], np.ndarray]"


def run(
    model: SegmenterArgument,
    images: Annotated[list[Path], typer.Argument(help="Images, stacks, or folders of them.")],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="The folder for the results, named as the images; created if missing. If its name ends in .zarr, one "
            "volume is written as OME-Zarr, in blocks; after an interruption, the same command goes on.",
        ),
    ],
    overwrite: OverwriteOption = False,
    probabilities: Annotated[
        bool,
        typer.Option(
            "--probabilities",
            help="Also write STEM-probabilities.tif: float32, one channel per class; in a .zarr, uint8.",
        ),
    ] = False,
    overlay: Annotated[
        bool, typer.Option("--overlay", help="Also write STEM-overlay: the image with the boundaries between labels.")
    ] = False,
    scale: ScaleOption = None,
    level: Annotated[int, typer.Option(min=0, help="Resolution level of an OME-Zarr; 0 is full resolution.")] = 0,
    channel: Annotated[int | None, typer.Option(min=0, help="The one channel of a volume to use, from 0.")] = None,
    roi: Annotated[
        str | None, typer.Option(help="The region of a volume, one range per axis: 0:10,:,200:800. Default: all.")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, max=1024, help="Processes that label blocks of a volume.")] = 1,
    memory: Annotated[str | None, typer.Option(help="Memory of a worker, such as 4GB; blocks are made to fit.")] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler whose workers see the same files.")
    ] = None,
    ome_version: Annotated[
        str, typer.Option(help="Version of OME-Zarr to write: 0.4, which most programs read, or 0.5.")
    ] = "0.4",
    restart: Annotated[
        bool, typer.Option("--restart", help="Delete the result of an earlier run of a volume, and begin again.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the blocks of a volume, memory and time; write nothing.")
    ] = False,
    jobs: JobsOption = -1,
) -> None:
    """Label every pixel with the values of the masks; stacks keep their axes and pixel size."""
    from invariance.images import open_stack

    if output.suffix == STORE:
        from invariance.cli.volume_output import VolumeOptions, segment_volume_to

        if len(images) != 1:
            raise ValueError(f"'{output}' takes one volume; got {len(images)} paths. Name a folder for several images.")
        if overlay or overwrite:
            option, cure = ("--overlay", "Name a folder") if overlay else ("--overwrite", "Take --restart")
            raise ValueError(f"{option} is for results in a folder; got '{output}'. {cure}, or leave it out.")
        claim_store(output, [model, *images])
        options = VolumeOptions(
            level, channel, roi, workers, memory, scheduler, probabilities, ome_version, restart, dry_run
        )
        segment_volume_to(load_segmenter(model, scale), images[0], output, options)
        return
    _refuse_volume_options(level, channel, roi, workers, memory, scheduler, restart, dry_run)
    check_folder(output)
    skipped: list[tuple[Path, str]] = []
    files = list_files(images, skipped)
    report_skipped(skipped)
    segmenter = load_segmenter(model, scale)
    # Stacks are opened twice: first to find invalid ones before any work, then one at a time, to save memory.
    plans = {file: _plan(open_stack(file), segmenter, output, probabilities, overlay) for file in files}
    _check_names(plans)
    paths = [result.path for results in plans.values() for result in results]
    claim_files(output, paths, overwrite, [model, *images, *files])
    with _created(output):
        for file, results in plans.items():
            shares = _segment(open_stack(file), segmenter, results)
            say(f"{results[0].path}: {list_shares(segmenter.classes_, shares)}")


def _refuse_volume_options(level, channel, roi, workers, memory, scheduler, restart, dry_run) -> None:
    """Refuse options that have no effect on images."""
    given = {
        "--level": level != 0, "--channel": channel is not None, "--roi": roi is not None, "--workers": workers != 1,
        "--memory": memory is not None, "--scheduler": scheduler is not None, "--restart": restart,
        "--dry-run": dry_run,
    }  # fmt: skip
    for name, is_given in given.items():
        if is_given:
            raise ValueError(f"{name} is for volumes: name a result that ends in {STORE} with -o, or omit it.")


@contextmanager
def _created(folder: Path) -> Iterator[None]:
    """Create the folder; remove it at the end if it is new and still empty."""
    is_new = not folder.exists()
    folder.mkdir(exist_ok=True)
    try:
        yield
    finally:
        if is_new and not any(folder.iterdir()):
            folder.rmdir()


def _plan(
    stack: "LazyStack", segmenter: "JungleSegmenter", folder: Path, probabilities: bool, overlay: bool
) -> list[Result]:
    """List the results of an image: TIFF for TIFFs, stacks and labels that PNG cannot store, otherwise PNG."""
    n_channels = 1 if stack.ndim == 3 else stack.shape[3]
    if n_channels != segmenter.n_channels_:
        raise ValueError(
            f"image '{stack.path}' has {n_channels} channels, but the model was trained on {segmenter.n_channels_}. "
            f"Convert it, or train on such images."
        )
    classes = _as_pixels(segmenter.classes_)
    stem, is_image = stack.path.stem, len(stack) == 1
    is_png = is_image and stack.path.suffix.lower() not in (".tif", ".tiff") and classes.dtype.name.startswith("uint")
    results = [Result(folder / f"{stem}{'.png' if is_png else '.tif'}", lambda page: classes[page.codes])]
    if probabilities:
        results.append(Result(folder / f"{stem}-probabilities.tif", lambda page: page.probabilities))
    if overlay:
        results.append(Result(folder / f"{stem}-overlay{'.png' if is_image else '.tif'}", _overlay))
    return results


def _as_pixels(classes: "np.ndarray") -> "np.ndarray":
    """Return the labels as uint8 or uint16 if possible, because not every program reads other integers."""
    import numpy as np

    if classes.dtype in (np.uint8, np.uint16):
        return classes
    narrow = (classes.astype(dtype) for dtype in (np.uint8, np.uint16))
    return next((values for values in narrow if np.array_equal(values, classes)), classes)


def _check_names(plans: dict[Path, list[Result]]) -> None:
    """Refuse two results of the same name."""
    sources: dict[str, Path] = {}
    for file, results in plans.items():
        for path, _ in results:
            if path.stem in sources:
                raise ValueError(f"'{sources[path.stem]}' and '{file}' would both be written to '{path}'. Rename one.")
            sources[path.stem] = file


def _segment(stack: "LazyStack", segmenter: "JungleSegmenter", results: list[Result]) -> "np.ndarray":
    """Write the results page by page; return the share of each class in the pixels."""
    import numpy as np

    from invariance._core.progress import track
    from invariance.images import page_writer

    counts = np.zeros(len(segmenter.classes_))
    with ExitStack() as files:
        writers = [files.enter_context(page_writer(result.path, stack.layout)) for result in results]
        for page in track(stack, f"segmenting {stack.path.name}", total=len(stack)):
            probabilities = segmenter.predict_proba(page)
            labelled = Labelled(page, probabilities, probabilities.argmax(axis=2))
            counts += np.bincount(labelled.codes.ravel(), minlength=len(counts))
            for write, result in zip(writers, results, strict=True):
                write(result.content(labelled))
    return counts / counts.sum()


def _overlay(page: Labelled) -> "np.ndarray":
    """Return the image as RGB, scaled from its minimum and maximum, with lines inside the boundaries of classes."""
    import numpy as np
    from skimage.segmentation import find_boundaries

    colours = np.atleast_3d(page.image)
    colours = colours[..., :3] if colours.shape[2] in (3, 4) else colours.mean(axis=2, keepdims=True)
    low, high = colours.min(), colours.max()
    shown = np.rint(255 * (colours - low) / (high - low or 1)).astype(np.uint8)
    overlay = np.repeat(shown, 3 // shown.shape[2], axis=2)
    overlay[find_boundaries(page.codes, mode="inner")] = LINE_COLOUR
    return overlay
