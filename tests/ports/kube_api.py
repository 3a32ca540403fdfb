"""A server that answers as the Kubernetes API does, as far as we ask."""

import base64
import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Api(http.server.BaseHTTPRequestHandler):
    """Keeps secrets and scales by path; wants the account's token."""

    token = "good"
    secrets: dict[str, dict[str, str]]
    scales: dict[str, int]

    def do_POST(self) -> None:
        body = self._body()
        name = body["metadata"]["name"]
        taken = name in self.secrets
        if not taken:
            self.secrets[name] = {key: base64.b64decode(value).decode() for key, value in body["data"].items()}
        self._answer(409 if taken else 201)

    def do_PATCH(self) -> None:
        assert self.headers["content-type"] == "application/merge-patch+json"
        self.scales[self.path] = self._body()["spec"]["replicas"]
        self._answer(200)

    def _body(self) -> dict:
        return json.loads(self.rfile.read(int(self.headers["content-length"])))

    def _answer(self, status: int) -> None:
        if self.token and self.headers["authorization"] != f"Bearer {self.token}":
            status = 403
        self.send_response(status)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving(server: http.server.HTTPServer) -> Iterator[http.server.HTTPServer]:
    """Serve in a thread."""
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def new_api() -> type[Api]:
    """One that keeps nothing yet."""
    return type("Kept", (Api,), {"secrets": {}, "scales": {}})
