"""One process of the text pool. Reads jobs from a socket, answers each with a TextExtract.

A frame is the length of a msgpack value in 4 bytes, then the value. Runs until the socket ends, and
never outlives its parent: the kernel kills it with its parent where it can (Linux), the end of the
socket stops it elsewhere. Must not write to the terminal, and leaves Ctrl-C to its parent.
"""

import contextlib
import logging
import resource
import signal
import socket
import sys

import msgspec

from gcs.core.malloc import keep_arena
from gcs.ports.process import end_with
from gcs.ports.reader import Summarisers
from gcs.ports.summarise import Options, Source

HEADER_BYTES = 4
#: address space of a worker: a page that needs more gets no text
_MEMORY_BYTES = 4 * 1024**3
#: pages after which the caches of trafilatura are emptied: they grow with every new host
_CACHED_PAGES = 2_000


class TextJob(msgspec.Struct, frozen=True, array_like=True):
    """A document to take the text from. Written by the pool, taken by a worker."""

    content: bytes
    content_type: str
    url: str
    options: Options


class TextExtract(msgspec.Struct, frozen=True, array_like=True):
    """The text of a page. Written by a worker, or by the pool in the place of one that failed."""

    text: str = ""
    #: of the text, where it can be told; what the page says of itself goes first
    language: str = ""
    simhash: int = 0
    #: why there is no text: "" where nothing went wrong
    note: str = ""


def serve(connection: socket.socket) -> None:
    """Answer jobs until the other end closes."""
    read = Summarisers.with_plugins().read
    decode, encode = msgspec.msgpack.Decoder(TextJob).decode, msgspec.msgpack.Encoder().encode
    pages = 0
    with connection.makefile("rb") as stream:
        while header := stream.read(HEADER_BYTES):
            job = decode(stream.read(int.from_bytes(header, "big")))
            try:
                document = read(Source(job.content, job.content_type, job.url, "full", job.options))
                answer = TextExtract(document.text, document.language, document.simhash)
            except Exception as error:  # of a plug-in or a third-party parser: the page is lost, the worker is not
                answer = TextExtract(note=f"{type(error).__name__}: {error}"[:200])
            frame = encode(answer)
            connection.sendall(len(frame).to_bytes(HEADER_BYTES, "big") + frame)
            pages += 1
            if pages % _CACHED_PAGES == 0:
                from trafilatura.meta import reset_caches

                reset_caches()


def main() -> None:
    """What the pool starts, with two arguments: the descriptor of the socket, the process id of the parent."""
    descriptor, parent = map(int, sys.argv[1:3])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if end_with_parent := end_with(parent, signal.SIGKILL):
        end_with_parent()
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    logging.disable()
    keep_arena()
    with contextlib.suppress(ConnectionError), socket.socket(fileno=descriptor) as connection:
        serve(connection)
