"""The API: one table of endpoints. Routes, checks of requests, and the OpenAPI description are all made from it.

Invariant: endpoints take and give values of `view.schemas` only, so that the description is always true.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import msgspec
from aiohttp import web

from gcs.core.helpers.access import Role
from gcs.core.messages.tuples import CrawlState
from gcs.core.report.treemap import Tile
from gcs.ports.space import crawl_control
from gcs.ports.space.port import Space
from gcs.roles.station.http.auth import CALLER, ROLES, needs
from gcs.roles.station.http.problems import problem
from gcs.roles.station.view import schemas
from gcs.roles.station.view.poller import Poller

Handle = Callable[[web.Request, Any], Awaitable[msgspec.Struct]]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One call: GET reads (its parameters are the fields of `takes`), POST commands (`takes` is its JSON body)."""

    method: str
    name: str
    summary: str
    gives: type[msgspec.Struct]
    #: called with the request, and with its parameters or body
    handle: Handle
    takes: type[msgspec.Struct] | None = None

    @property
    def path(self) -> str:
        return f"/api/{self.name}"

    @property
    def status(self) -> int:
        """The status of the answer: a command is accepted now and carried out later."""
        return 200 if self.method == "GET" else 202

    def route(self) -> web.RouteDef:
        @needs(Role.VIEW if self.method == "GET" else Role.CONTROL)
        async def handler(request: web.Request) -> web.Response:
            if self.method == "POST" and self.takes and request.content_type != "application/json":
                return problem(415, "send application/json")
            try:
                given = await self._read(request)
            except msgspec.DecodeError as error:
                return problem(400, str(error))
            answer = await self.handle(request, given)
            return web.Response(status=self.status, body=msgspec.json.encode(answer), content_type="application/json")

        return web.route(self.method, self.path, handler)

    async def _read(self, request: web.Request) -> msgspec.Struct | None:
        """The parameters or the body of a request; DecodeError (ValidationError) if they are not as `takes` says."""
        if self.takes is None:
            return None
        if self.method == "POST":
            return msgspec.json.decode(await request.read(), type=self.takes)
        query: dict[str, str] = {}
        for name, value in request.query.items():
            if name in query:
                raise msgspec.ValidationError(f"`{name}` is given twice")
            query[name] = value
        return msgspec.convert(query, self.takes, strict=False)


class Api:
    """The endpoints of one station."""

    def __init__(self, poller: Poller, space: Space) -> None:
        self._poller, self._space = poller, space

    def endpoints(self) -> list[Endpoint]:
        poller, accepted = self._poller, schemas.Accepted
        pause, resume, stop = map(self._order, (CrawlState.PAUSED, CrawlState.RUNNING, CrawlState.STOPPING))
        plans = "The plans of the crawl, and what they moved"
        return [
            Endpoint("GET", "me", "What the caller may do", schemas.Me, self._me),
            Endpoint("GET", "status", "How the crawl stands", schemas.Status, _shows(poller.status)),
            Endpoint("GET", "history", "The figures over time", schemas.History, _shows(poller.history)),
            Endpoint("GET", "tree", "A part of the URL tree, and who owns it", Tile, self._tree, schemas.TreeQuery),
            Endpoint("GET", "links", "Who sends links to whom", schemas.ExchangedLinks, _shows(poller.links)),
            Endpoint("GET", "rebalances", plans, schemas.Rebalances, _shows(poller.rebalances)),
            Endpoint("GET", "errors", "Failures by kind and by host", schemas.Errors, _shows(poller.errors)),
            Endpoint(
                "GET", "pages", "Pages stored lately, with their summaries", schemas.RecentPages, _shows(poller.pages)
            ),
            Endpoint("POST", "pause", "Start nothing more until resumed", accepted, pause),
            Endpoint("POST", "resume", "Go on", accepted, resume),
            Endpoint("POST", "stop", "End; the state is kept", accepted, stop),
            Endpoint("POST", "rebalance", "Ask the leader to share the work anew", accepted, self._rebalance),
            Endpoint("POST", "seeds", "Add seeds", schemas.AddedSeeds, self._seeds, schemas.NewSeeds),
        ]

    async def _me(self, request: web.Request, _: None) -> schemas.Me:
        roles: frozenset[Role] = request[ROLES]
        return schemas.Me(request[CALLER], sorted(roles))

    async def _tree(self, _: web.Request, query: schemas.TreeQuery) -> Tile:
        return self._poller.tree(query.path, query.levels, query.most)

    def _order(self, state: CrawlState) -> Handle:
        async def give(request: web.Request, _: None) -> schemas.Accepted:
            await crawl_control.order(self._space, state, _by(request))
            return schemas.Accepted(str(state))

        return give

    async def _rebalance(self, request: web.Request, _: None) -> schemas.Accepted:
        await crawl_control.call_rebalance(self._space, _by(request))
        return schemas.Accepted("rebalance")

    async def _seeds(self, _: web.Request, given: schemas.NewSeeds) -> schemas.AddedSeeds:
        return schemas.AddedSeeds(await crawl_control.add_seeds(self._space, given.urls))


def _shows(value: Callable[[], msgspec.Struct]) -> Handle:
    async def show(_: web.Request, __: None) -> msgspec.Struct:
        return value()

    return show


def _by(request: web.Request) -> str:
    """The name under which a command is posted."""
    return f"{request[CALLER]} (station)"
