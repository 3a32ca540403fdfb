"""Opening a whiteboard by its URL.

Invariant: whoever calls this gets a `Space`, and never learns which kind of server is behind it.
"""

from gcs.ports.space.address import parse
from gcs.ports.space.connection import connect
from gcs.ports.space.keys import crawl_of
from gcs.ports.space.port import Space
from gcs.ports.space.settings import SpaceSettings
from gcs.ports.space.streams import RedisSpace


async def open_space(url: str, *, crawl: str, name: str, settings: SpaceSettings | None = None) -> Space:
    """The whiteboard of a crawl at this URL, for the participant `name`.

    Waits a little for a server that is not up yet, and longer (`patience_s`) for one that goes away later.
    """
    settings = settings or SpaceSettings()
    connection = await connect(parse(url), min(settings.open_s, settings.patience_s))
    connection.patience_s = settings.patience_s
    try:
        return RedisSpace(connection, crawl, name, settings)
    except BaseException:
        await connection.close()
        raise


async def crawls_at(url: str, patience_s: float = 5.0) -> list[str]:
    """The names of the crawls that have a whiteboard at this URL."""
    connection = await connect(parse(url), patience_s)
    try:
        return sorted({name for key in await connection.keys("{gcs:*") if (name := crawl_of(key))})
    finally:
        await connection.close()
