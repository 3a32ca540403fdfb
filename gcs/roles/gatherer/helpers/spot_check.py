"""Spot check: pages of untrusted helpers wait here until the gatherer's own fetches of some of them agree, or do not.

    helper behind the gateway ─► hold ─► lot ─► drawn ────► queued again ─► own fetch ─► looked ─► recorder
                                          └───► the rest ─► believed ─► recorder
                                                       └──► refused ──► queued again

While a page waits it is under way like one that is being read: its URL is open, and a crash leaves it queued. So
nothing that is not believed has ever touched the record store or the frontier.

Invariant: every page that is held leaves once: recorded as believed, or back into the queue. What is judged, and how,
is for `core.helpers.trust`; this only looks and acts.
"""

import dataclasses
from collections.abc import Callable, Iterable
from random import Random
from typing import NamedTuple

from gcs.core.helpers.page_compare import PageView
from gcs.core.helpers.trust import Quarantine, TrustSettings, Verdict
from gcs.core.page.values import PageFacts, Response, Result
from gcs.core.url.queued_url import QueuedUrl
from gcs.events import Events
from gcs.ports.records.warc import payload_digest
from gcs.ports.summarise.text import all_words

#: statuses that say that there is no page, whoever asks
NO_PAGE = frozenset({404, 410})

events = Events("spot-check")


class HeldPage(NamedTuple):
    """A page as an untrusted helper reports it."""

    entry: QueuedUrl
    response: Response
    facts: PageFacts


class SpotCheck:
    """The pages that untrusted helpers have delivered to one gatherer."""

    def __init__(
        self,
        settings: TrustSettings,
        record: Callable[[HeldPage], None],
        fetch: Callable[[QueuedUrl], None],
        cut_off: Callable[[str, str], None],
    ) -> None:
        """`record` a page that is believed, `fetch` a page again, `cut_off` a helper that lied, and why."""
        self._quarantine: Quarantine[HeldPage] = Quarantine(settings, Random())
        self._record, self._fetch, self._cut_off = record, fetch, cut_off
        self._liars: set[str] = set()
        self._epoch = 0

    def __len__(self) -> int:
        """Pages that wait."""
        return len(self._quarantine)

    def next_at(self) -> float | None:
        """When to turn, unless something happens before."""
        return self._quarantine.next_at()

    def hold(self, held: HeldPage, now: float) -> None:
        """Keep a page of an untrusted helper; fetch it again instead, if the helper has lied or room is short."""
        helper, facts = held.response.helper, held.facts
        size_bytes = len(held.response.body) + len(facts.text) + sum(map(len, facts.outlinks))
        if helper in self._liars or not self._quarantine.has_room(size_bytes):
            self._fetch(held.entry)
        else:
            look = look_of(held.response, facts)
            self._quarantine.hold(helper, held.entry.url, look, held, now, size_bytes)

    def turn(self, now: float, epoch: int, is_wanted_back: bool) -> None:
        """See what is due. Everything is given up where the gatherer is to end or to pause, or the plan has changed."""
        if is_wanted_back or epoch != self._epoch:
            self._epoch = epoch
            self._refuse(self._quarantine.clear())
            return
        drawn, verdicts = self._quarantine.tick(now)
        self._refuse(drawn)
        for verdict in verdicts:
            self._act(verdict, "")

    def is_awaited(self, url: str) -> bool:
        """Whether the gatherer's own fetch of this page decides about others."""
        return self._quarantine.is_drawn(url)

    def looked(self, entry: QueuedUrl, response: Response, facts: PageFacts) -> bool:
        """An awaited page was fetched here. False: it may have changed, and is queued for a second fetch."""
        verdict = self._quarantine.looked(entry.url, own_look(response, facts))
        self._act(verdict, entry.url)
        if verdict.again:
            self._fetch(entry)
        return not verdict.again

    def no_page(self, entry: QueuedUrl, result: Result) -> None:
        """No page was found where a helper reported one; or the fetch failed, which proves nothing."""
        url, answered = entry.url, type(result) is Response
        gone = type(result) is Response and result.status in NO_PAGE
        self._act(self._quarantine.looked(url, None) if gone else self._quarantine.unseen(url, answered), url)

    def forget(self, helpers: Iterable[str]) -> None:
        """Forget helpers that were cut off, by this gatherer or by others."""
        for helper in set(helpers) - self._liars:
            self._liars.add(helper)
            self._refuse(self._quarantine.clear(helper))

    def _act(self, verdict: Verdict[HeldPage], url: str) -> None:
        if verdict.lie:
            events.warning("lied", helper=verdict.helper, url=url, why=verdict.lie)
        for held in verdict.believed:
            self._record(held)
        self._refuse(verdict.refused)
        if verdict.cut_off:
            self._liars.add(verdict.helper)
            self._cut_off(verdict.helper, f"it lied about {url}: {verdict.lie}")

    def _refuse(self, held: Iterable[HeldPage]) -> None:
        for each in held:
            self._fetch(each.entry)


def look_of(response: Response, facts: PageFacts) -> PageView:
    """What an answer and the facts of its page show, for comparison."""
    digest = response.absent[1] if response.absent else payload_digest(response.body)
    details = {
        ("its address", facts.final_url),
        ("noindex", str(facts.noindex)),
        ("a shell", str(facts.shell)),
        ("a list of links", str(facts.source)),
        ("its status", str(response.status)),
        ("its type", _all_values(response, "content-type")),
        (f"size of {digest}", str(response.size_bytes)),
    }
    if facts.language:  # not every reader looks for it
        details.add(("its language", facts.language))
    if not response.absent:
        details.add((f"coding of {digest}", _all_values(response, "content-encoding")))
    return PageView(
        frozenset({digest}),
        frozenset([*facts.outlinks, facts.final_url]),
        facts.title,
        facts.text,
        description=facts.description,
        facts=frozenset(details),
    )


def _all_values(response: Response, name: str) -> str:
    """All headers of that name, as they are stored: readers of the WARC may believe any of them."""
    return ",".join("".join(value.lower().split()) for value in response.header_values(name))


def own_look(response: Response, facts: PageFacts) -> PageView:
    """The page of an own fetch, with all its words, and its digest without content coding, as in browsers."""
    look, digest = look_of(response, facts), payload_digest(response.content)
    bare = {(f"size of {digest}", str(len(response.content))), (f"coding of {digest}", "")}
    bare.add(("a shell", str(False)))  # to a browser, no page is one
    return dataclasses.replace(
        look,
        digests=look.digests | {digest},
        facts=look.facts | bare | {("its language", facts.language)},
        words=all_words(response.content, response.header("content-type") or ""),
    )
