"""Sitemaps: the files of crawler-commons, with what a reader of each file expects, and hostile ones."""

from pathlib import Path

import pytest

from gcs.ports.reader import Summarisers
from gcs.ports.summarise import Options
from tests.limits import cpu_limit

summarise = Summarisers().summarise

SUITE = Path(__file__).parents[3] / ".." / "shared" / "suites" / "crawler-commons" / "sitemaps"
needs_suite = pytest.mark.skipif(not SUITE.is_dir(), reason="the crawler-commons suite is not there")

CATALOG = [
    "http://www.example.com/",
    "http://www.example.com/catalog?item=12&desc=vacation_hawaii",
    "http://www.example.com/catalog?item=73&desc=vacation_new_zealand",
    "http://www.example.com/catalog?item=74&desc=vacation_newfoundland",
    "http://www.example.com/catalog?item=83&desc=vacation_usa",
]
PORTALS = (10260, 2, 10080, 10140, 10340, 10400, 10430, 10440, 10450, 10460, 10470, 10480, 10490, 10550, 10570)
ENGLISH, GERMAN, SWISS = (f"http://www.example.com/{part}/" for part in ("english", "deutsch", "schweiz-deutsch"))
VIDEO = "http://www.example.com/videos/some_video_landing_page"
BLOG = "https://shinpaideshou.wordpress.com/2017/04/"

EXPECTED = {
    "do-not-visit.txt": ["http://www.example.com/do-not-visit-here"],
    "sitemap-with-bom.txt": ["http://www.domain.com/page1.html", "http://www.domain.com/page2.html"],
    "sitemap.txt": ["http://www.domain.com/page1.html", "http://www.domain.com/page2.html"],
    "sitemap.txt.gz": CATALOG,
    "xmlSitemap.gz": CATALOG,
    "sitemap.badns.xml": ["http://www.example.com/1", "http://www.example.com/2"],  # another namespace, white space
    "sitemap.ns.xml": ["http://www.example.com/1", "http://www.example.com/2"],  # prefixed
    # an index without <loc>: the URL is the text of <sitemap>
    "sitemap.index.xml": [f"https://example.com/sitemap.jss?portalCode={number}&lang=en" for number in PORTALS],
    # Atom serves as a sitemap too: the site, then the entry's page twice (plain and alternate), not its edit link
    "atom.xml": [
        "http://example.org/",
        "http://example.org/2003/12/13/atom03",
        "http://example.org/2003/12/13/atom03.html",
    ],
    "extension/pagemaps-sitemap.xml": ["http://www.example.com/foo", "http://www.example.com/bar"],
    "extension/shinpaideshou-news-sitemap.xml": [
        BLOG + "25/job-opening-reischauer-policy-research-fellow/",
        BLOG + "24/call-for-papers-nation-gender-and-history-asian-cinemas-in-perspective-2/",
        BLOG + "24/job-opening-lecturer-in-japanese-studies-university-of-leeds/",
    ],
    "extension/sitemap-images.xml": ["http://www.example.com/images/some_image_landing_page.html"],
    "extension/sitemap-links.xml": [url for page in (ENGLISH, GERMAN, SWISS) for url in (page, GERMAN, SWISS, ENGLISH)],
    "extension/sitemap-mobile.xml": [
        f"http://www.example.com/{part}/" for part in ("mobile-friendly-1", "mobile-friendly-2", "no-mobile")
    ],
    "extension/sitemap-news.xml": [
        "http://www.example.org/business/article55.html",
        "http://www.example.org/empty_news_name.html",
    ],
    "extension/sitemap-videos-tvshow.xml": ["https://example.org/my-tv-show/23/13/"],  # <loc> behind the video
    "extension/sitemap-videos.xml": [f"{VIDEO}.html", f"{VIDEO}-2.html", f"{VIDEO}-3.html"],
}
#: read in full elsewhere: too many to write down
COUNTED = {"extension/hebdenbridgetimes-articles-sitemap.xml": 74}


@needs_suite
def test_sitemap_suite_is_covered() -> None:
    files = {str(file.relative_to(SUITE)) for file in SUITE.rglob("*") if file.is_file()}
    assert files == EXPECTED.keys() | COUNTED.keys()


@needs_suite
@pytest.mark.parametrize("content_type", ["", "application/xml", "text/plain; charset=utf-8"])
@pytest.mark.parametrize("name", EXPECTED)
def test_sitemap_holds_what_its_reader_expects(name: str, content_type: str) -> None:
    if content_type == "application/xml" and not name.endswith(".xml"):
        content_type = "application/octet-stream"
    assert summarise((SUITE / name).read_bytes(), content_type, "http://x/", "links").hrefs == EXPECTED[name]


@needs_suite
@pytest.mark.parametrize("name", COUNTED)
def test_sitemap_holds_as_many_pages_as_it_has_urls(name: str) -> None:
    content = (SUITE / name).read_bytes()
    hrefs = summarise(content, "application/xml", "http://x/", "links").hrefs
    assert len(hrefs) == len(set(hrefs)) == content.count(b"<url>") == COUNTED[name]
    assert not [href for href in hrefs if ".jpg" in href], "images are not pages"


@needs_suite
def test_sitemap_lists_images_where_they_are_wanted() -> None:
    content = (SUITE / "extension/sitemap-images.xml").read_bytes()
    assert summarise(content, "text/xml", "http://x/", "links", Options(images=True)).hrefs == [
        "http://www.example.com/images/some_image_landing_page.html",
        "http://example.com/image.jpg",
        "http://example.com/photo.jpg",
    ]


def urlset(*urls: str, before: str = "", after: str = "</urlset>") -> bytes:
    inside = "".join(f"<url><loc>{url}</loc></url>" for url in urls)
    return f'<?xml version="1.0"?>{before}<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{inside}{after}'.encode()


def hrefs_of(content: bytes, content_type: str = "application/xml", options: Options | None = None) -> list[str]:
    return summarise(content, content_type, "http://x/", "links", options or Options()).hrefs


def test_sitemap_survives_bare_ampersands_html_entities_and_cdata() -> None:
    urls = ("http://a/?x=1&y=2", "http://a/&eacute;&nosuch;", "<![CDATA[http://a/?x=1&y=2]]>", "http://a/?x=1&amp;y=2")
    assert hrefs_of(urlset(*urls)) == [
        "http://a/?x=1&y=2",
        "http://a/é&nosuch;",
        "http://a/?x=1&y=2",
        "http://a/?x=1&y=2",
    ]


def test_sitemap_survives_damage_in_the_middle() -> None:
    good, damaged = urlset("http://a/1", after=""), urlset("http://a/2")
    assert hrefs_of(good + b"<url><loc>http://cut") == ["http://a/1", "http://cut"]
    assert hrefs_of(good + b"<broken <<< &" + damaged[damaged.index(b"<url>") :])[0] == "http://a/1"
    assert hrefs_of(b"\n\n " + urlset("http://a/1")) == ["http://a/1"]
    assert hrefs_of(urlset("http://a/\x00\x011")) == ["http://a/1"]
    assert hrefs_of(urlset("http://a/é").decode().encode("latin-1")) == ["http://a/é"]
    assert hrefs_of(urlset("http://a/é").decode().encode("utf-16")) == ["http://a/é"]


def test_sitemap_expands_no_entity() -> None:
    laughs = "".join(f'<!ENTITY l{level} "{f"&l{level - 1};" * 10}">' for level in range(1, 12))
    bomb = f'<!DOCTYPE x [<!ENTITY l0 "ha"><!ENTITY f SYSTEM "file:///etc/passwd">{laughs}]>'
    assert hrefs_of(urlset("http://a/&l11;", "http://a/&f;", before=bomb)) == ["http://a/&l11;", "http://a/&f;"]


def test_sitemap_is_bounded() -> None:
    assert len(hrefs_of(urlset(*["http://a/"] * 50_050))) == 50_000
    assert len(hrefs_of(urlset(*["http://a/"] * 50), options=Options(max_links=7))) == 7
    assert len(hrefs_of(b"http://a/\n" * 60_000, "text/plain")) == 50_000


@pytest.mark.parametrize(
    "content",
    [
        b"<urlset>" + b"<url>" * 50_000,
        b"<urlset>" + b"<![CDATA[" * 50_000,
        b"<urlset>" + b"<!DOCTYPE [" * 50_000,
        b"<!DOCTYPE [" * 50_000,
        b"<urlset>" + b"<!--" * 50_000,
        b"<urlset>" + b"&" * 50_000,
        b"<urlset",
        b"<urlset/>",
    ],
)
def test_sitemap_of_rubbish_is_empty(content: bytes) -> None:
    assert hrefs_of(content) == []


def test_url_list_skips_what_is_no_url() -> None:
    text = b"http://a/1\r\nHTTPS://b/2  \n\n" + b"http://c/3"
    assert hrefs_of(text, "text/plain") == ["http://a/1", "HTTPS://b/2", "http://c/3"]


@pytest.mark.parametrize("reference", ["&#55296;", "&#xDFFF;", "&#0;", "&#xFFFF;", "&#1114112;", "&#x110000;"])
def test_sitemap_bears_references_to_what_is_no_character(reference: str) -> None:
    """One of them lost all links of the file."""
    urls = [f"http://h.test/{reference}", "http://h.test/b&#38;c", "http://h.test/&#xe9;"]
    entries = "".join(f"<url><loc>{url}</loc></url>" for url in urls)
    document = Summarisers().summarise(f"<urlset>{entries}</urlset>".encode(), "text/xml", "", "links")
    assert document.hrefs == ["http://h.test/\ufffd", "http://h.test/b&c", "http://h.test/é"]


@pytest.mark.parametrize("start", [b"<base", b"<base ", b"<base/", b"<base a='"])
def test_sitemap_with_tags_without_end_takes_linear_time(start: bytes) -> None:
    """For each of them, the parser looks for its end, up to the end of the file."""
    page = b"<urlset><url><loc>http://h.test/</loc></url><!-- a < b -->" + start * 300_000 + b"></urlset>"
    with cpu_limit(5.0):
        document = Summarisers().summarise(page, "text/xml", "", "links")
    assert document.hrefs == ["http://h.test/"]


@pytest.mark.parametrize("filler", [b"<a/>", b"&", b"&#1;"])
def test_sitemap_with_millions_of_tags_takes_no_time(filler: bytes) -> None:
    page = b"<urlset><url><loc>http://h.test/</loc></url>" + filler * (8_000_000 // len(filler)) + b"</urlset>"
    with cpu_limit(5.0):
        document = Summarisers().summarise(page, "text/xml", "", "links")
    assert document.hrefs == ["http://h.test/"]


def test_sitemap_with_millions_of_attributes_is_read_in_part() -> None:
    """The parser keeps them until the root ends: 15 MB took 620 MB."""
    page = b"<urlset><url><loc>http://h.test/1</loc></url><x %b/>" % b" ".join(b"a%d=''" % n for n in range(1_100_000))
    document = Summarisers().summarise(page + b"<url><loc>http://h.test/2</loc></url>", "text/xml", "", "links")
    assert document.hrefs == ["http://h.test/1"]


def test_dates_of_sitemaps_stand_beside_their_links() -> None:
    entries = (
        b"<url><loc>/1</loc><lastmod>2026-05-04</lastmod></url>"
        b"<url><lastmod>2026-05-04T10:00:00+02:00</lastmod><loc>/2</loc>"
        b"<xhtml:link rel='alternate' href='/2-de'/></url>"
        b"<url><loc>/3</loc><lastmod>soon</lastmod></url>"
    )
    found = summarise(b"<urlset xmlns:xhtml='x'>" + entries + b"</urlset>", "text/xml", "http://x/", "links")
    assert dict(zip(found.hrefs, found.dates)) == {
        "/1": "2026-05-04",
        "/2": "2026-05-04T08:00:00Z",
        "/2-de": "",
        "/3": "",
    }
    index = b"<sitemapindex><sitemap><loc>/a.xml</loc><lastmod>2026</lastmod></sitemap></sitemapindex>"
    assert summarise(index, "text/xml", "http://x/", "links").dates == ["2026"]
    assert summarise(b"<urlset><url><loc>/1</loc></url></urlset>", "text/xml", "http://x/", "links").dates == []
