"""An open crawl: one that somebody looks at, with what is shown of it and its live values.

Filled by its poller, once a second, while it is open. Orders go through it to the crawl's source.
"""

import asyncio

from gcs.ports.system.tasks import end
from gcs.roles.station.browse.crawl_reader import CrawlReader
from gcs.roles.station.crawls.source import CrawlSource
from gcs.roles.station.http.auth import Authenticator
from gcs.roles.station.http.event_stream import EventStream
from gcs.roles.station.view.poller import Poller


class OpenCrawl:
    """One crawl, open."""

    def __init__(self, source: CrawlSource, authenticator: Authenticator) -> None:
        self.source = source
        self.poller = Poller(source)
        self.stream = EventStream(self.poller, authenticator)
        #: what it has stored; None if that is not here
        self.reader = CrawlReader(source.place) if source.place is not None else None
        self._polling: asyncio.Task[None] | None = None

    @property
    def id(self) -> str:
        return self.source.id

    def follow(self) -> None:
        """Begin to poll; `poller.poll()` should have been awaited once."""
        self._polling = asyncio.create_task(self.poller.run())

    async def close(self) -> None:
        """Read once more how it stands, tell those who watch, and end."""
        if self._polling:
            await end([self._polling])
        try:
            await self.poller.poll()
        finally:
            self.stream.end()
            await self.source.close()
            if self.reader:
                await self.reader.close()
