"""The ordinary pages of the fake web: who links to whom, and what changes from session to session.

Every page links home, to its parent and its children (so that all is reachable from the homes), and to
pages chosen by chance: neighbours, Zipf-popular pages of its host, Zipf-popular pages elsewhere (of all hosts, or
of neighbouring ones: real sites link mostly to a few others). Homes
also link to the homes of the hosts below theirs in the tree of hosts.

Invariant: a page whose links differ between two sessions has other validators in them, so that a crawler
that trusts 304 misses nothing. Only leaves disappear.
"""

from collections import defaultdict
from collections.abc import Callable
from functools import cached_property
from random import Random

from gcs.fakeweb.page_plan import PagePlan, PlannedLink, Spelling
from gcs.fakeweb.sites import HOST_FAN, Site, children, inner_pages, page_name, page_path, parent_of
from gcs.fakeweb.spec import FakeWebSpec, falls_in, mix

#: what each use of chance mixes in, so that they are independent
_LINKS, _TEXT, _CHANGE, _GONE, _PARENT, _LOOKS = range(6)
#: 2024-01-01, the youngest a page can be in session 1
_FIRST_DAY_S = 1_704_067_200
_DAY_S = 86_400
_SPELLINGS = tuple(Spelling)


class PageGraph:
    """The plans of the ordinary pages of all sites."""

    def __init__(self, spec: FakeWebSpec, sites: tuple[Site, ...]) -> None:
        self._spec = spec
        self._sites = sites

    def count(self, site: Site) -> int:
        """Pages of a host up to this session, those that are gone included."""
        return site.pages + self._added(site) * (self._spec.session - 1)

    def url(self, site: Site, number: int) -> str:
        return site.origin + page_path(site.index, number)

    def plan(self, site: Site, number: int, entries: tuple[PlannedLink, ...] = ()) -> PagePlan | None:
        """The plan of a page; `entries` are further links of a home page. None where there is no such page."""
        if not 0 <= number < self.count(site):
            return None
        spec = self._spec
        if self.is_gone(site, number):
            return PagePlan(url=self.url(site, number), status=410)
        version = self.version(site, number)
        looks = mix(spec.seed, _LOOKS, site.index, number)
        charset, charset_by = _charset(looks >> 8 & 31) if spec.charsets else ("utf-8", "header")
        return PagePlan(
            url=self.url(site, number),
            links=self._links(site, number, entries),
            title=f"{page_name(site.index, number).replace('-', ' ').capitalize()} {number}",
            text_key=mix(spec.seed, _TEXT, site.index, number, version),
            size_bytes=spec.html_bytes * (70 + looks % 61) // 100,
            french=charset != "utf-8" or (spec.charsets and looks >> 13 & 7 == 0),
            charset=charset,
            charset_by=charset_by,
            coding="gzip" if spec.codings and looks >> 16 & 3 == 0 else "",
            etag=f'"{looks & 0xFFFFFFFF:x}-{version}"' if spec.validators else "",
            modified_s=_FIRST_DAY_S - looks % 10_000_000 + (version - 1) * 100 * _DAY_S if spec.validators else 0,
        )

    # -- sessions

    def version(self, site: Site, number: int) -> int:
        """1, plus one for every later session in which the page changed."""
        return 1 + sum(self._changed_in(site, number, k) for k in range(2, self._spec.session + 1))

    def is_gone(self, site: Site, number: int) -> bool:
        """Whether the page existed once and does no more."""
        spec = self._spec
        if not spec.gone_share or number < inner_pages(site.pages):
            return False
        first = 2 if number < site.pages else 3 + (number - site.pages) // self._added(site)
        return any(
            falls_in(spec.gone_share, spec.seed, _GONE, site.index, number, k) for k in range(first, spec.session + 1)
        )

    def _changed_in(self, site: Site, number: int, session: int) -> bool:
        spec = self._spec
        if falls_in(spec.changed_share, spec.seed, _CHANGE, site.index, number, session):
            return True
        return any(child[0] == session for child in self._newcomers[site.index].get(number, ()))

    def _added(self, site: Site) -> int:
        return int(site.pages * self._spec.added_share + 0.5)

    @cached_property
    def _newcomers(self) -> list[dict[int, list[tuple[int, int]]]]:
        """Per host: page → [(session, number)] of the pages that were added below it."""
        spec = self._spec
        hosts: list[dict[int, list[tuple[int, int]]]] = []
        for site in self._sites:
            below: dict[int, list[tuple[int, int]]] = defaultdict(list)
            number = site.pages
            for session in range(2, spec.session + 1):
                for _ in range(self._added(site)):
                    below[self._parent_of_newcomer(site, number, session)].append((session, number))
                    number += 1
            hosts.append(dict(below))
        return hosts

    def _parent_of_newcomer(self, site: Site, number: int, session: int) -> int:
        """An inner page, which never disappears; one that changed in that session anyway where there is one."""
        spec = self._spec
        inner = inner_pages(site.pages)
        start = mix(spec.seed, _PARENT, site.index, number) % inner
        for step in range(min(inner, 100)):
            parent = (start + step) % inner
            if falls_in(spec.changed_share, spec.seed, _CHANGE, site.index, parent, session):
                return parent
        return 0

    # -- links

    def _links(self, site: Site, number: int, entries: tuple[PlannedLink, ...]) -> tuple[PlannedLink, ...]:
        spec, sites = self._spec, self._sites
        targets = [(site, 0)]
        if number:
            targets.append((site, parent_of(number)))
        targets += [(site, child) for child in children(number, site.pages)]
        if number == 0:
            first = site.index * HOST_FAN + 1
            targets += [(below, 0) for below in sites[first : first + HOST_FAN]]
        if spec.session > 1:
            targets += [(site, child) for _, child in self._newcomers[site.index].get(number, ())]
        chance = Random(mix(spec.seed, _LINKS, site.index, number)).random
        local = (1 - spec.foreign_share) / 2
        for _ in range(spec.links - len(targets)):
            toss = chance()
            if toss < local:
                targets.append((site, (number + int(20 * chance()) - 10) % site.pages))
            elif toss < 2 * local:
                targets.append((site, int(site.pages ** chance()) - 1))  # Zipf: P(rank ≤ r) = log r / log n
            else:
                other = self._elsewhere(site, chance)
                targets.append((other, int(other.pages ** chance()) - 1))
        if not spec.spellings:
            return (*(PlannedLink(to.origin + page_path(to.index, n)) for to, n in targets), *entries)
        return (
            *(
                PlannedLink(to.origin + page_path(to.index, n), _SPELLINGS[int(len(_SPELLINGS) * chance() ** 2)])
                for to, n in targets
            ),
            *entries,
        )

    def _elsewhere(self, site: Site, chance: Callable[[], float]) -> Site:
        """Where a link to another host leads."""
        sites, near = self._sites, self._spec.neighbours
        if not near:
            return sites[int(len(sites) ** chance()) - 1]
        step = int((near / 2 + 1) ** chance())
        return sites[(site.index + (step if chance() < 0.5 else -step)) % len(sites)]


def _charset(chance: int) -> tuple[str, str]:
    """The charset of a page and where it is said; one page in eight is not UTF-8 by header."""
    odd = {0: ("iso-8859-1", "header"), 1: ("iso-8859-1", "meta"), 2: ("windows-1252", "meta"), 3: ("utf-8", "bom")}
    return odd.get(chance, ("utf-8", "header"))
