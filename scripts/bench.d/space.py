"""URLs per second over the whiteboard, from one sender to one receiver, beside raw redis-py in the same run.

    python scripts/bench.d/space.py [--json] [--urls N]

A sender process, a receiver process and an embedded server (append-only file, everysec) move the same blocks in every
way: 100 URLs of about 72 bytes each, 64 blocks a batch.

    raw          their bytes as MessagePack, made before the clock runs and read by nobody: pipelined XADDs and
                 XREADGROUP COUNT 64 by redis-py; no ack, no delete, no bound, no numbers, no leases
    raw_encoded  the same, with the encoding of the whiteboard at both ends, so that URLs go in and come out
    space        all of it: encode, number, bound, put, take under a lease, decode, ack and delete

Rounds alternate, and the least of each counts, because other work on the machine only adds.
"""

import argparse
import asyncio
import json
import multiprocessing
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import msgspec

from gcs.core.messages.codec import decode, encode
from gcs.core.messages.outbox import Outbox
from gcs.core.messages.template import template
from gcs.core.messages.tuples import Link, UrlBlock
from gcs.ports.space.address import SpaceSettings
from gcs.ports.space.embedded_server import EmbeddedServer
from gcs.ports.space.port import Numbered
from gcs.ports.space.redis_space import open_space

BLOCK_URLS, BATCH, ROUNDS = 100, 64, 15
LINK = "https://www{0}.example{1}.org/section-{2:03d}/articles/2024/{3:010d}-page.html"


def blocks_of(urls: int) -> list[UrlBlock]:
    """Blocks of links that look like those of a crawl; one batch of them, again and again."""
    links = [Link(LINK.format(i % 7, i % 50, i % 100, i), i % 5 + 1, i % 9) for i in range(BATCH * BLOCK_URLS)]
    batch = [UrlBlock(1, links[start : start + BLOCK_URLS]) for start in range(0, len(links), BLOCK_URLS)]
    return batch * (urls // (BATCH * BLOCK_URLS))


class Raw:
    """redis-py alone, with bytes that lie ready."""

    def __init__(self, url: str, blocks: list[UrlBlock]) -> None:
        import redis.asyncio as redis

        self._client: Any = redis.Redis(unix_socket_path=url.removeprefix("unix://"), protocol=2)
        self._blocks = blocks
        self._payloads = [msgspec.msgpack.encode(block) for block in blocks]

    async def open(self) -> None:
        await self._client.ping()

    def payloads(self, start: int) -> list[bytes]:
        return self._payloads[start : start + BATCH]

    def read(self, entries: list[Any]) -> int:
        return len(entries)

    async def send(self, stream: str) -> None:
        for start in range(0, len(self._blocks), BATCH):
            pipeline = self._client.pipeline(transaction=False)
            for payload in self.payloads(start):
                pipeline.xadd(stream, {"p": payload})
            await pipeline.execute()

    async def prepare(self, stream: str) -> None:
        await self._client.xgroup_create(stream, "g", "0", mkstream=True)

    async def receive(self, stream: str) -> None:
        left = len(self._blocks)
        while left:
            for _, entries in await self._client.xreadgroup("g", "me", {stream: ">"}, count=BATCH, block=1000):
                left -= self.read(entries)

    async def clear(self, stream: str) -> None:
        await self._client.delete(stream)


class RawEncoded(Raw):
    """redis-py alone, from URLs to URLs."""

    def payloads(self, start: int) -> list[bytes]:
        return [encode(block) for block in self._blocks[start : start + BATCH]]

    def read(self, entries: list[Any]) -> int:
        return len([decode(fields[b"p"]) for _, fields in entries])


class Space:
    """The whiteboard."""

    def __init__(self, url: str, blocks: list[UrlBlock]) -> None:
        self._url = url
        self._blocks = blocks

    async def open(self) -> None:
        settings = SpaceSettings(inbox_bytes=1 << 30)
        self._space = await open_space(self._url, crawl="bench", name="me", settings=settings)

    async def send(self, inbox: str) -> None:
        outbox = Outbox(self._blocks)
        while outbox.due:
            shipment = outbox.shipment(BATCH)
            numbered = Numbered("me", shipment.base, shipment.first)
            receipt = await self._space.out_many(UrlBlock, shipment.blocks, to=inbox, numbered=numbered)
            outbox.settle(receipt.sent, receipt.committed)

    async def prepare(self, inbox: str) -> None:
        await self._space.take_many([template(UrlBlock)], at=inbox, limit=1)

    async def receive(self, inbox: str) -> None:
        taken: list[Any] = []
        left = len(self._blocks)
        while left:  # as a gatherer does: acks what it has committed while it waits for more
            wait_s = 1.0 if left > len(taken) else 0.0
            more = self._space.take_many([template(UrlBlock)], at=inbox, limit=BATCH, timeout_s=wait_s)
            taken, acked = await asyncio.gather(more, self._space.ack(taken))
            left -= acked

    async def clear(self, inbox: str) -> None:
        assert await self._space.count(template(UrlBlock), at=inbox) == 0


WAYS = {"raw": Raw, "raw_encoded": RawEncoded, "space": Space}


def work(pipe: Connection, url: str, urls: int) -> None:
    """One of the two processes: does what it is told, and says when it was done."""

    async def serve() -> None:
        blocks = blocks_of(urls)
        ways: dict[str, Any] = {name: way(url, blocks) for name, way in WAYS.items()}
        for way in ways.values():
            await way.open()
        pipe.send("ready")
        while (order := pipe.recv()) is not None:
            way, verb, place = order
            await getattr(ways[way], verb)(place)
            pipe.send(time.monotonic())

    asyncio.run(serve())


class Team:
    """The sender and the receiver."""

    def __init__(self, url: str, urls: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipes, self._processes = [], []
        for _ in ("sender", "receiver"):
            ours, theirs = context.Pipe()
            process = context.Process(target=work, args=(theirs, url, urls))
            process.start()
            assert ours.recv() == "ready"
            self._pipes.append(ours)
            self._processes.append(process)

    def run(self, way: str, place: str) -> float:
        """Seconds from the first `send` to the last block received."""
        sender, receiver = self._pipes
        receiver.send((way, "prepare", place))
        receiver.recv()
        begun = time.monotonic()
        receiver.send((way, "receive", place))
        sender.send((way, "send", place))
        sender.recv()
        ended: float = receiver.recv()
        receiver.send((way, "clear", place))
        receiver.recv()
        return ended - begun

    def end(self) -> None:
        """Let the processes go."""
        for pipe, process in zip(self._pipes, self._processes):
            pipe.send(None)
            process.join()


def compare(url: str, urls: int) -> dict[str, float]:
    """Both ways, in turns."""
    team = Team(url, urls)
    elapsed_s: dict[str, list[float]] = {way: [] for way in WAYS}
    for round_number in range(ROUNDS):
        for way, rounds in elapsed_s.items():
            rounds.append(team.run(way, f"{way}{round_number}"))
    team.end()
    blocks = blocks_of(urls)
    urls = len(blocks) * BLOCK_URLS
    best_s = {way: min(rounds) for way, rounds in elapsed_s.items()}
    return {
        "ratio_to_raw": round(best_s["raw"] / best_s["space"], 3),
        "ratio_to_raw_encoded": round(best_s["raw_encoded"] / best_s["space"], 3),
        "urls_per_s": round(urls / best_s["space"]),
        "raw_urls_per_s": round(urls / best_s["raw"]),
        "urls": urls,
        "bytes_per_url": round(sum(len(encode(block)) for block in blocks) / urls, 1),
    }


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--urls", type=int, default=150_000, help="URLs a round")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gcs-bench-") as folder:
        server = EmbeddedServer(Path(folder) / "redis")
        try:
            figures = compare(server.start(), options.urls)
        finally:
            server.stop()
    if options.json:
        print(json.dumps(figures))
    else:
        for name, figure in figures.items():
            print(f"{name:<20} {figure:>12,}")


if __name__ == "__main__":
    main()
