"""The application: middlewares around routes, and the page's files, which are held in memory and served as they are.

Every route says which role its caller needs (see `auth`).
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
from aiohttp import web

from gcs.core.helpers.access import Role
from gcs.errors import UsageError
from gcs.ports.fetch.request_signing import DIRECTORY_PATH, KeyDirectory
from gcs.roles.station.crawls.station_crawls import StationCrawls
from gcs.roles.station.http.api import Api
from gcs.roles.station.http.auth import Authenticator, Handler, needs, public, secure
from gcs.roles.station.http.endpoint import Endpoint, crawl_of, no_crawl
from gcs.roles.station.http.openapi import describe
from gcs.roles.station.http.problems import explain, problem
from gcs.roles.station.http.prometheus import CONTENT_TYPE, exposition
from gcs.roles.station.interest.match_feeds import MatchFeeds
from gcs.roles.station.view.poller import POLL_S

#: bytes of a request's body, unless its handler reads the stream by itself
MOST_BYTES = 8 << 20
#: polls without success after which the whiteboard counts as out of reach
LATE_POLLS = 15
#: the page's files: nothing comes from elsewhere
FOLDER = Path(__file__).parents[1] / "static"
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def asset_routes() -> Iterator[web.RouteDef]:
    """A route for each file; the page itself is at /."""
    for file in sorted(FOLDER.rglob("*")):
        if file.suffix in TYPES:
            path = file.relative_to(FOLDER).as_posix()
            yield web.get("/" if path == "index.html" else f"/{path}", _serve(file))


def _serve(file: Path) -> Handler:
    body, content_type = file.read_bytes(), TYPES[file.suffix]
    tag = hashlib.sha256(body).hexdigest()[:16]

    @public
    async def serve(request: web.Request) -> web.Response:
        fresh = any(each.value == tag for each in request.if_none_match or ())
        headers = {"ETag": f'"{tag}"', "Cache-Control": "no-cache"}
        if fresh:
            return web.Response(status=304, headers=headers)
        return web.Response(body=body, content_type=content_type, charset="utf-8", headers=headers)

    return serve


def directory_route(directory: KeyDirectory) -> web.RouteDef:
    """The key directory of signed requests: public, since any site may ask for it."""

    @public
    async def serve(request: web.Request) -> web.Response:
        try:
            headers = directory.headers(str(request.url))
        except UsageError as error:  # the Host that was asked for is none
            return problem(400, str(error))
        return web.Response(body=directory.body, headers=headers)

    return web.get(DIRECTORY_PATH, serve)


def make_app(
    authenticator: Authenticator,
    crawls: StationCrawls,
    routes: Iterable[web.AbstractRouteDef] = (),
    more: Sequence[Endpoint] = (),
) -> web.Application:
    """The station's application; `routes` and calls `more` are those of other parts, such as the gateway of helpers."""
    app = web.Application(middlewares=[explain, authenticator.guard], client_max_size=MOST_BYTES)
    app.on_response_prepare.append(secure)
    endpoints = [*Api(crawls).endpoints(), *more]
    has_one = crawls.only is not None
    description = msgspec.json.encode(describe(endpoints, has_one=has_one, anybody_looks=authenticator.on_loopback))

    @public
    async def alive(_request: web.Request) -> web.Response:
        return web.Response(text="alive\n")

    @public
    async def ready(_request: web.Request) -> web.Response:
        if crawls.only and crawls.only.poller.age_s() > LATE_POLLS * POLL_S:
            return problem(503, "the whiteboard cannot be reached", {"Retry-After": "5"})
        return web.Response(text="ready\n")

    @public
    async def openapi(_request: web.Request) -> web.Response:
        return web.Response(body=description, content_type="application/json")

    @needs(Role.VIEW)
    async def metrics(_request: web.Request) -> web.Response:
        text = exposition([(opened.poller.status(), opened.poller.age_s()) for opened in crawls.open_crawls()])
        return web.Response(body=text.encode(), headers={"Content-Type": CONTENT_TYPE})

    @needs(Role.VIEW)
    async def events(request: web.Request) -> web.StreamResponse:
        opened = await crawl_of(request, crawls)
        return no_crawl() if opened is None else await opened.stream.serve(request)

    for path in (*(("/api/events",) if has_one else ()), "/api/crawls/{crawl}/events"):
        app.router.add_get(path, events, allow_head=False)
    app.router.add_get("/healthz", alive)
    app.router.add_get("/readyz", ready)
    app.router.add_get("/openapi.json", openapi)
    app.router.add_get("/metrics", metrics)
    app.add_routes([route for endpoint in endpoints for route in endpoint.routes(crawls)])
    feeds = MatchFeeds(crawls, authenticator)
    app.on_shutdown.append(feeds.end)
    app.add_routes([*asset_routes(), *feeds.routes(), *routes])
    return app
