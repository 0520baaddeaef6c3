"""The modules of the page, which no compiler sees: every name that one imports is exported by the other."""

import re
from importlib.resources import files

import pytest

PAGE = files("invariance.studio") / "page"
MODULES = {path.name: path.read_text(encoding="utf-8") for path in PAGE.iterdir() if path.name.endswith(".js")}
IMPORTS = [
    (name, part.strip().split(" as ")[0], source)
    for name, text in MODULES.items()
    for parts, source in re.findall(r'import \{([^}]*)\} from "\./([\w.]+)"', text)
    for part in parts.split(",")
    if part.strip()
]


def test_there_are_imports():
    assert len(IMPORTS) > 50


@pytest.mark.parametrize("source", sorted({source for *_, source in IMPORTS}))
def test_what_is_imported_is_exported(source):
    exported = set(re.findall(r"^export (?:async )?(?:function|class|const|let) (\w+)", MODULES[source], re.MULTILINE))
    wanted = {(name, part) for name, part, other in IMPORTS if other == source}
    assert {(name, part) for name, part in wanted if part not in exported} == set()
