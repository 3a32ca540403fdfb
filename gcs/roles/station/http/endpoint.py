"""An endpoint: one call of the API. Routes, checks of requests, and the OpenAPI description are all made from it.

Calls about a crawl are at /api/crawls/CRAWL/NAME; where the station was started for one crawl, also at /api/NAME.
Calls about the station itself are at /api/NAME.

Invariant: endpoints take and give values of `msgspec.Struct` types only, so that the description is always true.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import msgspec
from aiohttp import web

from gcs.core.helpers.access import Role
from gcs.roles.station.crawls.audit import now_entry
from gcs.roles.station.crawls.open_crawl import OpenCrawl
from gcs.roles.station.crawls.station_crawls import StationCrawls
from gcs.roles.station.http.auth import CALLER, ROLES, needs
from gcs.roles.station.http.problems import problem


@dataclass(frozen=True, slots=True)
class CrawlCall:
    """A request about one crawl."""

    request: web.Request
    crawl: OpenCrawl

    @property
    def by(self) -> str:
        """The name under which a command is posted."""
        return f"{self.request[CALLER]} (station)"


#: what a call does: given the request (for a crawl: `CrawlCall`), and its parameters or body
Handle = Callable[[Any, Any], Awaitable[msgspec.Struct]]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One call: GET reads (its parameters are the fields of `takes`), POST commands (`takes` is its JSON body)."""

    method: str
    name: str
    summary: str
    gives: type[msgspec.Struct]
    handle: Handle
    takes: type[msgspec.Struct] | None = None
    #: whether it is about a crawl; otherwise about the station
    of_crawl: bool = True
    #: what its caller must be; view for GET, crawl for POST (and then, the crawl theirs: `StationCrawls.may_command`)
    role: Role | None = None
    #: whether it only looks, though it is a POST
    only_looks: bool = False

    def paths(self, has_one: bool) -> list[str]:
        """Where it is served; `has_one`: the station was started for one crawl."""
        if not self.of_crawl:
            return [f"/api/{self.name}"]
        return [*([f"/api/{self.name}"] if has_one else ()), f"/api/crawls/{{crawl}}/{self.name}"]

    @property
    def status(self) -> int:
        """The status of the answer: a command is accepted now and carried out later."""
        return 200 if self.method == "GET" else 202

    def routes(self, crawls: StationCrawls) -> list[web.RouteDef]:
        @needs(self.role or (Role.VIEW if self.method == "GET" else Role.CRAWL))
        async def handler(request: web.Request) -> web.Response:
            if self.method == "POST" and self.takes and request.content_type != "application/json":
                return problem(415, "send application/json")
            try:
                given = await self._read(request)
            except msgspec.DecodeError as error:
                return problem(400, str(error))
            asked: web.Request | CrawlCall = request
            if self.of_crawl:
                opened = await crawl_of(request, crawls)
                if opened is None:
                    return no_crawl()
                if self.is_command and not crawls.may_command(opened.id, request[CALLER], request[ROLES]):
                    self._note(request, crawls, given, 403)
                    return problem(403, "this token commands only the crawls that it has begun")
                asked = CrawlCall(request, opened)
            answer = await self.handle(asked, given)
            if self.is_command:
                self._note(request, crawls, given, self.status)
            return web.Response(status=self.status, body=msgspec.json.encode(answer), content_type="application/json")

        return [web.route(self.method, path, handler) for path in self.paths(crawls.only is not None)]

    @property
    def is_command(self) -> bool:
        """Whether it changes anything: it is noted in the audit log."""
        return self.method == "POST" and not self.only_looks

    def _note(self, request: web.Request, crawls: StationCrawls, given: msgspec.Struct | None, status: int) -> None:
        crawls.audit_log.write(
            now_entry(request[CALLER], self.name, request.match_info.get("crawl", ""), given, status)
        )

    async def _read(self, request: web.Request) -> msgspec.Struct | None:
        """The parameters or the body of a request; DecodeError (ValidationError) if they are not as `takes` says."""
        if self.takes is None:
            return None
        if self.method == "POST":
            body = msgspec.json.decode(await request.read())
            if isinstance(body, dict):  # in JSON, 1.0 is a whole number, too
                body = {key: _whole(value) for key, value in body.items()}
            return msgspec.convert(body, self.takes)
        query: dict[str, str] = {}
        for name, value in request.query.items():
            if name in query:
                raise msgspec.ValidationError(f"`{name}` is given twice")
            query[name] = value
        return msgspec.convert(query, self.takes, strict=False)


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


async def crawl_of(request: web.Request, crawls: StationCrawls) -> OpenCrawl | None:
    """The crawl that a request is about; None if there is none of that id."""
    crawl = request.match_info.get("crawl")
    return crawls.only if crawl is None else await crawls.find(crawl)


def no_crawl() -> web.Response:
    return problem(404, "there is no such crawl here: see /api/crawls")
