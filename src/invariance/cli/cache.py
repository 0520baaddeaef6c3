"""`invariance cache`: where descriptions of images are kept, how much they take, and how to remove them."""

import json
from typing import Annotated

import typer

from invariance.cli.console import say
from invariance.cli.options import JsonOption

EXAMPLES = """Examples:

  invariance cache

  invariance cache --clear

  INVARIANCE_CACHE=/scratch/kept invariance cache"""


def run(
    clear: Annotated[bool, typer.Option("--clear", help="Remove all that is kept; it is computed again.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show where descriptions of images and words are kept for later commands, or remove them."""
    from invariance._core.keeping import BOUND, PLACE, shared_store

    store = shared_store()
    if store is None:
        say(json.dumps(None) if as_json else f"Nothing is kept: {PLACE} is 0 or empty.")
        return
    before = store.usage()
    if clear:
        store.clear()
    usage = store.usage()
    if as_json:
        say(json.dumps({"folder": str(store.folder), "max_bytes": store.max_bytes, **usage._asdict()}, indent=2))
        return
    if clear:
        say(f"Removed {before.n_arrays:,} arrays, {before.n_bytes:,} bytes.")
    say(
        f"{usage.n_arrays:,} arrays, "
        f"{usage.n_bytes:,} of at most {store.max_bytes:,} bytes, in '{store.folder}'.\n"
        f"{PLACE} names another folder, or 0 for none; {BOUND} sets the limit."
    )
