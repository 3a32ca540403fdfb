"""The protocols of the web against a real server: two sessions of a crawl on nginx, as a user runs them."""

import contextlib
import json
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gcs.core.page.values import PageRecord
from gcs.ports.records.reading import read_records

CONF = """
daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error; user root;
events {{ }} http {{
  log_format asked escape=json '{{"path": "$uri", "status": $status, "at": $msec, "protocol": "$server_protocol",'
    '"connection": $connection, "coding": "$http_accept_encoding", "if": "$http_if_none_match"}}';
  access_log {folder}/log asked; root {folder}/site;
  types {{ text/html html; text/markdown md; text/xml xml; text/plain txt; }}
  client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
  uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e; gzip on; gzip_min_length 1;
  map $http_accept $suffix {{ default html; "~^text/markdown" md; }}
  limit_req_zone $server_name zone=slow:1m rate=1r/s; limit_req_status 429;
  server {{
    listen 127.0.0.1:{port}; listen [::1]:{port};
    location = /index.html {{ add_header Link '</linked.html>; rel="next"'; }}
    location = /refreshing.html {{ add_header Refresh "5; url=/refreshed.html"; }}
    location = /over.html {{ add_header X-Robots-Tag "unavailable_after: 01 Jan 2015 00:00:00 GMT"; }}
    location = /paid {{ return 402 "pay"; }}
    location = /banned {{ return 451 "no"; }}
    location = /unasked {{ return 304; }}
    location = /negotiated {{ try_files /negotiated.$suffix =404; }}
    location /limited/ {{ limit_req zone=slow; error_page 429 @busy; }}
    location @busy {{ internal; add_header Retry-After 1 always; return 429; }}
  }}
}}
"""
PAGES = {
    "index.html": "<a href=/refreshing.html>a</a><a href=/over.html>b</a><a href=/paid>c</a><a href=/banned>d</a>"
    "<a href=/unasked>e</a><a href=/negotiated>f</a>" + "".join(f"<a href=/limited/{n}.html>l</a>" for n in range(3)),
    "linked.html": "<p>by a Link header",
    "refreshing.html": "<p>goes on",
    "refreshed.html": "<p>by a Refresh header",
    "over.html": "<title>Over</title><p>not to be shown any more",
    "negotiated.html": "<p>HTML",
    "negotiated.md": "# Markdown\n\n[only here](/by-markdown.html)\n",
    "by-markdown.html": "<p>by a Markdown answer",
    "listed.html": "<p>by a sitemap",
    "robots.txt": "User-agent: *\nContent-Usage: /listed train-ai=n\nDisallow: /never\nSitemap: /sitemap.xml\n",
    **{f"limited/{number}.html": f"<p>limited {number}" for number in range(3)},
}


@dataclass(frozen=True)
class Nginx:
    """A running server."""

    folder: Path
    port: int

    def asked(self) -> list[dict[str, Any]]:
        """Its log, up to now."""
        return [json.loads(line) for line in (self.folder / "log").read_text().splitlines()]


@pytest.fixture
def nginx(tmp_path: Path) -> Iterator[Nginx]:
    if shutil.which("nginx") is None:
        pytest.skip("nginx is not installed")
    folder = tmp_path / "nginx"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")
    for name, text in PAGES.items():
        path = folder / "site" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    entry = f"<url><loc>http://site.test:{port}/listed.html</loc><lastmod>2020-01-01</lastmod></url>"
    (folder / "site" / "sitemap.xml").write_text(f"<urlset>{entry}</urlset>")
    (folder / "conf").write_text(CONF.format(folder=folder, port=port))
    with subprocess.Popen(["nginx", "-p", folder, "-c", folder / "conf"], stderr=subprocess.DEVNULL) as server:
        for _ in range(600):
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port)).close()
                break
            assert server.poll() is None, (folder / "error").read_text()
            time.sleep(0.05)
        try:
            yield Nginx(folder, port)
        finally:
            server.terminate()


@pytest.mark.parametrize("engine", ["curl", "aiohttp"])
def test_two_sessions_on_nginx_speak_the_protocols_of_the_web(
    gcs: Callable[..., Any], nginx: Nginx, tmp_path: Path, engine: str
) -> None:
    origin = f"http://site.test:{nginx.port}"

    def crawl(*arguments: str) -> dict[str, PageRecord]:
        addresses = json.dumps([f"site.test:{nginx.port}:::1,127.0.0.1"])  # IPv6 first
        flags = [
            "--allow-private",
            "--delay",
            "0",
            "--set",
            f"fetch.resolve={addresses}",
            "--set",
            "politeness.tries=20",
        ]
        flags += ["--set", "fetch.markdown=true", "--set", f"fetch.engine={engine}", "--set", "politeness.retry_s=0.1"]
        done = gcs("crawl", *arguments, *flags)
        assert done.code == 0, done.err
        session = max(record.session for record in read_records(tmp_path / "out"))
        records = [record for record in read_records(tmp_path / "out") if record.session == session]
        return {record.url.removeprefix(origin): record for record in records}

    first = crawl(f"{origin}/", "-o", "out")
    pages = {path for path, record in first.items() if record.is_page}
    limited = {f"/limited/{number}.html" for number in range(3)}
    named = {
        "/",
        "/linked.html",
        "/refreshing.html",
        "/refreshed.html",
        "/over.html",
        "/negotiated",
        "/by-markdown.html",
    }
    assert pages == named | limited | {"/listed.html"}
    failures = {path: (record.status, record.failure) for path, record in first.items() if record.failure}
    assert failures == {"/paid": (402, "http-402"), "/banned": (451, "http-451"), "/unasked": (304, "http-304")}
    assert (first["/over.html"].noindex, first["/over.html"].title) == (True, "")
    assert first["/negotiated"].title == "Markdown"
    assert first["/listed.html"].usage == "ai-train=n"
    assert first["/sitemap.xml"].dates == ["2020-01-01"]
    asked = nginx.asked()
    assert {each["status"] for each in asked} <= {200, 304, 402, 429, 451}
    assert {each["coding"] for each in asked} == {"gzip, br, zstd"}
    # the second session: what has not changed is confirmed, with the validators of nginx
    time.sleep(1.1)
    (nginx.folder / "site" / "linked.html").write_text("<p>another")
    second = crawl("--next", "out")
    changes = {path: (record.status, record.change) for path, record in second.items() if path in pages}
    assert changes == dict.fromkeys(pages, (304, "same")) | {"/linked.html": (200, "changed")}
    asked = nginx.asked()[len(asked) :]
    assert all(each["if"] for each in asked if each["path"] in pages)
    done = gcs("verify", "out")
    assert done.code == 0, done.out + done.err
