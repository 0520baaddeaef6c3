"""How the optional parts of the library are installed."""


def command_for(extra: str) -> str:
    """Return the command that installs an extra, in words that follow "Try" or "Install the extra"."""
    return f"pip install '.[{extra}]' in the folder of the source of invariance"
