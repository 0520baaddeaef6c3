"""The reference of the command line, generated from the commands; it shows what `--help` shows."""

import inspect
import re
from enum import Enum
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from invariance.cli.commands import COMMANDS, build_command

CODE = re.compile(r"(`[^`]*`)")
SIGNS = re.compile(r"[<>*_\[\]]")
KINDS = {int: "NUMBER", float: "NUMBER", str: "TEXT", Path: "PATH"}


def commands_page() -> str:
    """All commands in Markdown: description, arguments, options and examples of each."""
    return "\n\n".join(_command(name, build_command(name)) for name in COMMANDS)


def _command(name: str, command: Any) -> str:
    parameters = [parameter for parameter in command.params if not getattr(parameter, "hidden", False)]
    arguments = [parameter for parameter in parameters if parameter.param_type_name == "argument"]
    options = [parameter for parameter in parameters if parameter.param_type_name == "option"]
    kinds = get_type_hints(command.callback)
    needed = [*map(_argument_name, arguments), *(_shortest(option, kinds) for option in options if option.required)]
    usage = " ".join(["invariance", name, *needed, "[OPTIONS]"])
    parts = [f"## invariance {name}", _as_text(command.help), f"```text\n{usage}\n```"]
    parts += [
        _entries(arguments, _argument_name),
        _entries(options, lambda option: _option_name(option, kinds)),
        _examples(command.epilog),
    ]
    return "\n\n".join(filter(None, parts))


def _entries(parameters: list[Any], name_of: Any) -> str:
    return "\n".join(f"`{name_of(parameter)}`\n: {_meaning(parameter)}\n" for parameter in parameters)


def _argument_name(argument: Any) -> str:
    name = (argument.metavar or argument.name.upper()) + ("..." if argument.nargs == -1 else "")
    return name if argument.required else f"[{name}]"


def _option_name(option: Any, kinds: dict[str, Any]) -> str:
    names = ", ".join([*option.opts, *option.secondary_opts])
    return names if option.is_flag else f"{names} {option.metavar or _kind_name(kinds[option.name])}"


def _shortest(option: Any, kinds: dict[str, Any]) -> str:
    """A required option in its shortest form."""
    return f"{min(option.opts, key=len)} {option.metavar or _kind_name(kinds[option.name])}"


def _kind_name(kind: Any) -> str:
    """The placeholder for a value of this type; for `int | None` and `list[int]` that of `int`."""
    if get_origin(kind) is Literal:
        return "|".join(map(str, get_args(kind)))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return "|".join(str(member.value) for member in kind)
    inner = [part for part in get_args(kind) if part is not NoneType]
    return _kind_name(inner[0]) if inner else KINDS.get(kind, "VALUE")


def _meaning(parameter: Any) -> str:
    meaning = _as_text(parameter.help or "")
    default = parameter.default
    if parameter.required or default is None or isinstance(default, bool) or callable(default):
        return meaning
    return meaning if "default:" in meaning.lower() else f"{meaning} Default: {default}."


def _as_text(help_text: str) -> str:
    """Help as Markdown: paragraphs kept, typer's wrapping marks removed, special characters escaped."""
    parts = CODE.split(inspect.cleandoc(help_text).replace("\b", "").replace("\f", ""))
    return "".join(part if CODE.match(part) else SIGNS.sub(r"\\\g<0>", part) for part in parts)


def _examples(epilog: str | None) -> str:
    if not epilog:
        return ""
    lines = [line.strip() for line in epilog.removeprefix("Examples:").splitlines() if line.strip()]
    return "```sh\n" + "\n".join(lines) + "\n```"
