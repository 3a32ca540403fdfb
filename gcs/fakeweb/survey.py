"""What a correct crawler finds in a fake web: the truth that crawls are compared with.

Breadth-first over the plans, never over HTML, so that a fault of the renderer or of a parser shows as a
difference. The rules of a correct crawler, as GCS means them:

- a URL counts as a page when it answers 2xx, whatever its type, and robots.txt allows it;
- redirects, meta refresh, canonical, alternate, feeds and frames are links; a redirect itself is no page;
- rel=nofollow and the nofollow of meta robots or X-Robots-Tag are obeyed; noindex pages count as pages;
- sitemaps named by robots.txt are link sources but not pages; trap URLs are named and not entered.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Literal

from gcs.fakeweb.page_plan import Content, PagePlan
from gcs.fakeweb.sites import Site
from gcs.fakeweb.web import Web


@dataclass(frozen=True, slots=True)
class Survey:
    """The sets are disjoint and hold canonical URLs."""

    #: what a crawl stores
    pages: set[str] = field(default_factory=set)
    #: found, and refused by robots.txt: never to be requested
    forbidden: set[str] = field(default_factory=set)
    #: requested, and never a whole page: URL → "404", "500", "reset", "cut", "garbage", "encoding", "too-large"…
    failed: dict[str, str] = field(default_factory=dict)
    #: URL → target
    redirects: dict[str, str] = field(default_factory=dict)
    #: the entries of the traps
    traps: set[str] = field(default_factory=set)
    #: found, and beyond the scope or the web
    outside: set[str] = field(default_factory=set)
    #: robots.txt and sitemaps
    service: set[str] = field(default_factory=set)

    def cut_short(self) -> dict[str, str]:
        """Those of `failed` with an answer that a crawl stores as far as it comes."""
        return {url: why for url, why in self.failed.items() if why in ("cut", "encoding", "too-large")}

    def loops(self) -> set[str]:
        """The redirects that never arrive."""
        return {url for url in self.redirects if self._never_arrives(url)}

    def _never_arrives(self, url: str) -> bool:
        seen: set[str] = set()
        while url in self.redirects and url not in seen:
            seen.add(url)
            url = self.redirects[url]
        return url in seen


def survey(
    web: Web,
    seeds: tuple[str, ...] | list[str] | set[str] = (),
    *,
    scope: Literal["any", "host"] = "any",
    obey_robots: bool = True,
    read_sitemaps: bool = True,
) -> Survey:
    """Walks the web from the seeds (the web's own unless told); scope "host" keeps to the hosts of the seeds."""
    seeds = tuple(seeds) or web.seeds
    found = Survey()
    homes = {site.index for site, _ in filter(None, map(web.locate, seeds))}
    known_sites: set[int] = set()
    seen = set(seeds)
    queue = deque(seeds)

    def meet(url: str) -> None:
        if url not in seen:
            seen.add(url)
            queue.append(url)

    while queue:
        url = queue.popleft()
        place = web.locate(url)
        if place is None or (scope == "host" and place[0].index not in homes):
            found.outside.add(url)
            continue
        site, path = place
        if site.index not in known_sites:
            known_sites.add(site.index)
            for target in _service(web, site, found, read_sitemaps=read_sitemaps):
                meet(target)
        if url in found.service:
            continue
        if obey_robots and not site.allows(path):
            found.forbidden.add(url)
            continue
        for target in _visit(web.plan_at(site, path), found):
            meet(target)
    return found


def _visit(plan: PagePlan, found: Survey) -> list[str]:
    """Files a URL under what it is, and returns where it leads."""
    if plan.is_trap:
        found.traps.add(plan.url)
        return []
    if plan.failure:
        found.failed[plan.url] = plan.failure
        return []
    if plan.status >= 300:
        found.redirects[plan.url] = plan.links[0].target
    else:
        found.pages.add(plan.url)
    return [link.target for link in plan.followed]


def _service(web: Web, site: Site, found: Survey, *, read_sitemaps: bool) -> list[str]:
    """Robots.txt of a host that is met first, its sitemaps, and the URLs that they list."""
    found.service.add(f"{site.origin}/robots.txt")
    if not read_sitemaps or "sitemaps" not in site.groups:
        return []
    listed: list[str] = []
    files = [f"{site.origin}/sitemap.xml", f"{site.origin}/sitemap-index.xml"]
    while files:
        plan = web.plan(files.pop())
        found.service.add(plan.url)
        targets = [link.target for link in plan.links]
        if plan.content is Content.SITEMAP_INDEX:
            files += targets
        else:
            listed += targets
    return listed
