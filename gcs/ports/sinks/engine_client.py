"""HTTP to a search engine: one connection that is kept, bounded answers, no redirects.

    https://KEY@host:443/pages?timeout=30        pages: the name of the index
    https://user:password@host:9200/pages

Invariant: no error message holds the key.
"""

import base64
import http.client
import re
import ssl
from collections.abc import Callable, Mapping
from urllib.parse import parse_qsl, unquote, urlsplit

from gcs.errors import GcsError, SettingsError
from gcs.version import __version__

#: bytes of an answer that are read: a line for each page of a batch
_MOST_BYTES = 32 << 20
#: characters of an answer that an error shows
_SHOWN = 300
_TIMEOUT_S = 30.0
_INDEX = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


class EngineError(GcsError):
    """The engine did not take it: the batch comes again."""


class EngineResponse(bytes):
    """The body of an answer, with its status."""

    status = 0

    def checked(self, *statuses: int) -> "EngineResponse":
        """Itself, if its status is 2xx or one of these; else EngineError."""
        if 200 <= self.status < 300 or self.status in statuses:
            return self
        raise EngineError(f"HTTP {self.status}: {self[:_SHOWN].decode('utf-8', 'replace')}")


class EngineClient:
    """Calls to one server; `key_headers` makes headers of a key, where there is no user."""

    def __init__(self, target: str, key_headers: Callable[[str], dict[str, str]]) -> None:
        try:
            parts = urlsplit(target)
            host, port = parts.hostname, parts.port
            timeout_s = float(dict(parse_qsl(parts.query)).get("timeout", _TIMEOUT_S))
        except ValueError:
            raise SettingsError("sink: this is no URL of a search engine") from None
        *path, self.index = parts.path.strip("/").split("/")
        if parts.scheme not in ("http", "https") or not host or not _INDEX.fullmatch(self.index):
            raise SettingsError("sink: write NAME=https://KEY@HOST/INDEX, or http://…; the path ends with the index")
        self._base = "".join(f"/{part}" for part in path)
        self._headers = {"User-Agent": f"gcs/{__version__}"}
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
        if user and password:
            self._headers["Authorization"] = f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"
        elif user or password:
            self._headers |= key_headers(user or password)
        self._connection = (
            http.client.HTTPSConnection(host, port, timeout=timeout_s, context=ssl.create_default_context())
            if parts.scheme == "https"
            else http.client.HTTPConnection(host, port, timeout=timeout_s)
        )

    def call(
        self, method: str, path: str, body: bytes = b"", kind: str = "application/json", headers: Mapping[str, str] = {}
    ) -> EngineResponse:
        """The answer, whatever its status. Raises EngineError where there is none."""
        sent = {**self._headers, **headers, **({"Content-Type": kind} if body else {})}
        for is_last in (False, True):  # a connection that was kept may have been closed meanwhile
            try:
                self._connection.request(method, self._base + path, body or None, sent)
                response = self._connection.getresponse()
                content = response.read(_MOST_BYTES + 1)
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError) as error:
                self.close()
                if is_last:
                    raise EngineError(type(error).__name__) from None
            except (OSError, http.client.HTTPException) as error:
                self.close()
                raise EngineError(f"no answer ({type(error).__name__})") from None
            else:
                if len(content) > _MOST_BYTES:
                    self.close()
                    raise EngineError("the answer is too long")
                answer = EngineResponse(content)
                answer.status = response.status
                return answer
        raise AssertionError

    def close(self) -> None:
        self._connection.close()
