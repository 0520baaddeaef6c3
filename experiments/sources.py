"""The source that an experiment runs through, so that a stored result can tell whether its code has changed.

Names are followed from definition to definition by reading files, not by importing: some modules need packages that
may be missing. A class counts as a whole, and so does a module that is used as a value. Code is compared without
comments, docstrings and layout.
"""

import ast
import inspect
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import invariance
from invariance._core.entry_points import find_entry_points

FOLDERS: Mapping[str, Path] = {"experiments": Path(__file__).parent, "invariance": Path(invariance.__file__).parent}
# How image files are found and decoded. What they hold is known by its digest, see data_digests.py.
READERS = tuple(
    f"invariance.images.{name}"
    for name in (
        "decoding", "file_list", "folders", "layout", "lazy", "listing", "pages", "raster", "reading",
        "significant_bits", "tiff", "tiff_pages", "tiff_regions",
    )
)  # fmt: skip
# What changes no figure: what a result is kept in, the number of a release, how a bar of progress looks, how files are
# downloaded, whose checksums are known, warnings of other ranges of values, a cache, which gives what was put into it;
# checks of models read from files, and what a notebook shows.
IGNORED_MODULES = (
    "experiments.outcome",
    "invariance._version",
    "invariance._core.caching",
    "invariance._core.progress",
    "invariance.datasets._download",
    "invariance.images.intensity_range",
    *READERS,
)
# Modules that load what entry points name, and the group of these.
LOADERS = {"invariance.methods.registry": "invariance.methods"}
IGNORED_METHODS = ("check_loaded", "_repr_html_")
# A function whose name begins so refuses its input or lets it pass; called as a statement it changes no figure.
CHECK = "check_"

Chain = tuple[str, ...]  # a name and the attributes taken of it, such as ("np", "random", "default_rng")
Definitions = dict[str, list[ast.stmt]]


class Import(NamedTuple):
    """A module and the name that is taken from it; None for the module itself."""

    module: str
    name: str | None


class Module(NamedTuple):
    """A file: statements by the name that they define, those that define none, and imports by the name they get."""

    name: str
    definitions: Definitions
    effects: list[ast.stmt]
    imports: dict[str, list[Import]]


def source_of(function: Callable, folders: Mapping[str, Path] = FOLDERS) -> dict[str, str]:
    """Code by definition: that of a function and of everything that it uses, directly or not.

    Parameters
    ----------
    function : callable
    folders : mapping of str to Path
        The folders of the packages to follow names into.

    Returns
    -------
    dict of str to str
        Keys are names with their module, for example "invariance.images.reading.read_image"; a module alone stands
        for its statements that define nothing. The function's own file has no module.
    """
    file = inspect.getsourcefile(function)
    assert file is not None
    own = _read_file(Path(file), Path(file).stat().st_mtime_ns, "", "")
    found: dict[str, str] = {}
    waiting = [(own, function.__name__)]
    while waiting:
        module, name = waiting.pop()
        if f"{module.name}.{name}" in found or module.name in IGNORED_MODULES:
            continue
        statements = module.definitions[name]
        found[f"{module.name}.{name}"] = _bare_code(statements)
        waiting += _used_by(statements, module, folders)
        if module.name and module.name not in found:
            found[module.name] = _bare_code(module.effects)
            waiting += _used_by(module.effects, module, folders) + _loaded_by(module.name, folders)
    return found


def _loaded_by(module: str, folders: Mapping[str, Path]) -> list[tuple[Module, str]]:
    """The definitions that a module loads by entry points, each with its module."""
    if module not in LOADERS:
        return []
    values = [point.value.partition(":") for point in find_entry_points(LOADERS[module]).values()]
    return [place for name, _, taken in values for place in _resolve(Import(name, taken), [], folders)]


def _used_by(statements: list[ast.stmt], module: Module, folders: Mapping[str, Path]) -> list[tuple[Module, str]]:
    """The definitions that statements of a module name, each with its module."""
    inner = _imports(statements, module.name)
    used = []
    for head, *attributes in _chains(statements):
        if head in module.definitions:
            used.append((module, head))
        for imported in (*inner.get(head, ()), *module.imports.get(head, ())):
            used += _resolve(imported, attributes, folders)
    return used


def _resolve(imported: Import, attributes: list[str], folders: Mapping[str, Path]) -> list[tuple[Module, str]]:
    """The definitions that an import and the attributes taken of it stand for; none of other packages."""
    name, taken = imported
    rest = attributes if taken is None else [taken, *attributes]
    if name.split(".")[0] not in folders:
        return []
    while rest and _file_of(f"{name}.{rest[0]}", folders) is not None:
        name, rest = f"{name}.{rest[0]}", rest[1:]
    module = _read_module(name, folders)
    if not rest:
        return [(module, defined) for defined in module.definitions] + [
            place for passed_on in module.imports.values() for one in passed_on for place in _resolve(one, [], folders)
        ] * _is_package(name, folders)
    if rest[0] in module.definitions:
        return [(module, rest[0])]
    return [place for one in module.imports.get(rest[0], ()) for place in _resolve(one, rest[1:], folders)]


def _file_of(module: str, folders: Mapping[str, Path]) -> Path | None:
    """The file of a module, None if there is none."""
    package, *parts = module.split(".")
    path = folders[package].joinpath(*parts)
    candidates = (path / "__init__.py", path.with_suffix(".py")) if parts else (path / "__init__.py",)
    return next((file for file in candidates if file.exists()), None)


def _is_package(module: str, folders: Mapping[str, Path]) -> bool:
    file = _file_of(module, folders)
    return file is not None and file.name == "__init__.py"


def _read_module(name: str, folders: Mapping[str, Path]) -> Module:
    """A module; a package whose names are loaded lazily imports what its `__init__.pyi` does."""
    file = _file_of(name, folders)
    if file is None:
        raise ValueError(f"there is no module '{name}' in '{folders[name.split('.')[0]]}'. Correct its import.")
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    module = _read_file(file, file.stat().st_mtime_ns, name, package)
    stub = file.with_suffix(".pyi")
    if not stub.exists():
        return module
    return module._replace(imports=_read_file(stub, stub.stat().st_mtime_ns, name, package).imports)


@cache
def _read_file(path: Path, changed: int, name: str, package: str) -> Module:
    """The module in a file, read again when the file has changed."""
    tree = _WithoutDocstrings().visit(ast.parse(path.read_text(encoding="utf-8")))
    definitions: Definitions = defaultdict(list)
    effects = []
    for statement in tree.body:
        names = set(_defined_names(statement))
        for defined in names:
            definitions[defined].append(statement)
        if not names and not isinstance(statement, ast.Import | ast.ImportFrom):
            effects.append(statement)
    if not name:  # an experiment may be defined inside another function
        inner = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
        definitions = {**{node.name: [node] for node in inner}, **definitions}
    return Module(name, dict(definitions), effects, _imports(tree.body, package, is_inner=False))


def _defined_names(statement: ast.stmt) -> Iterator[str]:
    """The names that a top-level statement defines; imports are kept apart."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name
    else:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                yield node.name


def _imports(statements: Iterable[ast.stmt], package: str, is_inner: bool = True) -> dict[str, list[Import]]:
    """The imports of statements by the name they get; those inside functions and classes only if `is_inner`."""
    found = defaultdict(list)
    for statement in statements:
        if not is_inner and isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    found[alias.asname or alias.name.split(".")[0]].append(
                        Import(alias.name if alias.asname else alias.name.split(".")[0], None)
                    )
            elif isinstance(node, ast.ImportFrom):
                above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
                module = ".".join([*above, *([node.module] if node.module else [])])
                for alias in node.names:
                    found[alias.asname or alias.name].append(Import(module, alias.name))
    return dict(found)


def _chains(statements: Iterable[ast.stmt]) -> set[Chain]:
    """All names that statements use, each with the attributes taken of it."""
    waiting: list[ast.AST] = list(statements)
    found = set()
    while waiting:
        node = waiting.pop()
        attributes: list[str] = []
        while isinstance(node, ast.Attribute):
            attributes.insert(0, node.attr)
            node = node.value
        if isinstance(node, ast.Name):
            found.add((node.id, *attributes))
        else:
            waiting += ast.iter_child_nodes(node)
    return found


def _bare_code(statements: Iterable[ast.stmt]) -> str:
    """Code without comments and layout."""
    return "\n".join(ast.unparse(statement) for statement in statements)


def _is_check(node: ast.expr) -> bool:
    """Whether an expression is the call of a function that is named as a check."""
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name.lstrip("_").startswith(CHECK)


class _WithoutDocstrings(ast.NodeTransformer):
    """Removes strings that are statements, lone checks, and ignored methods. The result is compared, never run."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        """Remove a lone string, and a lone call of a check, whose result nobody uses."""
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if is_text or _is_check(node.value) else node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Remove ignored methods of a class."""
        node.body = [
            item for item in node.body if not (isinstance(item, ast.FunctionDef) and item.name in IGNORED_METHODS)
        ]
        return self.generic_visit(node)
