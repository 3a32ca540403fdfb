from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gcs.core.page.values import COLUMNS, PageRecord
from gcs.errors import CodecError
from gcs.ports.records import record_log
from gcs.ports.records.record_log import MAX_RECORD_BYTES, VERSION, Fetched, Opened, Position
from gcs.ports.records.record_store import LogFile

from .pages import record

OPENED = Opened(VERSION, "g1", "a.warc.gz", 10, 3)


def written(directory: Path, records: list[PageRecord]) -> Path:
    file = LogFile.create(directory, 1, OPENED)
    for page in records:
        file.append_record(page)
        file.fetched(Fetched("http://example.com/robots.txt", "a.warc.gz", 1, 2))
    file.sync()
    assert file.position == Position(1, len(records))
    file.file.close()
    return directory / "000001.log"


def test_log_gives_back_what_it_took(tmp_path: Path) -> None:
    records = [record(f"http://example.com/{number}", depth=number, failure="dns") for number in range(5)]
    path = written(tmp_path, records)
    assert list(record_log.pages(path)) == records
    assert list(record_log.pages(path, skip=3)) == records[3:]
    kinds = b"".join(frame.kind for frame in record_log.frames(path))
    assert kinds == b"O" + b"PF" * 5 + b"S"
    assert record_log.opened_of(next(record_log.frames(path))) == OPENED


@pytest.mark.parametrize("fields", [("url",), ("session", "outlinks"), ("bytes", "url"), COLUMNS])
def test_log_gives_the_chosen_fields_also_of_records_from_before_there_were_some(tmp_path: Path, fields) -> None:
    records = [record(f"http://example.com/{number}", session=2, outlinks=["http://a.b/"]) for number in range(3)]
    path = written(tmp_path, records)
    assert list(record_log.rows(path, fields)) == [tuple(getattr(each, name) for name in fields) for each in records]
    file = LogFile.create(tmp_path, 2, OPENED)
    file.append(record_log.PAGE, msgspec.msgpack.encode([getattr(record(), name) for name in COLUMNS[:22]]))
    file.sync()
    file.file.close()
    (old,) = record_log.rows(tmp_path / "000002.log", fields)
    assert old == tuple(getattr(record(), name) for name in fields)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.data())
def test_log_that_was_cut_reads_up_to_the_cut(tmp_path: Path, data: st.DataObject) -> None:
    whole = written(tmp_path, [record(f"http://example.com/{number}") for number in range(3)])
    content, ends = whole.read_bytes(), [frame.end for frame in record_log.frames(whole)]
    at = data.draw(st.integers(0, len(content) - 1))
    cut = tmp_path / "cut.log"
    cut.write_bytes(content[:at])
    assert [frame.end for frame in record_log.frames(cut)] == [end for end in ends if end <= at]
    assert record_log.gaps(cut) == (at not in (0, *ends))
    whole.unlink()


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.data())
def test_log_with_a_damaged_byte_loses_one_frame(tmp_path: Path, data: st.DataObject) -> None:
    whole = written(tmp_path, [record(f"http://example.com/{number}") for number in range(3)])
    content, frames = whole.read_bytes(), list(record_log.frames(whole))
    at = data.draw(st.integers(0, len(content) - 1))
    flipped = tmp_path / "flipped.log"
    flipped.write_bytes(content[:at] + bytes([content[at] ^ data.draw(st.integers(1, 255))]) + content[at + 1 :])
    assert list(record_log.frames(flipped)) == [frame for frame in frames if not frame.start <= at < frame.end]
    assert record_log.gaps(flipped) == 1
    whole.unlink()


def test_log_takes_no_text_of_a_page_for_a_frame(tmp_path: Path) -> None:
    """Behind a damaged byte each byte may be the beginning of a frame; the text of a page never is."""
    forged = record_log.encoded_frame(record_log.SYNCED, b"") + record_log.encoded_frame(record_log.PAGE, b"\xdc\0\x21")
    path = written(tmp_path, [record(title=forged.decode("latin-1"), text=forged.decode("utf-8", "replace"))])
    content = path.read_bytes()
    path.write_bytes(content.replace(b"http://example.com/", b"http://exbmple.com/", 1))
    assert [frame.kind for frame in record_log.frames(path)] == [b"O", b"F", b"S"]


def test_log_replaces_lone_surrogates(tmp_path: Path) -> None:
    path = written(tmp_path, [record(title="a\ud800b", outlinks=["http://example.com/\udfff"])])
    (page,) = record_log.pages(path)
    assert (page.title, page.outlinks) == ("a?b", ["http://example.com/?"])


def test_log_writes_no_record_that_it_could_not_read(tmp_path: Path) -> None:
    links = [f"http://example.com/{number}/{'x' * 1_000}" for number in range(MAX_RECORD_BYTES // 1_000)]
    path = written(tmp_path, [record(title="long", outlinks=links, text="text"), record(title="next")])
    long, after = record_log.pages(path)
    assert (long.title, long.outlinks, long.text) == ("long", [], "")
    assert after.title == "next"


def test_log_of_another_version_is_refused(tmp_path: Path) -> None:
    file = LogFile.create(tmp_path, 1, msgspec.structs.replace(OPENED, version=99))
    file.append(record_log.PAGE, msgspec.msgpack.encode(["too", "short"]))
    file.file.sync()
    file.file.close()
    opened, page = record_log.frames(tmp_path / "000001.log")
    with pytest.raises(CodecError, match="version 99"):
        record_log.opened_of(opened)
    with pytest.raises(CodecError, match="not understood"):
        record_log.page_of(page)


def test_positions_are_ordered_by_file_then_record() -> None:
    assert Position(1, 500) < Position(2, 0) < Position(2, 1)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(Position(3, 4)), type=Position) == Position(3, 4)
