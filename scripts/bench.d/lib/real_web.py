"""A web like the real one, for `scripts/bench crawl --web real`: TLS, names, gzip, large pages, many hosts, by nginx.

A page has some 165 KB of HTML: inline scripts and styles, a menu, an article, side boxes, a footer, and 140 links of
which two thirds stay on the host. The text is made of words of its own; equal numbers give an equal web. Pages lie on
disk compressed by gzip and by brotli, as `gzip_static` and `brotli_static` send them. HTTP/2 is offered.
"""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from gzip import compress
from pathlib import Path
from random import Random
from time import sleep

import brotli

PORT = 8443
LINKS, OWN_LINKS = 140, 90
_SYLLABLES = [consonant + vowel for consonant in "bdfghklmnprstv" for vowel in "aeiou"]
#: nginx-light does not bring it along
BROTLI = Path("/usr/lib/nginx/modules/ngx_http_brotli_static_module.so")
_CONF = """{modules} daemon off; user root; worker_processes 1; pid {web}/nginx.pid; error_log {web}/error.log crit;
events {{ worker_connections 8000; }}
http {{ log_format count '$status $connection $host$request_uri'; access_log {web}/access.log count buffer=64k flush=1s;
 default_type text/html; charset utf-8; gzip_static always; gunzip on; {coding} keepalive_requests 10000; sendfile on;
 ssl_session_cache shared:S:10m; ssl_protocols TLSv1.2 TLSv1.3;
 server {{ {listens} server_name _; ssl_certificate {web}/cert.pem; ssl_certificate_key {web}/key.pem;
  root {web}/hosts/$host; rewrite ^(.*)/$ $1/index.html last; }} }}
"""


class RealWeb:
    """The files of one web, in a folder."""

    def __init__(self, folder: Path, pages: int, hosts: int) -> None:
        self.folder, self.pages, self.hosts = folder, pages, hosts
        self.names = [f"www.site{number}.bench.test" for number in range(hosts)]
        #: for `fetch.resolve`
        self.resolve = [f"{name}:{PORT}:127.9.{i // 250}.{i % 250 + 1}" for i, name in enumerate(self.names)]
        self.urls = [self.url(page) for page in range(pages)]

    def url(self, page: int) -> str:
        host, number = page % self.hosts, page // self.hosts
        return f"https://{self.names[host]}:{PORT}/" + (f"articles/{number}.html" if number else "")

    def make(self) -> None:
        """Write what is not there yet."""
        if (self.folder / "made").exists():
            return
        print(f"making {self.pages} pages on {self.hosts} hosts…", file=sys.stderr, flush=True)
        for page in range(self.pages):
            path = self.folder / "hosts" / self.urls[page].split("/", 2)[2].replace(f":{PORT}", "")
            path = path / "index.html" if self.urls[page].endswith("/") else path
            path.parent.mkdir(parents=True, exist_ok=True)
            html = self.html(page).encode()
            path.with_name(path.name + ".gz").write_bytes(compress(html, 5, mtime=0))
            path.with_name(path.name + ".br").write_bytes(brotli.compress(html, quality=5))
        self._certify()
        (self.folder / "made").touch()

    def html(self, page: int) -> str:
        random = Random(page)
        words = [random.choice(_SYLLABLES) + random.choice(_SYLLABLES) for _ in range(400)]

        def text(count: int) -> str:
            return " ".join(random.choices(words, k=count)).capitalize() + "."

        own = range(page % self.hosts, self.pages, self.hosts)
        targets = [page + self.hosts, *random.choices(own, k=OWN_LINKS - 1), *random.choices(range(self.pages), k=49)]
        targets.append(page + 1)
        links = [
            f'<a class="link c{n % 9}" href="{self.urls[t % self.pages]}">{text(3)}</a>' for n, t in enumerate(targets)
        ]
        script = "".join(f"window.dataLayer.push({{'k{n}':'{text(4)}','n':{n * 7919}}});\n" for n in range(900))
        style = "".join(f".c{n}>.x{n}{{margin:{n}px;color:#{n * 4099 % 0xFFFFFF:06x}}}\n" for n in range(1_500))
        boxes = "".join(
            f'<div class="box b{n}"><div class="in" data-id="{n}"><span>{text(6)}</span></div></div>'
            for n in range(150)
        )
        paragraphs = "".join(f"<p>{text(70)} {link}</p>\n" for link in links[:40])
        menu = "".join(f'<li class="item">{link}</li>' for link in links[40:])
        return (
            f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{text(6)}</title>'
            f'<meta name="description" content="{text(15)}"><link rel="canonical" href="{self.urls[page]}">'
            f'<meta property="og:title" content="{text(6)}"><script>{script}</script>'
            f"<style>{style}</style></head><body>"
            f"<header><nav><ul>{menu}</ul></nav></header><main><article><h1>{text(7)}</h1>{paragraphs}</article></main>"
            f"<aside>{boxes}</aside><footer>{text(40)}</footer></body></html>"
        )

    def _certify(self) -> None:
        def openssl(*words: str) -> None:
            subprocess.run(["openssl", *words], cwd=self.folder, check=True, capture_output=True)

        curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "3650")
        names = ",".join(f"DNS:{name}" for name in self.names)
        openssl(
            "req",
            "-x509",
            *curve,
            "-subj",
            "/CN=bench",
            "-addext",
            f"subjectAltName={names}",
            "-keyout",
            "key.pem",
            "-out",
            "cert.pem",
        )

    @contextmanager
    def served(self, with_brotli: bool = False) -> Iterator[None]:
        """Serve it on one core."""
        (self.folder / "access.log").unlink(missing_ok=True)
        listens = " ".join(f"listen {entry.rsplit(':', 1)[1]}:{PORT} ssl http2;" for entry in self.resolve)
        modules, coding = (f"load_module {BROTLI};", "brotli_static on;") if with_brotli else ("", "")
        text = _CONF.format(web=self.folder, listens=listens, modules=modules, coding=coding)
        (self.folder / "nginx.conf").write_text(text)
        core = ["taskset", "-c", "0"] if shutil.which("taskset") else []
        server = subprocess.Popen([*core, "nginx", "-c", self.folder / "nginx.conf"])
        try:
            sleep(1.0)
            if server.poll() is not None:
                sys.exit(f"nginx did not start: see {self.folder / 'error.log'}")
            yield
        finally:
            server.terminate()
            server.wait()

    def fetched(self) -> set[str]:
        """The pages that the server has sent whole."""
        wanted = {url.removeprefix("https://").replace(f":{PORT}", "") for url in self.urls}
        return {url for status, _, url in self._log() if status == "200"} & wanted

    def connections(self) -> int:
        """Connections over which something was asked for."""
        return len({connection for _, connection, _ in self._log()})

    def _log(self) -> Iterator[list[str]]:
        return (line.split(maxsplit=2) for line in (self.folder / "access.log").read_text().splitlines())
