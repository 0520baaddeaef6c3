"""The methods and what each does with every transformation, generated from the registry and the sets."""

from invariance.methods import get_methods
from invariance.transformations.parsing import WORDS, parse_transformations


def plans_page() -> str:
    """Two tables in Markdown: what the methods are for, and their treatment of every set."""
    methods = get_methods()
    about = [
        "| method | how it works | for | learns from at most | pixels per side at least |",
        "|---|---|---|---|---|",
    ]
    about += [f"| {m.name} | {m.summary} | {m.purpose} | {_most(m)} | {m.min_side} |" for m in methods]
    head = ["| Φ | " + " | ".join(method.name for method in methods) + " |", "|---" * (len(methods) + 1) + "|"]
    texts = sorted({kind.text_form.example for kind in WORDS.values()} | {"rotations:5:15"})
    rows = [f"| {text} | {' | '.join(_treatment(method, text) for method in methods)} |" for text in texts]
    return "\n".join([*about, "", *head, *rows, ""])


def _most(method) -> str:
    return "all images" if method.max_learned is None else f"{method.max_learned:,}"


def _treatment(method, text: str) -> str:
    """The treatments of the parts of a set, each once."""
    parts = method.plan(parse_transformations(text)).parts
    return ", ".join(dict.fromkeys(str(part.treatment) for part in parts))
