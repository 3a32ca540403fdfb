"""What a page says of itself: author, dates, site, type and keywords.

Three ways are usual: JSON-LD (the words of schema.org in a script), <meta> (Open Graph and older habits), and microdata
(attributes of the text). The first that says a thing counts, in that order. Everything is a claim of the page: nothing
is checked but its form. What is read is bounded.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from turbohtml import Document as Tree
from turbohtml import Element

from gcs.core.page.values import MOST_KEYWORDS

#: the names of <meta> that say each thing, the best first
_NAMES = {
    "author": ("author", "article:author", "dc.creator", "parsely-author", "sailthru.author", "byl"),
    "published": (
        *("article:published_time", "og:published_time", "datepublished", "date", "dc.date", "dc.date.issued"),
        *("pubdate", "publish-date", "parsely-pub-date", "sailthru.date", "citation_publication_date"),
    ),
    "modified": ("article:modified_time", "og:updated_time", "datemodified", "last-modified", "dcterms.modified"),
    "site_name": ("og:site_name", "application-name"),
    "page_type": ("og:type",),
    "keywords": ("keywords", "news_keywords", "article:tag"),
}
#: all of them
METAS = frozenset(name for names in _NAMES.values() for name in names)
#: the type of a script that holds JSON-LD
JSON_LD = "application/ld+json"
_MICRODATA = '[itemprop~="datePublished"],[itemprop~="dateModified"],[itemprop~="author"]'
#: scripts, letters of them, and objects in them that are looked at; elements of microdata
MAX_SCRIPTS, _MAX_LETTERS, _MAX_OBJECTS, _MAX_ELEMENTS = 10, 256 * 1024, 300, 20
#: letters of one saying; authors of one page
_MOST_LETTERS, _MOST_AUTHORS = 300, 10
_ISO_DATE = re.compile(r"\d{4}(?:-\d\d(?:-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?\s?(?:Z|[+-]\d\d:?\d\d)?)?)?)?")
#: types that are about the page; those of its parts, its publisher or its place in the site are not
_PAGE_TYPE = re.compile(
    r"(?:Book|Course|Dataset|Movie|Product|Recipe|Review)$"
    r"|\w*+(?:(?<=Article)|(?<=Posting)|(?<=Report)|(?<=Page)|(?<=Event))$"
)


class Metadata(NamedTuple):
    """What a page says of itself; "" for what it does not say."""

    author: str = ""
    published: str = ""
    modified: str = ""
    site_name: str = ""
    page_type: str = ""
    keywords: list[str] = []  # noqa: RUF012 (never changed)


def metadata_of(tree: Tree, metas: Mapping[str, list[str]], scripts: Sequence[Element]) -> Metadata:
    """From the tree, the contents of its <meta> elements by name (`METAS`), and its scripts of type `JSON_LD`."""
    data = _main_object(_json_ld(scripts)) if scripts else {}
    publisher = data.get("publisher")
    author = _people(data.get("author")) or _first(metas, "author", _name)
    published = _date(data.get("datePublished")) or _first(metas, "published", _date)
    modified = _date(data.get("dateModified")) or _first(metas, "modified", _date)
    if not (author and published) and tree.select_one("[itemprop]") is not None:
        said = _microdata(tree)
        author = author or said.get("author", "")
        published = published or _date(said.get("datePublished"))
        modified = modified or _date(said.get("dateModified"))
    return Metadata(
        author,
        published,
        modified,
        _first(metas, "site_name", _line) or (_line(publisher.get("name")) if isinstance(publisher, dict) else ""),
        _type(data) or _first(metas, "page_type", _line),
        _keywords([data.get("keywords"), *(each for name in _NAMES["keywords"] for each in metas.get(name, ()))]),
    )


def _json_ld(scripts: Sequence[Element]) -> Iterator[dict[str, Any]]:
    """The objects of the scripts, those inside of others too."""
    room = _MAX_LETTERS
    for script in scripts:
        text = script.text
        room -= len(text)
        if room < 0:
            return
        try:
            waiting: list[Any] = [msgspec.json.decode(text)]
        except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
            continue
        seen = 0
        while waiting and seen < _MAX_OBJECTS:
            value = waiting.pop(0)
            seen += 1
            if isinstance(value, list):
                waiting += value[:_MAX_OBJECTS]
            elif isinstance(value, dict):
                yield value
                waiting += (value[name] for name in ("@graph", "mainEntity", "mainEntityOfPage") if name in value)


def _main_object(objects: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The object that is about the page: the first with a date, else the first of a fitting type."""
    fitting = [each for each in objects if _type(each)]
    return next((each for each in fitting if "datePublished" in each), fitting[0] if fitting else {})


def _type(data: dict[str, Any]) -> str:
    kinds = data.get("@type")
    for kind in kinds[:10] if isinstance(kinds, list) else (kinds,):
        if isinstance(kind, str) and len(kind) <= _MOST_LETTERS and _PAGE_TYPE.match(kind):
            return kind
    return ""


def _microdata(tree: Tree) -> dict[str, str]:
    said: dict[str, str] = {}
    for element in tree.select(_MICRODATA)[:_MAX_ELEMENTS]:
        value = element.attr("content") or element.attr("datetime") or element.text[: 10 * _MOST_LETTERS]
        for name in (element.attr("itemprop") or "")[:_MOST_LETTERS].split():
            said.setdefault(name, _line(value))
    return said


def _first(metas: Mapping[str, list[str]], what: str, read: Any) -> str:
    if metas:
        for name in _NAMES[what]:
            for content in metas.get(name, ()):
                if found := read(content):
                    return str(found)
    return ""


def _people(value: Any) -> str:
    """The names of a person, or of several."""
    people = value[:_MOST_AUTHORS] if isinstance(value, list) else [value]
    names = (_name(each.get("name") if isinstance(each, dict) else each) for each in people)
    return ", ".join(dict.fromkeys(filter(None, names)))


def _name(value: Any) -> str:
    """A name; a URL is none."""
    name = _line(value)
    return "" if name.startswith(("http://", "https://")) else name


def _line(value: Any) -> str:
    return " ".join(value[: 10 * _MOST_LETTERS].split())[:_MOST_LETTERS] if isinstance(value, str) else ""


def _date(value: Any) -> str:
    """A date in ISO 8601; that of an e-mail is turned into one."""
    text = _line(value)
    if _ISO_DATE.fullmatch(text):
        return text
    if not (text[:1].isalpha() or text[:1].isdigit()):
        return ""
    from email.utils import parsedate_to_datetime  # slow to load, and seldom needed

    try:
        return parsedate_to_datetime(text).isoformat()
    except (ValueError, TypeError, OverflowError):
        return ""


def _keywords(values: Iterable[Any]) -> list[str]:
    words: dict[str, None] = {}
    for value in values:
        for each in value[:MOST_KEYWORDS] if isinstance(value, list) else (value,):
            if isinstance(each, str):
                words.update(dict.fromkeys(map(_line, each[: 100 * _MOST_LETTERS].split(","))))
    words.pop("", None)
    return list(words)[:MOST_KEYWORDS]
