"""The process of the command `invariance`, also started by `python -m invariance`."""

from typing import NoReturn


def main() -> NoReturn:
    """Run the command line and end the process with its exit code."""
    try:
        from invariance.cli import main as run
        from invariance.cli.interruption import end_process
    except KeyboardInterrupt:  # before the command line could prepare for it
        raise SystemExit(130) from None
    end_process(run())


if __name__ == "__main__":
    main()
