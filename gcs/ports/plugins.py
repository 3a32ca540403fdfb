"""Plug-ins: a user's own code in a crawl.

A plug-in is an object with one or more of these methods, a class that makes such an object, or a function, which counts
as `on_page`:

    on_page(page)           adds fields to the record of a page: returns a dict of names to JSON values, or None
    keep_link(url, page)    whether a link of the page is followed; what is not kept is not in the record either
    on_request(url)         headers for the request of this URL: returns a dict, or None

They run in the gatherer, for its own pages and for those that helpers bring. `page` is a `ReadPage`.

Invariant: a plug-in that raises, or returns what cannot be stored, costs its page a note (`_errors` in its fields) and
what that plug-in would have added. It never stops the crawl; a link or a request that it fails on is as without it.
"""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from gcs.core.page.values import PageFacts, Response
from gcs.errors import SettingsError
from gcs.events import Events
from gcs.ports.fetch import is_field
from gcs.ports.summarise import ParsedPage
from gcs.ports.summarise.encoding import as_utf8
from gcs.ports.summarise.markup_guard import bounded

if TYPE_CHECKING:  # loaded when a plug-in selects something
    from turbohtml import Document as HtmlTree
    from turbohtml import Element

events = Events("plugin")

HOOKS = ("on_page", "keep_link", "on_request")
#: the field that holds what went wrong
ERRORS = "_errors"
#: bytes of all fields of a page, as JSON
MOST_BYTES = 1 << 18
#: letters of a note
_NOTE_LETTERS = 300
#: failures of one plug-in that are logged; the others are only noted
_MOST_LOGGED = 10
#: a field that can be a column elsewhere
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")

Headers = tuple[tuple[str, str], ...]


class ReadPage:
    """A page that was just read, as a plug-in sees it."""

    def __init__(self, response: Response, facts: PageFacts, parsed: ParsedPage | None = None) -> None:
        """`parsed`: has the tree, if the page was read in this process."""
        self._response, self._facts, self._parsed = response, facts, parsed

    @property
    def url(self) -> str:
        return self._response.request.url

    @property
    def status(self) -> int:
        return self._response.status

    @property
    def content(self) -> bytes:
        """The body, without content coding."""
        return self._response.content

    @property
    def content_type(self) -> str:
        return self._response.header("content-type") or ""

    def header(self, name: str) -> str | None:
        """The first header of that name."""
        return self._response.header(name.lower())

    @property
    def title(self) -> str:
        return self._facts.title

    @property
    def text(self) -> str:
        """The main text; "" with `summary.depth` "links"."""
        return self._facts.text

    @property
    def markdown(self) -> str:
        """The main content of an HTML page as Markdown; "" with `summary.depth` "links"."""
        return self._facts.markdown

    @property
    def description(self) -> str:
        """What the page says of itself in a sentence."""
        return self._facts.description

    @property
    def language(self) -> str:
        return self._facts.language

    @property
    def outlinks(self) -> list[str]:
        return self._facts.outlinks

    @cached_property
    def tree(self) -> "HtmlTree":
        """The page as the tree that it was read from; see the manual of turbohtml. All plug-ins share it."""
        if self._parsed and self._parsed.tree is not None:
            return self._parsed.tree
        from turbohtml import parse  # a helper has read the page, or another process

        return parse(bounded(as_utf8(self.content, self.content_type)), encoding="utf-8", positions=False)

    def css(self, selector: str) -> "list[Element]":
        """The elements that a CSS selector finds, in the order of the page."""
        return list(self.tree.select(selector))

    def first(self, selector: str) -> str:
        """The text of the first element that a CSS selector finds, without spaces around it; "" if there is none."""
        element = self.tree.select_one(selector)
        return element.text.strip() if element is not None else ""

    def xpath(self, expression: str) -> Any:
        """What an XPath expression finds: a list of elements or texts, or a number, text or truth value."""
        return self.tree.xpath(expression)


@dataclass(frozen=True, slots=True)
class Plugin:
    """The hooks of one plug-in; None where it has none."""

    name: str
    on_page: Callable[[ReadPage], Mapping[str, object] | None] | None = None
    keep_link: Callable[[str, ReadPage], bool] | None = None
    on_request: Callable[[str], Mapping[str, str] | None] | None = None

    @classmethod
    def of(cls, given: object, name: str = "") -> "Plugin":
        """The plug-in that a function, a class or an object is."""
        if isinstance(given, Plugin):
            return given
        name = name or getattr(given, "__qualname__", type(given).__qualname__)
        if inspect.isroutine(given):
            return cls(name, on_page=given)
        if isinstance(given, type):
            try:
                given = given()
            except Exception as error:  # a stranger's class may raise anything
                raise SettingsError(f"plug-in {name} cannot be made ({type(error).__name__}: {error})") from error
        hooks = {hook: getattr(given, hook) for hook in HOOKS if callable(getattr(given, hook, None))}
        if not hooks:
            raise SettingsError(f"plug-in {name} does nothing: write a function, or a class with {', '.join(HOOKS)}")
        return cls(name, **hooks)


class Plugins:
    """The plug-ins of one gatherer, in the order in which they were given."""

    def __init__(self, plugins: Sequence[Plugin]) -> None:
        self._on_page = [(each.name, each.on_page) for each in plugins if each.on_page]
        self._keep_link = [(each.name, each.keep_link) for each in plugins if each.keep_link]
        self._on_request = [(each.name, each.on_request) for each in plugins if each.on_request]
        self._logged: dict[str, int] = {}

    @property
    def read_pages(self) -> bool:
        """Whether one of them looks at pages."""
        return bool(self._on_page or self._keep_link)

    def read(self, response: Response, facts: PageFacts, parsed: ParsedPage | None = None) -> tuple[PageFacts, str]:
        """The facts with the links that are kept, and the fields as JSON ("" for none)."""
        if not self.read_pages:
            return facts, ""
        page, errors = ReadPage(response, facts, parsed), dict[str, str]()
        fields = {} if facts.noindex else self._fields(page, errors)
        if self._keep_link and facts.outlinks:
            facts = _with_links(facts, [self._keeps(url, page, errors) for url in facts.outlinks])
        return facts, _packed(fields, errors)

    def headers(self, url: str) -> Headers:
        """The headers that plug-ins want in the request of this URL."""
        found: dict[str, str] = {}
        for name, hook in self._on_request:
            try:
                wanted = dict(hook(url) or {})
                for field, value in wanted.items():
                    if not is_field(field, value):
                        raise ValueError(f"{field!r} cannot be set, or has a value that no header can have")
                found |= wanted
            except (Exception, SystemExit) as error:
                self._note(name, "on_request", url, error)
        return tuple(found.items())

    def _fields(self, page: ReadPage, errors: dict[str, str]) -> dict[str, msgspec.Raw]:
        fields: dict[str, msgspec.Raw] = {}
        for name, hook in self._on_page:
            try:
                fields |= {_checked(field): _raw(value) for field, value in (hook(page) or {}).items()}
            except (Exception, SystemExit) as error:
                errors[name] = self._note(name, "on_page", page.url, error)
        return fields

    def _keeps(self, url: str, page: ReadPage, errors: dict[str, str]) -> bool:
        for name, hook in self._keep_link:
            try:
                if not hook(url, page):
                    return False
            except (Exception, SystemExit) as error:
                if name not in errors:  # one note for all links of a page
                    errors[name] = self._note(name, "keep_link", page.url, error)
        return True

    def _note(self, name: str, hook: str, url: str, error: BaseException) -> str:
        self._logged[name] = self._logged.get(name, 0) + 1
        if self._logged[name] <= _MOST_LOGGED:
            events.warning("failed", plugin=name, hook=hook, url=url, cause=error)
        return f"{hook}: {type(error).__name__}: {error}"[:_NOTE_LETTERS]


def _with_links(facts: PageFacts, kept: list[bool]) -> PageFacts:
    """The facts with the links that are kept, and with their texts and rels."""
    links = (facts.outlinks, facts.anchors, facts.rels)  # of links in headers there are no texts: they stand last
    outlinks, anchors, rels = ([each for each, is_kept in zip(values, kept) if is_kept] for values in links)
    return msgspec.structs.replace(facts, outlinks=outlinks, anchors=anchors, rels=rels)


def _checked(name: object) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(f"the field {name!r} needs a name of letters, digits and _ that begins with a letter")
    return name


def _raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(value))


def _packed(fields: dict[str, msgspec.Raw], errors: dict[str, str]) -> str:
    if sum(map(len, map(bytes, fields.values()))) > MOST_BYTES:
        errors[""] = f"the fields have more than {MOST_BYTES:,} bytes: none is kept"
        fields = {}
    if errors:
        fields[ERRORS] = _raw(errors)
    return msgspec.json.encode(fields).decode("utf-8", "replace") if fields else ""
