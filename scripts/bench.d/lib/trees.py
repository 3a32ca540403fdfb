"""Folders of HTML, each served on a loopback address of its own: real sites that nobody here wrote.

`lay_out` fills a folder with the Debian packages of packages.txt: those of Debian 12 with at most 80 pages and 1.2 MB
of HTML that link to another such one (200 sites, most of them libraries of Haskell). Links to files of other packages
(file:///usr/…) are served as links to their sites, and a path that only another folder has leads there by a redirect.
With `set_session(2)`, a tenth of the pages has changed. Run as a program, it is the server; `Trees` starts that.
"""

import http.client
import re
import shlex
import subprocess
import sys
import tempfile
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CHANGED = 10
FILE_LINK = re.compile(rb'"file:///([^"#?]+)')
PACKAGES = Path(__file__).with_name("packages.txt")


class Trees:
    """A running server of folders."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> "Trees":
        command = [sys.executable, __file__, str(self._folder)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout
        self._port = int(self._process.stdout.readline())
        self.seeds = [
            f"http://{address(at)}:{self._port}/{page}"
            for at, tree in enumerate(folders(self._folder))
            if (page := home(tree))
        ]
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.terminate()
        self._process.wait()

    def set_session(self, session: int) -> None:
        """The same sites, later."""
        connection = http.client.HTTPConnection(address(0), self._port)
        connection.request("GET", f"/__session/{session}")
        connection.getresponse().read()

    def changed(self, urls: set[str]) -> set[str]:
        """Those of the pages that session 2 finds changed."""
        return {url for url in urls if is_changed(url.split("/", 3)[3])}


def lay_out(folder: Path) -> None:
    """Fetch the packages from where apt gets them, and unpack their pages."""
    names = PACKAGES.read_text().split()
    told = subprocess.run(
        ["apt-get", "download", "--print-uris", *names], capture_output=True, text=True, check=True
    ).stdout
    places = [shlex.split(line)[:2] for line in told.splitlines() if line.startswith("'")]

    def unpack(place: list[str]) -> None:
        tree = folder / place[1].partition("_")[0]
        with tempfile.TemporaryDirectory() as there:
            subprocess.run(["curl", "-sSfL", "--retry", "3", "-o", f"{there}/deb", place[0]], check=True)
            subprocess.run(["dpkg-deb", "-x", f"{there}/deb", tree], check=True)

    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(unpack, places))


def folders(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_dir())


def address(index: int) -> str:
    return f"127.2.{index // 250}.{1 + index % 250}"


def home(tree: Path) -> str:
    """The page of a folder from which most can be found: the highest index, or else the highest page."""
    pages = sorted(tree.rglob("*.html"), key=lambda path: (len(path.parts), path.name != "index.html", path))
    return str(pages[0].relative_to(tree)) if pages else ""


def is_changed(path: str) -> bool:
    """Whether session 2 finds another page here."""
    return zlib.crc32(path.encode()) % CHANGED == 0


def serve(folder: Path) -> None:
    import socket

    import uvloop
    from aiohttp import web

    trees = [path.resolve() for path in folders(folder)]
    number = {address(at): at for at in range(len(trees))}
    files = [{str(file.relative_to(tree)): file for file in tree.rglob("*.htm*") if file.is_file()} for tree in trees]
    owner = {path: at for at, tree in enumerate(files) for path in tree}
    session = 1

    def site_link(match: re.Match[bytes]) -> bytes:
        at = owner.get(match[1].decode())
        return match[0] if at is None else f'"http://{address(at)}:{port}/{match[1].decode()}'.encode()

    async def answer(request: web.Request) -> web.StreamResponse:
        nonlocal session
        if request.path.startswith("/__session/"):
            session = int(request.path.rpartition("/")[2])
            return web.Response()
        at, path = number[request.url.host], request.path.lstrip("/")
        file = files[at].get(path) or files[at].get(f"{path.rstrip('/')}/index.html".lstrip("/"))
        if file is None:
            other = owner.get(path, at)
            if other != at:
                raise web.HTTPFound(f"http://{address(other)}:{request.url.port}/{path}")
            raise web.HTTPNotFound
        later = session > 1 and is_changed(path)
        tag = f'"{file.stat().st_size}-{int(later)}"'
        if request.headers.get("If-None-Match") == tag:
            return web.Response(status=304, headers={"ETag": tag})
        body = FILE_LINK.sub(site_link, file.read_bytes()) + (b"<!-- changed -->" if later else b"")
        return web.Response(body=body, content_type="text/html", headers={"ETag": tag})

    async def started(_app: web.Application) -> None:
        print(port, flush=True)

    sockets = []
    port = 0
    for at in range(len(trees)):
        one = socket.create_server((address(at), port), backlog=256)
        port = one.getsockname()[1]
        sockets.append(one)
    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    app.on_startup.append(started)
    uvloop.install()
    web.run_app(app, sock=sockets, print=None, access_log=None)


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
