"""The commands there are, imported when they are run: files of this folder with a function `run`, and entry points."""

import os
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from textwrap import shorten
from types import ModuleType
from typing import Any

import typer
from typer.core import TyperGroup

from invariance._core.entry_points import find_entry_points

GROUP = "invariance.commands"
FOOTER = "Set INVARIANCE_DEBUG=1 to see the traceback of an error."


class Commands(Mapping[str, ModuleType]):
    """The module of each command by its name; looking up one imports no other.

    The studio stands above this room, so that it is found as the commands of other packages are. None of these replaces
    a command of this folder.
    """

    def __getitem__(self, name: str) -> ModuleType:
        if name in _file_names():
            module = import_module(f"{__package__}.{name.replace('-', '_')}")
            if hasattr(module, "run"):
                return module
        return find_entry_points(GROUP)[name].load()

    def __iter__(self) -> Iterator[str]:
        own = [name for name in _file_names() if name in self]
        return iter(dict.fromkeys([*own, *find_entry_points(GROUP)]))

    def __len__(self) -> int:
        return sum(1 for _ in self)


COMMANDS = Commands()


@cache
def _file_names() -> list[str]:
    """The files of this folder as names of commands, in alphabetical order."""
    stems = sorted(name.removesuffix(".py") for name in os.listdir(os.path.dirname(__file__)) if name.endswith(".py"))
    return [stem.replace("_", "-") for stem in stems if not stem.startswith("_")]


class CommandGroup(TyperGroup):
    """All commands, of which only the one that is run is built with its options; the list of all needs none of them."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command with its options, or None if there is none of this name."""
        return build_command(cmd_name) if cmd_name in COMMANDS else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the name and the first sentence of every command, each in one line."""
        width = formatter.width - 6 - max(map(len, COMMANDS))
        with formatter.section("Commands"):
            formatter.write_dl([(name, _summary(module, width)) for name, module in COMMANDS.items()])

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the first example of every command."""
        examples = (module.EXAMPLES.split("\n\n")[1] for module in COMMANDS.values())
        self.epilog = "\n\n".join(["Examples:", *examples, FOOTER])
        super().format_epilog(ctx, formatter)


def build_command(name: str) -> Any:
    """Return the command of this name with its options, from the parameters of its function `run`."""
    module = COMMANDS[name]
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command(name, epilog=module.EXAMPLES)(module.run)
    return typer.main.get_command(alone)


def _summary(module: ModuleType, width: int) -> str:
    return shorten((module.run.__doc__ or "").partition("\n\n")[0], width, placeholder="...", break_on_hyphens=False)
