"""The page's files: shipped with the package, held in memory, served as they are. Nothing comes from elsewhere."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from aiohttp import web

from gcs.roles.station.doorman import Handler, public

FOLDER = Path(__file__).parent / "static"
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def routes() -> Iterator[web.RouteDef]:
    """A route for each file; the page itself is at /."""
    for file in sorted(FOLDER.iterdir()):
        if file.suffix in TYPES:
            yield web.get("/" if file.name == "index.html" else f"/{file.name}", _serve(file))


def _serve(file: Path) -> Handler:
    body, content_type = file.read_bytes(), TYPES[file.suffix]
    tag = hashlib.sha256(body).hexdigest()[:16]

    @public
    async def serve(request: web.Request) -> web.Response:
        fresh = any(each.value == tag for each in request.if_none_match or ())
        headers = {"ETag": f'"{tag}"', "Cache-Control": "no-cache"}
        if fresh:
            return web.Response(status=304, headers=headers)
        return web.Response(body=body, content_type=content_type, charset="utf-8", headers=headers)

    return serve
