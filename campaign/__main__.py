"""`python -m campaign [PART ...]`: run parts of the campaign, print their counts, write them as JSON.

Exit code 1 if anything failed; every failure is listed with the command that repeats it.
"""

import argparse
import json
import math
import os
import platform
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from campaign.part import Part
from campaign.schedule import Result, run_part

PROGRESS_SECONDS = 20.0


def main(arguments: list[str] | None = None) -> int:
    """Run the campaign and return its exit code."""
    from campaign.parts import PARTS, preload

    parser = _parser(list(PARTS))
    options = parser.parse_args(arguments)
    for name in options.parts:
        if name not in PARTS:
            parser.error(f"PART must be one of {', '.join(PARTS)}; got {name}.")
    chosen = [PARTS[name] for name in options.parts or PARTS]
    # A shell that starts this in the background ignores Ctrl-C for it, and so would all commands that are interrupted.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    preload()
    scratch = Path(tempfile.mkdtemp(prefix="campaign-", dir=options.scratch))
    scratch.chmod(0o755)  # commands that run as an ordinary user come here too
    try:
        results = {part.name: _run(part, options, scratch) for part in chosen}
    except KeyboardInterrupt:
        return 130
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    _print(results)
    options.output.write_text(json.dumps(_as_json(results, options), indent=2) + "\n")
    print(f"\nWritten: {options.output}")
    return 1 if any(result.failures for result in results.values()) else 0


def _parser(names: list[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m campaign", description="Attack the library, and count what it does.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(names))
    parser.add_argument("--seed", type=int, default=0, help="of all random draws")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the cases to run; default: 1")
    parser.add_argument("--short", action="store_true", help="smaller inputs, which are made in seconds")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="number of cases at a time")
    parser.add_argument("--case", type=int, action="append", help="run this case only; can be repeated")
    parser.add_argument("--scratch", type=Path, help="folder for temporary files")
    parser.add_argument("-o", "--output", type=Path, default=Path("campaign.json"))
    return parser


def _run(part: Part, options: argparse.Namespace, scratch: Path) -> Result:
    numbers = options.case or range(max(1, math.ceil(options.scale * part.n_cases)))
    told = time.monotonic()

    def report(n_ended: int) -> None:
        nonlocal told
        if time.monotonic() - told > PROGRESS_SECONDS:
            told = time.monotonic()
            print(f"{part.name}: {n_ended} of {len(numbers)} cases", file=sys.stderr, flush=True)

    return run_part(part, options.seed, numbers, options.jobs, scratch, options.short, report)


def _print(results: dict[str, Result]) -> None:
    for result in results.values():
        for failure in result.failures:
            print(f"FAILED {failure.part} {failure.case}: {failure.fault}\n  repeat: {failure.repeat}\n")
    print(f"{'part':<12}{'cases':>8}{'failures':>10}{'seconds':>9}  what happened")
    for name, result in results.items():
        counts = ", ".join(f"{kind} {count}" for kind, count in sorted(result.counts.items()))
        print(f"{name:<12}{result.n_cases:>8}{len(result.failures):>10}{result.seconds:>9.0f}  {counts}")


def _as_json(results: dict[str, Result], options: argparse.Namespace) -> dict:
    from invariance._version import __version__

    return {
        "library": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "seed": options.seed,
        "scale": options.scale,
        "short": options.short,
        "parts": {
            name: {
                "cases": result.n_cases,
                "counts": dict(sorted(result.counts.items())),
                "failures": len(result.failures),
                "seconds": round(result.seconds, 1),
            }
            for name, result in results.items()
        },
        "failures": [
            {**failure._asdict(), "repeat": failure.repeat}
            for result in results.values()
            for failure in result.failures
        ],
    }


if __name__ == "__main__":
    sys.exit(main())
