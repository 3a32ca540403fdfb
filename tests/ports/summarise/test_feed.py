from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.page.values import Document
from gcs.ports.reader import Summarisers
from gcs.ports.summarise import DEFAULT, Options, Source
from gcs.ports.summarise.feed import summarise_feed
from gcs.ports.summarise.sitemap import summarise_sitemap
from tests.limits import cpu_limit

summarise = Summarisers().summarise

SUITE = Path(__file__).parents[3] / ".." / "shared" / "suites" / "crawler-commons" / "rss"
needs_suite = pytest.mark.skipif(not SUITE.is_dir(), reason="the crawler-commons suite is not there")


@pytest.mark.parametrize("zeros", ["", "0" * 5_000])
def test_feed_keeps_its_links_whatever_numbers_its_text_holds(zeros: str) -> None:
    """Python makes no int of 4,300 digits and more: the error cost all links of the feed."""
    text = f"&amp;#{zeros}65; &amp;#{zeros}{'1' * 5_000}; &amp;#x41; &amp;#0; &amp;#;"
    feed = f"<rss><channel><description>{text}</description><item><link>http://h.test/1</link><title>{text}</title>"
    document = summarise(feed.encode(), "application/rss+xml", "http://x/", "fast")
    assert document.hrefs == ["http://h.test/1"]
    assert document.text == document.description == "A \ufffd A \ufffd &#;"


@needs_suite
def test_feed_of_the_suite_with_guid_entities_and_cdata() -> None:
    document = summarise((SUITE / "feed.rss").read_bytes(), "application/rss+xml", "http://x/", "fast")
    assert document.hrefs == [
        "https://www.example.com/main.html",
        "https://www.example.com/blog/post/1",
        "https://www.example.com/guid.html",
        "https://www.example.com/foo?q=a&l=en",
        "https://www.example.com/foo?q=a&l=fr",
    ]
    assert document.title == "RSS Title"
    assert document.description == "This is an example of an RSS feed"
    assert document.text.splitlines()[:3] == [
        "Example entry",
        "Here is some text containing an interesting description.",
        "&guid& element instead of &link&",
    ]


@needs_suite
def test_feed_of_the_suite_with_seven_items() -> None:
    document = summarise((SUITE / "xmlRss_pubDate.xml").read_bytes(), "text/xml", "http://x/", "links")
    articles = [f"http://www.example.com/article_{number}" for number in range(1, 8)]
    assert document.hrefs == ["http://www.example.com/rss.xml", *articles]
    assert (document.title, document.text) == ("Main channel", "")


@needs_suite
def test_feed_suite_is_covered() -> None:
    assert {file.name for file in SUITE.iterdir()} == {"feed.rss", "xmlRss_pubDate.xml"}


ATOM = """<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="de-DE">
 <title type="html">Neues &lt;b&gt;Blatt&lt;/b&gt;</title> <subtitle>Unter</subtitle>
 <link rel="self" href="/atom.xml"/><link href="/"/><link rel="next" href="/atom.xml?page=2"/>
 <entry><title>Eins</title><link rel="enclosure" href="/eins.mp3"/><link rel="alternate" href="/eins"/>
  <summary type="html">&lt;p&gt;Erster &amp;amp; bester&lt;/p&gt;</summary></entry>
 <entry><title>Zwei</title><id>https://example.org/zwei</id></entry>
 <entry><title>Drei</title><id>tag:example.org,2024:drei</id></entry>
</feed>"""


def test_feed_reads_atom() -> None:
    document = summarise(ATOM.encode(), "application/atom+xml", "http://x/", "fast")
    assert document.hrefs == ["/", "/atom.xml?page=2", "/eins", "https://example.org/zwei"]
    assert (document.description, document.language) == ("Unter", "de")
    assert document.text == "Eins\nErster & bester\nZwei\nDrei"
    assert document.simhash


def test_feed_reads_rdf() -> None:
    rdf = """<?xml version="1.0"?><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
      xmlns="http://purl.org/rss/1.0/"><channel rdf:about="/"><title>Old</title><link>http://a/</link>
      <description>An old feed</description></channel>
      <item rdf:about="http://a/1"><title>One</title><link>http://a/1</link></item></rdf:RDF>"""
    document = summarise(rdf.encode(), "application/rdf+xml", "http://x/", "links")
    assert (document.hrefs, document.title) == (["http://a/", "http://a/1"], "Old")


def test_feed_is_bounded_and_survives_its_end() -> None:
    items = "<item><link>http://a/</link></item>" * 40
    feed = f"<rss><channel><title>T</title>{items}".encode()
    document = summarise(feed, "application/rss+xml", "http://x/", "links", Options(max_links=10))
    assert (len(document.hrefs), document.title) == (10, "T")
    assert len(summarise(feed + b"<item><li", "application/rss+xml", "http://x/", "links").hrefs) == 40


XML_SOUP = st.lists(
    st.sampled_from(
        [
            *("<rss>", "<channel>", "<item>", "<link>", "http://a/", "</link>", "</item>", "</channel>", "<entry>"),
            *(
                "<feed>",
                "<urlset>",
                "<url>",
                "<loc>",
                "</loc>",
                "</url>",
                "<![CDATA[",
                "]]>",
                "<!--",
                "-->",
                "&",
                "&amp;",
            ),
            *("<x:y>", "<link href='/x'/>", "<!DOCTYPE a [", "]>", "\0", "<?pi", "?>", "é", "<", ">"),
        ]
    ),
    max_size=30,
).map("".join)


@given(XML_SOUP | st.text(max_size=60), st.sampled_from(["utf-8", "utf-16", "latin-1"]))
def test_feed_and_sitemap_take_anything(soup: str, encoding: str) -> None:
    source = Source(soup.encode(encoding, "replace"), "application/xml", "http://x/", "fast", Options())
    assert isinstance(summarise_feed(source), Document)
    assert isinstance(summarise_sitemap(source), Document)


def test_feed_of_many_channels_takes_linear_time() -> None:
    """Each put its links in front of all others: 10 MB held a gatherer for 10 s."""
    content = b"<rss>" + b"<channel><link>http://x/</link></channel>" * 150_000
    with cpu_limit(3.0):
        assert len(summarise(content, "application/rss+xml", "http://x/", "fast").hrefs) == DEFAULT.max_links


def test_dates_of_entries_stand_beside_their_links() -> None:
    rss = (
        b"<rss><channel><link>http://x/</link>"
        b"<item><link>http://x/1</link><pubDate>Mon, 04 May 2026 10:00:00 +0200</pubDate></item>"
        b"<item><link>http://x/2</link></item></channel></rss>"
    )
    found = summarise(rss, "application/rss+xml", "http://x/", "fast")
    assert dict(zip(found.hrefs, found.dates)) == {
        "http://x/": "",
        "http://x/1": "2026-05-04T08:00:00Z",
        "http://x/2": "",
    }
    atom = (
        b"<feed><entry><link href='http://x/1'/><published>2020-01-01</published><updated>2026-05-04T10:00:00Z</updated>"
        b"</entry></feed>"
    )
    assert summarise(atom, "application/atom+xml", "http://x/", "fast").dates == ["2026-05-04T10:00:00Z"]
