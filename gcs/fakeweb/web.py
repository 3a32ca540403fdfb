"""The fake web as a value: URL → plan, plan → bytes, and what robots.txt says of it.

Invariant: a pure function of (spec, port). It knows no server and no request; `survey` walks it, the
server in `fakeweb.server` serves it.
"""

from functools import cached_property

from gcs.fakeweb.body import Prose, answer, render
from gcs.fakeweb.documents import DOCUMENT_GROUPS
from gcs.fakeweb.exhibits import ENTRIES, HTTP_GROUPS, LANDING, PREFIX, Stage, trap_plan
from gcs.fakeweb.markup import spell
from gcs.fakeweb.page_plan import Content, PagePlan, PlannedLink
from gcs.fakeweb.pages import PageGraph
from gcs.fakeweb.sites import Site, build_sites, page_number
from gcs.fakeweb.spec import FakeWebSpec


class Web:
    """All hosts and URLs of a fake web."""

    def __init__(self, spec: FakeWebSpec, port: int) -> None:
        self.spec = spec
        self.port = port
        self.sites = build_sites(spec, port)
        self.pages = PageGraph(spec, self.sites)
        self._by_address = {site.address: site for site in self.sites}
        self._stages: dict[int, Stage] = {}

    @property
    def seeds(self) -> tuple[str, ...]:
        """The home page from which the whole web can be found."""
        return (self.homes[0],)

    @property
    def homes(self) -> tuple[str, ...]:
        return tuple(site.origin + "/" for site in self.sites)

    def locate(self, url: str) -> tuple[Site, str] | None:
        """The site and the path (with query) of a canonical URL; None for a URL of another web."""
        address = url.removeprefix("http://").partition(":")[0]
        site = self._by_address.get(address)
        if site is None or not url.startswith(site.origin + "/"):
            return None
        return site, url[len(site.origin) :]

    def site_at(self, address: str) -> Site | None:
        return self._by_address.get(address)

    def allowed(self, url: str) -> bool:
        """Whether robots.txt allows a crawler to fetch the URL; False for a URL of another web."""
        place = self.locate(url)
        return place is not None and place[0].allows(place[1])

    def delay_s(self, site: Site) -> float:
        """The least time between two requests that this host accepts."""
        return self.spec.delay_s if site.crawl_delay_s is None else site.crawl_delay_s

    def plan(self, url: str) -> PagePlan:
        """What a URL of this web answers; 404 where there is nothing."""
        place = self.locate(url)
        return self.plan_at(*place) if place else PagePlan(url=url, status=404)

    def plan_at(self, site: Site, path: str) -> PagePlan:
        if path == "/robots.txt":
            return self._robots(site)
        number = page_number(site.index, path)
        found: PagePlan | None = None
        if number is not None:
            found = self.pages.plan(site, number, tuple(self._stage(site).entries) if number == 0 else ())
        if found is None and path.startswith(PREFIX) and "traps" in site.groups:
            found = trap_plan(site, path)
        if found is None:
            found = self._stage(site).plans.get(path)
        return found or PagePlan(url=site.origin + path, status=404)

    def answer(self, plan: PagePlan, accepts: bytes = b"gzip, deflate") -> bytes:
        """Head and body of the answer, as a server without trouble sends them."""
        location = ""
        if 300 <= plan.status < 400 and plan.links:
            location = spell(plan.links[0].target, plan.url, plan.links[0].spelling)
        return answer(plan, self.body(plan), accepts=accepts, location=location)

    def body(self, plan: PagePlan) -> bytes:
        """The body before any content coding."""
        return b"" if plan.content is Content.ZEROS else render(plan, self._prose)

    @cached_property
    def _prose(self) -> Prose:
        return Prose(self.spec.seed)

    def _robots(self, site: Site) -> PagePlan:
        if site.robots_status != 200:
            return PagePlan(url=site.origin + "/robots.txt", status=site.robots_status)
        return PagePlan(url=site.origin + "/robots.txt", content=Content.ROBOTS, title=site.robots_txt())

    def _stage(self, site: Site) -> Stage:
        if site.index in self._stages:
            return self._stages[site.index]
        stage = self._stages[site.index] = Stage(self.spec, site, self.sites[(site.index + 1) % len(self.sites)])
        if self.spec.redirects:
            stage.page(LANDING)
        for name in site.groups:
            group = HTTP_GROUPS.get(name) or DOCUMENT_GROUPS.get(name)
            if group:
                group(stage)
        if "traps" in site.groups:
            stage.entries += [PlannedLink(site.origin + path) for path in ENTRIES]
        return stage
