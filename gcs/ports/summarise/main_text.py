"""The main part of a page: what its reader came for, as text and as Markdown.

turbohtml finds it and writes it; where it finds none, the body counts without its navigation. With depth `full`,
trafilatura finds it: more often right, and twenty times slower (see `TextPool`). The text of images (alt) is no text.

`max_text_bytes` counts text, not markup: however much script a page has, its text is read.
"""

from typing import NamedTuple

from turbohtml import Document as Tree
from turbohtml import Element, Markdown

from gcs.events import Events
from gcs.ports.summarise import Source
from gcs.ports.summarise.markup_guard import most_levels

events = Events("text")

#: pages with fewer tags cannot be so deep that the search for the main part takes long
_SHALLOW_TAGS = 4_000
#: cells of tables: the width of a table squared may be needed to lay it out
_MAX_CELLS = 4_000
#: what no main part holds
_BOILERPLATE = "nav,header,footer,aside,form,script,style,noscript,template,svg,button,select,dialog"
_UNSEEN = "script,style,noscript,template,svg"
_MARKDOWN = Markdown()


class MainPart(NamedTuple):
    """What is read, and whether that is all."""

    text: str = ""
    markdown: str = ""
    #: whether the text went on
    is_cut: bool = False


NO_PART = MainPart()


def main_part(tree: Tree, tags: int, limit: int) -> MainPart:
    """The main part of a page with so many tags at most, of so many bytes. Takes elements out of the tree."""
    if tags > _SHALLOW_TAGS and tree.select_one(">".join("*" * most_levels(tags))) is not None:
        text = "\n".join(tree.remove(_UNSEEN).stripped_strings)
        return _cut(text, "", limit)
    main = tree.main_content()
    if main is None:
        main = tree.find("body")
        if main is None:
            return NO_PART
        main.remove(_BOILERPLATE)
    return _cut(_text_of(main, tags), main.to_markdown(_MARKDOWN), limit)


def trafilatura_part(tree: Tree, tags: int, source: Source) -> MainPart:
    """The same by trafilatura; by turbohtml where that finds none."""
    import trafilatura

    try:
        page = tree.remove(_UNSEEN).html
        text: str | None = trafilatura.extract(page, url=source.url, include_comments=False)
    except Exception as error:  # a third-party parser on hostile input: its failures are not known beforehand
        events.warning("failed", url=source.url, cause=error)
        text = None
    return (
        _cut(text, "", source.options.max_text_bytes) if text else main_part(tree, tags, source.options.max_text_bytes)
    )


def _text_of(main: Element, tags: int) -> str:
    if tags > _MAX_CELLS and len(main.find_all(["td", "th"], limit=_MAX_CELLS + 1)) > _MAX_CELLS:
        return "\n".join(main.stripped_strings)
    return main.to_text().strip()


def _cut(text: str, markdown: str, limit: int) -> MainPart:
    if len(text) * 4 <= limit and len(markdown) * 4 <= limit:
        return MainPart(text, markdown)
    kept = text.encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")
    return MainPart(kept, markdown.encode("utf-8", "replace")[:limit].decode("utf-8", "ignore"), len(kept) < len(text))
