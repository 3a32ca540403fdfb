"""The server killed (-9) and started again under load, five times; and a server that forgets its last moments.

A kill -9 leaves what the server has written to its file, though not yet synced, in the kernel: so the power cut to
which appendfsync everysec can lose data is made by cutting the end off the append-only file before the next start.
"""

import asyncio
import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gcs.core.messages.outbox import Outbox
from gcs.core.messages.template import template
from gcs.core.messages.tuples import Link, UrlBlock
from gcs.ports.space.address import SpaceSettings
from gcs.ports.space.embedded_server import EmbeddedServer
from gcs.ports.space.port import Flow, Numbered, Space
from gcs.ports.space.redis_space import open_space

from .servers import binary_of

URLS = template(UrlBlock)
KILLS = 5


class Traffic:
    """A sender and a receiver that never stop. The receiver's effects are a set: it may be told twice."""

    def __init__(self, sender: Space, receiver: Space) -> None:
        self._sender, self._receiver = sender, receiver
        self.outbox: Outbox[UrlBlock] = Outbox()
        #: number → when the space said that it has the block
        self.acknowledged: dict[int, float] = {}
        self.received: set[int] = set()
        self.dropped: set[int] = set()
        #: when the server was killed last, and how far back each loss reached from there
        self.killed_at = 0.0
        self.loss_windows_s: list[float] = []
        self.stopping = False

    async def send(self) -> None:
        rng = random.Random(1)
        while not self.stopping or len(self.outbox):
            if not self.stopping:
                for _ in range(rng.randrange(1, 20)):
                    number = self.outbox.last + 1
                    self.outbox.add(UrlBlock(number, [Link(f"http://a/{number}/{i}") for i in range(20)]))
            await self.ship()

    async def ship(self) -> None:
        parcel = self.outbox.shipment(50)
        numbered = Numbered("s", parcel.base, parcel.first)
        receipt = await self._sender.out_many(UrlBlock, parcel.blocks, to="inbox", numbered=numbered)
        for number in range(receipt.sent + 1, max(self.acknowledged, default=0) + 1):
            since = self.acknowledged.pop(number)
            self.loss_windows_s.append(round(self.killed_at - since, 3))
        for number in range(parcel.first, receipt.sent + 1):
            self.acknowledged[number] = time.monotonic()
        self.dropped |= {block.epoch for block in self.outbox.settle(receipt.sent, receipt.committed)}

    def losses(self) -> str:
        """What was measured (pytest -rP shows it)."""
        window_s = max(self.loss_windows_s, default=0.0)
        count = f"{self.outbox.resent} of {self.outbox.last} acknowledged blocks"
        return f"{count} lost and sent again, up to {window_s} s old"

    async def receive(self) -> None:
        while not (self.stopping and not len(self.outbox)):
            taken = await self._receiver.take_many([URLS], at="inbox", limit=20, timeout_s=0.05)
            self.received |= {each.number for each in taken}
            await self._receiver.ack(taken)


async def disturb(
    folder: Path, fsync: str, before_restart: Callable[[Path], None], binary: str | None = None
) -> Traffic:
    """Traffic over a server that is killed again and again; comes back when all is delivered."""
    server = EmbeddedServer(folder, fsync, binary)
    url = server.start()
    settings = SpaceSettings(lease_s=0.3, max_deliveries=100, inbox_bytes=200_000, patience_s=60)
    spaces = [await open_space(url, crawl="c", name=name, settings=settings) for name in ("s", "g")]
    traffic = Traffic(*spaces)
    try:
        async with asyncio.timeout(120), asyncio.TaskGroup() as tasks:
            tasks.create_task(traffic.send())
            tasks.create_task(traffic.receive())
            for _ in range(KILLS):
                reached = traffic.outbox.last
                while traffic.outbox.last < reached + 200:
                    await asyncio.sleep(0.01)
                os.kill(server.pid, signal.SIGKILL)
                os.waitid(os.P_PID, server.pid, os.WEXITED | os.WNOWAIT)  # noqa: ASYNC222 (it is dead)
                traffic.killed_at = time.monotonic()
                await asyncio.sleep(0.02)  # clients meet a server that is not there
                before_restart(folder)
                assert server.revive()
            traffic.stopping = True
        flows = await spaces[0].flows(UrlBlock, at="inbox")
        assert flows == {"s": Flow(traffic.outbox.last, traffic.outbox.last)}
    finally:
        for space in spaces:
            await space.close()
        server.stop()
    return traffic


def nothing(folder: Path) -> None:
    """Only the process dies."""


@pytest.mark.parametrize("fsync", ["always", "everysec"])
async def test_server_killed_under_load_costs_waiting_and_nothing_else(tmp_path, fsync):
    traffic = await disturb(tmp_path / "state", fsync, nothing)
    everything = set(range(1, traffic.outbox.last + 1))
    assert len(everything) > 200 * KILLS
    assert traffic.received == traffic.dropped == everything
    print(f"{fsync}: {traffic.losses()}")
    if fsync == "always":
        assert traffic.outbox.resent == 0, "what was acknowledged was lost"


@pytest.mark.parametrize("server", ["redis 6.2", "redis 7", "valkey"])
async def test_server_that_forgets_its_last_moments_is_sent_them_again(tmp_path, server):
    binary = binary_of(server) or pytest.skip(f"no {server} here")
    lost: list[int] = []

    def power_cut(folder: Path) -> None:
        """Lose the last 50 kB of what was acknowledged: hundreds of blocks, acks and takes."""
        files = [*folder.glob("appendonlydir/*.incr.aof"), *folder.glob("appendonly.aof")]
        newest = max(files, key=lambda file: file.stat().st_mtime)
        keep = max(0, newest.stat().st_size - 50_000)
        lost.append(newest.stat().st_size - keep)
        os.truncate(newest, keep)

    traffic = await disturb(tmp_path / "state", "everysec", power_cut, binary)
    everything = set(range(1, traffic.outbox.last + 1))
    assert traffic.received == traffic.dropped == everything
    assert len(lost) == KILLS
    assert traffic.outbox.resent > KILLS, "the power cuts lost nothing: the test shows nothing"
    print(f"{server}, power cut: {traffic.losses()}")
