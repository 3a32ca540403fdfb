"""Plug-ins add fields, filter links and set headers; one that fails costs its page a note."""

import json
from typing import Any

import pytest

from gcs.core.page.values import PageFacts, Request, Response
from gcs.core.url.canonical import UrlRules
from gcs.errors import SettingsError
from gcs.ports.plugins import MOST_BYTES, Plugin, Plugins, ReadPage
from gcs.ports.reader import Reader, Summarisers
from gcs.ports.summarise import Depth, Options, ParsedPage
from gcs.ports.summarise.text_pool import TextPool

URL = "http://shop.example/chair"
HTML = """<!doctype html><title>Chair</title><body><h1> A chair </h1><span class=price data-cents=4900>49 €</span>
<ul><li>wood<li>paint</ul><p>Gr\u00fc\u00dfe"""


def response(html: str = HTML, content_type: str = "text/html; charset=utf-8", charset: str = "utf-8") -> Response:
    body = html.encode(charset)
    headers = (("Content-Type", content_type), ("X-Shop", "7"))
    return Response(Request(URL), 200, "OK", "1.1", headers, body, body, b"", "127.0.0.1", 0.0, 0.0)


FACTS = PageFacts(URL, "Chair", text="A chair of wood.", language="en", outlinks=[f"{URL}/{n}" for n in range(4)])


def run(*plugins: object, facts: PageFacts = FACTS, answer: Response | None = None) -> tuple[PageFacts, dict[str, Any]]:
    facts, fields = Plugins([Plugin.of(each) for each in plugins]).read(answer or response(), facts)
    return facts, json.loads(fields) if fields else {}


def test_function_adds_fields_by_css_and_xpath() -> None:
    def extract(page: ReadPage) -> dict[str, object]:
        return {
            "name": page.first("h1"),
            "cents": int(page.xpath("//span[@class='price']/@data-cents")[0]),
            "parts": [element.text.strip() for element in page.css("li")],
            "missing": page.first("h6"),
            "shop": page.header("x-shop"),
        }

    _, fields = run(extract)
    assert fields == {"name": "A chair", "cents": 4900, "parts": ["wood", "paint"], "missing": "", "shop": "7"}


def test_page_has_what_was_read() -> None:
    seen: list[ReadPage] = []
    run(lambda page: seen.append(page))
    (page,) = seen
    assert (page.url, page.status, page.title, page.text) == (URL, 200, "Chair", "A chair of wood.")
    assert page.outlinks == FACTS.outlinks and page.language == "en" and page.content == HTML.encode()
    assert page.tree is page.tree, "parsed once"


@pytest.mark.parametrize("depth", ["links", "fast"])
@pytest.mark.parametrize("main", ["<main>{}</main>", "{}"], ids=["with a main part", "without one"])
def test_selectors_work_on_the_tree_that_was_read(depth: Depth, main: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole, though its reader takes buttons and menus out of the main part; nothing is parsed a second time."""
    html = HTML + main.format("<nav>Menu</nav><button>49 €</button>" + "<p>It is said to be a chair of wood.</p>" * 9)
    reader = Reader(UrlRules(), Summarisers(), Options(), depth, True, TextPool(1))
    parsed = ParsedPage()
    facts = reader.look(response(html), parsed).facts
    assert facts == reader.look(response(html)).facts, "what is read is the same"
    assert "Menu" not in facts.text and "€" not in facts.markdown[-10:]
    monkeypatch.setattr("turbohtml.parse", lambda *_, **__: pytest.fail("parsed a second time"))
    page = ReadPage(response(html), facts, parsed)
    assert (page.first("button"), page.first("nav"), page.first("h1")) == ("49 €", "Menu", "A chair")


def test_selectors_read_other_encodings() -> None:
    answer = response(content_type="text/html; charset=iso-8859-15", charset="iso-8859-15")
    _, fields = run(lambda page: {"text": page.first("p"), "price": page.first(".price")}, answer=answer)
    assert fields == {"text": "Gr\u00fc\u00dfe", "price": "49 €"}


def test_class_and_object_may_have_several_hooks() -> None:
    class Shop:
        def on_page(self, page: ReadPage) -> dict[str, object]:
            return {"links": len(page.outlinks)}

        def keep_link(self, url: str, page: ReadPage) -> bool:
            return url.endswith(("1", "3")) and page.url == URL

        def on_request(self, url: str) -> dict[str, str]:
            return {"Accept-Language": "de", "X-Url": url}

    for given in (Shop, Shop()):
        facts, fields = run(given)
        assert fields == {"links": 4} and facts.outlinks == [f"{URL}/1", f"{URL}/3"]
        assert Plugins([Plugin.of(given)]).headers(URL) == (("Accept-Language", "de"), ("X-Url", URL))


def test_several_plugins_work_one_after_the_other() -> None:
    _, fields = run(lambda _: {"a": 1, "b": 1}, lambda _: None, lambda _: {"b": 2})
    assert fields == {"a": 1, "b": 2}


def test_failing_plugin_costs_its_page_a_note_and_the_others_nothing() -> None:
    def breaks(page: ReadPage) -> dict[str, object]:
        raise ValueError("no price")

    def leaves(page: ReadPage) -> dict[str, object]:
        raise SystemExit(3)

    facts, fields = run(breaks, lambda _: {"good": True}, leaves)
    assert facts == FACTS
    assert fields.pop("_errors") == {
        breaks.__qualname__: "on_page: ValueError: no price",
        leaves.__qualname__: "on_page: SystemExit: 3",
    }
    assert fields == {"good": True}


@pytest.mark.parametrize(
    "returned", [{"": 1}, {"_errors": 1}, {"a b": 1}, {3: 1}, {"x": object()}, {"x": lambda: 1}, [1], 7, "text"]
)
def test_what_cannot_be_stored_is_noted(returned: Any) -> None:
    _, fields = run(lambda _: returned)
    assert list(fields) == ["_errors"] and "on_page: " in next(iter(fields["_errors"].values()))


def test_links_that_are_kept_keep_their_texts() -> None:
    class Odd:
        def keep_link(self, url: str, page: ReadPage) -> bool:
            return url.endswith(("1", "3"))

    texts = ["zero", "one", "two"]  # the last link is of a header
    facts, _ = run(Odd, facts=PageFacts(URL, outlinks=FACTS.outlinks, anchors=texts, rels=["", "next", "prev"]))
    assert (facts.outlinks, facts.anchors, facts.rels) == ([f"{URL}/1", f"{URL}/3"], ["one"], ["next"])


def test_too_large_fields_are_noted() -> None:
    _, fields = run(lambda _: {"x": "y" * MOST_BYTES})
    assert list(fields) == ["_errors"]


def test_failing_link_filter_keeps_the_link() -> None:
    class Picky:
        def keep_link(self, url: str, page: ReadPage) -> bool:
            if url.endswith("0"):
                raise KeyError(url)
            return False

    facts, fields = run(Picky)
    assert facts.outlinks == [f"{URL}/0"]
    assert list(fields) == ["_errors"]


@pytest.mark.parametrize(
    "headers", [{"Host": "other"}, {"X": "a\r\nY: b"}, {"X Y": "a"}, {"X": 3}, {"If-None-Match": '"1"'}, ["X"]]
)
def test_header_that_must_not_be_set_is_left_out(headers: Any) -> None:
    class Sly:
        def on_request(self, url: str) -> Any:
            return headers

    class Honest:
        def on_request(self, url: str) -> dict[str, str]:
            return {"X-Good": "yes"}

    assert Plugins([Plugin.of(Sly), Plugin.of(Honest)]).headers(URL) == (("X-Good", "yes"),)


def test_page_that_must_not_be_indexed_gets_no_fields() -> None:
    facts = PageFacts(URL, noindex=True, outlinks=[URL])
    assert run(lambda page: {"title": page.title}, facts=facts) == (facts, {})


def test_plugin_without_a_hook_is_refused() -> None:
    class Nothing:
        pass

    class Broken:
        def __init__(self) -> None:
            raise OSError("no file")

        def on_page(self, page: ReadPage) -> None: ...

    with pytest.raises(SettingsError, match="does nothing"):
        Plugin.of(Nothing)
    with pytest.raises(SettingsError, match="no file"):
        Plugin.of(Broken)


def test_hostile_markup_does_not_hold_a_selector() -> None:
    """As the reader of links: the page is cut to what can be parsed."""
    nested = "<div>" * 200_000 + "<b><p>" * 50_000
    _, fields = run(lambda page: {"n": len(page.css("h1"))}, answer=response(nested))
    assert fields == {"n": 0}
