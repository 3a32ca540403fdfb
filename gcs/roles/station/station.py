"""The station: the paper's embedded HTTP server (§2), from which crawls are watched, read, begun and controlled.

crawls (source) ─► opened: view (poller, views, schemas) ─► http (api, event_stream, prometheus) ─► page, programs
page, programs ─► http (auth, api) ─► opened ─► source: commands to the crawl
helpers ─► http (auth) ─► gateway ─► whiteboard: errands and summaries

To add a call: an `Endpoint` (`http/endpoint.py`) in `http/api.py`, or in a table of its own that `Station` is given as
`more`. To add a view to the page: see `static/router.js`.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass

from aiohttp import web

from gcs.core.messages.tuples import Access
from gcs.errors import SpaceError, UsageError
from gcs.events import Events
from gcs.ports.fetch.request_signing import KeyDirectory
from gcs.ports.system.tasks import end
from gcs.roles.station.browse.crawl_calls import crawl_endpoints
from gcs.roles.station.browse.downloads import Downloads
from gcs.roles.station.browse.host_calls import host_endpoints
from gcs.roles.station.browse.page_calls import page_endpoints
from gcs.roles.station.crawls.station_crawls import StationCrawls
from gcs.roles.station.gateway import Gateway
from gcs.roles.station.http.app import directory_route, make_app
from gcs.roles.station.http.auth import Authenticator
from gcs.roles.station.http.endpoint import Endpoint
from gcs.roles.station.http.idle_connections import IdleConnections
from gcs.roles.station.http.supervisor_calls import SupervisorCalls

#: seconds that requests under way get at the end, and that helpers get to hear of the end
END_S, FAREWELL_S = 2.0, 8.0
#: bytes of a request line: the longest path of the URL tree, quoted
MOST_LINE_BYTES = 1 << 16
#: aiohttp logs requests that are not HTTP, which anybody can send: dropped. Errors of handlers are logged by `problems`
_UNHEARD = logging.getLogger("gcs.station.unheard")
_UNHEARD.addFilter(lambda _: False)

events = Events("station")


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """The address on which the station listens."""

    host: str = "127.0.0.1"
    port: int = 8642

    @classmethod
    def parse(cls, text: str) -> "ListenAddress":
        """From HOST:PORT, [IPV6]:PORT or :PORT; port 0 takes any that is free."""
        host, colon, port = text.rpartition(":")
        if not colon or not port.isdecimal() or int(port) > 65535:
            raise UsageError(f"--listen {text}: write HOST:PORT, such as 127.0.0.1:8642")
        return cls(host.strip("[]") or "0.0.0.0", int(port))  # noqa: S104  asked for

    @property
    def url(self) -> str:
        """For a browser on this machine."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/"


@dataclass(frozen=True, slots=True)
class StationAccess:
    """Who may use a station."""

    keys: Iterable[Access] = ()
    #: host names by which it is known, besides those of loopback
    names: Sequence[str] = ()
    #: reads the tokens that were made since
    posted: Callable[[], Awaitable[Iterable[Access]]] | None = None


class Station:
    """One station, for the crawls of its crawls."""

    def __init__(
        self,
        make_crawls: Callable[[Authenticator], StationCrawls],
        address: ListenAddress,
        *,
        access: StationAccess = StationAccess(),
        gateway: Gateway | None = None,
        directory: KeyDirectory | None = None,
        more: Sequence[Endpoint] = (),
    ) -> None:
        """`directory`: the keys of signed requests, for the sites that check them; `more`: calls besides the API's."""
        self._wanted = address
        self._authenticator = Authenticator(address.host, keys=access.keys, names=access.names, posted=access.posted)
        self.crawls = make_crawls(self._authenticator)
        self._gateway = gateway
        self._idle_connections = IdleConnections()
        routes = [*(gateway.routes() if gateway else ()), *([directory_route(directory)] if directory else ())]
        downloads = Downloads()
        gathered = [*page_endpoints(), *host_endpoints(), *crawl_endpoints(), *downloads.endpoints()]
        supervisor = SupervisorCalls(self.crawls.supervisor).endpoints() if self.crawls.supervisor else []
        app = make_app(
            self._authenticator, self.crawls, [*routes, *downloads.routes()], [*gathered, *supervisor, *more]
        )
        app.middlewares.insert(0, self._idle_connections.attend)
        self._runner = web.AppRunner(
            app, access_log=None, logger=_UNHEARD, max_line_size=MOST_LINE_BYTES, shutdown_timeout=END_S
        )
        self._tasks: list[asyncio.Task[None]] = []
        self.address = address

    async def startup(self) -> None:
        """Open the crawls, then listen."""
        await _within(END_S, self.crawls.open())
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._wanted.host, self._wanted.port)
        try:
            await site.start()
        except OSError as error:
            raise UsageError(
                f"--listen {self._wanted.host}:{self._wanted.port}: {error.strerror or error}; choose another address"
            ) from None
        self.address = ListenAddress(self._wanted.host, self._runner.addresses[0][1])
        runs = [self.crawls.run(), self._idle_connections.run(self._connections)]
        runs += [self._gateway.run()] if self._gateway else []
        self._tasks = [asyncio.create_task(run) for run in runs]
        events.info("listening", url=self.address.url)

    async def shutdown(self) -> None:
        """Show how the crawls ended, let requests under way end, and close."""
        if self._tasks:
            if self._gateway:
                await _within(FAREWELL_S, self._gateway.farewell())
            await end(self._tasks)
        await _within(END_S, self.crawls.close())
        await self._runner.cleanup()

    def _connections(self) -> list[web.RequestHandler]:
        return self._runner.server.connections if self._runner.server else []


async def _within(seconds: float, work: Awaitable[None]) -> None:
    """Do something for which the whiteboard is needed; go on without it if the whiteboard cannot be reached."""
    try:
        async with asyncio.timeout(seconds):
            await work
    except (SpaceError, TimeoutError) as error:
        events.warning("unreachable", reason=str(error) or "no answer in time")
