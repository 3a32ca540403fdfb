"""The exhibits of the fake web: one small set of URLs for every kind of trouble that HTTP itself makes.

A group is a function that puts its plans on a `Stage` (one host). `entry` pages are linked from the home
page; the others are reached only through the exhibit that they belong to, so that a crawler which handles
the exhibit wrongly misses a page or fetches one too many. `documents` holds the groups about content.
The traps are endless families of URLs below /trap/, made when they are asked for.
"""

import re
from collections.abc import Callable
from typing import Any

from gcs.fakeweb.page_plan import Content, Element, Manner, PagePlan, PlannedLink, Spelling
from gcs.fakeweb.sites import Site
from gcs.fakeweb.spec import FakeWebSpec, mix

#: where a redirect from another host leads
LANDING = "/go/landing.html"
#: paths of the traps, and their first URLs
PREFIX = "/trap/"
ENTRIES = (
    "/trap/calendar?month=2024-01",
    "/trap/deeper/",
    "/trap/session/1.html",
    "/trap/hops/1",
    "/trap/facets?colour=1",
)
_MONTH = re.compile(r"/trap/calendar\?month=(\d{4,6})-(\d\d)$")
_SESSION = re.compile(r"/trap/session/(\d+)\.html(?:\?sid=[0-9a-f]+)?$")
_HOP = re.compile(r"/trap/hops/(\d+)$")
_FACETS = re.compile(r"/trap/facets\?[a-z0-9=&]+$")


def trap_plan(site: Site, path: str) -> PagePlan | None:
    """The plan of a path of a trap; None where there is none."""
    url = site.origin + path
    if match := _HOP.match(path):
        onward = PlannedLink(f"{site.origin}/trap/hops/{int(match[1]) + 1}", Spelling.ROOT, Element.LOCATION)
        return PagePlan(url=url, status=302, links=(onward,), is_trap=True)
    targets = _onward(site, path)
    if targets is None:
        return None
    links = tuple(PlannedLink(site.origin + target) for target in ("/", *targets))
    key = mix(site.index, *path.encode()[-64:])
    return PagePlan(url=url, links=links, title=path, text_key=key, size_bytes=500, is_trap=True)


def _onward(site: Site, path: str) -> tuple[str, ...] | None:
    if match := _MONTH.match(path):
        year, month = int(match[1]), int(match[2]) - 1
        months = (divmod(year * 12 + month + step, 12) for step in (-1, 1))
        return tuple(f"/trap/calendar?month={y:04}-{m + 1:02}" for y, m in months)
    if path.startswith("/trap/deeper/") and path.endswith("/") and not path.replace("deeper/", "").removeprefix(PREFIX):
        return (f"{path}deeper/",)
    if match := _SESSION.match(path):
        visit = mix(site.index, *path.encode())  # another id on every page, as a server that lost its cookies
        onward = int(match[1]) % 3 + 1
        return (f"/trap/session/{onward}.html?sid={visit:016x}{onward:016x}",)
    if _FACETS.match(path):
        return tuple(f"{path}&{facet}=1" for facet in ("colour", "size", "sort")) if path.count("&") < 3 else ()
    return None


class Stage:
    """The exhibits of one host, while they are put up."""

    def __init__(self, spec: FakeWebSpec, site: Site, other: Site) -> None:
        self.spec = spec
        self.site = site
        #: the next host, for what leads away; the host itself where there is one only
        self.other = other
        self.plans: dict[str, PagePlan] = {}
        self.entries: list[PlannedLink] = []

    def link(self, path: str, spelling: Spelling = Spelling.ROOT, **fields: Any) -> PlannedLink:
        return PlannedLink(self.site.origin + path, spelling, **fields)

    def page(self, path: str, *links: PlannedLink, entry: bool = False, **fields: Any) -> None:
        """Puts up one URL. Its text, size and validators follow from its place unless told."""
        key = mix(self.spec.seed, self.site.index, *path.encode())
        fields.setdefault("title", path.strip("/").replace("/", ": ") or "Home")
        fields.setdefault("text_key", key)
        fields.setdefault("size_bytes", self.spec.html_bytes)
        if self.spec.validators:
            fields.setdefault("etag", f'"{key & 0xFFFFFFFF:x}"')
        self.plans[path] = PagePlan(url=self.site.origin + path, links=links, **fields)
        if entry:
            self.entries.append(self.link(path))

    def redirect(self, path: str, status: int, to: PlannedLink, entry: bool = False) -> None:
        self.page(path, to._replace(element=Element.LOCATION), status=status, entry=entry, etag="")


def robots(stage: Stage) -> None:
    """Paths that only a crawler that reads the rules exactly tells apart."""
    for path in ("/private/open/door.html", "/private/shut.html", "/tools/run.cgi", "/tools/run.cgi?x=1"):
        stage.page(path, entry=True)
    for path in ("/search?q=fake", "/search", "/searching.html", "/privateer.html"):
        stage.page(path, entry=True)


def redirects(stage: Stage) -> None:
    """Every status, every spelling of Location, chains, loops, and a redirect to what robots.txt refuses."""
    away = PlannedLink(stage.other.origin + LANDING)
    for status, spelling in (
        (301, Spelling.ABSOLUTE),
        (302, Spelling.RELATIVE),
        (303, Spelling.SCHEME),
        (307, Spelling.ROOT),
        (308, Spelling.FRAGMENT),
    ):
        stage.page(f"/go/{status}/arrived.html")
        stage.redirect(f"/go/{status}", status, stage.link(f"/go/{status}/arrived.html", spelling), entry=True)
    for hop in range(1, 4):
        last = hop == 3
        target = "/go/chain/end.html" if last else f"/go/chain/{hop + 1}"
        stage.redirect(f"/go/chain/{hop}", 302, stage.link(target), entry=hop == 1)
    stage.page("/go/chain/end.html")
    stage.redirect("/go/loop/a", 301, stage.link("/go/loop/b"), entry=True)
    stage.redirect("/go/loop/b", 301, stage.link("/go/loop/a", Spelling.ABSOLUTE))
    stage.redirect("/go/self", 302, stage.link("/go/self"), entry=True)
    stage.redirect("/go/away", 302, away, entry=True)
    stage.redirect("/go/shut", 302, stage.link("/private/behind.html"), entry=True)
    stage.page("/private/behind.html")
    stage.page("/go/nowhere", status=302, entry=True, etag="")
    stage.redirect("/go/mail", 302, PlannedLink("mailto:nobody@example.org"), entry=True)


def errors(stage: Stage) -> None:
    """Answers that never become a page, and some that do at the second try."""
    for status in (403, 404, 410, 500):
        stage.page(f"/err/{status}.html", status=status, entry=True, etag="")
    for status in (503, 429):
        stage.page(f"/err/after-{status}.html")
        after = stage.link(f"/err/after-{status}.html")
        stage.page(f"/err/{status}.html", after, manner=Manner.FLAKY, first_status=status, entry=True)
    for manner in (Manner.RESET_ONCE, Manner.RESET, Manner.CUT, Manner.GARBAGE, Manner.DAMAGED):
        stage.page(f"/err/{manner}.html", manner=manner, entry=True)


def slow(stage: Stage) -> None:
    """Pages that take `slow_s`."""
    stage.page("/slow/late.html", manner=Manner.SLOW, entry=True)
    stage.page("/slow/drip.html", manner=Manner.DRIP, transfer="chunked", entry=True)


def codings(stage: Stage) -> None:
    """Every way to frame and to compress a body."""
    ways: dict[str, dict[str, Any]] = {
        "gzip": {"coding": "gzip"},
        "deflate": {"coding": "deflate"},
        "chunked": {"transfer": "chunked"},
        "chunked-gzip": {"transfer": "chunked", "coding": "gzip"},
        "close": {"transfer": "close"},
        "large": {"size_bytes": 300_000},
        "empty": {"content": Content.BYTES, "size_bytes": 0},
    }
    for name, fields in ways.items():
        stage.page(f"/coding/{name}.html", entry=True, **fields)


def hostile(stage: Stage) -> None:
    """Answers that hurt a crawler without limits."""
    stage.page("/hostile/endless.html", manner=Manner.ENDLESS, transfer="chunked", entry=True, etag="")
    stage.page("/hostile/hang.html", manner=Manner.HANG, entry=True, etag="")
    stage.page("/hostile/bomb.html", content=Content.ZEROS, coding="gzip", entry=True, etag="", size_bytes=256 << 20)


#: by the name of the flag
HTTP_GROUPS: dict[str, Callable[[Stage], None]] = {
    group.__name__: group for group in (robots, redirects, errors, slow, codings, hostile)
}
