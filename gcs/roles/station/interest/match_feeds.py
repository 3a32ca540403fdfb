"""Matches as an Atom feed, and as server-sent events that go on where a reader was (Last-Event-ID).

Feed readers send a token as the password of HTTP Basic (any user); see `http/auth.py`.

Invariant: what is sent is read from the store, by number: a reader that comes back misses nothing that is kept.
"""

import asyncio
import contextlib
import hashlib
import time
from pathlib import Path

import msgspec
from aiohttp import web

from gcs.core.helpers.access import Role
from gcs.core.watch.atom import atom_feed
from gcs.core.watch.profile import Profile
from gcs.errors import UsageError
from gcs.ports.watch import watch_file
from gcs.ports.watch.watch_store import NumberedMatch, WatchStore
from gcs.roles.station.crawls.station_crawls import StationCrawls
from gcs.roles.station.http.auth import Authenticator, needs
from gcs.roles.station.http.endpoint import CrawlCall, crawl_of, no_crawl
from gcs.roles.station.http.problems import problem
from gcs.roles.station.interest.interest_schemas import FoundMatch
from gcs.roles.station.interest.search_calls import place_of

#: entries of a feed; matches that are read at a time
_ENTRIES, _BATCH = 100, 100
#: seconds between two looks at the store, and of silence after which a reader hears that the station is there
_LOOK_S, _QUIET_S = 0.5, 15.0
#: readers of events at a time
MOST_READERS = 100


class MatchFeeds:
    """The routes of one station."""

    def __init__(self, crawls: StationCrawls, authenticator: Authenticator) -> None:
        self._crawls, self._authenticator = crawls, authenticator
        self._readers = 0
        self._ended = asyncio.Event()

    def routes(self) -> list[web.RouteDef]:
        befores = [*(("/api",) if self._crawls.only is not None else ()), "/api/crawls/{crawl}"]
        return [
            route
            for before in befores
            for route in (
                web.get(f"{before}/feed", self._feed),
                web.get(f"{before}/matches/events", self._events, allow_head=False),
            )
        ]

    async def end(self, _app: web.Application) -> None:
        """End the streams, when the application shuts down."""
        self._ended.set()

    @needs(Role.VIEW)
    async def _feed(self, request: web.Request) -> web.Response:
        opened = await crawl_of(request, self._crawls)
        if opened is None:
            return no_crawl()
        place, name = place_of(CrawlCall(request, opened)), _profile_of(request)
        found = await asyncio.to_thread(_newest, place, name)
        times = [_rfc3339(each.match.fetched_at) for each in found]
        body = atom_feed(name or "all", opened.id, [each.match for each in found], times, _rfc3339(_made_at(place)))
        tag = hashlib.sha256(body).hexdigest()[:16]
        headers = {"ETag": f'"{tag}"', "Cache-Control": "private, no-cache"}
        if any(each.value == tag for each in request.if_none_match or ()):
            return web.Response(status=304, headers=headers)
        return web.Response(body=body, content_type="application/atom+xml", charset="utf-8", headers=headers)

    @needs(Role.VIEW)
    async def _events(self, request: web.Request) -> web.StreamResponse:
        opened = await crawl_of(request, self._crawls)
        if opened is None:
            return no_crawl()
        if self._readers >= MOST_READERS:
            return problem(503, "too many readers: close some pages", {"Retry-After": "30"})
        place, name = place_of(CrawlCall(request, opened)), _profile_of(request)
        after = _after(request)
        if after is None:
            newest = await asyncio.to_thread(_read, place, None, 0, 1, True)
            after = newest[0].seq if newest else 0
        response = web.StreamResponse(
            headers={"Content-Type": "text/event-stream; charset=utf-8", "X-Accel-Buffering": "no"}
        )
        self._readers += 1
        try:
            with contextlib.suppress(ConnectionError):  # the reader has gone
                await response.prepare(request)
                await response.write(b"retry: 2000\n\n")
                await self._send(request, response, place, name, after)
        finally:
            self._readers -= 1
        return response

    async def _send(
        self, request: web.Request, response: web.StreamResponse, place: Path, name: str, after: int
    ) -> None:
        quiet_since = time.monotonic()
        while self._authenticator.allows(request, Role.VIEW) and not self._ended.is_set():
            found = await asyncio.to_thread(_read, place, name or None, after, _BATCH, False)
            if found:
                after = found[-1].seq
                await response.write(b"".join(map(_event, found)))
            elif time.monotonic() > quiet_since + _QUIET_S:
                await response.write(b": still here\n\n")
            if found or time.monotonic() > quiet_since + _QUIET_S:
                quiet_since = time.monotonic()
            if len(found) < _BATCH:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._ended.wait(), _LOOK_S)


def _event(found: NumberedMatch) -> bytes:
    return b"id: %d\nevent: match\ndata: %s\n\n" % (
        found.seq,
        msgspec.json.encode(FoundMatch(found.seq, found.at, found.match)),
    )


def _after(request: web.Request) -> int | None:
    """The number behind which a reader wants to go on; None for what is found from now on."""
    given = request.headers.get("Last-Event-ID", request.query.get("after", ""))
    if given and not (given.isascii() and given.isdecimal() and len(given) < 19):
        raise UsageError("`after` is the id of an event")
    return int(given) if given else None


def _profile_of(request: web.Request) -> str:
    name = request.query.get("profile", "")
    if name:
        Profile(name, "x").check()
    return name


def _newest(place: Path, name: str) -> list[NumberedMatch]:
    if name:
        with WatchStore(place) as store:
            store.profile(name)  # there is one, or an error
    return _read(place, name or None, 0, _ENTRIES, True)


def _read(place: Path, name: str | None, after: int, most: int, newest: bool) -> list[NumberedMatch]:
    if not watch_file(place).exists():
        return []
    with WatchStore(place) as store:
        return store.matches(name, after, most, newest)


def _made_at(place: Path) -> float:
    file = watch_file(place)
    return file.parent.stat().st_mtime if file.exists() else 0.0


def _rfc3339(at: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))
