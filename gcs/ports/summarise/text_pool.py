"""The text pool: processes that read documents, or their text, beside the fetch loop.

`TextPool` asks them; `main` is what each one runs.

Invariants: every submitted page is answered, whatever happens to its worker. A page that kills its worker,
or takes longer than the limit, gets an empty document with a note, and a new worker takes over; if there can be none,
that is an error: all other pages would get no text either. No page loses its text because the machine is busy: of the
start of a worker nothing counts, and of its work only the time in which it runs or sleeps, not that in which it waits
for a core or a disk, or is stopped (Linux). A worker that dies may have been ended by chance, as where others take all
memory: its page gets another one. `free` says how many pages may come before they only wait (back-pressure). Workers
start as pages need them.

A worker says that it has started, then reads jobs from a socket and answers each with an Extract. A frame is the length
of a msgpack value in 4 bytes, then the value; the one that says that it has started is empty. A worker runs until the
socket ends, and never outlives its parent: the kernel kills it with its parent where it can (Linux), the end of the
socket stops it elsewhere. It must not write to the terminal, and leaves Ctrl-C to its parent.
"""

import asyncio
import contextlib
import logging
import os
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Coroutine

import msgspec

from gcs.core.malloc import keep_arena
from gcs.core.page.values import Document
from gcs.errors import GcsError
from gcs.events import Events
from gcs.ports.summarise import DEFAULT, Depth, Options, Source
from gcs.ports.system.process import end_with, go_first, memory_limit_bytes, rss_bytes, work_of

#: pages inside the pool for each worker: one in work, the others so that it need not wait
_SLOTS_PER_WORKER = 4
#: the worker gets its summarisers here, so that this module need not import `reader`, which uses the pool
_COMMAND = (
    "from gcs.ports.reader import Summarisers; from gcs.ports.summarise.text_pool import main; "
    "main(Summarisers.with_plugins().read)"
)
_HEADER_BYTES = 4
#: what a worker says when it has started
_STARTED = bytes(_HEADER_BYTES)
#: seconds for its start, and how many may fail one after the other
_START_S, _STARTS = 60.0, 3
#: seconds between two looks at how long a worker has had and how much it holds, at most and at least
_LOOK_S, _LEAST_S = 0.25, 0.01
#: address space of a worker: a page that needs more gets no text. In a container, all workers together may hold half of
#: its memory: beyond it, the container would be ended, and the next one that reads the page
_MEMORY_BYTES = 4 * 1024**3
#: what each of these is to have at least, however many cores there are: one holds 70 MB before it reads anything
_LEAST_BYTES = 256 * 1024**2
#: workers that may die in a row with the same page
_DEATHS = 2
#: pages after which the caches of trafilatura are emptied: they grow with every new host
_CACHED_PAGES = 2_000
events = Events("text")


class TextJob(msgspec.Struct, frozen=True, array_like=True):
    """A document to take the text from. Written by the pool, taken by a worker."""

    content: bytes
    content_type: str
    url: str
    options: Options
    depth: Depth = "full"
    #: whether its links are wanted
    links: bool = False


class Extract(msgspec.Struct, frozen=True, array_like=True):
    """What a document says. Written by a worker, or by the pool in the place of one that failed."""

    document: Document = Document()
    #: why the document is empty: "" where nothing went wrong
    note: str = ""


_CLOSED = Extract(note="the text pool is closed")


class TextPool:
    """Extracts text in `workers` processes (0: one per core), or in as many as the memory of a container bears."""

    def __init__(self, workers: int = 0, *, timeout_s: float = 30.0, options: Options = DEFAULT) -> None:
        limit_bytes = memory_limit_bytes()
        most = max(1, limit_bytes // (2 * _LEAST_BYTES)) if limit_bytes else sys.maxsize
        self.workers = min(workers or len(os.sched_getaffinity(0)), most)
        self._share_bytes = limit_bytes // (2 * self.workers) if limit_bytes else _MEMORY_BYTES
        self.slots = self.workers * _SLOTS_PER_WORKER
        self.timeout_s = timeout_s
        self._options = options
        self._encode = msgspec.msgpack.Encoder().encode
        self._decode = msgspec.msgpack.Decoder(Extract).decode
        self._inside = 0
        self._turn = asyncio.Semaphore(self.workers)
        self._idle: list[_Worker] = []  # filled when a worker has answered; emptied by submit and close
        self._busy: set[_Worker] = set()
        self._closed = False

    @property
    def free(self) -> int:
        """Pages that may be submitted now; those beyond would only wait."""
        return max(0, self.slots - self._inside)

    async def submit(
        self,
        content: bytes | Callable[[], bytes],
        content_type: str,
        url: str,
        depth: Depth = "full",
        *,
        links: bool = False,
    ) -> Extract:
        """What a document says, without its links unless they are wanted; with a note where it cannot be read.

        Content that takes much memory may be given as a function, which is called when its turn has come.
        """
        self._inside += 1
        try:
            async with self._turn:
                if self._closed:
                    return _CLOSED
                content = (content() if callable(content) else content)[: self._options.max_bytes]
                return await self._work(TextJob(content, content_type, url, self._options, depth, links))
        finally:
            self._inside -= 1

    async def close(self) -> None:
        """End the workers; pages that are still inside get a note."""
        self._closed = True
        for worker in (*self._idle, *self._busy):
            worker.kill()
        self._idle.clear()

    async def _work(self, job: TextJob) -> Extract:
        for _ in range(_DEATHS):
            with contextlib.suppress(_DiedError):
                return await self._try(job)
        return _lost(job.url, "the text worker died")

    async def _try(self, job: TextJob) -> Extract:
        for _ in range(_STARTS):
            try:
                return await self._ask(self._idle.pop() if self._idle else _Worker(), job)
            except _NotStartedError:
                if self._closed:
                    return _CLOSED
            except OSError as error:
                raise GcsError(
                    f"no process can be started to extract the text of pages ({error.strerror}): raise the limits on"
                    " processes and open files, or give --summary fast"
                ) from error
        raise GcsError("the processes that read documents and texts end before they have started: see gcs doctor")

    async def _ask(self, worker: "_Worker", job: TextJob) -> Extract:
        self._busy.add(worker)
        answered = False
        try:
            await worker.start()
            answer = self._decode(await worker.ask(self._encode(job), self.timeout_s, self._share_bytes))
            answered = True
            if answer.note:
                events.info("unreadable", url=job.url, note=answer.note)
        except TimeoutError:
            return _lost(job.url, f"no text after {self.timeout_s:g} s")
        except MemoryError:
            return _lost(job.url, f"no text within {self._share_bytes >> 20} MB")
        except (OSError, EOFError, msgspec.DecodeError):
            if self._closed:
                return _CLOSED
            raise _DiedError from None
        finally:  # also when this task is cancelled: then the worker goes on with a page that is not wanted any more
            self._busy.discard(worker)
            if answered and not self._closed:
                self._idle.append(worker)
            else:
                worker.kill()
        return answer


def _lost(url: str, note: str) -> Extract:
    events.warning("lost", url=url, note=note)
    return Extract(note=note)


class _NotStartedError(Exception):
    """The process ended, or did nothing for long, before it had started."""


class _DiedError(Exception):
    """The process ended while it read a page."""


class _Worker:
    """One process, and our end of the socket to it."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-c", _COMMAND, str(theirs.fileno()), str(os.getpid())],
                    env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                    pass_fds=(theirs.fileno(),),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,  # Ctrl-C on the terminal is the parent's
                )
            except OSError:
                ours.close()
                raise
        ours.setblocking(False)
        self._socket = ours
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def start(self) -> None:
        """Wait until the worker has loaded what it needs."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(sock=self._socket)
            try:
                await self._within(_START_S, _MEMORY_BYTES, self._streams[0].readexactly(len(_STARTED)))
            except (OSError, EOFError, TimeoutError) as error:
                raise _NotStartedError from error

    async def ask(self, frame: bytes, limit_s: float, limit_bytes: int) -> bytes:
        """Send a job and wait for the answer. TimeoutError, MemoryError: the worker has had so much for it."""
        return await self._within(limit_s, limit_bytes, self._exchange(frame))

    async def _exchange(self, frame: bytes) -> bytes:
        assert self._streams, "start() comes first"
        reader, writer = self._streams
        writer.write(len(frame).to_bytes(_HEADER_BYTES, "big"))
        writer.write(frame)
        await writer.drain()
        return await reader.readexactly(int.from_bytes(await reader.readexactly(_HEADER_BYTES), "big"))

    async def _within(self, limit_s: float, limit_bytes: int, answer: Coroutine[None, None, bytes]) -> bytes:
        """The answer, unless the worker has had `limit_s` for it: seconds in which it ran or slept."""
        task = asyncio.ensure_future(answer)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody may be left to ask
        had_s, (ran_s, _) = 0.0, work_of(self._process.pid)
        try:
            while had_s < limit_s:
                step_s = max(_LEAST_S, min(_LOOK_S, limit_s - had_s))
                await asyncio.wait((task,), timeout=step_s)
                if task.done():
                    return task.result()
                if rss_bytes(self._process.pid) > limit_bytes:
                    raise MemoryError
                before_s, (ran_s, sleeps) = ran_s, work_of(self._process.pid)
                # not the time that passed: this process may be stopped
                had_s += max(ran_s - before_s, step_s if sleeps else 0.0)
            raise TimeoutError
        finally:
            task.cancel()

    def kill(self) -> None:
        self._process.kill()
        if self._streams is None:
            self._socket.close()
        else:
            self._streams[1].transport.abort()
        self._process.wait()


# -- the process of a worker


def serve(connection: socket.socket, read: Callable[[Source], Document]) -> None:
    """Answer jobs until the other end closes."""
    decode, encode = msgspec.msgpack.Decoder(TextJob).decode, msgspec.msgpack.Encoder().encode
    pages = 0
    with connection.makefile("rb") as stream:
        while header := stream.read(_HEADER_BYTES):
            job = decode(stream.read(int.from_bytes(header, "big")))
            try:
                document = read(Source(job.content, job.content_type, job.url, job.depth, job.options))
                answer = Extract(document if job.links else msgspec.structs.replace(document, hrefs=[]))
            except Exception as error:  # of a plug-in or a third-party parser: the page is lost, the worker is not
                answer = Extract(note=f"{type(error).__name__}: {error}"[:200])
            frame = encode(answer)
            connection.sendall(len(frame).to_bytes(_HEADER_BYTES, "big") + frame)
            pages += 1
            if pages % _CACHED_PAGES == 0:
                from trafilatura.meta import reset_caches

                reset_caches()


def main(read: Callable[[Source], Document]) -> None:
    """What the pool starts, with two arguments: the descriptor of the socket, the process id of the parent."""
    descriptor, parent = map(int, sys.argv[1:3])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if end_with_parent := end_with(parent, signal.SIGKILL):
        end_with_parent()
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    go_first()
    logging.disable()
    keep_arena()
    with contextlib.suppress(ConnectionError), socket.socket(fileno=descriptor) as connection:
        connection.sendall(_STARTED)
        serve(connection, read)
