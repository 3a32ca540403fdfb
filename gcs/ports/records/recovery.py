"""What holds after a crash: cuts the record log and the WARC files back to where they agree.

The log is the truth. Its last file is cut after its last whole frame; frames since the last Synced mark
whose WARC records are not whole on disk are cut too, with all that follows; then the WARC file is cut after
the last record that a frame names, and newer WARC files, which no frame names, are removed.

A crash damages nothing that was synced. So where a Synced mark lies behind a gap, or the log ends before the position
that the frontier knows, the disk or somebody else has damaged the log. Then nothing is cut: the log file is kept as
NNNNNN.log.cut, its whole frames go into a new file of that number, which is closed, and the WARC files stay.

Invariant: afterwards log and WARC agree one to one, if no synced byte was damaged. It must not touch a closed log file,
nor a WARC file that is older than the one the log names last. It never destroys what was synced.
"""

import os
from pathlib import Path
from typing import NamedTuple

from gcs.errors import CodecError
from gcs.events import Events
from gcs.ports.records.layout import keep_copy, store_error, sync_directory, warc_paths, warc_serial
from gcs.ports.records.record_log import (
    BEGINNING,
    OPENED,
    PAGE,
    SYNCED,
    Position,
    encoded_frame,
    exchange_of,
    file_name,
    frames,
    log_numbers,
    opened_of,
)
from gcs.ports.records.warc import members
from gcs.ports.system.own_file import own_stream

events = Events("records")


class Recovered(NamedTuple):
    """Where to go on: the last log file, the page records in it, and the end of the WARC."""

    log_number: int
    log_end: int
    records: int
    warc_file: str
    warc_end: int
    warc_serial: int


class LogDamage(NamedTuple):
    """Records that were synced are missing from this file: what was derived from them does not hold any more."""

    file: Path


def recover(
    log_directory: Path, warc_directory: Path, prefix: str, known: Position = BEGINNING
) -> Recovered | LogDamage | None:
    """Bring the store into its last consistent state; None where there is no log yet.

    `known`: the position that a checkpoint refers to, so the log was synced up to there at least.
    """
    try:
        state = _last_state(log_directory, warc_directory, known)
        if isinstance(state, Recovered):
            _cut(log_directory / file_name(state.log_number), state.log_end)
            _cut_warc(warc_directory, prefix, state)
    except OSError as error:
        raise store_error("recover", Path(error.filename or log_directory), error) from error
    return state


def _last_state(log_directory: Path, warc_directory: Path, known: Position) -> Recovered | LogDamage | None:
    for number in reversed(log_numbers(log_directory)):
        path = log_directory / file_name(number)
        state = None if _has_lost_synced(path) else _scan(path, number, warc_directory)
        if state is None and Position(number) >= known and next(frames(path), None) is None:
            path.unlink()  # killed while the file was made: it holds no frame, its predecessor is still here
        elif state is None or Position(number, state.records) < known:
            salvage(path)
            return LogDamage(path)
        else:
            return state
    return None


def _has_lost_synced(path: Path) -> bool:
    """Whether a Synced mark lies behind a gap: then the gap was synced, too."""
    end, has_gap = 0, False
    for frame in frames(path):
        has_gap = has_gap or frame.start != end
        end = frame.end
        if has_gap and frame.kind == SYNCED:
            return True
    return False


def salvage(path: Path) -> None:
    """Keep the damaged file, and put its whole frames into a new one."""
    kept, new, records = keep_copy(path), path.with_suffix(".new"), 0
    with own_stream(new, "wb") as file:
        for frame in frames(path):
            file.write(encoded_frame(frame.kind, frame.body))
            records += frame.kind == PAGE
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    sync_directory(path.parent)
    events.warning("log-damaged", file=path, whole_records=records, kept=kept)


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
        if frame.start != state.log_end:
            events.warning("log-cut", file=path, kept=keep_copy(path))
            return state
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
    path = directory / state.warc_file
    if state.warc_file and path.is_file():
        _cut(path, state.warc_end)
    sync_directory(directory)


def _cut(path: Path, end: int) -> None:
    size = path.stat().st_size
    if size < end:  # damaged behind our back, after it was synced: leave it, go on in a new file
        events.warning("file-short", file=path, size_bytes=size, expected_bytes=end)
    elif size > end:
        events.info("tail-cut", file=path, cut_bytes=size - end)
        with own_stream(path, "r+b") as file:
            file.truncate(end)
            os.fsync(file.fileno())
