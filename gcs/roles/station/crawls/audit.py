"""The audit log: who did what at the station, a line of JSON each. Written before the answer; never changed."""

import time
from collections import deque
from pathlib import Path

import msgspec

from gcs.events import Events
from gcs.ports.system.own_file import own_stream

events = Events("audit")

#: bytes of the log that are read, and after which it is set aside (one old file is kept)
READ_BYTES, MOST_BYTES = 1 << 20, 16 << 20
#: characters of a detail
MOST_CHARACTERS = 500
#: fields of commands that may hold secrets: addresses of webhooks; headers and proxies among the settings
UNTOLD = frozenset({"webhooks", "toml"})


class AuditEntry(msgspec.Struct, frozen=True):
    """One command."""

    at: float
    who: str
    #: the name of the call: pause, seeds, new…
    did: str
    crawl: str = ""
    detail: str = ""
    #: the status of the answer: 202, or why it was refused
    status: int = 202


class AuditLog:
    """The audit log of one station: in a file, or (without one) only in the log of the process, with the last lines."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._last: deque[AuditEntry] = deque(maxlen=1_000)

    def write(self, entry: AuditEntry) -> None:
        entry = msgspec.structs.replace(entry, detail=entry.detail[:MOST_CHARACTERS])
        self._last.append(entry)
        events.info("command", who=entry.who, did=entry.did, crawl=entry.crawl, status=entry.status)
        if self._file is None:
            return
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            if self._file.exists() and self._file.stat().st_size > MOST_BYTES:
                self._file.replace(self._file.with_suffix(".old"))
            with own_stream(self._file, "ab") as file:
                file.write(msgspec.json.encode(entry) + b"\n")
        except OSError as error:
            events.error("not-written", file=self._file, reason=error.strerror)

    def read(self, most: int) -> list[AuditEntry]:
        """The last entries, the newest first."""
        if self._file is None or not self._file.exists():
            return list(self._last)[::-1][:most]
        with self._file.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(size - READ_BYTES, 0))
            lines = file.read(READ_BYTES).splitlines()[1 if size > READ_BYTES else 0 :]
        entries = []
        for line in reversed(lines):
            try:
                entries.append(msgspec.json.decode(line, type=AuditEntry))
            except msgspec.DecodeError:  # cut by a power cut
                continue
            if len(entries) >= most:
                break
        return entries


def now_entry(who: str, did: str, crawl: str, given: msgspec.Struct | None, status: int) -> AuditEntry:
    """What is noted of a command, without what may be secret in its body."""
    body = msgspec.to_builtins(given) if given is not None else {}
    told = {name: "(not shown)" if name in UNTOLD and value else value for name, value in body.items()}
    return AuditEntry(time.time(), who, did, crawl, msgspec.json.encode(told).decode() if told else "", status)
