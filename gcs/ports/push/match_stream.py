"""A stream of a Redis server: an entry for each match, with the fields id, profile, event, url and match (JSON)."""

from collections.abc import Sequence
from urllib.parse import parse_qsl, urlencode

import msgspec
import redis.asyncio as redis
from redis.exceptions import RedisError

from gcs.core.watch.profile import Match
from gcs.core.watch.push_target import PushTarget
from gcs.ports.push import PUSH_S, PushError

#: stream that is written, unless the address says ?stream=NAME
MATCHES = "matches"


class StreamReceiver:
    """Adds entries. Whoever reads the stream trims it."""

    most = 100

    def __init__(self) -> None:
        self._clients: dict[str, redis.Redis] = {}

    async def push(self, target: PushTarget, _secret: str, matches: Sequence[Match]) -> None:
        server, _, query = target.address.partition("?")
        options = dict(parse_qsl(query))
        stream = options.pop("stream", MATCHES)
        try:
            if target.address not in self._clients:
                self._clients[target.address] = redis.Redis.from_url(
                    f"{server}?{urlencode(options)}", socket_timeout=PUSH_S, socket_connect_timeout=PUSH_S
                )
            pipeline = self._clients[target.address].pipeline(transaction=True)  # all of them or none
            for match in matches:
                url = match.url.encode("utf-8", "replace")
                told = {"id": match.id, "profile": match.profile, "event": match.event, "url": url}
                pipeline.xadd(stream, told | {"match": msgspec.json.encode(match)})  # type: ignore[arg-type]
            await pipeline.execute()
        except (RedisError, OSError, ValueError) as error:
            raise PushError(type(error).__name__) from None

    async def close(self) -> None:
        for client in self._clients.values():
            await client.aclose()
