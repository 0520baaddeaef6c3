"""Automatic links: [Key] to the paper, and the name of a public object in code to its page."""

import re
from typing import Any

from docutils import nodes
from names import public_names
from papers import anchor, read_papers
from sphinx.addnodes import pending_xref
from sphinx.transforms import SphinxTransform


class LinkWords(SphinxTransform):
    """Adds the links in pages, docstrings and examples."""

    default_priority = 400
    papers = re.compile(r"\[(" + "|".join(read_papers()) + r")\]")
    names = public_names()

    def apply(self, **kwargs: Any) -> None:
        """Wrap matching texts and literals of the document in links."""
        for text in list(self.document.findall(nodes.Text)):
            if not isinstance(text.parent, nodes.literal | nodes.literal_block | nodes.reference | nodes.title):
                self._link_papers(text)
        for literal in list(self.document.findall(nodes.literal)):
            path = self.names.get(literal.astext().split("(")[0])
            if path and not isinstance(literal.parent, nodes.reference | pending_xref | nodes.title):
                literal.replace_self(_link("py", "obj", path, self.env.docname, literal.deepcopy()))

    def _link_papers(self, text: nodes.Text) -> None:
        pieces = self.papers.split(str(text))
        if len(pieces) == 1:
            return
        parts: list[nodes.Node] = []
        for i, piece in enumerate(pieces):
            if i % 2:
                parts.append(_link("std", "ref", anchor(piece), self.env.docname, nodes.inline(text=f"[{piece}]")))
            elif piece:
                parts.append(nodes.Text(piece))
        text.parent.replace(text, parts)


def _link(domain: str, kind: str, target: str, docname: str, content: nodes.Node) -> pending_xref:
    return pending_xref(
        "", content, refdomain=domain, reftype=kind, reftarget=target, refexplicit=True, refwarn=True, refdoc=docname
    )
