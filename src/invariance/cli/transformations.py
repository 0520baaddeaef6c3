"""`invariance transformations`: list transformation sets, and draw all versions of an image that count as the same."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from invariance.cli.console import make_console, say
from invariance.cli.output import FIGURE, OverwriteOption, claim_file

if TYPE_CHECKING:
    import numpy as np

MAX_SHOWN = 64
# Checking whether a set is a group takes time quadratic in its size: seconds beyond this many members.
MAX_CHECKED = 64
EXAMPLES = """Examples:

  invariance transformations

  invariance transformations photo.png --invariant-to rotations:8 -o orbit.png

  invariance transformations --invariant-to rotations:4,reflections,gamma:3 -o orbit.svg"""


def run(
    image: Annotated[
        Path | None, typer.Argument(help="The image to transform. Default: a photograph from scikit-image.")
    ] = None,
    spec: Annotated[
        str | None,
        typer.Option("--invariant-to", help="What does not matter; commas combine sets. Default: rotations:8."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The figure: .png, .svg, .pdf or .jpg. Default: orbit.png.")
    ] = None,
    overwrite: OverwriteOption = False,
    size: Annotated[
        int, typer.Option(min=8, max=512, help="The image is first resized to at most this many pixels per side.")
    ] = 96,
) -> None:
    """Draw all versions of an image that count as the same; without arguments, list the available sets."""
    if image is None and spec is None and output is None:
        _print_sets()
    else:
        path = claim_file(output or Path("orbit.png"), FIGURE, overwrite, [image])
        _draw_orbit(image, "rotations:8" if spec is None else spec, path, size)


def _print_sets() -> None:
    from rich.table import Table

    from invariance.transformations.parsing import WORDS, describe_word

    table = Table(
        box=None, pad_edge=False, title="Values of --invariant-to; commas combine several", title_justify="left"
    )
    table.add_column("example", no_wrap=True)  # to be copied
    for column in ("parameters", "meaning"):
        table.add_column(column, overflow="fold")
    for word, kind in WORDS.items():
        form = kind.text_form
        more = " ..." if form.takes_any_number else ""
        table.add_row(form.example, ", ".join(form.parameters) + more, describe_word(word))
    make_console().print(table, markup=False)


def _draw_orbit(image_path: Path | None, spec: str, path: Path, size: int) -> None:
    from invariance.report import orbit_figure, save_figure
    from invariance.report.figures import pick_evenly
    from invariance.transformations import Operators, check_group
    from invariance.transformations.parsing import parse_transformations
    from invariance.transformations.photometric import normalize_intensities
    from invariance.transformations.sets import split_normalizing

    phi = parse_transformations(spec)
    image = _read_small(image_path, size)
    members = phi.members(image.shape)
    number_of = {member: number for number, member in enumerate(members)}
    shown = [members[i] for i in pick_evenly(len(members), MAX_SHOWN)]
    operators = Operators(shown, image.shape)
    orbit = operators.apply(normalize_intensities(image[None], phi))[0]
    numbers = [number_of[member] for member in operators.members]
    save_figure(orbit_figure(orbit, title=spec, numbers=numbers), path)
    say(f"{len(members)} members, {len(orbit)} shown.")
    if split_normalizing(phi)[0] is not None:
        say("Images are normalized first; the members act on normalized images.")
    if len(members) <= MAX_CHECKED:
        say(check_group(phi, (31, 31)).sentence)
    say(f"Figure: {path.resolve()}")


def _read_small(path: Path | None, size: int) -> "np.ndarray":
    """Read an image as (h, w) or (h, w, 3) in [0, 1], with at most `size` pixels per side."""
    from skimage import data

    from invariance.images import read_image, resize, to_grey

    image = data.camera() if path is None else read_image(path)
    n_channels = 1 if image.ndim == 2 else image.shape[2]
    if n_channels > 4:
        raise ValueError(f"image '{path}' has {n_channels} channels, but only grey and colour images can be drawn.")
    image = image[..., :3] if n_channels >= 3 else to_grey(image)
    scale = min(1.0, size / max(image.shape[:2]))
    height, width = (max(1, round(length * scale)) for length in image.shape[:2])
    return resize(image, (height, width), rule="stretch")
