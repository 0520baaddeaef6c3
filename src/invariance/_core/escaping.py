"""Names of files and classes as text that can be shown: on terminals, in figures, in one line."""


def escape_controls(text: str) -> str:
    """Return text with escapes in place of control characters other than line breaks, and of what is no valid text."""
    return "".join(
        character if character.isprintable() or character == "\n" else repr(character)[1:-1] for character in text
    )


def in_one_line(text: str) -> str:
    """Return text without line breaks; control characters are escaped."""
    return escape_controls(" ".join(text.split()))
