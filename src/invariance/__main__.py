"""The process of the command `invariance`, also started by `python -m invariance`."""

from typing import NoReturn


def main() -> NoReturn:
    """Run the command line and end the process with its exit code."""
    try:
        from invariance.cli import main as run
        from invariance.cli.interruption import end_process

        code = run()
        end_process(code)
    except KeyboardInterrupt:  # before the command line could prepare for it, or after its end
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
