"""Every paper cited as [Key] in the code stands in docs/references.bib."""

import re
from pathlib import Path

import invariance

REPOSITORY = Path(__file__).parents[2]
CITATION = re.compile(r"\[([A-Z][A-Za-z]+[0-9]{2})\]")


def test_every_citation_has_its_reference():
    known = set(re.findall(r"@\w+\{(\w+),", (REPOSITORY / "docs" / "references.bib").read_text()))
    sources = [*Path(invariance.__file__).parent.rglob("*.py"), *REPOSITORY.glob("benchmarks/*.py")]
    sources += REPOSITORY.glob("experiments/**/*.py")
    cited = {key for path in sources for key in CITATION.findall(path.read_text())}
    assert {"Laptev15", "ArgandaCarreras15"} <= cited
    assert cited <= known
