"""The HTML summariser: one set of expectations for all depths, and oracles that share no code with it."""

import html
import random
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gcs.core.page.ai_preferences import MOST_STATEMENTS, STATEMENT_LENGTH
from gcs.core.page.values import Document
from gcs.ports.summarise import DEFAULT, Depth, Options, Source
from gcs.ports.summarise.html import primary_language, refresh_target, srcset_urls, summarise_html
from tests.limits import cpu_limit, memory_limit

PAGE = b"""<!DOCTYPE html>
<html lang="en-GB">
<head>
<title>
  A page &amp;
  its title</title>
<meta name="Description" content=" What it   says. ">
<meta property="og:description" content="Not this one.">
<base href="/base/">
<base href="/second/">
<link rel="stylesheet" href="style.css">
<link rel="alternate stylesheet" href="dark.css">
<link rel=icon href=favicon.ico>
<link rel="Canonical" href="/canon">
<link rel="alternate" hreflang="de" href="/de">
<link rel="alternate" type="application/rss+xml" href="/feed">
<link rel="alternate" type="application/json+oembed" href="/oembed">
<link rel="next" href="?page=2">
<link rel="prev nofollow" href="?page=0">
</head>
<body>
<svg><title>A drawing</title><a href="/in-svg">x</a></svg>
<a href="one?a=1&amp;b=2">1</a> <A HREF='two'>2</A> <a name="anchor">no href</a> <a href="">empty</a>
<a rel="noopener NoFollow" href="/nofollow">3</a> <a rel="ugc" href="/ugc">4</a>
<map><area href="/area"><area rel="nofollow" href="/area-nofollow"></map>
<iframe src="/frame"></iframe><iframe srcdoc="x"></iframe>
<noscript><a href="/noscript">5</a></noscript>
<!-- <a href="/comment">6</a> --><script>"<a href='/script'>"</script><textarea><a href="/textarea"></textarea>
<template><a href="/template">7</a></template>
<img src="/img.png" srcset="/img1.png 1x, /img2,x.png 2x"><picture><source srcset="/s.webp"></picture>
</body></html>"""
HREFS = [
    *("/de", "/feed", "?page=2", "/in-svg", "one?a=1&b=2", "two", "", "/ugc", "/area", "/frame", "/noscript"),
]


def links(markup: bytes, options: Options = DEFAULT) -> Document:
    return summarise_html(Source(markup, "text/html; charset=utf-8", "", "links", options))


def fast(markup: bytes, options: Options = DEFAULT) -> Document:
    return summarise_html(Source(markup, "text/html; charset=utf-8", "", "fast", options))


@pytest.fixture(params=[links, fast])
def read(request: pytest.FixtureRequest):
    return request.param


def test_html_finds_what_a_crawler_wants(read) -> None:
    document = read(PAGE)
    assert document.hrefs == HREFS
    assert document.base == "/base/"
    assert document.canonical == "/canon"
    assert document.title == "A page & its title"
    assert document.description == "What it says."
    assert document.language == "en"
    assert document.refresh is None
    assert (document.noindex, document.nofollow) == (False, False)


@pytest.mark.parametrize(
    ("metas", "stated"),
    [
        (b'<meta name="robots" content="noai, noimageai">', ["meta robots: noai, noimageai"]),
        (b"<META content='NoAI' NAME=Robots>", ["meta robots: NoAI"]),
        (b'<meta name="GCS" content="noimageai">', ["meta gcs: noimageai"]),
        (b'<meta name="otherbot" content="noai">', []),
        (b'<meta name="TDM-reservation" content="1"/>', ["meta tdm-reservation: 1"]),
        (b'<meta name="robots" content="noindex"><p>noai', []),
        (b"<template><meta name=robots content=noai></template>", []),
    ],
)
def test_html_finds_ai_preferences(read, metas: bytes, stated: list[str]) -> None:
    assert read(metas).stated == stated


def test_html_keeps_a_bounded_number_of_ai_preferences(read) -> None:
    stated = read(b"<meta name=robots content='noai %s'>" % (b"x" * 10_000) * 1_000).stated
    assert len(stated) == MOST_STATEMENTS and all(len(each) <= STATEMENT_LENGTH for each in stated)


def test_html_finds_images_where_they_are_wanted(read) -> None:
    hrefs = read(PAGE, Options(images=True)).hrefs
    assert hrefs == [*HREFS, "/img.png", "/img1.png", "/img2,x.png", "/s.webp"]


def test_html_reads_frames(read) -> None:
    page = b"<frameset><frame src=/menu><frame src=/main><noframes><a href=/no>x</a></noframes></frameset>"
    assert read(page).hrefs == ["/menu", "/main"]


@pytest.mark.parametrize(
    ("metas", "noindex", "nofollow"),
    [
        ('<meta name=robots content="noindex">', True, False),
        ('<meta name=ROBOTS content="Index, NoFollow">', False, True),
        ("<meta name=robots content=none>", True, True),
        ('<meta name=robots content="all, max-snippet:-1">', False, False),
        ('<meta name=gcs content="noindex"><meta name=robots content=nofollow>', True, True),
        ('<meta name=otherbot content="noindex,nofollow">', False, False),
        ("<body><meta name=robots content=noindex>", True, False),
        ("<meta name=robots>", False, False),
    ],
)
def test_html_heeds_meta_robots(read, metas: str, noindex: bool, nofollow: bool) -> None:
    document = read(f"<title>x</title>{metas}<a href=/x>x</a>".encode())
    assert (document.noindex, document.nofollow) == (noindex, nofollow)
    assert document.hrefs == ["/x"], "what nofollow means is the gatherer's business"


@pytest.mark.parametrize(
    "page",
    [
        b"<meta name=robots content='nofollow,%b'>",
        b"<meta name=description content='%b'>",
        b"<a href=x rel='%b'>x</a>",
        b"<link href=x rel='%b'>",
        b"<title>%b</title>",
    ],
)
def test_html_reads_the_beginning_of_endless_lines(read, page: bytes) -> None:
    """The words of 16 MB took 300 MB of memory."""
    words = b"ab, " * 500_000
    read(b"<p>x")  # loads what it needs
    with memory_limit(28 << 20):
        document = read(page % words)
    assert document.nofollow == (b"nofollow" in page)


def test_html_looks_at_the_first_contents_of_a_name_only() -> None:
    """Each date that is none takes microseconds, and a page has room for half a million."""
    date = b"<meta name=date content=2020-01-02>"
    assert fast(b"<meta name=date content=jan>" * 99 + date).published == "2020-01-02"
    assert fast(b"<meta name=date content=jan>" * 100 + date).published == ""


def test_html_uses_the_agent_it_is_told(read) -> None:
    page = b"<meta name=MyBot content=noindex>"
    assert read(page, Options(agent="mybot")).noindex
    assert not read(page).noindex


@pytest.mark.parametrize(
    ("page", "language"),
    [
        ("<html lang=DE-at><p>x", "de"),
        ("<html xml:lang=fr><p>x", "fr"),
        ('<meta http-equiv="Content-Language" content="es, en"><p>x', "es"),
        ("<html lang=''><p>x", ""),
        ("<html lang=x-klingon><p>x", ""),
    ],
)
def test_html_reads_the_declared_language(read, page: str, language: str) -> None:
    assert read(page.encode()).language == language


def test_html_takes_the_refresh_and_the_open_graph_description(read) -> None:
    page = b"""<meta http-equiv=Refresh content="5; URL='/next page'"><meta property="og:description" content="og">"""
    assert (read(page).refresh, read(page).description) == ("/next page", "og")


def test_html_keeps_a_bounded_number_of_links(read) -> None:
    assert len(read(b"<a href=x>y</a>" * 50, Options(max_links=20)).hrefs) == 20


def test_html_reads_invalid_utf8(read) -> None:
    assert read(b"<title>\xff\xc3</title><a href='/\xe9'>").hrefs == ["/\ufffd"]


class Oracle(HTMLParser):
    """The standard library's parser: slow, of another make."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.hrefs: list[str] = []
        self.title = ""
        self._in_title = False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in reversed(attrs)}
        relations = values.get("rel", "").lower().split()
        if tag in ("a", "area") and "href" in values and "nofollow" not in relations:
            self.hrefs.append(values["href"])
        elif tag in ("iframe", "frame") and "src" in values:
            self.hrefs.append(values["src"])
        elif tag == "link" and {"next", "alternate"} & set(relations):
            self.hrefs.append(values["href"])
        self._in_title = tag == "title"

    def handle_endtag(self, tag: str) -> None:
        self._in_title = False

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data


def generated_page(seed: int) -> str:
    """A page as sites write them: nested blocks, attributes in all quotings, entities, comments, scripts."""
    chance = random.Random(seed)

    def url() -> str:
        path = "/".join(chance.choices(["a", "b-c", "über", "x y", "..", "日本", "p.html", "'q'"], k=3))
        return path + chance.choice(["", "?a=1&b=2", "#frag", "?q=%20&copy=2", "?x=<1>", '?"q"'])

    def attribute(name: str, value: str) -> str:
        name = chance.choice([name, name.upper()])
        if chance.random() < 0.2 and not set(value) & set(" \"'`=<>"):
            return f"{name}={html.escape(value)}"
        quote = chance.choice("\"'")
        return f"{name}{chance.choice(['=', ' = '])}{quote}{html.escape(value)}{quote}"

    def link() -> str:
        attributes = [attribute("href", url())]
        if chance.random() < 0.5:
            attributes.append(attribute("rel", chance.choice(["nofollow", "noopener", "me NOFOLLOW", "nofollows"])))
        if chance.random() < 0.3:
            attributes.append(attribute("title", "a > b"))
        chance.shuffle(attributes)
        return f"<{chance.choice('aA')} {' '.join(attributes)}>text &amp; more</a>"

    def block(depth: int) -> str:
        kind = chance.randrange(9)
        if kind == 0:
            return f"<!-- <a href='/hidden'>{depth}</a> -->"
        if kind == 1:
            return "<script>if (a < b) { document.write('<a href=/no>') }</script>"
        if kind == 2:
            return f"<iframe {attribute('src', url())}></iframe>"
        if kind == 3:
            return f"<map><area shape=rect {attribute('href', url())} /></map>"
        if kind < 6 or depth > 6:
            return f"<p>{link()} and {link()}<br>"
        inside = "".join(block(depth + 1) for _ in range(chance.randint(1, 5)))
        return f"<div class='x'><ul><li>{inside}<li>{link()}</ul></div>"

    body = "".join(block(0) for _ in range(chance.randint(1, 12)))
    head = f"<title>T &lt; {seed} é</title><link rel=next {attribute('href', url())}><link rel=icon href=/i>"
    return f"<!DOCTYPE html><html lang=en><head>{head}</head><body>{body}</body></html>"


@pytest.mark.parametrize("seed", range(60))
def test_html_agrees_with_the_standard_librarys_parser(read, seed: int) -> None:
    page = generated_page(seed)
    oracle = Oracle(page)
    document = read(page.encode())
    assert document.hrefs == oracle.hrefs
    assert document.title == oracle.title
    assert len(oracle.hrefs) > 0


SOUP = st.lists(
    st.sampled_from(
        [
            *("<a href=/x>", "<a rel=nofollow href=y>", "</a>", "<div>", "</div>", "<p>", "<table>", "<tr>", "<td>"),
            *(
                "</table>",
                "<b>",
                "</b>",
                "<svg>",
                "</svg>",
                "<title>t",
                "</title>",
                "<script>",
                "</script>",
                "<!--",
                "-->",
            ),
            *("<base href=/b>", "<meta name=robots content=noindex>", "<link rel=canonical href=c>", "<iframe src=f>"),
            *("<template>", "</template>", "<noscript>", "</noscript>", "text", "&amp;"),
            *(
                "<frameset>",
                "<frame src=g>",
                "<html lang=en>",
                "<body>",
                "<head>",
                "<math>",
                "<",
                ">",
                "\0",
                "é",
                "<a href='",
            ),
        ]
    ),
    max_size=30,
).map("".join)


@given(SOUP)
@settings(max_examples=300)
def test_html_is_read_alike_at_any_depth(soup: str) -> None:
    quick, deep = links(soup.encode()), fast(soup.encode())
    assert quick.hrefs == deep.hrefs
    assert (quick.base, quick.canonical, quick.noindex) == (deep.base, deep.canonical, deep.noindex)
    assert quick.title == deep.title


@given(st.binary(max_size=400))
def test_html_takes_any_bytes(markup: bytes) -> None:
    assert isinstance(links(markup), Document)
    assert isinstance(fast(markup), Document)


@pytest.mark.parametrize("seed", range(3))
def test_html_takes_pages_cut_anywhere(read, seed: int) -> None:
    page = generated_page(seed).encode()
    whole = read(page).hrefs
    for cut in range(0, len(page), max(1, len(page) // 60)):
        found = read(page[:cut]).hrefs
        assert found[:-1] == whole[: max(len(found) - 1, 0)], "only the last link can be damaged"


# -- elements


@pytest.mark.parametrize(
    ("content", "target"),
    [
        ("0;url=/x", "/x"),
        ("0; URL = '/x y' ignored", "/x y"),
        ('3, url="/x"', "/x"),
        ("0.5;/x", "/x"),
        (".5 ;url=/x", "/x"),
        ("5", ""),
        ("5;", ""),
        ("0;url=", ""),
        ("0;url=''", ""),
        ("url=/x", ""),
        ("soon; url=/x", ""),
        ("0; url=/a b ", "/a b"),
        ("0 url=/x", "/x"),
        ("", ""),
    ],
)
def test_refresh_target_follows_the_standard(content: str, target: str) -> None:
    assert refresh_target(content) == target


@pytest.mark.parametrize(
    ("srcset", "urls"),
    [
        ("a.png", ["a.png"]),
        ("a.png 1x, b.png 2x", ["a.png", "b.png"]),
        ("a.png, b.png", ["a.png", "b.png"]),
        ("a.png,b.png", ["a.png,b.png"]),  # a comma inside a URL belongs to it
        (" ,, a.png 100w,\n\tb.png 200w, ", ["a.png", "b.png"]),
        ("data:image/png;base64,AAAA 1x, b.png 2x", ["data:image/png;base64,AAAA", "b.png"]),
        ("a.png (x, y) 1x, b.png", ["a.png", "b.png"]),
        ("a.png,,, b.png", ["a.png", "b.png"]),
        ("", []),
        (" , ", []),
    ],
)
def test_srcset_urls_follow_the_standard(srcset: str, urls: list[str]) -> None:
    assert list(srcset_urls(srcset)) == urls


@given(st.text(alphabet=" \t,()ab1x", max_size=60))
def test_srcset_urls_are_words_of_the_srcset(srcset: str) -> None:
    for url in srcset_urls(srcset):
        assert url in srcset
        assert url
        assert not set(url) & set(" \t")


@pytest.mark.parametrize(
    ("tag", "language"),
    [
        ("en", "en"),
        ("EN_us", "en"),
        (" pt-BR ", "pt"),
        ("deu", "deu"),
        ("", ""),
        ("x-y", ""),
        ("english", ""),
        ("e", ""),
    ],
)
def test_primary_language_is_the_first_subtag(tag: str, language: str) -> None:
    assert primary_language(tag) == language


@pytest.mark.parametrize(
    "page",
    [
        b"<svg>" + b"<g><title>x</title>" * 3_900,
        b"<math>" + b"<g><title>x" * 3_900,
        b"<meta http-equiv=refresh content='1" + b" " * 200_000 + b"'>",
        b"<link rel=alternate href=x type='" + b" " * 200_000 + b"x'>",
        b"<img srcset='" + b"a 1x," * 100_000 + b"'>",
        b"<html lang='" + b" " * 200_000 + b"'>",
        b"<meta http-equiv=content-type content='" + b"charset " * 50_000 + b"'>",
    ],
    ids=["drawings", "formulas", "refresh", "type", "srcset", "language", "charset"],
)
@pytest.mark.parametrize("depth", ["links", "fast"])
def test_html_reads_hostile_attributes_in_linear_time(page: bytes, depth: Depth) -> None:
    with cpu_limit(2.0):
        summarise_html(Source(page, "text/html", "", depth, Options(images=True)))


def test_html_takes_the_title_of_the_page_not_of_a_drawing() -> None:
    drawings = b"<svg><g><title>drawing</title></g></svg>" * 3
    assert links(b"<body>" + drawings + b"<title>page</title><title>next</title>").title == "page"


MORE = b"""<html><frameset><frame src="/f"><noframes><body><a href="/no-frames">x</a></noframes></frameset></html>"""
ELEMENTS = b"""<p><embed src="/film.swf"><object data="doc.pdf"></object><select><option value="1">1
<option value="/go">go<option value="page.html?x=1">page<option value="two words"><option value="2.5"></select>"""


@pytest.mark.parametrize("depth", ["links", "fast", "full"])
def test_links_that_few_crawlers_follow_are_followed_by_setting(depth: Depth) -> None:
    def hrefs(content: bytes, options: Options) -> list[str]:
        return summarise_html(Source(content, "text/html", "http://x/", depth, options)).hrefs

    assert hrefs(MORE, Options()) == ["/f"] and hrefs(ELEMENTS, Options()) == []
    more = Options(more_links=True)
    assert hrefs(MORE, more) == ["/f", "/no-frames"]
    assert hrefs(ELEMENTS, more) == ["/film.swf", "doc.pdf", "/go", "page.html?x=1"]
