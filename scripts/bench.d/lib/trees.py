"""Folders of HTML, each served on a loopback address of its own: real sites that nobody here wrote.

    apt-get download PACKAGE; dpkg-deb -x FILE FOLDER/PACKAGE

A path that another folder has leads there by a redirect, as links between Debian packages do. With `set_session(2)`, a
tenth of the pages has changed. Run as a program, it is the server; `Trees` starts that.
"""

import http.client
import subprocess
import sys
import zlib
from pathlib import Path

CHANGED = 10


class Trees:
    """A running server of folders."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> "Trees":
        command = [sys.executable, __file__, str(self._folder)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout
        self._port = int(self._process.stdout.readline())
        self.homes = [
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
    from aiohttp import web

    trees = [path.resolve() for path in folders(folder)]
    owner = {str(file.relative_to(tree)): at for at, tree in enumerate(trees) for file in tree.rglob("*.htm*")}
    session = 1

    async def answer(request: web.Request) -> web.StreamResponse:
        nonlocal session
        if request.path.startswith("/__session/"):
            session = int(request.path.rpartition("/")[2])
            return web.Response()
        at = next(at for at in range(len(trees)) if request.url.host == address(at))
        path = request.path.lstrip("/")
        file = trees[at] / path
        if file.is_dir():
            file = file / "index.html"
        if not file.is_file() or file.suffix not in (".html", ".htm"):
            other = owner.get(path, at)
            if other != at:
                raise web.HTTPFound(f"http://{address(other)}:{request.url.port}/{path}")
            raise web.HTTPNotFound
        later = session > 1 and is_changed(path)
        tag = f'"{file.stat().st_size}-{int(later)}"'
        if request.headers.get("If-None-Match") == tag:
            return web.Response(status=304, headers={"ETag": tag})
        body = file.read_bytes() + (b"<!-- changed -->" if later else b"")
        return web.Response(body=body, content_type="text/html", headers={"ETag": tag})

    async def started(_app: web.Application) -> None:
        print(port, flush=True)

    import socket

    sockets = []
    port = 0
    for at in range(len(trees)):
        one = socket.create_server((address(at), port), backlog=256)
        port = one.getsockname()[1]
        sockets.append(one)
    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    app.on_startup.append(started)
    web.run_app(app, sock=sockets, print=None)


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
