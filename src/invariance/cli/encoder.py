"""`invariance encoder`: the pretrained networks there are, and how to add one."""

import json
from pathlib import Path
from typing import Annotated

import typer

from invariance.cli.console import say
from invariance.cli.options import JsonOption

EXAMPLES = """Examples:

  invariance encoder

  invariance encoder dino.onnx

  invariance encoder --json"""

HOW_TO_ADD = """To add one, such as your own DINO or CLIP: export the image part of the network as one ONNX file, and

  invariance fit FOLDER -o model.inv --encoder FILE.onnx

takes it. Networks in the folder above are found by their names. FILE.json beside FILE.onnx may state how images are
prepared, such as {"layer": "pooled", "size": 224, "mean": [0.48, 0.46, 0.41], "std": [0.27, 0.26, 0.28]}."""


def run(
    file: Annotated[Path | None, typer.Argument(help="An ONNX file to check and describe.")] = None,
    as_json: JsonOption = False,
) -> None:
    """List the pretrained networks for `--encoder`, or check one."""
    from invariance.encoders.finding import encoders_folder, list_encoders

    if file is not None:
        _check(file, as_json)
        return
    found = list_encoders()
    if as_json:
        say(json.dumps({"folder": str(encoders_folder()), "encoders": [one._asdict() for one in found]}, indent=2))
        return
    for one in found:
        say(f"{one.name}: {one.place}")
    say(f"\nFolder: {encoders_folder()} (INVARIANCE_ENCODERS names another)\n\n{HOW_TO_ADD}")


def _check(file: Path, as_json: bool) -> None:
    """Try a network on an image, and say what it takes and gives."""
    import numpy as np

    from invariance.encoders.finding import open_encoder

    encoder = open_encoder(file).fit()
    n_values = encoder.transform([np.full((32, 32, 3), 0.5, np.float32)]).shape[1]
    if as_json:
        settings = {name: getattr(encoder, name) for name in ("layer", "size", "mean", "std", "crop")}
        say(
            json.dumps({"path": encoder.path, "sha256": encoder.fingerprint_, "values": n_values, **settings}, indent=2)
        )
    else:
        say(f"'{file}' can be used: {n_values} values per image. SHA-256 {encoder.fingerprint_}")
