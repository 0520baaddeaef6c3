"""The source that an experiment runs through, so that a stored result can tell whether its code has changed.

Imports are followed by reading files, not by importing: some modules need packages that may be missing. A name that a
package only passes on is followed to the module that defines it. Code is compared without comments, docstrings and
layout.
"""

import ast
import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import invariance

FOLDERS: Mapping[str, Path] = {"experiments": Path(__file__).parent, "invariance": Path(invariance.__file__).parent}
# What a result is kept in, and the number of a release, change no figure.
IGNORED = ("experiments.outcome", "invariance._version")


class Import(NamedTuple):
    """A module and the name that is taken from it; None for the module itself."""

    module: str
    name: str | None


class Source(NamedTuple):
    """The code of a module without comments, docstrings and layout, and what it imports, each with the name it gets."""

    code: str
    imports: tuple[tuple[str, Import], ...]


def source_of(function: Callable, folders: Mapping[str, Path] = FOLDERS) -> dict[str, str]:
    """Code by module: that of a function with all it uses of its file, and of all modules that this imports.

    Parameters
    ----------
    function : callable
    folders : mapping of str to Path
        The folders of the packages to follow imports into.

    Returns
    -------
    dict of str to str
        The first entry, "", is the function's own.
    """
    file = inspect.getsourcefile(function)
    assert file is not None
    own = _used_part(ast.parse(Path(file).read_text(encoding="utf-8")), function.__name__)
    found = {"": _bare_code(own)}
    waiting = [imported for _, imported in _imports(own, package="")]
    while waiting:
        module = _resolve(waiting.pop(), folders)
        if module is None or module in found or module in IGNORED:
            continue
        source = _read_module(module, folders)
        found[module] = source.code
        waiting += [imported for _, imported in source.imports]
    return found


def _used_part(tree: ast.Module, name: str) -> ast.Module:
    """The definition of a function and of all top-level names of the file that it uses, directly or not."""
    inner = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == name}
    defined = {**inner, **dict(_definitions(tree))}
    used, waiting = {name}, [name]
    while waiting:
        names = {node.id for node in ast.walk(defined[waiting.pop()]) if isinstance(node, ast.Name)}
        new = sorted((names & set(defined)) - used)
        used.update(new)
        waiting += new
    return ast.Module([defined[name] for name in sorted(used)], [])


def _definitions(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    """The top-level names of a file, each with the statement that defines it; an import is split by its names."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node
        elif isinstance(node, ast.Import):
            yield from ((alias.asname or alias.name.split(".")[0], ast.Import([alias])) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield alias.asname or alias.name, ast.ImportFrom(node.module, [alias], node.level)
        else:
            stored = (name for name in ast.walk(node) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store))
            yield from ((name.id, node) for name in stored)


def _imports(tree: ast.AST, package: str) -> tuple[tuple[str, Import], ...]:
    """All imports of a piece of code, also those inside functions, each with the name it gets."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.asname or alias.name, Import(alias.name, None)) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            found += [(alias.asname or alias.name, Import(module, alias.name)) for alias in node.names]
    return tuple(found)


def _resolve(imported: Import, folders: Mapping[str, Path]) -> str | None:
    """The module that defines what is imported; None if it is of another package."""
    module, name = imported
    if module.split(".")[0] not in folders:
        return None
    if name is None:
        return module
    if _file_of(f"{module}.{name}", folders) is not None:
        return f"{module}.{name}"
    passed_on = dict(_read_module(module, folders).imports).get(name) if _is_package(module, folders) else None
    return module if passed_on is None else _resolve(passed_on, folders)


def _file_of(module: str, folders: Mapping[str, Path]) -> Path | None:
    """The file of a module, None if there is none."""
    package, *parts = module.split(".")
    path = folders[package].joinpath(*parts)
    candidates = (path / "__init__.py", path.with_suffix(".py")) if parts else (path / "__init__.py",)
    return next((file for file in candidates if file.exists()), None)


def _is_package(module: str, folders: Mapping[str, Path]) -> bool:
    file = _file_of(module, folders)
    return file is not None and file.name == "__init__.py"


def _read_module(module: str, folders: Mapping[str, Path]) -> Source:
    """The source of a module; a package whose names are loaded lazily imports what its `__init__.pyi` does."""
    file = _file_of(module, folders)
    if file is None:
        raise ValueError(f"there is no module '{module}' in '{folders[module.split('.')[0]]}'. Correct its import.")
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    stub = file.with_suffix(".pyi")
    sources = [_read_file(path, path.stat().st_mtime_ns, package) for path in (file, stub) if path.exists()]
    return Source(sources[0].code, tuple(found for source in sources for found in source.imports))


@cache
def _read_file(path: Path, changed: int, package: str) -> Source:
    """The source of a file, read again when it has changed."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return Source(_bare_code(tree), _imports(tree, package))


def _bare_code(tree: ast.Module) -> str:
    """Code without comments, docstrings and layout."""
    return ast.unparse(_WithoutDocstrings().visit(tree))


class _WithoutDocstrings(ast.NodeTransformer):
    """Removes strings that are statements. The result is compared, never run: a body may become empty."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        """Remove a lone string."""
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if is_text else node
