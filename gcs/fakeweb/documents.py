"""The exhibits about what documents say: markup, charsets, feeds, files, twins, sitemaps.

Built like the groups of `exhibits`: each puts its plans on a Stage. Pages named "bait" are mentioned where
a crawler must not take the mention for a link.
"""

from collections.abc import Callable

from gcs.fakeweb.exhibits import Stage
from gcs.fakeweb.page_plan import Content, Element, PlannedLink, Spelling
from gcs.fakeweb.sites import page_path


def markup(stage: Stage) -> None:
    """Where links stand, and what forbids to follow them."""

    def pair(name: str, *links: PlannedLink, **fields: object) -> None:
        """An entry page, and the page that only it leads to (by the links given, or by a plain one)."""
        inner = f"/markup/{name}/inner.html"
        stage.page(inner)
        stage.page(f"/markup/{name}.html", *(links or (stage.link(inner),)), entry=True, **fields)

    def inner(
        name: str, spelling: Spelling = Spelling.ROOT, element: Element = Element.A, nofollow: bool = False
    ) -> PlannedLink:
        return stage.link(f"/markup/{name}/inner.html", spelling, element=element, nofollow=nofollow)

    pair("nofollow-link", inner("nofollow-link", nofollow=True))
    pair("nofollow-page", nofollow="meta")
    pair("nofollow-header", nofollow="header")
    pair("noindex", noindex="meta")
    pair("noindex-header", noindex="header")
    pair("base", inner("base", Spelling.RELATIVE), base=stage.site.origin + "/markup/base/deep/er/")
    pair("refresh", inner("refresh", element=Element.REFRESH))
    pair("canonical", inner("canonical", Spelling.ABSOLUTE, Element.CANONICAL))
    pair("alternate", inner("alternate", element=Element.ALTERNATE))
    pair("next", inner("next", element=Element.NEXT))
    pair("area", inner("area", element=Element.AREA))
    pair("iframe", inner("iframe", element=Element.IFRAME))
    pair("frames", inner("frames", element=Element.FRAME), content=Content.FRAMESET)
    pair("comment", inner("comment", element=Element.COMMENT))
    pair("script", inner("script", element=Element.SCRIPT))
    pair("soup", *(inner("soup", spelling) for spelling in Spelling), content=Content.SOUP)
    # one page under a query that its canonical leaves out
    stage.page("/markup/item.html")
    canonical = stage.link("/markup/item.html", element=Element.CANONICAL)
    stage.page("/markup/item.html?from=home", canonical, entry=True, text_key=1)


def charsets(stage: Stage) -> None:
    """One page per charset and way to state it; each leads by a letter outside ASCII to its inner page."""
    for name, charset, stated_by in (
        ("latin1-header", "iso-8859-1", "header"),
        ("latin1-meta", "iso-8859-1", "meta"),
        ("windows-1252", "windows-1252", "meta"),
        ("utf8-bom", "utf-8", "bom"),
        ("utf8-meta", "utf-8", "meta"),
        ("shift-jis", "shift_jis", "header"),
    ):
        letter = "%E9%A7%85" if charset == "shift_jis" else "%C3%A9"
        inner = f"/charset/{name}/{letter}.html"
        stage.page(inner)
        letters = stage.link(inner, Spelling.LETTERS)
        stage.page(f"/charset/{name}.html", letters, charset=charset, charset_by=stated_by, french=True, entry=True)


def feeds(stage: Stage) -> None:
    """Feeds, announced in the head of a page, whose items nothing else links to."""
    for content, kind in ((Content.RSS, "rss"), (Content.ATOM, "atom")):
        items = [f"/feed/{kind}/item-{n}.html" for n in range(1, 4)]
        for path in items:
            stage.page(path)
        stage.page(f"/feed/{kind}.xml", *(stage.link(path, element=Element.ITEM) for path in items), content=content)
    announced = [stage.link(f"/feed/{kind}.xml", element=Element.FEED) for kind in ("rss", "atom")]
    stage.page("/feed/", *announced, entry=True)


def files(stage: Stage) -> None:
    """What is not HTML."""
    stage.page("/files/report.pdf", content=Content.PDF, entry=True)
    stage.page("/files/notes.txt", content=Content.TEXT, entry=True)
    stage.page("/files/pixel.png", content=Content.PNG, entry=True)
    stage.page("/files/data", content=Content.BYTES, size_bytes=5_000, entry=True)


def twins(stage: Stage) -> None:
    """One payload under two URLs, for revisit records."""
    for name in "ab":
        stage.page(f"/twin/{name}.html", stage.link("/"), title="Twin", text_key=2, entry=True)


def sitemaps(stage: Stage) -> None:
    """A plain sitemap, and an index of a plain and a gzipped one. Their orphans stand nowhere else."""
    site = stage.site

    def listing(path: str, *orphans: str, numbers: range) -> None:
        for orphan in orphans:
            stage.page(orphan)
        known = [page_path(site.index, n) for n in numbers if n < site.pages]
        links = [stage.link(to, Spelling.ABSOLUTE, element=Element.ITEM) for to in (*orphans, *known)]
        stage.page(path, *links, content=Content.SITEMAP, etag="")

    listing("/sitemap.xml", "/orphan/one.html", "/orphan/two?a=1&b=2", numbers=range(5))
    listing("/sitemap-a.xml", "/orphan/three.html", numbers=range(5, 10))
    listing("/sitemap-b.xml.gz", "/orphan/caf%C3%A9.html", "/private/orphan.html", numbers=range(10, 15))
    parts = [
        stage.link(path, Spelling.ABSOLUTE, element=Element.ITEM) for path in ("/sitemap-a.xml", "/sitemap-b.xml.gz")
    ]
    stage.page("/sitemap-index.xml", *parts, content=Content.SITEMAP_INDEX, etag="")


#: by the name of the flag
DOCUMENT_GROUPS: dict[str, Callable[[Stage], None]] = {
    group.__name__: group for group in (markup, charsets, feeds, files, twins, sitemaps)
}
