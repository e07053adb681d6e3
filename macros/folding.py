"""Long lists in pages: the newest items stand open, the rest opens on a press."""

from typing import Any
from xml.etree.ElementTree import Element, SubElement

from markdown import Markdown
from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor

LONG, SHOWN = 60, 30  # items: of a list with more than that, so many


class FoldingProcessor(Treeprocessor):
    """Puts the rest of each long list into a part that opens."""

    def run(self, root: Element) -> None:
        """Fold the long lists of a page."""
        for parent in list(root.iter()):
            for listed in [child for child in parent if child.tag == "ul" and len(child) > LONG]:
                rest = list(listed)[SHOWN:]
                for item in rest:
                    listed.remove(item)
                opened = Element("details")
                SubElement(opened, "summary").text = f"{len(rest):,} more, older ones"
                SubElement(opened, "ul").extend(rest)
                parent.insert(list(parent).index(listed) + 1, opened)


class FoldingExtension(Extension):
    """Registers the processor after the words within items are read."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 (the library's name)
        """Add the processor to a Markdown instance."""
        md.treeprocessors.register(FoldingProcessor(md), "folding", 5)


def makeExtension(**settings: Any) -> FoldingExtension:  # noqa: N802 (the name that Markdown looks for)
    """Return the extension, as Markdown asks for it by module name."""
    return FoldingExtension(**settings)
