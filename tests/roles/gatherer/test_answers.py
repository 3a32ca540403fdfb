"""What a gatherer makes of answers that are neither pages nor plain errors."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from warcio.archiveiterator import ArchiveIterator

from gcs.app import assembly
from gcs.core.page.ai_preferences import PURPOSES
from gcs.core.page.values import PageRecord
from gcs.ports.records.reading import read_records, warc_files
from gcs.roles.gatherer import GathererState
from gcs.settings import load
from tests.roles.gatherer.strange_site import StrangeSite, html, strange_site

QUICK = {
    "fetch.allow_private": True,
    "politeness.delay_s": 0.0,
    "politeness.retry_s": 0.01,
    "summary.depth": "links",
    "frontier.fsync": False,
}


async def crawl(directory: Path, site: StrangeSite, session: int = 1, **changes: Any) -> dict[str, PageRecord]:
    """The newest record of each path."""
    settings = load(None, {}, QUICK | {key.replace("__", "."): value for key, value in changes.items()})
    seeds = [f"{site.origin}/"]
    gatherer = assembly.gatherer(directory, "g0", settings, seeds)
    assert await gatherer.run(seeds, session) is GathererState.DONE
    return {record.url.removeprefix(site.origin): record for record in read_records(directory)}


async def test_what_costs_money_and_what_the_law_forbids_are_kept_as_that(tmp_path: Path) -> None:
    """402 and 451: asked for once, recorded with their status, and their words are in the archive."""
    answers = {
        "/": html("/paid", "/banned"),
        "/paid": (402, {"crawler-price": "USD 0.01"}, b"pay"),
        "/banned": (451, {"Link": '</law>; rel="blocked-by"'}, b"a court has said so"),
    }
    async with strange_site(answers) as site:
        records = await crawl(tmp_path, site)
        assert site.hits["/paid"] == site.hits["/banned"] == 1
    found = {path: (record.status, record.failure) for path, record in records.items()}
    assert found == {"/": (200, ""), "/paid": (402, "http-402"), "/banned": (451, "http-451")}
    kept = {}
    for _, file in warc_files(tmp_path):
        for member in ArchiveIterator(file):
            if member.rec_type == "response":
                path = member.rec_headers["WARC-Target-URI"].removeprefix(site.origin)
                kept[path] = member.http_headers, member.content_stream().read()
    assert kept["/paid"][0]["crawler-price"] == "USD 0.01" and kept["/banned"][1] == b"a court has said so"


async def test_a_304_that_nobody_asked_for_is_an_error(tmp_path: Path) -> None:
    """It says that a copy is good, and there was no word of a copy: neither in the first session nor later."""
    async with strange_site({"/": html("/a"), "/a": (304, {"ETag": '"x"', "Location": "/b"}, b"")}) as site:
        first = await crawl(tmp_path, site)
        assert (first["/a"].failure, first["/a"].change) == ("http-304", "")
        site.answers["/a"] = html(head="no validators")
        second = await crawl(tmp_path, site, 2)
        site.answers["/a"] = (304, {}, b"")
        third = await crawl(tmp_path, site, 3)
        assert (second["/a"].change, third["/a"].change, third["/a"].failure) == ("new", "", "http-304")
        assert "if-none-match" not in site.asked["/a"] and site.hits["/b"] == 0


async def test_a_304_that_was_asked_for_confirms_the_copy(tmp_path: Path) -> None:
    def page(asked: dict[str, str]) -> Any:
        return (304, {"ETag": '"1"'}, b"") if asked.get("if-none-match") == '"1"' else html(ETag='"1"')

    async with strange_site({"/": page}) as site:
        first = await crawl(tmp_path, site)
        second = await crawl(tmp_path, site, 2)
    assert (first["/"].change, second["/"].change, second["/"].status) == ("new", "same", 304)


async def test_answers_that_are_cut_short_are_kept_as_far_as_they_came(tmp_path: Path) -> None:
    """Too large, broken off or undecodable: the part is a page, its links are followed, WARC and record say what it is.

    What broke off was asked for again before; the halves of a robots.txt are no rules.
    """
    link = b'<a href="/found-%b">x</a>'
    breaking = {"Content-Length": "9999", "Content-Type": "text/html", "ETag": '"1"'}
    answers = {
        "/": html("/large", "/broken", "/odd"),
        "/large": (200, {"Content-Type": "text/html"}, link % b"large" + b" " * 5_000),
        "/broken": (200, breaking, link % b"broken"),
        "/odd": (200, {"Content-Type": "text/html", "Content-Encoding": "rot13"}, b"uryyb"),
        "/found-large": html(),
        "/found-broken": html(head="<meta name=other>"),
    }
    for engine in ("curl", "aiohttp"):
        async with strange_site(answers) as site:
            changes = {"fetch__engine": engine, "fetch__max_body_bytes": 1_000, "politeness__tries": 2}
            records = await crawl(tmp_path / engine, site, **changes)
            assert (site.hits["/broken"], site.hits["/large"], site.hits["/odd"]) == (2, 1, 1)
        found = {path: (record.status, record.failure, record.truncated) for path, record in records.items()}
        assert found == {
            **dict.fromkeys(("/", "/found-large", "/found-broken"), (200, "", "")),
            "/large": (200, "", "length"),
            "/broken": (200, "", "disconnect"),
            "/odd": (200, "", "unspecified"),
        }
        assert records["/large"].bytes == 1_000 and records["/broken"].etag == ""
        said = {
            (member.rec_headers["WARC-Target-URI"].removeprefix(site.origin), member.rec_headers["WARC-Truncated"])
            for _, file in warc_files(tmp_path / engine)
            for member in ArchiveIterator(file)
            if member.rec_type == "response"
        }
        assert {(path, reason or None) for path, (_, _, reason) in found.items()} <= said


async def test_a_robots_txt_that_breaks_off_is_no_rule_book(tmp_path: Path) -> None:
    answers = {"/robots.txt": (200, {"Content-Length": "999"}, b"User-agent: *\n"), "/": html()}
    async with strange_site(answers) as site:
        records = await crawl(tmp_path, site, politeness__robots_tries=1)
        assert site.hits["/"] == 0
    assert "robots" in records["/"].failure


@pytest.mark.parametrize(("limit", "padding"), [(1_000, 2_000), (16 << 20, 600_000)])
async def test_a_robots_txt_larger_than_the_limit_is_read_up_to_it(tmp_path: Path, limit: int, padding: int) -> None:
    """The limit of bodies, and that of robots.txt: 500 KB. A line that the limit cuts in two does not count."""
    head = b"User-agent: *\nDisallow: /no\n"
    edge = limit if padding < 16_000 else 500 * 1024
    filler = b"#" * (edge - len(head) - len(b"\nDisallow: /")) + b"\nDisallow: /nothing-else\n"
    rules = head + filler + b"#" * padding + b"\nDisallow: /late\n"
    answers = {"/robots.txt": (200, {}, rules), "/": html("/no", "/late"), "/late": html(head="late")}
    async with strange_site(answers) as site:
        records = await crawl(tmp_path, site, fetch__max_body_bytes=limit)
        assert (site.hits["/"], site.hits["/no"], site.hits["/late"]) == (1, 0, 1)
    assert records["/"].is_page and records["/late"].is_page


@pytest.mark.parametrize("engine", ["curl", "aiohttp"])
async def test_links_and_redirects_are_read_in_the_bytes_that_browsers_would_send(tmp_path: Path, engine: str) -> None:
    """A query in the page's charset; the raw bytes of a Location, whether they are UTF-8 or Latin-1."""
    page = '<a href="/s?q=мир"></a><a href="/utf-8"></a><a href="/latin-1"></a>'.encode("koi8-r")
    answers = {
        "/": (200, {"Content-Type": "text/html; charset=KOI8-R"}, page),
        "/s?q=%CD%C9%D2": html(),
        "/utf-8": (302, {"Location": "/é".encode().decode("latin-1")}, b""),
        "/latin-1": (302, {"Location": "/é"}, b""),
        "/%C3%A9": html(head="<meta name=utf-8>"),
        "/%E9": html(head="<meta name=latin-1>"),
    }
    async with strange_site(answers) as site:
        records = await crawl(tmp_path, site, fetch__engine=engine)
    assert {path for path, record in records.items() if record.is_page} == {"/", "/s?q=%CD%C9%D2", "/%C3%A9", "/%E9"}


AI_SITE = {
    "/robots.txt": (200, {}, b"User-agent: *\nContent-Usage: /own/ train-ai=n, search=y\nAllow: /"),
    "/": html("/own/a", "/signal", "/noai", "/meta", "/tdm", "/free"),
    "/own/a": html("/from-own"),
    "/signal": html("/from-signal", Content_Signal="search=yes, ai-input=no"),
    "/noai": html(X_Robots_Tag="noai"),
    "/meta": html(head='<meta name="robots" content="noai">'),
    "/tdm": html(tdm_reservation="1"),
    "/free": html(),
}


async def test_what_a_site_says_about_the_use_of_its_pages_is_kept(tmp_path: Path) -> None:
    async with strange_site(AI_SITE) as site:
        records = await crawl(tmp_path, site)
    found = {path: (record.usage, record.usage_raw) for path, record in records.items() if record.is_page}
    assert found == {
        "/": ("", ""),
        "/own/a": ("search=y ai-train=n", "Content-Usage: train-ai=n, search=y"),
        "/signal": ("search=y ai-input=n", "Content-Signal: search=yes, ai-input=no"),
        "/noai": ("ai-train=n", "X-Robots-Tag: noai"),
        "/meta": ("ai-train=n", "meta robots: noai"),
        "/tdm": ("ai-input=n ai-train=n", "tdm-reservation: 1"),
        "/free": ("", ""),
    }


async def test_a_crawl_with_a_purpose_takes_nothing_that_is_reserved_for_it(tmp_path: Path) -> None:
    reserved = {
        "search": set(),
        "ai-input": {"/signal", "/tdm"},
        "ai-train": {"/noai", "/meta", "/tdm"},
    }
    for purpose, paths in reserved.items():
        async with strange_site(AI_SITE) as site:
            records = await crawl(tmp_path / purpose, site, crawl__purpose=purpose)
            assert site.hits["/own/a"] == (purpose != "ai-train"), "robots.txt says so before the page is asked for"
        assert {path for path, record in records.items() if record.failure == "reserved"} == paths
        for path in paths:
            assert (records[path].text, records[path].title, records[path].warc_file) == ("", "", "")
        bodies = b"".join(file.read() for _, file in warc_files(tmp_path / purpose))
        kept = {m.rec_headers["WARC-Target-URI"].removeprefix(site.origin) for m in responses(tmp_path / purpose)}
        assert bodies and not kept & paths


#: robots.txt, the answer for /a, and what is said of it: convention and place, one after the other
SAID: dict[str, tuple[bytes, Any, str, set[str]]] = {
    "Content-Usage in robots.txt": (b"Content-Usage: train-ai=n", html(), "ai-train=n", {"ai-train"}),
    "Content-Usage for a path": (b"Content-Usage: /a bots=n", html(), "search=n ai-input=n ai-train=n", {*PURPOSES}),
    "Content-Usage for others": (b"Content-Usage: /b bots=n", html(), "", set()),
    "Content-Usage header": (b"", html(Content_Usage="train-ai=n, search=y"), "search=y ai-train=n", {"ai-train"}),
    "Content-Signal in robots.txt": (
        b"Content-Signal: search=yes, ai-input=no, ai-train=no",
        html(),
        "search=y ai-input=n ai-train=n",
        {"ai-input", "ai-train"},
    ),
    "Content-Signal header": (b"", html(Content_Signal="search=no"), "search=n", {"search"}),
    "noai header": (b"", html(X_Robots_Tag="noai"), "ai-train=n", {"ai-train"}),
    "noai for others": (b"", html(X_Robots_Tag="otherbot: noai"), "", set()),
    "noai meta": (b"", html(head='<meta name="robots" content="noai, noimageai">'), "ai-train=n", {"ai-train"}),
    "noimageai header of an image": (
        b"",
        (200, {"Content-Type": "image/gif", "X-Robots-Tag": "noimageai"}, b"GIF89a"),
        "ai-train=n",
        {"ai-train"},
    ),
    "noimageai header of a page": (b"", html(X_Robots_Tag="noimageai"), "", set()),
    "tdm-reservation header": (b"", html(tdm_reservation="1"), "ai-input=n ai-train=n", {"ai-input", "ai-train"}),
    "tdm-reservation meta": (
        b"",
        html(head='<meta name="tdm-reservation" content="1">'),
        "ai-input=n ai-train=n",
        {"ai-input", "ai-train"},
    ),
    "tdm-reservation: 0": (b"", html(tdm_reservation="0"), "", set()),
}


#: statements that are kept as they were made, and reserve nothing of this page
SAID_OF_NOTHING_HERE = {"tdm-reservation: 0", "noimageai header of a page"}


@pytest.mark.parametrize("name", SAID)
async def test_each_ai_preference_is_kept_and_heeded_wherever_it_is_stated(tmp_path: Path, name: str) -> None:
    rule, answer, column, reserved = SAID[name]
    answers = {"/robots.txt": (200, {}, b"User-agent: *\n" + rule + b"\nAllow: /"), "/a": answer}
    for purpose in ("", *PURPOSES):
        async with strange_site(answers) as site:
            settings = load(None, {}, QUICK | {"crawl.purpose": purpose})
            gatherer = assembly.gatherer(tmp_path / (purpose or "any"), "g0", settings, [f"{site.origin}/a"])
            assert await gatherer.run([f"{site.origin}/a"]) is GathererState.DONE
        records = list(read_records(tmp_path / (purpose or "any")))
        pages = [record for record in records if record.is_page]
        assert bool(pages) == (purpose not in reserved), purpose
        if pages:
            is_said = bool(column) or name in SAID_OF_NOTHING_HERE
            assert (pages[0].usage, bool(pages[0].usage_raw)) == (column, is_said)


def responses(directory: Path) -> Iterator[Any]:
    for _, file in warc_files(directory):
        yield from (member for member in ArchiveIterator(file) if member.rec_type == "response")


async def test_links_in_headers_are_followed(tmp_path: Path) -> None:
    answers = {
        "/": html(Link='</2>; rel="next", </style.css>; rel=preload', Refresh="5; url=/later"),
        "/2": html(Link="</canonical>; rel=canonical"),
        "/later": html(X_Robots_Tag="nofollow", Link="</never>; rel=next"),
        "/canonical": html(),
    }
    async with strange_site(answers) as site:
        records = await crawl(tmp_path, site)
        assert set(records) == {"/", "/2", "/later", "/canonical"}
        assert records["/2"].final_url == f"{site.origin}/canonical"


async def test_a_page_that_is_over_is_not_indexed(tmp_path: Path) -> None:
    over, coming = "Thu, 01 Jan 2015 00:00:00 GMT", "Fri, 01 Jan 2999 00:00:00 GMT"
    answers = {
        "/": html("/over", "/coming", "/meta-over", "/meta-coming"),
        "/over": html(X_Robots_Tag=f"unavailable_after: {over}"),
        "/coming": html(X_Robots_Tag=f"unavailable_after: {coming}"),
        "/meta-over": html(head=f'<meta name="robots" content="unavailable_after: {over}">'),
        "/meta-coming": html(head='<meta name="robots" content="noarchive, unavailable_after: 2999-01-01">'),
    }
    async with strange_site(answers) as site:
        records = await crawl(tmp_path, site)
    assert {path for path, record in records.items() if record.noindex} == {"/over", "/meta-over"}
    assert len(records) == 5


async def test_llms_txt_is_a_source_of_links_by_setting(tmp_path: Path) -> None:
    listed = b"# Site\n\n- [The guide](/guide.md): all of it\n- [Elsewhere](https://other.example/)\n"
    answers = {
        "/": html(),
        "/llms.txt": (200, {"Content-Type": "text/plain"}, listed),
        "/guide.md": (200, {"Content-Type": "text/markdown"}, b"# The guide\n\nSee [more](more.html).\n"),
        "/more.html": html(head="more"),
    }
    async with strange_site(answers) as site:
        assert set(await crawl(tmp_path / "without", site)) == {"/"} and not site.hits["/llms.txt"]
        records = await crawl(tmp_path / "with", site, crawl__llms_txt=True, summary__depth="fast")
    assert {path for path, record in records.items() if record.is_page} == {"/", "/guide.md", "/more.html"}
    assert records["/llms.txt"].source and records["/guide.md"].title == "The guide"


@pytest.mark.parametrize("engine", ["curl", "aiohttp"])
async def test_markdown_is_asked_for_by_setting_and_read_as_a_page(tmp_path: Path, engine: str) -> None:
    def page(asked: dict[str, str]) -> Any:
        if asked["accept"].split(",")[0] == "text/markdown":
            return 200, {"Content-Type": "text/markdown; charset=utf-8"}, b"# Title\n\nSee [a](/a) and **words**.\n"
        return html("/b")

    async with strange_site({"/": page, "/a": html(head="a"), "/b": html(head="b")}) as site:
        plain = await crawl(tmp_path / "plain", site, fetch__engine=engine)
        records = await crawl(tmp_path, site, fetch__engine=engine, fetch__markdown=True, summary__depth="fast")
    assert set(plain) == {"/", "/b"} and set(records) == {"/", "/a"}
    found = records["/"]
    assert (found.title, found.markdown) == ("Title", "# Title\n\nSee [a](/a) and **words**.")
    assert found.text == "Title\n\nSee a and words."
