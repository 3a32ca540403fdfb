"""The libcurl engine: many transfers on one multi handle, driven by the event loop.

engine     requests in, answers out (`CurlFetcher`)
transfer   one libcurl handle: its options, what it has brought, whether it takes too long
driver     calls libcurl when a socket is ready or a time has come
watch      which sockets those are
fault      libcurl's errors in our words
"""

from gcs.ports.fetch.curl.engine import CurlFetcher

__all__ = ["CurlFetcher"]
