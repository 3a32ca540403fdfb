"""A web server on loopback that answers each path as a test wants it to."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import asynccontextmanager

#: status, headers, body
Answer = tuple[int, Mapping[str, str], bytes]


class StrangeSite:
    """Answers by path; `/robots.txt` is 404 unless it is among the answers. The rest is 404, too.

    After an answer with a length of its own it hangs up.
    """

    def __init__(self, answers: Mapping[str, Answer | Callable[[dict[str, str]], Answer]]) -> None:
        self.answers = dict(answers)
        self.hits: Counter[str] = Counter()
        #: (path, when) of each request
        self.log: list[tuple[str, float]] = []
        #: headers of the last request for a path, by lower-case name
        self.asked: dict[str, dict[str, str]] = {}
        self.origin = ""

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).decode("latin-1"):
                line, *fields = head.split("\r\n")
                path = line.split(" ")[1]
                self.hits[path] += 1
                self.log.append((path, time.monotonic()))
                asked = {name.lower(): value.strip() for name, _, value in (field.partition(":") for field in fields)}
                self.asked[path] = asked
                answer = self.answers.get(path, (404, {}, b""))
                status, headers, body = answer(asked) if callable(answer) else answer
                lines = [f"HTTP/1.1 {status} Said", *(f"{name}: {value}" for name, value in headers.items())]
                breaks_off = "Content-Length" in headers
                if status != 304 and not breaks_off:
                    lines.append(f"Content-Length: {len(body)}")
                writer.write("\r\n".join([*lines, "", ""]).encode("latin-1") + (b"" if status == 304 else body))
                await writer.drain()
                if breaks_off:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def strange_site(answers: Mapping[str, Answer | Callable[[dict[str, str]], Answer]], host: str = "127.0.0.1"):
    site = StrangeSite(answers)
    server = await asyncio.start_server(site.talk, host, 0)
    site.origin = f"http://{host}:{server.sockets[0].getsockname()[1]}"
    try:
        yield site
    finally:
        server.close()


def html(*hrefs: str, head: str = "", **headers: str) -> Answer:
    links = "".join(f'<a href="{href}">{href}</a> ' for href in hrefs)
    fields = {"Content-Type": "text/html"} | {name.replace("_", "-"): value for name, value in headers.items()}
    return 200, fields, f"<html><head><title>t</title>{head}</head><body><p>A page. {links}</body></html>".encode()
