"""The recorder: what becomes of an answer. Every URL that was requested ends here, as a record or as a retry.

Invariant: a URL gets its final mark in the same turn in which its record is appended to the record log, and its
links are derived from that record alone (`apply`), so that replaying the log gives the same frontier.
"""

import time
from collections.abc import Callable, Sequence
from itertools import chain, islice

import msgspec

from gcs.core.ordering import listed, redirected
from gcs.core.page import ai_preferences
from gcs.core.page.ai_preferences import preferences
from gcs.core.page.change import Change, Past, after, change_of
from gcs.core.page.values import (
    BROKEN_OFF,
    FINAL,
    SAYINGS,
    Failure,
    PageFacts,
    PageRecord,
    Response,
    Result,
    requisite_depth,
)
from gcs.core.polite import politeness
from gcs.core.report.counters import Counters
from gcs.core.url.queued_url import STEP, QueuedUrl, level_of, priority_of
from gcs.events import Events
from gcs.ports.fetch.http_message import conditions, readable
from gcs.ports.frontier import Mark
from gcs.ports.reader import gist
from gcs.ports.records.record_store import digest_of
from gcs.ports.records.warc import Original
from gcs.ports.summarise import ParsedPage
from gcs.roles.gatherer.dependencies import Dependencies
from gcs.roles.gatherer.fetch.dispatcher import PageVisit
from gcs.settings import Settings

#: a line for each URL, with what Heritrix writes into its crawl.log
urls = Events("url")

#: how far from its page a requisite may be: page, frame or style sheet, imported sheet, its font
MOST_LEVELS = 4
#: the failure of a page that its site reserves for the purpose of the crawl
RESERVED = "reserved"


class Recorder:
    """Turns answers into records, marks and links."""

    def __init__(
        self,
        name: str,
        settings: Settings,
        dependencies: Dependencies,
        counters: Counters,
        open_urls: set[str],
        on_record: Callable[[QueuedUrl, PageRecord, float], None],
    ) -> None:
        """`open_urls`: those that were requested and have no record yet.

        `on_record` is called with every record, the entry that was requested and the seconds that this took, before
        its links are admitted.
        """
        crawl = settings.crawl
        self._max_requisites = crawl.max_requisites if crawl.requisites else 0
        self._keeps_headers = settings.summary.headers
        self._max_content_bytes = settings.fetch.max_content_bytes
        self._purpose, self._agent = settings.crawl.purpose, settings.fetch.robots_token
        self._name, self._counters, self._open_urls, self._on_record = name, counters, open_urls, on_record
        self._rules, self._max_redirects = settings.politeness, settings.crawl.max_redirects
        self._frontier, self._store, self._recrawl = dependencies.frontier, dependencies.store, dependencies.recrawl
        self._reader, self._admission, self._plugins = dependencies.reader, dependencies.admission, dependencies.plugins
        self._order, self._ledger = dependencies.frontier.order, dependencies.frontier.ledger
        self.links: list[QueuedUrl] = []  # filled by apply; emptied by the intake
        #: what these and other links of the pages add to the worth of their targets; the same
        self.gifts: dict[str, float] = {}

    def without_page(self, entry: QueuedUrl, result: Result, now: float, retry_after_s: float) -> None:
        """An answer that is no page: an error, a redirect, a 304, or no answer at all."""
        if type(result) is Failure:
            self._try_again(entry, str(result.kind), now, 0.0, None, final=result.kind in FINAL)
            return
        assert type(result) is Response
        status = result.status
        if status == 304 and conditions(result.request):
            self._counters.revisits += not level_of(entry.depth)
            self._record(entry, result, PageFacts(entry.url), "")
        elif 300 <= status < 400 and status != 304:
            self._redirect(entry, result)
        elif status in politeness.RETRY_STATUSES:
            self._try_again(entry, f"http-{status}", now, retry_after_s, result)
        else:
            self.give_up(entry, f"http-{status}", result)

    @property
    def wants_trees(self) -> bool:
        """Whether plug-ins may select something in a page."""
        return self._plugins is not None and self._plugins.read_pages

    def record_page(
        self, entry: QueuedUrl, response: Response, facts: PageFacts, parsed: ParsedPage | None = None
    ) -> None:
        response = self._with_content(response)
        if self._purpose and not preferences(self._stated(response, facts), is_image(response)).get(
            self._purpose, True
        ):
            self.give_up(entry, RESERVED, msgspec.structs.replace(response, body=b"", content=b"", absent=(0, "")))
            return
        needs: list[str] = []
        if level_of(entry.depth):
            facts = PageFacts(entry.url, source=True, stated=facts.stated)
            self._counters.requisites += 1
            self._counters.requisite_bytes += response.size_bytes
        if self._max_requisites and level_of(entry.depth) < MOST_LEVELS:
            needs = self._reader.requisites(response, self._max_requisites)
            needs = list(dict.fromkeys([*needs, *facts.requisites]))[: self._max_requisites]
        if not facts.source:
            self._counters.pages += 1
            self._counters.size_bytes += response.size_bytes
            self._counters.shells += facts.shell
        fields = ""
        if self._plugins and not facts.source:
            facts, fields = self._plugins.read(response, facts, parsed)
        self._record(entry, response, facts, "", fields, needs)

    def _with_content(self, response: Response) -> Response:
        """The response of a helper, who has read it, with what plug-ins and preferences are read from."""
        if response.content or not response.body:
            return response
        codings = (value for name, value in response.headers if name.lower() == "content-encoding")
        content, _ = readable(response.body, ",".join(codings), self._max_content_bytes)
        return msgspec.structs.replace(response, content=content)

    def _stated(self, response: Response, facts: PageFacts) -> list[str]:
        """The AI preferences for a page: of its robots.txt, its headers and its own. A helper's word is not taken."""
        tag = response.request.tag
        of_robots = tag.usage if type(tag) is PageVisit else ()
        headers = ai_preferences.of_headers(response.headers, self._agent)
        page = ai_preferences.of_page(response.content) if response.helper else facts.stated
        return list(islice(chain(of_robots, headers, page), ai_preferences.MOST_STATEMENTS))

    def asks_again(self, entry: QueuedUrl, response: Response, now: float) -> bool:
        """Whether a page that broke off is asked for once more. What came of it stays in the WARC."""
        due_at = politeness.retry_at(entry.tries + 1, self._rules.tries, self._rules, now, 0.0)
        if response.truncated not in BROKEN_OFF or due_at is None:
            return False
        self._put_back(entry, response, due_at)
        return True

    def give_up(self, entry: QueuedUrl, kind: str, response: Response | None = None) -> None:
        self._counters.fail(kind)
        self._record(entry, response, PageFacts(entry.url), kind)

    def put_aside(self, entry: QueuedUrl, until: float) -> None:
        """Let a URL be fetched once more, not before `until`."""
        self._open_urls.discard(entry.url)
        self._frontier.retry(entry, until)

    def apply(self, record: PageRecord, hops: int = 0) -> None:
        """What a record means for the frontier, the same when it is made and when it is replayed."""
        before, worth = self._frontier.settle(record.url, Mark.FAILED if record.failure else Mark.DONE)
        if record.helper:
            self._counters.helped[record.helper] = self._counters.helped.get(record.helper, 0) + 1
        if before is Mark.DONE and record.is_page:
            self._counters.repeated += 1
        if record.outlinks:
            redirect = 300 <= record.status < 400
            depth = record.depth if redirect else record.depth + 1
            hops = hops + 1 if redirect else 0
            self._counters.links += len(record.outlinks)
            for url in self._admission.admit(record.outlinks, depth):
                self.links.append(QueuedUrl(url, record.url, depth, depth, 0, hops))
        if record.status == 304:
            self.links += self._recrawl.linked_from(record.url)
        if record.requisites:
            depth, hops = requisite_depth(record), hops + 1 if 300 <= record.status < 400 else 0
            for url in self._admission.admit_requisites(record.requisites):
                self.links.append(QueuedUrl(url, record.url, depth, priority_of(depth), 0, hops))
        if self._order.weighs:
            self._give(record, worth)

    def replay(self, record: PageRecord) -> None:
        """A record that the log holds beyond the last checkpoint: count it again, and apply it."""
        self._counters.note(Change(record.change))
        if record.failure:
            self._counters.fail(record.failure)
        elif record.status == 304:
            self._counters.revisits += not record.requisite
        elif 300 <= record.status < 400:
            self._counters.redirects += 1
        elif record.is_page:
            self._counters.pages += 1
            self._counters.size_bytes += record.bytes
            self._counters.shells += record.shell
        elif record.requisite:
            self._counters.requisites += 1
            self._counters.requisite_bytes += record.bytes
        self.apply(record)

    def _give(self, record: PageRecord, worth: float) -> None:
        """Hand what the URL was worth on to where it links to, as the order says."""
        links = record.outlinks
        if not links:
            self._ledger.idle += worth
            return
        self._ledger.spent += worth
        if 300 <= record.status < 400:
            gift = redirected(self._order, worth)
        elif record.source:
            gift = listed(self._order, worth, len(links))
        else:
            gift = self._order.gift(worth, len(links))
        gifts = self.gifts
        for url in links:
            gifts[url] = gifts.get(url, 0.0) + gift

    def _redirect(self, entry: QueuedUrl, response: Response) -> None:
        target = self._reader.redirect_target(response)
        if target is None or entry.hops >= self._max_redirects:
            self.give_up(entry, "redirects" if target else f"http-{response.status}", response)
            return
        self._counters.redirects += 1
        if level_of(entry.depth):
            self._record(entry, response, PageFacts(target), "", needs=[target])
        else:
            self._record(entry, response, PageFacts(target, outlinks=[target]), "")

    def _try_again(
        self,
        entry: QueuedUrl,
        kind: str,
        now: float,
        retry_after_s: float,
        response: Response | None,
        final: bool = False,
    ) -> None:
        due_at = politeness.retry_at(entry.tries + 1, self._rules.tries, self._rules, now, retry_after_s)
        if due_at is None or final:
            self.give_up(entry, kind, response)
        else:
            self._put_back(entry, response, due_at)

    def _put_back(self, entry: QueuedUrl, response: Response | None, due_at: float) -> None:
        if response:
            self._store.fetched(response)
        self._counters.retries += 1
        self.put_aside(msgspec.structs.replace(entry, tries=entry.tries + 1), due_at)

    def _record(
        self,
        entry: QueuedUrl,
        response: Response | None,
        facts: PageFacts,
        failure: str,
        fields: str = "",
        needs: Sequence[str] = (),
    ) -> None:
        """`needs`: the requisites of the page."""
        level = level_of(entry.depth)
        if level:
            facts = msgspec.structs.replace(facts, source=True)
        record = self._record_of(entry, response, facts, failure, fields)
        if level or needs or facts.requisites:
            record = msgspec.structs.replace(record, requisite=level, requisites=list(needs))
        self._counters.note(Change(record.change))
        copy_of = Original(entry.url, record.held_at_us / 1e6) if record.held_at_us and not failure else None
        record = self._store.add_page(record, response, copy_of)
        self._open_urls.discard(record.url)
        elapsed_s = response.elapsed_s if response else 0.0
        self._counters.answer_s += elapsed_s
        self._on_record(entry, record, elapsed_s)
        if urls.tells_info:
            _log(record, elapsed_s)
        self.apply(record, entry.hops)

    def _record_of(
        self, entry: QueuedUrl, response: Response | None, facts: PageFacts, failure: str, fields: str
    ) -> PageRecord:
        """The record of a URL that is dealt with. The store fills in the place in the WARC."""
        if facts.noindex:
            facts = msgspec.structs.replace(facts, **SAYINGS)
        status, size_bytes, digest, headers = 0, 0, "", {}
        if response:
            status, size_bytes = response.status, response.size_bytes
            # of two headers of a name the first counts, as for the reader and the spot check
            headers = {name.lower(): value for name, value in reversed(response.headers)}
            digest = digest_of(response)
        # a 304 confirms the copy that is held; silence, or a server that cannot answer just now, does not disprove it
        cannot = bool(failure) and status in politeness.RETRY_STATUSES
        held = entry if status in (0, 304) or cannot else QueuedUrl(entry.url)
        told = {} if cannot or (response and response.truncated in BROKEN_OFF) else headers
        past = Past(entry.copy_digest, entry.visits, entry.changes, entry.misses)
        change = Change.NOTHING if facts.source else change_of(past, status, digest, bool(failure))
        seen = after(past, change, bool(failure))
        stated = self._stated(response, facts) if response and 200 <= status < 300 else []
        usage = ai_preferences.column(preferences(stated, is_image(response))) if response and stated else ""
        return PageRecord(
            **msgspec.structs.asdict(facts),
            url=entry.url,
            parent=entry.parent,
            depth=entry.depth % STEP,
            status=status,
            fetched_at=response.started_at if response else time.time(),
            content_type=headers.get("content-type", ""),
            bytes=size_bytes,
            digest=held.copy_digest or digest,
            summary=gist(facts),
            gatherer=self._name,
            helper=response.helper if response else "",
            etag=told.get("etag", held.etag),
            last_modified=told.get("last-modified", held.last_modified),
            failure=failure,
            session=self._recrawl.session,
            change=change.value,
            visits=seen.visits,
            changes=seen.changes,
            misses=seen.misses,
            held_at_us=entry.copy_at_us if change is Change.SAME else held.copy_at_us,
            fields=fields,
            usage=usage,
            usage_raw="\n".join(stated),
            truncated=response.truncated if response else "",
            headers=[f"{name}: {value}" for name, value in response.headers]
            if response and self._keeps_headers
            else [],
        )


def is_image(response: Response) -> bool:
    return (response.header("content-type") or "").lower().startswith("image/")


def _log(record: PageRecord, elapsed_s: float) -> None:
    urls.info(
        "failed" if record.failure else "fetched",
        status=record.status,
        bytes=record.bytes,
        url=record.url,
        depth=record.depth,
        via=record.parent or "-",
        type=record.content_type.partition(";")[0] or "-",
        by=record.helper or record.gatherer,
        began=round(record.fetched_at, 3),
        seconds=round(elapsed_s, 3),
        digest=record.digest or "-",
        note=record.failure or record.change or "-",
    )
