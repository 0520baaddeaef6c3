"""`invariance advise-pixels`: which invariances help to label the pixels of images."""

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from invariance.cli.advise import COLOURS
from invariance.cli.console import make_console, say
from invariance.cli.fit_pixels import ImagesArgument, MasksArgument, MaxClassesOption, UnlabelledOption, read_masked
from invariance.cli.options import FitScaleOption, JobsOption, JsonOption, Scale, SeedOption
from invariance.cli.output import FIGURE, REPORT, OverwriteOption, claim_file

if TYPE_CHECKING:
    from rich.console import Console

    from invariance.methods import PixelAdvice, PixelFinding

EXAMPLES = """Examples:

  invariance advise-pixels cells/ masks/

  invariance advise-pixels stack.tif labels.tif -o advice.html --figure advice.png

  invariance advise-pixels photo.png scribbles.png --unlabelled 0 --pixels 3000 --json"""


def run(
    images: ImagesArgument,
    masks: MasksArgument,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Also write a report, a file ending in .html.")
    ] = None,
    figure: Annotated[
        Path | None, typer.Option("--figure", help="Also write the figure: .png, .svg, .pdf or .jpg.")
    ] = None,
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
    unlabelled: UnlabelledOption = None,
    patch_size: Annotated[
        int | None,
        typer.Option(min=1, help="Side in pixels, odd, of the square around a pixel that is used. Default: 31."),
    ] = None,
    pixels: Annotated[
        int | None,
        typer.Option(
            min=100,
            help="Maximum number of pixels, drawn at random; fewer take less time, and find large differences only. "
            "Default: 30000.",
        ),
    ] = None,
    max_classes: MaxClassesOption = None,
    scale: FitScaleOption = Scale.DTYPE,
    jobs: JobsOption = -1,
    seed: SeedOption = 0,
) -> None:
    """Find out which invariances help to label your pixels, which hurt, and which make no difference."""
    report_path = None if output is None else claim_file(output, REPORT, overwrite, [images, masks])
    figure_path = None if figure is None else claim_file(figure, FIGURE, overwrite, [images, masks])

    from invariance.methods import advise_pixels
    from invariance.segmentation.patches import check_patch_size

    given = {"patch_size": patch_size, "max_pixels": pixels, "unlabelled": unlabelled, "max_classes": max_classes}
    chosen: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if patch_size is not None:
        check_patch_size(patch_size, "--patch-size")
    data = read_masked(images, masks, unlabelled, max_classes)
    advice = advise_pixels(data.images, data.masks, scale=str(scale), random_state=seed, **chosen)
    command = _next_command(images, masks, advice, chosen, scale)
    if figure_path is not None:
        from invariance.report import save_figure
        from invariance.report.pixel_advice_figures import pixel_advice_figure

        save_figure(pixel_advice_figure(advice), figure_path)
    if report_path is not None:
        from invariance.report.pixel_advice_page import pixel_advice_report

        settings = {"images": str(images), "masks": str(masks), **chosen, "scale": str(scale), "seed": seed}
        pixel_advice_report(advice, command, settings).save(report_path)
    if as_json:
        say(json.dumps(_as_dict(advice, command), indent=2))
        return
    _print_advice(advice, command)
    for path in (figure_path, report_path):
        if path is not None:
            say(f"Written: {path.resolve()}")


def _next_command(images: Path, masks: Path, advice: "PixelAdvice", chosen: dict[str, Any], scale: Scale) -> str:
    """The command that fits a model as advised, with the options that were given here."""
    paths = " ".join(shlex.quote(str(path)) for path in (images, masks))
    kept = [name for name in ("unlabelled", "patch_size", "max_classes") if name in chosen]
    options = [f"--{name.replace('_', '-')} {chosen[name]}" for name in kept]
    options += [] if scale == Scale.DTYPE else [f"--scale {scale}"]
    return " ".join([f"invariance fit-pixels {paths} -o model.inv --invariant-to {advice.text}", *options])


def _print_advice(advice: "PixelAdvice", command: str) -> None:
    from rich.markup import escape

    console = make_console()
    accuracy = f"Held-out pixels: balanced accuracy {advice.plain.accuracy:.1%} ignoring nothing"
    _print_table(console, accuracy, advice.ranked())
    _print_table(console, "Combinations, compared with ignoring nothing", advice.ranked_combinations())
    is_piped = not console.is_terminal
    for line in advice.reasons:
        console.print(escape(line), soft_wrap=is_piped)
    console.print(f"\n[bold]{escape(advice.sentence)}[/bold]", soft_wrap=is_piped)
    for part in advice.plan:
        console.print(escape(f"{part.text} ({part.treatment}): {part.sentence}"), soft_wrap=is_piped)
    console.print(f"In {advice.seconds:.0f} s. Next:", soft_wrap=is_piped)
    console.print(f"  {escape(command)}", soft_wrap=True)


def _print_table(console: "Console", title: str, findings: "list[PixelFinding]") -> None:
    from rich.table import Table

    from invariance.report.advice_page import format_p

    if not findings:
        return
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.add_column("ignored", overflow="fold")
    for column in ("accuracy", "points", "95 % interval", "p"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for f in findings:
        share, low, high = (100 * value for value in f.difference[:3])
        # The names of combinations are long.
        name = f.name if len(f.parts) == 1 else f.text.replace(",", ", ")
        interval, verdict = f"{low:+.1f} to {high:+.1f}", f"[{COLOURS[f.verdict]}]{f.verdict}[/]"
        table.add_row(name, f"{f.accuracy:.1%}", f"{share:+.1f}", interval, format_p(f.p), verdict)
    console.print(table)
    console.print()


def _as_dict(advice: "PixelAdvice", command: str) -> dict[str, Any]:
    """Return the advice for JSON; accuracies are balanced, from 0 to 1."""
    return {
        "invariant_to": advice.text,
        "command": command,
        "sentence": advice.sentence,
        "reasons": advice.reasons,
        "plan": [part.as_json() for part in advice.plan],
        "plain": advice.plain.accuracy,
        "findings": [_finding_as_dict(finding) for finding in (*advice.findings, *advice.combinations)],
        "images": advice.n_images,
        "labelled": advice.n_labelled,
        "pixels": advice.n_pixels,
        "learned": advice.n_learned,
        "held_out": {"unit": advice.unit, "count": advice.n_units},
        "runs": advice.n_runs,
        "classes": advice.classes.tolist(),
        "seconds": round(advice.seconds, 2),
    }


def _finding_as_dict(finding: "PixelFinding") -> dict[str, Any]:
    difference = finding.difference
    return {
        "name": finding.name,
        "invariant_to": finding.text,
        "verdict": finding.verdict,
        "accuracy": finding.accuracy,
        "difference": difference.share,
        "low": difference.low,
        "high": difference.high,
        "p": finding.p,
        "runs": finding.gains.tolist(),
        "members": finding.n_members,
    }
