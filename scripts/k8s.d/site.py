"""A site to crawl, in a pod of the cluster: a tree of pages on several hosts, and a chain that grows until it is told.

    site.py PORT PAGES HOST…      the hosts are names of one Service each; the first page is http://HOST:PORT/tree/0
    /-/facts                      JSON: every page that is linked to, and how often each was asked for since the reset
    /-/reset  /-/grow  /-/stop    forget the counts; let the chain grow; let it end

The chain makes a crawl last as long as something is to be done meanwhile.
"""

import http.server
import json
import signal
import sys
import threading
import time

#: seconds that a page takes
TREE_S, CHAIN_S = 0.05, 0.25


class Site:
    """What is linked to, and what was asked for."""

    def __init__(self, port: int, pages: int, hosts: list[str]) -> None:
        self._port, self._pages, self._hosts = port, pages, hosts
        self._lock = threading.Lock()
        self.pages = {self.url(f"/tree/{number}", number) for number in range(pages)} | {self.chain(0)}
        self.asked: dict[str, int] = {}
        self.grows = False

    def url(self, path: str, number: int) -> str:
        return f"http://{self._hosts[number % len(self._hosts)]}:{self._port}{path}"

    def chain(self, number: int) -> str:
        """All of it on one host: asked for one after the other."""
        return self.url(f"/chain/{number}", 0)

    def links(self, path: str) -> list[str]:
        """Where a page leads."""
        _, part, last = path.split("/")
        number = int(last)
        if part == "tree":
            children = [child for child in (2 * number + 1, 2 * number + 2) if child < self._pages]
            return [self.url(f"/tree/{child}", child) for child in children] + ([] if number else [self.chain(0)])
        following = self.chain(number + 1)
        with self._lock:
            if self.grows:
                self.pages.add(following)
            return [following] if following in self.pages else []

    def note(self, url: str) -> None:
        with self._lock:
            self.asked[url] = self.asked.get(url, 0) + 1

    def order(self, word: str) -> bytes:
        with self._lock:
            if word == "reset":
                self.asked = {}
            elif word in ("grow", "stop"):
                self.grows = word == "grow"
            return json.dumps({"pages": sorted(self.pages), "asked": self.asked}).encode()


class Page(http.server.BaseHTTPRequestHandler):
    """Answers one connection."""

    protocol_version = "HTTP/1.1"
    site: Site

    def do_GET(self) -> None:
        if self.path.startswith("/-/"):
            self._answer(200, self.site.order(self.path[3:]), "application/json")
            return
        url = f"http://{self.headers['host']}{self.path}"
        if url not in self.site.pages:
            self._answer(404, b"", "text/plain")  # robots.txt, too
            return
        self.site.note(url)
        time.sleep(CHAIN_S if "/chain/" in self.path else TREE_S)
        links = "".join(f'<a href="{link}">{link}</a>\n' for link in self.site.links(self.path))
        text = f"<title>Page {self.path}</title><p>What stands on page {self.path} of the site.</p>\n{links}"
        self._answer(200, text.encode(), "text/html")

    def _answer(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # as the first process of a pod it would not end by itself
    Page.site = Site(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
    server = http.server.ThreadingHTTPServer(("", int(sys.argv[1])), Page)
    server.daemon_threads = True
    server.serve_forever()
