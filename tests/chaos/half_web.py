"""One half of a web on two sides of an ocean: `python -m tests.chaos.half_web SIDE OTHER HOSTS PAGES ADDRESS`.

Each host is a tree of pages, one of which in ten also links to the other side. Every request is printed: when, and from
which address.
"""

import asyncio
import contextlib
import sys
import time


def origin(side: str, number: int) -> str:
    return f"http://h{number}.{side}.example"


async def serve(side: str, other: str, hosts: int, pages: int, address: str) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = writer.get_extra_info("peername")[0]
        while head := await _head(reader):
            path = head.split(b" ", 2)[1].decode()
            host = next(line.split()[1].decode() for line in head.split(b"\r\n") if line.lower().startswith(b"host:"))
            print(time.monotonic(), client, path, flush=True)
            if path == "/robots.txt":
                writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
                continue
            page = int(path[2:] or 0)
            links = [f"http://{host}/p{below}" for below in range(8 * page + 1, min(8 * page + 9, pages))]
            if page and page % 10 == 0:
                links.append(f"{origin(other, page % hosts)}/p{page}")
            if page == 0:
                links += [f"{origin(side, number)}/" for number in range(hosts)]
            body = "".join(f"<a href='{link}'>page</a>" for link in links).encode()
            kind = b"Content-Type: text/html\r\n"
            writer.write(b"HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n%s" % (kind, len(body), body))

    async def _head(reader: asyncio.StreamReader) -> bytes:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            return await reader.readuntil(b"\r\n\r\n")
        return b""

    server = await asyncio.start_server(answer, address, 80)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]))
