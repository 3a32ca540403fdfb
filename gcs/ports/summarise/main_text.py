"""The main part of a page: what its reader came for, as text and as Markdown.

turbohtml finds it and writes it; where it finds none (a page without paragraphs), the innermost element counts that has
most of the text. It names one element, which may be a piece: one of several sections, or a paragraph in a box. So what
stands around it is looked at (`_whole`). With depth `full`, trafilatura finds it, twenty times slower (`TextPool`).
The text of images (alt) is no text.

`max_text_bytes` counts text, not markup: however much script a page has, its text is read.
"""

import re
from copy import copy
from itertools import islice
from operator import itemgetter
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
#: levels above a main part that are looked at, and children of each; letters of a class that are read
_MAX_ASCENT, _MAX_CHILDREN, _NAME_LETTERS = 16, 400, 200
#: text around a main part that makes it a piece, and that of one element which is rather meant, as multiples of its
#: own; the part of the text around it that the latter has
_WORTH_ASCENT, _MEANT, _NEARLY_ALL = 0.3, 3.0, 0.8
#: letters of text around a main part that are worth a look
_LEAST_MORE = 150
#: what text stands in beside elements of its own kind; letters that are too few to count; the part that links may have
_TEXT_TAGS, _FEW_LETTERS, _MOST_LINKED = frozenset(("p", "pre", "ul", "ol", "dl", "table", "blockquote")), 60, 0.33
#: names of what is no main part, whatever text it has
_OTHERS = re.compile("comment|repl(?:y|ies)|related|sidebar|footer|promo|share|social|cookie|teaser|recommend", re.I)
#: the part of what turbohtml finds that trafilatura finds at least, unless it has lost some
_HALF = 0.5
_WRAPPERS = frozenset(("div", "span", "td", "main", "body"))
_DIGITS = re.compile(r"\d+")
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
        main = _whole(_densest(_to_cut(body, source).remove(_BOILERPLATE)))
    else:
        main = _to_cut(_whole(main), source).remove(_CONTROLS)
    return _cut(_text_of(main, tags), main.to_markdown(), limit)


def trafilatura_part(tree: Tree, tags: int, source: Source) -> MainPart:
    """The main part by trafilatura; by turbohtml where trafilatura finds none, or not half as much."""
    from lxml.etree import strip_tags  # type: ignore[import-untyped]
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
            markdown = xmltotxt(found.body, include_formatting=True).strip()
            strip_tags(found.body, "ref", "hi")  # else links and emphasis are marked in the text as well
            text = xmltotxt(found.body, include_formatting=False).strip()
    except Exception as error:  # a third-party parser on hostile input: its failures are not known beforehand
        events.warning("failed", url=source.url, cause=error)
    quick = main_part(tree, tags, source)
    is_lost = len(text) < len(quick.text) * _HALF and quick.markdown
    return _cut(text, markdown, source.options.max_text_bytes) if text and not is_lost else quick


def _to_cut(node: _Node, source: Source) -> _Node:
    """What elements may be taken out of: a copy, if the tree is wanted as it was parsed."""
    return copy(node) if source.parsed else node


def _whole(main: Element) -> Element:
    """What holds the main part, where a piece of it was found: more text like it stands around it, or beside what is
    around it. Where one element beside it has nearly all of the text, that one was meant.
    """
    letters, inner = 0, main
    for _ in range(_MAX_ASCENT):
        outer = inner.parent
        if not isinstance(outer, Element) or outer.tag == "html":
            break
        kind = _kind(inner)
        beside = [(_prose(child), child) for child in _elements(outer) if child is not inner and _is_like(child, kind)]
        more = sum(prose for prose, _ in beside)
        if more > _LEAST_MORE and more > (letters := letters or len(main.text)) * _WORTH_ASCENT:
            most, best = max(beside, key=itemgetter(0))
            if most > letters * _MEANT and most > more * _NEARLY_ALL:
                return _densest(best)
            main, letters = outer, letters + more
        inner = outer
    return main


def _elements(element: Element) -> list[Element]:
    return [child for child in islice(element.children, _MAX_CHILDREN) if isinstance(child, Element)]


def _kind(element: Element) -> tuple[str, str]:
    """Tag and class, without numbers: list items, sections and the like have one kind."""
    return element.tag, _DIGITS.sub("", (element.attr("class") or "")[:_NAME_LETTERS])


def _is_like(element: Element, kind: tuple[str, str]) -> bool:
    """Whether an element beside one of that kind is text as well; a <div> without a name may be anything."""
    tag, name = kind
    if element.tag == "p" or (element.tag in _TEXT_TAGS and tag in _TEXT_TAGS):
        return True
    return element.tag == tag and bool(name or tag not in _WRAPPERS) and _kind(element) == kind


def _prose(element: Element) -> int:
    """Letters of an element; none where too many of them are links, or its name says that it is something else."""
    letters = len(element.text)
    if letters < _FEW_LETTERS or _OTHERS.search(f"{element.attr('class')} {element.attr('id')}"[:_NAME_LETTERS]):
        return 0
    linked = sum(len(link.text) for link in element.select("a"))
    return letters if linked < letters * _MOST_LINKED else 0


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
