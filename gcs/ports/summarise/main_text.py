"""The main part of a page: what its reader came for, as text and as Markdown.

turbohtml finds it and writes it; where it finds none (a page without paragraphs), the innermost element counts that has
most of the text. With depth `full`, trafilatura finds it: more often right, and twenty times slower (see `TextPool`).
The text of images (alt) is no text.

`max_text_bytes` counts text, not markup: however much script a page has, its text is read.
"""

from copy import copy
from typing import NamedTuple, TypeVar

from turbohtml import Document as Tree
from turbohtml import Element

from gcs.events import Events
from gcs.ports.summarise import Source
from gcs.ports.summarise.markup_guard import most_levels

events = Events("text")

#: pages with fewer tags cannot be so deep that the search for the main part takes long
_SHALLOW_TAGS = 4_000
#: cells of tables: the width of a table squared may be needed to lay it out
_MAX_CELLS = 4_000
#: letters of class and id that the search for the main part may look through: up to a second
_MAX_LETTERS = 1 << 20
#: what turbohtml leaves in a main part, though no reader came for it
_CONTROLS = "nav,aside,button,select,label,dialog"
#: what no main part holds, where only the body is known
_BOILERPLATE = "nav,header,footer,aside,form,script,style,noscript,template,svg,button,select,dialog"
#: the part of an element's text that one of its children has, if the others are only around it; steps to it
_MOST_OF_THE_TEXT, _MAX_DESCENT = 0.6, 30
#: elements that are not looked into for a main part
_WHOLE = frozenset(("p", "table", "ul", "ol", "dl", "pre", "blockquote"))
_UNSEEN = "script,style,noscript,template,svg"


_Node = TypeVar("_Node", Tree, Element)


class MainPart(NamedTuple):
    """What is read, and whether that is all."""

    text: str = ""
    markdown: str = ""
    #: whether the text went on
    is_cut: bool = False


NO_PART = MainPart()


def main_part(tree: Tree, tags: int, source: Source) -> MainPart:
    """The main part of a page with so many tags at most. Takes elements out of the tree, unless it is wanted."""
    limit = source.options.max_text_bytes
    is_deep = tags > _SHALLOW_TAGS and tree.select_one(">".join("*" * most_levels(tags))) is not None
    if is_deep or (len(source.content) > _MAX_LETTERS and _has_long_names(tree)):
        text = "\n".join(_to_cut(tree, source).remove(_UNSEEN).stripped_strings)
        return _cut(text, "", limit)
    main = tree.main_content()
    if main is None:
        body = tree.find("body")
        if body is None:
            return NO_PART
        main = _densest(_to_cut(body, source).remove(_BOILERPLATE))
    else:
        main = _to_cut(main, source).remove(_CONTROLS)
    return _cut(_text_of(main, tags), main.to_markdown(), limit)


def trafilatura_part(tree: Tree, tags: int, source: Source) -> MainPart:
    """The main part by trafilatura; by turbohtml where trafilatura finds none."""
    from trafilatura import bare_extraction
    from trafilatura.settings import Document as TrafilaturaDocument
    from trafilatura.xml import xmltotxt

    text = markdown = ""
    try:
        found = bare_extraction(
            _to_cut(tree, source).remove(_UNSEEN).html,
            url=source.url,
            fast=True,
            include_comments=False,
            include_formatting=True,
            include_links=True,
        )
        if isinstance(found, TrafilaturaDocument):
            text, markdown = (xmltotxt(found.body, include_formatting=formatted).strip() for formatted in (False, True))
    except Exception as error:  # a third-party parser on hostile input: its failures are not known beforehand
        events.warning("failed", url=source.url, cause=error)
    return _cut(text, markdown, source.options.max_text_bytes) if text else main_part(tree, tags, source)


def _to_cut(node: _Node, source: Source) -> _Node:
    """What elements may be taken out of: a copy, if the tree is wanted as it was parsed."""
    return copy(node) if source.parsed else node


def _densest(element: Element) -> Element:
    """The innermost element that still has most of the text."""
    for _ in range(_MAX_DESCENT):
        letters = len(element.text)
        inner = next(
            (
                child
                for child in element.children
                if isinstance(child, Element) and len(child.text) > letters * _MOST_OF_THE_TEXT
            ),
            None,
        )
        if inner is None or inner.tag in _WHOLE:
            return element
        element = inner
    return element


def _has_long_names(tree: Tree) -> bool:
    """Whether class and id of the elements have so many letters that the search would take seconds."""
    room = _MAX_LETTERS
    for element in tree.select("[class],[id]"):
        room -= len(element.attr("class") or "") + len(element.attr("id") or "")
        if room < 0:
            return True
    return False


def _text_of(main: Element, tags: int) -> str:
    if tags > _MAX_CELLS and len(main.find_all(["td", "th"], limit=_MAX_CELLS + 1)) > _MAX_CELLS:
        return "\n".join(main.stripped_strings)
    return main.to_text().strip()


def _cut(text: str, markdown: str, limit: int) -> MainPart:
    if len(text) * 4 <= limit and len(markdown) * 4 <= limit:
        return MainPart(text, markdown)
    kept = text.encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")
    return MainPart(kept, markdown.encode("utf-8", "replace")[:limit].decode("utf-8", "ignore"), len(kept) < len(text))
