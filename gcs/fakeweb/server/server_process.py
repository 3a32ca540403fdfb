"""The fake web in a process of its own, so that its work is not counted as the crawler's.

    with FakeWebProcess(FakeWebSpec.demo()) as server:
        ... crawl server.seeds ...
        log = server.log

The child ends when this object is closed or this process dies: it watches its standard input.
"""

import dataclasses
import http.client
import json
import subprocess
import sys

import msgspec

from gcs.errors import GcsError
from gcs.fakeweb import FakeWebSpec, RequestLog, Web

_START_S = 30
_STOP_S = 10


class FakeWebProcess:
    """A running fake web elsewhere. It has the face of `FakeWeb`; `log` is fetched each time."""

    def __init__(self, spec: FakeWebSpec, port: int = 0) -> None:
        self._spec = spec
        self._wanted_port = port

    def __enter__(self) -> "FakeWebProcess":
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", "gcs.fakeweb.server"),
                *("--spec", json.dumps(dataclasses.asdict(self._spec))),
                *("--port", str(self._wanted_port)),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            code = self._process.wait(_START_S)
            self._close_pipes()
            raise GcsError(f"fake web: its process ended with code {code} before it was ready; see its messages above")
        ready = json.loads(line)
        self.control_port: int = ready["control_port"]
        self.web = Web(self._spec, ready["port"])
        return self

    def __exit__(self, *_: object) -> None:
        self._close_pipes()
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _close_pipes(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                pipe.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def port(self) -> int:
        return self.web.port

    @property
    def seeds(self) -> tuple[str, ...]:
        return self.web.seeds

    @property
    def log(self) -> RequestLog:
        return msgspec.json.decode(self._ask("/__log"), type=RequestLog, strict=False)

    def reset(self) -> None:
        """Forgets the log; flaky URLs fail again at their next first try."""
        self._ask("/__reset")

    def set_session(self, session: int) -> None:
        """The same web, as it is in another session."""
        later = Web(dataclasses.replace(self.web.spec, session=session), self.port)
        self._ask(f"/__session/{session}")
        self.web = later

    def _ask(self, path: str) -> bytes:
        connection = http.client.HTTPConnection("127.0.0.1", self.control_port, timeout=_START_S)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            body = answer.read()
        except OSError as error:
            raise GcsError(f"fake web: its process does not answer {path} ({error})") from error
        finally:
            connection.close()
        if answer.status != 200:
            raise GcsError(f"fake web: {path} answered {answer.status}: {body.decode('utf-8', 'replace')}")
        return body
