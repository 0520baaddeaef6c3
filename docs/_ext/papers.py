"""The page of papers, from `references.bib`: one entry per paper, with an anchor for citations such as [Key]."""

import re
from pathlib import Path

BIBLIOGRAPHY = Path(__file__).parents[1] / "references.bib"
ENTRY = re.compile(r"^@\w+\{(?P<key>\w+),\n(?P<fields>.*?)^\}", re.MULTILINE | re.DOTALL)
FIELD = re.compile(r"^\s*(?P<name>\w+)\s*=\s*\{(?P<value>.*?)\},?\s*$", re.MULTILINE | re.DOTALL)
ACCENTS = {'{\\"o}': "ö"}


def read_papers() -> dict[str, dict[str, str]]:
    """The fields of every paper, by its key."""
    text = BIBLIOGRAPHY.read_text(encoding="utf-8")
    for written, meant in ACCENTS.items():
        text = text.replace(written, meant)
    return {entry["key"]: _fields(entry["fields"]) for entry in ENTRY.finditer(text)}


def papers_page() -> str:
    """The list of papers in Markdown, sorted by key."""
    return "\n\n".join(
        f"({anchor(key)})=\n**{key}**: {describe(paper)}" for key, paper in sorted(read_papers().items())
    )


def anchor(key: str) -> str:
    """The label of a paper's entry."""
    return f"paper-{key.lower()}"


def describe(paper: dict[str, str]) -> str:
    """A paper in one sentence."""
    where = next(paper[name] for name in ("booktitle", "journal", "institution", "publisher") if name in paper)
    address = f"https://doi.org/{paper['doi']}" if "doi" in paper else paper.get("url")
    title = f"[{paper['title']}]({address})" if address else paper["title"]
    return f"{_authors(paper['author'])}. {title}. *{where}*, {paper['year']}."


def _fields(text: str) -> dict[str, str]:
    return {
        field["name"].lower(): " ".join(field["value"].replace("{", "").replace("}", "").split())
        for field in FIELD.finditer(text)
    }


def _authors(names: str) -> str:
    """Authors as `A. Name, B. Name and C. Name`; for more than six, the first `and others`."""
    people = [" ".join(reversed([part.strip() for part in name.split(",")])) for name in names.split(" and ")]
    if len(people) > 6:
        return f"{people[0]} and others"
    return " and ".join(filter(None, [", ".join(people[:-1]), people[-1]]))
