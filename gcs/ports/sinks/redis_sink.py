"""A sink that is a stream of a Redis server: redis://host:6379/0?stream=pages, an entry per page."""

from collections.abc import Sequence
from urllib.parse import parse_qsl, urlencode

import msgspec

from gcs.ports.records.page import Page
from gcs.ports.sinks.page_rows import as_row

#: stream that is written, unless the target says ?stream=NAME
STREAM = "pages"


class RedisStream:
    """Entries of three fields: id, url and page (JSON). The reader trims the stream: nothing else does."""

    def __init__(self, target: str) -> None:
        import redis

        url, _, query = target.partition("?")
        options = dict(parse_qsl(query))
        self._stream = options.pop("stream", STREAM)
        self._redis = redis.Redis.from_url(f"{url}?{urlencode(options)}", socket_timeout=30, socket_connect_timeout=10)

    def write(self, pages: Sequence[Page]) -> None:
        pipeline = self._redis.pipeline(transaction=True)  # all of a batch or nothing
        for page in pages:
            url = page.url.encode("utf-8", "replace")
            pipeline.xadd(self._stream, {"id": page.id, "url": url, "page": msgspec.json.encode(as_row(page))})
        pipeline.execute()

    def close(self) -> None:
        self._redis.close()
