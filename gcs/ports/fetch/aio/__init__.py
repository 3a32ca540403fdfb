"""The aiohttp engine: a task per request. Slower than libcurl's, and there wherever Python is.

    engine     requests in, answers out (`AioFetcher`)
    session    aiohttp's client, set up: names, addresses, certificates, limits
    fault      aiohttp's errors in our words

Speaks HTTP/1.1, and HTTP and HTTPS proxies. aiohttp is imported when the engine opens: that takes a quarter of a
second of processor time, which a crawl with the other engine should not pay.
"""

from gcs.ports.fetch.aio.engine import AioFetcher

__all__ = ["AioFetcher"]
