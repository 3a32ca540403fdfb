"""The fake web as a value: its shape, its sessions, and that its bytes say what its plans say.

The readers here are on purpose not ours: the standard library's HTML and XML parsers, ada for joining, and
Protego for robots.txt, so that survey and renderer are held against something independent of both.
"""

import gzip
import zlib
from collections import Counter, deque
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from urllib.parse import quote
from xml.etree import ElementTree

import can_ada
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from protego import Protego

from gcs.core.url.canonical import canonical
from gcs.errors import UsageError
from gcs.fakeweb import Content, Element, FakeWebSpec, PagePlan, PlannedLink, RequestLog, Spelling, Survey, Web, survey
from gcs.fakeweb.body import Prose
from gcs.fakeweb.exhibits import PREFIX
from gcs.fakeweb.markup import spell
from gcs.fakeweb.sites import children, host_pages, inner_pages, page_number, page_path, parent_of

PORT = 40_000
WEBS = {
    "demo": FakeWebSpec.demo(),
    "full": FakeWebSpec.full(hosts=9, pages=400, exhibits_every=3),
    "one host": FakeWebSpec.full(hosts=1, pages=60),
    "later": FakeWebSpec.demo(hosts=5, pages=300, session=3, added_share=0.1, gone_share=0.1),
    "plain": FakeWebSpec.plain(hosts=7, pages=500, host_sizes="zipf"),
}


# -- readers that share no code with the web ------------------------------------------------------------


class PageReader(HTMLParser):
    """Collects what a polite crawler follows from a page."""

    def __init__(self, text: str, url: str) -> None:
        super().__init__()
        self.url, self.hrefs, self.is_closed = url, [], False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, pairs: list[tuple[str, str | None]]) -> None:
        attributes: dict[str, str] = {}
        for name, value in pairs:
            attributes.setdefault(name, value or "")  # the first of two counts
        if tag == "base":
            self.url = join(self.url, attributes["href"])
        elif tag in ("frame", "iframe"):
            self.hrefs.append(attributes["src"])
        elif tag in ("a", "area", "link") and "nofollow" not in attributes.get("rel", ""):
            self.hrefs.append(attributes["href"])
        elif tag == "meta" and attributes.get("http-equiv") == "refresh":
            self.hrefs.append(attributes["content"].partition("url=")[2])
        elif tag == "meta" and attributes.get("name") == "robots" and "nofollow" in attributes["content"]:
            self.is_closed = True

    def links(self) -> list[str]:
        return [] if self.is_closed else [join(self.url, href) for href in self.hrefs]


def join(base: str, href: str) -> str:
    """WHATWG resolution, fragment cut, escapes in upper case."""
    url = (can_ada.parse(base) + href).href.partition("#")[0]
    head, *rest = url.split("%")
    return head + "".join("%" + part[:2].upper() + part[2:] for part in rest)


def read_answer(raw: bytes) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and decoded body of an answer."""
    head, _, body = raw.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    if headers.get("transfer-encoding") == "chunked":
        pieces, rest = [], body
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            pieces.append(rest[: int(size, 16)])
            rest = rest[int(size, 16) + 2 :]
        body = b"".join(pieces)
    elif "content-length" in headers:
        assert len(body) == int(headers["content-length"])
    if headers.get("content-encoding") == "gzip":
        body = gzip.decompress(body)
    elif headers.get("content-encoding") == "deflate":
        body = zlib.decompress(body)
    return int(first.split(" ")[1]), headers, body


def text_of(headers: dict[str, str], body: bytes) -> str:
    """Charset from the header, the BOM, or the meta element."""
    stated = headers["content-type"].partition("charset=")[2]
    if not stated and b'<meta charset="' in body:
        stated = body.partition(b'<meta charset="')[2].partition(b'"')[0].decode()
    return body.decode(stated or "utf-8-sig")


def links_of(url: str, headers: dict[str, str], body: bytes) -> list[str]:
    """Where an answer leads, whatever its type."""
    if "location" in headers:
        return [join(url, headers["location"])]
    if "nofollow" in headers.get("x-robots-tag", ""):
        return []
    if headers["content-type"].startswith("text/html"):
        return PageReader(text_of(headers, body), url).links()
    if headers["content-type"].startswith("application/gzip"):
        body = gzip.decompress(body)
    elif "xml" not in headers["content-type"]:
        return []
    found = ElementTree.fromstring(body).iter()
    return [e.get("href") or e.text or "" for e in found if e.tag.rpartition("}")[2] in ("loc", "link")]


def crawl(web: Web) -> tuple[set[str], set[str]]:
    """A plain crawl over the bytes: the pages it stores, and the URLs that robots.txt refused it."""
    rules: dict[str, Protego | None] = {}
    stored, refused, traps = set(), set(), set()
    seen, queue = set(web.seeds), deque(web.seeds)
    while queue:
        url = queue.popleft()
        if not url.startswith("http://127.") or PREFIX in url:
            traps.add(url)
            continue
        origin = url[: url.index("/", 8)]
        found: list[str] = []
        if origin not in rules:
            status, _, body = read_answer(web.answer(web.plan(origin + "/robots.txt")))
            everything = "User-agent: *\nDisallow:" + (" /" if status == 503 else "")
            rules[origin] = Protego.parse(body.decode() if status == 200 else everything)
            found += sitemap_urls(web, list(rules[origin].sitemaps))
        if not rules[origin].can_fetch(url, "gcs"):
            refused.add(url)
        else:
            plan = web.plan(url)
            if plan.failure in ("", "302", "403", "404", "410", "500"):  # the others are not for a reader of bytes
                status, headers, body = read_answer(web.answer(plan))
                if status < 300:
                    stored.add(url)
                if status < 400:
                    found += links_of(url, headers, body)
        for target in found:
            if target.startswith("http") and target not in seen:
                seen.add(target)
                queue.append(target)
    return stored, refused


def sitemap_urls(web: Web, files: list[str]) -> list[str]:
    found: list[str] = []
    for url in files:
        _, headers, body = read_answer(web.answer(web.plan(url)))
        links = links_of(url, headers, body)
        found += sitemap_urls(web, links) if b"sitemapindex" in body else links
    return found


# -- truth ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WEBS)
def test_survey_agrees_with_a_crawl_over_the_served_bytes(name: str) -> None:
    web = Web(WEBS[name], PORT)
    truth = survey(web)
    stored, refused = crawl(web)
    assert stored == truth.pages
    assert refused == truth.forbidden


@pytest.mark.parametrize("name", WEBS)
def test_survey_files_every_url_once_and_in_canonical_form(name: str) -> None:
    web = Web(WEBS[name], PORT)
    truth = survey(web)
    kinds = [truth.pages, truth.forbidden, set(truth.failed), set(truth.redirects), truth.traps, truth.service]
    assert len(set().union(*kinds)) == sum(map(len, kinds))
    assert [url for kind in kinds for url in kind if canonical(url) != url] == []
    assert not {url for url in truth.pages if not web.allowed(url)}


def test_survey_plain_web_is_wholly_reachable() -> None:
    web = Web(FakeWebSpec.plain(hosts=40, pages=2_000, host_sizes="zipf"), PORT)
    truth = survey(web)
    assert len(truth.pages) == 2_000
    assert not (truth.forbidden or truth.failed or truth.redirects or truth.traps or truth.outside)


def test_survey_scope_host_keeps_to_the_hosts_of_the_seeds() -> None:
    web = Web(FakeWebSpec.demo(), PORT)
    seeds = web.homes[:3]
    truth = survey(web, seeds, scope="host")
    assert {web.locate(url)[0].index for url in truth.pages} == {0, 1, 2}
    assert truth.outside
    assert truth.pages < survey(web).pages


def test_survey_without_robots_reaches_what_they_refuse() -> None:
    web = Web(FakeWebSpec.demo(), PORT)
    free, polite = survey(web, obey_robots=False), survey(web)
    assert polite.forbidden <= free.pages
    assert not free.forbidden
    assert {web.locate(url)[0].robots_status for url in polite.forbidden} == {200, 503}


def test_survey_sitemaps_are_the_only_way_to_orphans() -> None:
    web = Web(FakeWebSpec.demo(), PORT)
    only = survey(web).pages - survey(web, read_sitemaps=False).pages
    assert only
    assert all("/orphan/" in url for url in only)


def test_survey_full_web_shows_every_kind_of_trouble() -> None:
    truth = survey(Web(FakeWebSpec.full(hosts=9, pages=400), PORT))
    assert set(truth.failed.values()) == {
        *("302", "403", "404", "410", "500"),
        *("reset", "cut", "garbage", "encoding", "too-large", "timeout"),
    }
    assert {url.partition("/go/")[2] for url in truth.loops()} == {"loop/a", "loop/b", "self"}
    assert len(truth.traps) >= 5
    assert truth.outside == {"mailto:nobody@example.org"}


def test_survey_loops_do_not_hold_redirects_that_arrive() -> None:
    found = Survey(redirects={"a": "b", "b": "a", "c": "a", "d": "e", "e": "page"})
    assert found.loops() == {"a", "b", "c"}


# -- shape ----------------------------------------------------------------------------------------------


@given(
    st.integers(1, 300),
    st.integers(0, 5_000),
    st.sampled_from(["even", "zipf"]),
    st.sampled_from([0.0, 0.3, 0.8, 1.0]),
)
def test_host_pages_add_up_and_leave_no_host_empty(hosts: int, more: int, sizes: str, giant: float) -> None:
    spec = FakeWebSpec.plain(hosts=hosts, pages=hosts + more, host_sizes=sizes, giant_share=giant)
    pages = host_pages(spec)
    assert len(pages) == hosts
    assert sum(pages) == hosts + more
    assert min(pages) >= 1
    if giant and hosts > 1:
        assert abs(pages[0] - 1 - giant * more) <= 1


@given(st.integers(0, 10**7), st.integers(0, 300))
def test_page_path_is_canonical_and_leads_back_to_its_number(number: int, host: int) -> None:
    path = page_path(host, number)
    assert page_number(host, path) == number
    assert canonical("http://127.1.0.1:40000" + path) == "http://127.1.0.1:40000" + path


@given(st.integers(1, 3_000))
def test_tree_is_a_tree_whose_inner_pages_come_first(pages: int) -> None:
    parents = {child: parent for parent in range(pages) for child in children(parent, pages)}
    assert set(parents) == set(range(1, pages))
    assert all(parent_of(child) == parent < child for child, parent in parents.items())
    assert set(parents.values()) | {0} == set(range(inner_pages(pages)))


def test_page_paths_split_a_giant_host_into_uneven_directories() -> None:
    site = Web(FakeWebSpec.plain(hosts=2, pages=5_000, giant_share=0.8), PORT).sites[0]
    sections = Counter(page_path(site.index, n).split("/")[1] for n in range(1, site.pages))
    assert len(sections) >= 6
    assert max(sections.values()) < 0.35 * site.pages
    assert max(page_path(site.index, n).count("/") for n in range(site.pages)) == 5


def test_links_in_degrees_are_skewed_and_cross_hosts_as_asked() -> None:
    web = Web(FakeWebSpec.plain(hosts=20, pages=2_000, links=20, foreign_share=0.4), PORT)
    degrees: Counter[str] = Counter()
    foreign = total = 0
    for url in survey(web).pages:
        for link in web.plan(url).links:
            degrees[link.target] += 1
            total += 1
            foreign += web.locate(link.target)[0] is not web.locate(url)[0]
    top = sum(count for _, count in degrees.most_common(20))
    assert top > 0.1 * total  # one page in a hundred; by even chance it would be 0.01
    assert 0.15 < foreign / total < 0.4  # the tree within hosts takes its share


def test_hosts_link_to_their_neighbours_where_they_have_any() -> None:
    web = Web(FakeWebSpec.plain(hosts=20, pages=400, links=20, neighbours=4), PORT)
    gaps: Counter[int] = Counter()
    for url in survey(web).pages - set(web.homes):
        here = web.locate(url)[0].index
        gaps.update((web.locate(link.target)[0].index - here + 10) % 20 - 10 for link in web.plan(url).links)
    assert set(gaps) == {-2, -1, 0, 1, 2}
    assert min(gaps[-1], gaps[1]) > max(gaps[-2], gaps[2]) > 0


def test_pages_have_about_the_size_asked_for() -> None:
    for wanted, links in ((1_500, 8), (15_000, 40)):
        web = Web(FakeWebSpec.plain(hosts=2, pages=200, html_bytes=wanted, links=links), PORT)
        sizes = [len(web.body(web.plan(url))) for url in survey(web).pages]
        assert 0.8 * wanted < sum(sizes) / len(sizes) < 1.25 * wanted
        assert min(sizes) > 0.5 * wanted
        assert max(sizes) < 1.6 * wanted


def test_web_is_a_function_of_spec_and_port() -> None:
    def bytes_of(spec: FakeWebSpec) -> dict[str, bytes]:
        web = Web(spec, PORT)
        return {url: web.answer(web.plan(url)) for url in survey(web).pages}

    small = FakeWebSpec.demo(hosts=8, pages=80)
    once, again, other = bytes_of(small), bytes_of(small), bytes_of(replace(small, seed=2))
    assert once == again
    assert once != other
    assert len({raw.partition(b"\r\n\r\n")[2] for raw in once.values()}) > 0.9 * len(once)


def test_prose_differs_by_key_and_language() -> None:
    prose = Prose(1)
    texts = {" ".join(prose.paragraphs(key, 2_000, french)) for key in range(100) for french in (False, True)}
    assert len(texts) == 200
    assert prose.paragraphs(7, 2_000) == Prose(1).paragraphs(7, 2_000)
    assert len({" ".join(Prose(seed).paragraphs(7, 2_000)) for seed in range(10)}) == 10


def test_twins_have_one_payload() -> None:
    web = Web(FakeWebSpec.demo(), PORT)
    twins = sorted(url for url in survey(web).pages if "/twin/" in url)
    assert len(twins) == 4
    assert len({web.body(web.plan(url)) for url in twins}) == 1


def test_bomb_is_small_on_the_wire_and_large_behind_it() -> None:
    web = Web(FakeWebSpec.full(hosts=1, pages=1), PORT)
    raw = web.answer(web.plan(web.homes[0] + "hostile/bomb.html"))
    assert len(raw) < 1 << 20
    unpacked = zlib.decompressobj(wbits=31).decompress(raw.partition(b"\r\n\r\n")[2], 8 << 20)
    assert len(unpacked) == 8 << 20


def test_traps_go_on_and_lead_only_into_themselves() -> None:
    web = Web(FakeWebSpec.full(hosts=1, pages=1), PORT)
    sizes = {}
    for entry in survey(web).traps:
        seen, front = {entry}, [entry]
        while front and len(seen) < 100:
            plan = web.plan(front.pop(0))
            assert plan.is_trap
            fresh = [link.target for link in plan.links if link.target not in seen and link.target != web.homes[0]]
            assert all(PREFIX in url and canonical(url) for url in fresh)
            seen.update(fresh)
            front += fresh
        sizes[entry.partition(PREFIX)[2].partition("?")[0]] = len(seen)
    assert sizes.pop("facets") == 40
    assert sizes.keys() == {"calendar", "deeper/", "session/1.html", "hops/1"}
    assert min(sizes.values()) >= 100


def test_traps_of_session_ids_close_when_the_ids_are_stripped() -> None:
    web = Web(FakeWebSpec.full(hosts=1, pages=1), PORT)
    seen, front = set(), [web.homes[0] + "trap/session/1.html"]
    while front:
        url = front.pop()
        seen.add(url)
        links = {canonical(link.target) for link in web.plan(url).links if "session" in link.target}
        front += links - seen
    assert len(seen) == 3


@pytest.mark.parametrize(
    "wrong",
    [{"hosts": 0}, {"pages": 3}, {"host_sizes": "odd"}, {"session": 0}, {"gone_share": 1.5}, {"exhibits_every": 0}],
)
def test_spec_refuses_what_cannot_be(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="fake web"):
        FakeWebSpec.demo(**wrong)


# -- spelling -------------------------------------------------------------------------------------------

PATHS = st.lists(st.sampled_from(["a", "b", "caf%C3%A9", "x-1"]), max_size=5).map("/".join)
URLS = st.builds(
    lambda host, path, name, query: f"http://127.1.0.{host}:{PORT}/{path}{'/' if path else ''}{name}{query}",
    st.integers(1, 2),
    PATHS,
    st.sampled_from(["", "page-7.html", "show"]),
    st.sampled_from(["", "?id=3&view=full"]),
)


@settings(max_examples=400)
@given(URLS, URLS, st.sampled_from(Spelling))
@example("http://127.1.0.1:40000/a/", "http://127.1.0.1:40000/a/page-7.html", Spelling.RELATIVE)
@example("http://127.1.0.1:40000/a/?id=3&view=full", "http://127.1.0.1:40000/a/show?x=1", Spelling.RELATIVE)
def test_spell_resolves_back_to_its_target(target: str, base: str, spelling: Spelling) -> None:
    assert join(base, spell(target, base, spelling)) == target


@pytest.mark.parametrize("spelling", Spelling)
def test_html_says_a_link_in_every_spelling(spelling: Spelling) -> None:
    web = Web(FakeWebSpec.plain(hosts=1, pages=1), PORT)
    links = (
        PlannedLink(web.homes[0] + "a/caf%C3%A9/show?id=3&view=full", spelling),
        PlannedLink(web.homes[0], spelling),
    )
    for content in (Content.HTML, Content.SOUP):
        plan = PagePlan(url=web.homes[0] + "a/b/c.html", links=links, content=content, charset="iso-8859-1")
        _, headers, body = read_answer(web.answer(plan))
        found = [url for url in links_of(plan.url, headers, body) if url.startswith("http")]
        assert found == [link.target for link in links]


# -- sessions -------------------------------------------------------------------------------------------


def test_sessions_change_add_and_remove_the_shares_asked_for() -> None:
    spec = FakeWebSpec.plain(hosts=4, pages=4_000, validators=True, added_share=0.05, gone_share=0.05)
    first, second = Web(spec, PORT), Web(replace(spec, session=2), PORT)
    before, after = survey(first), survey(second)
    gone = {url for url, why in after.failed.items() if why == "410"}
    assert not before.failed
    assert len(after.pages - before.pages) == 200
    assert before.pages - after.pages == gone
    assert 120 < len(gone) < 280
    changed = {url for url in before.pages & after.pages if second.plan(url).etag != first.plan(url).etag}
    assert 300 < len(changed) < 500


def test_sessions_keep_bytes_and_links_behind_equal_validators() -> None:
    spec = FakeWebSpec.demo(hosts=4, pages=600, added_share=0.1, gone_share=0.1)
    webs = [Web(replace(spec, session=session), PORT) for session in (1, 2, 3)]
    for earlier, later in pairwise(webs):
        for url in survey(earlier).pages:
            then, now = earlier.plan(url), later.plan(url)
            if now.etag and now.etag == then.etag:
                assert now.modified_s == then.modified_s
                assert later.body(now) == earlier.body(then)


def test_sessions_newcomers_are_found_from_pages_that_changed() -> None:
    """A crawler that skips the links of pages answered by 304 still finds everything new."""
    spec = FakeWebSpec.plain(hosts=3, pages=900, validators=True, added_share=0.1, changed_share=0.02)
    webs = [Web(replace(spec, session=session), PORT) for session in (1, 2, 3)]
    for earlier, later in pairwise(webs):
        known = survey(earlier).pages
        changed = [url for url in known if later.plan(url).etag != earlier.plan(url).etag]
        linked = {link.target for url in changed for link in later.plan(url).links}
        assert survey(later).pages - known <= linked


# -- log ------------------------------------------------------------------------------------------------


def test_log_keeps_the_least_gap_and_the_most_in_flight() -> None:
    log = RequestLog()
    for at_s in (1.0, 1.5, 1.7, 4.0):
        log.start("127.1.0.1", "u", at_s, is_allowed=at_s != 4.0, headers=b"Host: x\r\nUser-Agent: gcs/1")
        if at_s >= 1.5:
            log.end("127.1.0.1", 200, 10)
    host = log.hosts["127.1.0.1"]
    assert host.min_gap_s == pytest.approx(0.2)
    assert (host.requests, host.in_flight, host.max_in_flight) == (4, 1, 2)
    assert log.forbidden == ["u"]
    assert log.repeated() == {"u": 4}
    assert log.header_values("user-agent") == {"gcs/1"}
    assert (log.statuses, log.sent_bytes) == ({200: 3}, 30)


def test_log_first_request_has_no_gap() -> None:
    log = RequestLog()
    log.start("127.1.0.1", "u", 5.0, is_allowed=True, headers=b"")
    assert log.hosts["127.1.0.1"].min_gap_s is None


def test_exhibits_names_need_no_escape() -> None:
    web = Web(FakeWebSpec.full(hosts=1, pages=1), PORT)
    links = [link for link in web.plan(web.homes[0]).links if link.element is Element.A]
    assert len(links) > 60
    assert all(quote(link.target, safe="/:?=&%") == link.target for link in links)
