"""The traps of the fake web: endless families of URLs below /trap/, made up as they are asked for.

All but one grow by one or two URLs a step, so that any guard (link depth, path length, repeated segments,
session ids stripped, redirect limit, budget of a host) ends them soon; the facets are wide and end by
themselves, since every order of every choice has its own URL. Trap pages are never part of the truth: a
survey names the entries and goes no further, and a test counts how many a crawler took.

Invariant: every URL that a trap page links to is again a trap URL (or the home page).
"""

import re

from gcs.core.fakeweb.plan import Element, Link, PagePlan, Spelling
from gcs.core.fakeweb.sites import Site
from gcs.core.fakeweb.spec import mix

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
    """The plan of a path below PREFIX; None where there is none."""
    url = site.origin + path
    if match := _HOP.match(path):
        onward = Link(f"{site.origin}/trap/hops/{int(match[1]) + 1}", Spelling.ROOT, Element.LOCATION)
        return PagePlan(url=url, status=302, links=(onward,), is_trap=True)
    targets = _onward(site, path)
    if targets is None:
        return None
    links = tuple(Link(site.origin + target) for target in ("/", *targets))
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
