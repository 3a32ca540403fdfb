"""What holds after a crash: cuts the record log and the WARC files back to where they agree.

The log is the truth. Its last file is cut after its last whole frame; frames since the last Synced mark
whose WARC records are not whole on disk are cut too, with all that follows; then the WARC file is cut after
the last record that a frame names, and newer WARC files, which no frame names, are removed.

Invariant: afterwards log and WARC agree one to one. It must not touch a closed log file, nor a WARC file
that is older than the one the log names last.
"""

import os
from pathlib import Path
from typing import NamedTuple

from gcs.errors import CodecError
from gcs.events import Events
from gcs.ports.records.layout import store_error, sync_directory, warc_paths, warc_serial
from gcs.ports.records.record_log import OPENED, PAGE, SYNCED, exchange_of, file_name, frames, log_numbers, opened_of
from gcs.ports.records.warc import members

events = Events("records")


class Recovered(NamedTuple):
    """Where to go on: the last log file, the page records in it, and the end of the WARC."""

    log_number: int
    log_end: int
    records: int
    warc_file: str
    warc_end: int
    warc_serial: int


def recover(log_directory: Path, warc_directory: Path, prefix: str) -> Recovered | None:
    """Cut the store back to its last consistent state; None where there is no log yet."""
    try:
        state = _last_state(log_directory, warc_directory)
        if state is not None:
            _cut(log_directory / file_name(state.log_number), state.log_end)
            _cut_warc(warc_directory, prefix, state)
    except OSError as error:
        raise store_error("recover", Path(error.filename or log_directory), error) from error
    return state


def _last_state(log_directory: Path, warc_directory: Path) -> Recovered | None:
    for number in reversed(log_numbers(log_directory)):
        path = log_directory / file_name(number)
        if state := _scan(path, number, warc_directory):
            return state
        path.unlink()  # killed while the file was made: it holds no frame, its predecessor is still here
    return None


def _scan(path: Path, number: int, warc_directory: Path) -> Recovered | None:
    """The state after the last frame that holds, or None for a file without a header."""
    synced_end = max((frame.end for frame in frames(path) if frame.kind == SYNCED), default=0)
    state: Recovered | None = None
    for frame in frames(path):
        if state is None:
            if frame.kind != OPENED:
                return None
            opened = opened_of(frame)
            state = Recovered(number, frame.end, 0, opened.warc_file, opened.warc_end, opened.warc_serial)
            continue
        exchange = exchange_of(frame)
        if exchange is not None and exchange.warc_file:
            name, end = exchange.warc_file, exchange.warc_offset + exchange.warc_bytes
            start = state.warc_end if name == state.warc_file else 0
            if frame.start >= synced_end and not _whole(warc_directory / name, start, end):
                events.warning("record-cut", file=path, warc=name)
                return state
            state = state._replace(warc_file=name, warc_end=end, warc_serial=warc_serial(name))
        state = state._replace(log_end=frame.end, records=state.records + (frame.kind == PAGE))
    return state


def _whole(path: Path, start: int, end: int) -> bool:
    """Whether the bytes from start to end are there and are undamaged gzip members."""
    if not path.is_file() or path.stat().st_size < end:
        return False
    with path.open("rb") as file:
        try:
            for member in members(file, start):
                if member.offset + member.size_bytes >= end:
                    return member.offset + member.size_bytes == end
        except CodecError:
            pass  # damage is the same as absence here
    return False


def _cut_warc(directory: Path, prefix: str, state: Recovered) -> None:
    for path in warc_paths(directory, prefix):
        if warc_serial(path.name) > state.warc_serial:
            events.info("orphan-removed", file=path)
            path.unlink()
    if state.warc_file and (directory / state.warc_file).is_file():
        _cut(directory / state.warc_file, state.warc_end)
    sync_directory(directory)


def _cut(path: Path, end: int) -> None:
    size = path.stat().st_size
    if size < end:  # damaged behind our back, after it was synced: leave it, go on in a new file
        events.warning("file-short", file=path, size_bytes=size, expected_bytes=end)
    elif size > end:
        events.info("tail-cut", file=path, cut_bytes=size - end)
        with path.open("r+b") as file:
            file.truncate(end)
            os.fsync(file.fileno())
