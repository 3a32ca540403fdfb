"""The application: middlewares around routes, and the page's files, which are held in memory and served as they are.

Every route says which role its caller needs (see `auth`).
"""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from aiohttp import web

from gcs.core.helpers.access import Role
from gcs.errors import UsageError
from gcs.ports.fetch.request_signing import DIRECTORY_PATH, KeyDirectory
from gcs.ports.space.port import Space
from gcs.roles.station.http.api import Api
from gcs.roles.station.http.auth import Authenticator, Handler, needs, public, secure
from gcs.roles.station.http.event_stream import EventStream
from gcs.roles.station.http.openapi import describe
from gcs.roles.station.http.problems import explain, problem
from gcs.roles.station.http.prometheus import CONTENT_TYPE, exposition
from gcs.roles.station.view.poller import POLL_S, Poller

#: bytes of a request's body, unless its handler reads the stream by itself
MOST_BYTES = 8 << 20
#: polls without success after which the whiteboard counts as out of reach
LATE_POLLS = 15
#: the page's files: nothing comes from elsewhere
FOLDER = Path(__file__).parents[1] / "static"
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def asset_routes() -> Iterator[web.RouteDef]:
    """A route for each file; the page itself is at /."""
    for file in sorted(FOLDER.iterdir()):
        if file.suffix in TYPES:
            yield web.get("/" if file.name == "index.html" else f"/{file.name}", _serve(file))


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
    authenticator: Authenticator, poller: Poller, space: Space, routes: Iterable[web.AbstractRouteDef] = ()
) -> web.Application:
    """The station's application; `routes` are those of other parts, such as the gateway of helpers."""
    app = web.Application(middlewares=[explain, authenticator.guard], client_max_size=MOST_BYTES)
    app.on_response_prepare.append(secure)
    stream = EventStream(poller, authenticator)
    app.on_shutdown.append(stream.end)
    endpoints = Api(poller, space).endpoints()
    description = msgspec.json.encode(describe(endpoints, anybody_looks=authenticator.on_loopback))

    @public
    async def alive(_request: web.Request) -> web.Response:
        return web.Response(text="alive\n")

    @public
    async def ready(_request: web.Request) -> web.Response:
        if poller.age_s() > LATE_POLLS * POLL_S:
            return problem(503, "the whiteboard cannot be reached", {"Retry-After": "5"})
        return web.Response(text="ready\n")

    @public
    async def openapi(_request: web.Request) -> web.Response:
        return web.Response(body=description, content_type="application/json")

    @needs(Role.VIEW)
    async def metrics(_request: web.Request) -> web.Response:
        text = exposition(poller.status(), poller.age_s())
        return web.Response(body=text.encode(), headers={"Content-Type": CONTENT_TYPE})

    app.router.add_get("/healthz", alive)
    app.router.add_get("/readyz", ready)
    app.router.add_get("/openapi.json", openapi)
    app.router.add_get("/metrics", metrics)
    app.add_routes([endpoint.route() for endpoint in endpoints])
    app.add_routes([stream.route(), *asset_routes(), *routes])
    return app
