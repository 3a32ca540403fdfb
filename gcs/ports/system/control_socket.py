"""The socket by which commands reach a crawl by one gatherer: `gcs pause DIR` and the like. A team has its whiteboard.

    DIR/state/control     unix socket (0600) while the crawl runs; one JSON line there, one back

A socket that nobody answers is left from a crawl that was killed: the crawl does not run.
"""

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from gcs.core.messages.tuples import Bulletin
from gcs.core.report.report import Share
from gcs.errors import GcsError, UsageError
from gcs.events import Events
from gcs.ports.system.socket_place import place_of, private_place

#: bytes of an order: seeds by the ten thousands
MOST_BYTES = 1 << 24
#: seconds to wait for an order, and for an answer
PATIENCE_S = 10.0

events = Events("control")


class ControlOrder(msgspec.Struct, frozen=True):
    """What the crawl is to do: pause, resume, stop, seed, share; `status` and `bulletin` change nothing."""

    verb: str
    seeds: list[str] = []
    #: of `share`: connections that it may have, 0 for as many as its settings say
    connections: int = 0


class ControlAnswer(msgspec.Struct, frozen=True):
    """What came of an order."""

    #: why nothing was done
    error: str = ""
    seeds: list[str] = []
    #: running, paused or stopping; and what the gatherer has done
    state: str = ""
    share: Share | None = None
    #: what the station shows, if that was asked for; it says less often than the share
    bulletin: Bulletin | None = None


@asynccontextmanager
async def answering(directory: Path, obey: Callable[[ControlOrder], ControlAnswer]) -> AsyncIterator[None]:
    """ControlAnswer orders during the `async with` block. The directory must be locked: its old socket is removed."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, ValueError, TimeoutError):  # who asks has gone, or is no command of ours
            line = await asyncio.wait_for(reader.readline(), PATIENCE_S)
            writer.write(msgspec.json.encode(_answer(line, obey)) + b"\n")
            await asyncio.wait_for(writer.drain(), PATIENCE_S)
        writer.close()

    try:
        place = private_place(directory / "state", "control")
        place.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX)
        before = os.umask(0o177)
        try:
            listener.bind(str(place))
        finally:
            os.umask(before)
        server = await asyncio.start_unix_server(serve, sock=listener, limit=MOST_BYTES)
    except (OSError, GcsError) as error:  # a file system without sockets: the crawl goes on without
        events.warning("no-socket", reason=error, advice="gcs pause, resume, stop and seed do not reach this crawl")
        yield
        return
    try:
        yield
    finally:
        server.close()
        with contextlib.suppress(OSError):
            place.unlink(missing_ok=True)
            if place.parent != (directory / "state").resolve():
                place.parent.rmdir()


def _answer(line: bytes, obey: Callable[[ControlOrder], ControlAnswer]) -> ControlAnswer:
    try:
        return obey(msgspec.json.decode(line, type=ControlOrder))
    except (msgspec.MsgspecError, GcsError) as error:
        return ControlAnswer(error=str(error))


def ask(directory: Path, order: ControlOrder) -> ControlAnswer | None:
    """Give an order to the crawl that one gatherer runs in this directory; None if there is none."""
    place = place_of(directory / "state", "control")
    with socket.socket(socket.AF_UNIX) as there:
        there.settimeout(PATIENCE_S)
        try:
            there.connect(str(place))
        except OSError:
            return None
        try:
            there.sendall(msgspec.json.encode(order) + b"\n")
            with there.makefile("rb") as stream:
                answer = msgspec.json.decode(stream.readline(MOST_BYTES), type=ControlAnswer)
        except (OSError, msgspec.MsgspecError) as error:
            raise GcsError(f"{directory}: the crawl there does not answer ({error}); try again") from None
    if answer.error:
        raise UsageError(answer.error)
    return answer
