import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from gcs.core.page.values import PageRecord
from gcs.errors import DamagedError, SettingsError, StoreError, UsageError
from gcs.ports.records import warc
from gcs.ports.records.layout import StoreSettings
from gcs.ports.records.page import Page
from gcs.ports.records.parquet import read_rows
from gcs.ports.records.reading import read_records, warn
from gcs.ports.records.record_log import Position, log_numbers
from gcs.ports.records.record_store import AppendFile, RecentDigests, Store
from gcs.ports.records.warc import Original

from .checking import check, warc_places
from .pages import STARTED_AT, record, response
from .storing import file_size_limit


def fill(store: Store, first: int, last: int) -> list[PageRecord]:
    stored = []
    for number in range(first, last):
        url = f"http://example.com/{number}"
        stored.append(store.add_page(record(url), response(url, b"page %d" % number)))
        store.flush()
    return stored


def test_store_fills_in_digest_and_place(tmp_path: Path) -> None:
    with Store.open(tmp_path, StoreSettings(), "g1", crawl="news") as store:
        stored = store.add_page(record(), response(body=b"x"))
        store.sync()
    assert stored.digest == warc.payload_digest(b"x")
    assert stored.warc_file.startswith("news-g1-")
    assert stored.warc_file.endswith("-00001.warc.gz")
    assert warc_places(tmp_path / "warc") == [(stored.warc_file, stored.warc_offset, stored.warc_bytes)]
    assert list(read_records(tmp_path)) == [stored]


def test_store_writes_nothing_before_flush(tmp_path: Path) -> None:
    with Store.open(tmp_path, StoreSettings(), "g1") as store:
        store.add_page(record(), response())
        assert [path.stat().st_size for path in (tmp_path / "warc").iterdir()] == [0]
        assert list(read_records(tmp_path)) == []
        store.flush()
        assert check(tmp_path) == 1


def test_store_flushes_by_itself_before_memory_fills(tmp_path: Path) -> None:
    with Store.open(tmp_path, StoreSettings(warc=False), "g1") as store:
        for _ in range(6):
            store.add_page(record(text="x" * 1_000_000))
        assert len(list(read_records(tmp_path))) >= 4


def test_store_without_warc_keeps_records_and_digests(tmp_path: Path) -> None:
    with Store.open(tmp_path, StoreSettings(warc=False), "g1") as store:
        stored = store.add_page(record(), response())
        store.fetched(response("http://example.com/robots.txt"))
        store.sync()
    assert stored.digest.startswith("sha1:")
    assert (stored.warc_file, stored.warc_bytes) == ("", 0)
    assert not list((tmp_path / "warc").iterdir())
    with Store.open(tmp_path, StoreSettings(warc=False), "g1") as store:
        assert list(store.tail(Position())) == [stored]


def test_store_keeps_failures_beside_pages(tmp_path: Path) -> None:
    with Store.open(tmp_path, StoreSettings(), "g1") as store:
        failed = store.add_page(record("http://gone.example/", status=0, failure="dns"))
        page = store.add_page(record(), response())
        store.finish()
    assert list(read_records(tmp_path)) == [failed, page]
    assert len(warc_places(tmp_path / "warc")) == 1


def test_store_writes_a_revisit_for_a_payload_it_has(tmp_path: Path) -> None:
    with Store.open(tmp_path, StoreSettings(), "g1") as store:
        for number, body in enumerate((b"same", b"other", b"same", b"", b"")):
            url = f"http://example.com/{number}"
            store.add_page(record(url), response(url, body))
        store.sync()
    assert _kinds(tmp_path) == ["response", "response", "revisit", "response", "response"]  # nothing to save in ""
    check(tmp_path)


def test_store_writes_a_revisit_for_a_304(tmp_path: Path) -> None:
    copy = Original("http://example.com/", STARTED_AT - 100)
    with Store.open(tmp_path, StoreSettings(), "g1") as store:
        stored = store.add_page(record(digest="sha1:OLD"), response(body=b"", status=304), copy)
        store.sync()
    assert stored.digest == "sha1:OLD"
    (path,) = (tmp_path / "warc").iterdir()
    with path.open("rb") as file:
        revisit = list(ArchiveIterator(file))[-1]
    assert revisit.rec_headers["WARC-Refers-To-Date"] == "2025-10-09T08:51:40.250000Z"
    assert revisit.rec_headers["WARC-Payload-Digest"] == "sha1:OLD"


def test_store_keeps_the_digest_of_a_held_copy_apart_from_that_of_an_error(tmp_path: Path) -> None:
    """The record goes on naming the copy; in the WARC stands what the server said."""
    held = record(digest="sha1:OLD", status=503, failure="http-503", held_at_us=1)
    with Store.open(tmp_path, StoreSettings(), "g1") as store:
        assert store.add_page(held, response(body=b"busy", status=503)).digest == "sha1:OLD"
        store.sync()
    assert _kinds(tmp_path) == ["response"]
    (path,) = (tmp_path / "warc").iterdir()
    with path.open("rb") as file:
        for stored in ArchiveIterator(file, check_digests="raise"):
            assert stored.content_stream().read() is not None
    assert stored.rec_headers["WARC-Payload-Digest"] == warc.payload_digest(b"busy")


def test_store_without_digests_stores_every_payload(tmp_path: Path) -> None:
    with Store.open(tmp_path, StoreSettings(warc_digests=0), "g1") as store:
        for number in range(3):
            store.add_page(record(f"http://example.com/{number}"), response(f"http://example.com/{number}"))
        store.sync()
    assert _kinds(tmp_path) == ["response"] * 3


def test_recent_digests_forget_the_least_recently_met() -> None:
    digests = RecentDigests(2)
    digests.put("a", Original("http://a/", 1.0), True)
    digests.put("b", Original("http://b/", 2.0), True)
    assert digests.get("a", True) == Original("http://a/", 1.0)
    digests.put("c", Original("http://c/", 3.0), True)
    assert digests.get("b", True) is None
    assert digests.get("a", True)


def test_store_rotates_warc_and_log(tmp_path: Path) -> None:
    with Store.open(tmp_path, StoreSettings(warc_bytes=3_000, log_records=4), "g1") as store:
        stored = fill(store, 0, 10)
        assert store.sync() == Position(3, 2)
        names = sorted(path.name for path in (tmp_path / "warc").iterdir())
        assert len(names) > 2
        assert [name.rpartition("-")[2] for name in names] == [f"{n:05d}.warc.gz" for n in range(1, len(names) + 1)]
        assert list(store.tail(Position())) == stored
        store.finish()
        assert log_numbers(tmp_path / "state/g1/log") == [4]
        assert len(list((tmp_path / "summaries").glob("*.parquet"))) == 3
        stored += fill(store, 10, 11)  # a finished store may go on
        store.finish()
    assert list(read_records(tmp_path)) == stored
    assert check(tmp_path) == 11


def test_store_resumes_the_warc_file_that_is_not_full(tmp_path: Path) -> None:
    for number in range(3):
        with Store.open(tmp_path, StoreSettings(), "g1") as store:
            fill(store, number, number + 1)
    assert len(list((tmp_path / "warc").iterdir())) == 1
    assert check(tmp_path) == 3


@pytest.mark.parametrize("finish", [False, True])
def test_tail_gives_the_records_after_a_position(tmp_path: Path, finish: bool) -> None:
    """Also when the log file of the position has become Parquet since."""
    settings = StoreSettings(log_records=4)
    with Store.open(tmp_path, settings, "g1") as store:
        assert store.position == Position(1, 0)
        stored = fill(store, 0, 3)
        early = store.sync()
        stored += fill(store, 3, 7)
        late = store.sync()
        stored += fill(store, 7, 9)
        if finish:
            store.finish()
        end = store.sync()
    assert (early, late) == (Position(1, 3), Position(2, 3))
    with Store.open(tmp_path, settings, "g1") as store:
        assert store.position == end
        assert list(store.tail(early)) == stored[3:]
        assert list(store.tail(late)) == stored[7:]
        assert list(store.tail(end)) == []


def test_tail_refuses_a_position_that_the_log_does_not_reach(tmp_path: Path) -> None:
    with Store.open(tmp_path, StoreSettings(), "g1") as store:
        fill(store, 0, 3)
        with pytest.raises(StoreError, match="ahead of its record log"):
            list(store.tail(Position(1, 4)))


@pytest.mark.parametrize("damage", ["missing", "flipped", "cut"])
def test_store_goes_on_without_a_damaged_file_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    with Store.open(tmp_path, StoreSettings(log_records=1), "g1") as store:
        stored = fill(store, 0, 3)
        store.finish()
        known = store.position
    path = tmp_path / "summaries/g1-000002.parquet"
    content = path.read_bytes()
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(content[:-1] if damage == "cut" else bytes([*content[:40], content[40] ^ 1, *content[41:]]))
        with pytest.raises(DamagedError, match=r"g1-000002.parquet has .*; see gcs verify"):
            list(read_records(tmp_path))
        assert list(read_records(tmp_path, on_damage=warn)) == [stored[0], stored[2]]
    with Store.open(tmp_path, StoreSettings(), "g1", known=known) as store:
        assert store.is_damaged == (damage != "missing")
        assert list(store.tail(Position())) == [stored[0], stored[2]]
    assert "gcs verify" in str([record.__dict__ for record in caplog.records])
    assert path.with_name("g1-000002.parquet.cut").exists() == (damage != "missing")


def test_open_says_which_finished_files_are_damaged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    settings = StoreSettings(log_records=2, warc_bytes=1_000)
    with Store.open(tmp_path, settings, "g1") as store:
        fill(store, 0, 6)
        store.finish()
    parquet, warc = tmp_path / "summaries/g1-000001.parquet", min((tmp_path / "warc").iterdir())
    for path in (parquet, warc):
        path.write_bytes(path.read_bytes()[:-1])
    with Store.open(tmp_path, settings, "g1"):
        pass
    (warning,) = [record.__dict__["fields"] for record in caplog.records if "files-damaged" in record.getMessage()]
    assert warning["files"] == 2
    assert list(read_rows(parquet)) == [] and parquet.with_name("g1-000001.parquet.cut").exists()
    assert warc.exists()


def test_store_with_summaries_off_keeps_its_logs_and_converts_them_when_they_are_wanted(tmp_path: Path) -> None:
    with Store.open(tmp_path, StoreSettings(log_records=2, summaries=False), "g1") as store:
        stored = fill(store, 0, 5)
        store.finish()
    assert log_numbers(tmp_path / "state/g1/log") == [1, 2, 3, 4]
    assert not list((tmp_path / "summaries").iterdir())
    assert list(read_records(tmp_path)) == stored
    with Store.open(tmp_path, StoreSettings(), "g1") as store:
        store.finish()
    assert len(list((tmp_path / "summaries").iterdir())) == 3
    assert list(read_records(tmp_path)) == stored


def test_store_may_keep_the_logs_beside_their_summaries(tmp_path: Path) -> None:
    with Store.open(tmp_path, StoreSettings(keep_logs=True), "g1") as store:
        stored = fill(store, 0, 2)
        store.finish()
    assert (tmp_path / "state/g1/log/000001.kept").stat().st_size > 100
    assert list(read_records(tmp_path)) == stored


def test_open_finishes_a_conversion_that_was_cut_off(tmp_path: Path) -> None:
    """Killed behind the rename, or in the middle of the temporary file: the log is still there."""
    with Store.open(tmp_path, StoreSettings(summaries=False, log_records=2), "g1") as store:
        stored = fill(store, 0, 4)
    copy = tmp_path / "copy"
    for folder in ("state", "summaries", "warc"):
        shutil.copytree(tmp_path / folder, copy / folder)
    with Store.open(copy, StoreSettings(), "g1") as store:
        store.finish()
    shutil.copy(copy / "summaries/g1-000001.parquet", tmp_path / "summaries")
    (tmp_path / "summaries/g1-000002.parquet.tmp").write_bytes(b"PAR1 half")
    with Store.open(tmp_path, StoreSettings(), "g1") as store:
        assert list(store.tail(Position())) == stored
        store.finish()
    assert sorted(path.name for path in (tmp_path / "summaries").iterdir()) == [
        "g1-000001.parquet",
        "g1-000002.parquet",
    ]
    assert list(read_records(tmp_path)) == stored


def test_stores_of_two_gatherers_share_a_directory(tmp_path: Path) -> None:
    with (
        Store.open(tmp_path, StoreSettings(), "g1", crawl="c") as one,
        Store.open(tmp_path, StoreSettings(), "g1-b", crawl="c") as two,
    ):
        first, second = fill(one, 0, 3), fill(two, 3, 5)
        one.finish()
        two.sync()
    with Store.open(tmp_path, StoreSettings(), "g1", crawl="c"):
        assert list(read_records(tmp_path)) == first + second
        assert len(warc_places(tmp_path / "warc")) == 5


def test_store_in_use_is_refused(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from gcs.ports.records.record_store import Store;"
        "from gcs.ports.records.layout import StoreSettings; from gcs.errors import DamagedError, StoreError\n"
        "try: Store.open(Path(sys.argv[1]), StoreSettings(), 'g1')\nexcept StoreError as e: print(e)"
    )
    with Store.open(tmp_path, StoreSettings(), "g1"):
        done = subprocess.run([sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=True)
    assert "state/g1 is in use by another process" in done.stdout
    with Store.open(tmp_path, StoreSettings(), "g1"):
        pass


@pytest.mark.parametrize("name", ["", "../x", "a/b", "-x", "a b"])
def test_store_refuses_names_that_are_no_file_names(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="file name"):
        Store.open(tmp_path, StoreSettings(), name)
    assert not list(tmp_path.iterdir())


def _kinds(directory: Path) -> list[str]:
    kinds = []
    for path in sorted((directory / "warc").iterdir()):
        with path.open("rb") as file:
            kinds += [record.rec_type for record in ArchiveIterator(file)]
    return [kind for kind in kinds if kind in ("response", "revisit")]


@pytest.mark.parametrize("setting", [{"warc_level": 9}, {"warc_bytes": 0}, {"log_records": -1}, {"log_bytes": 0}])
def test_settings_that_cannot_be_are_refused(setting: dict[str, int]) -> None:
    with pytest.raises(SettingsError, match=next(iter(setting))):
        StoreSettings(**setting)  # type: ignore[arg-type]


def test_append_file_writes_only_at_flush(tmp_path: Path) -> None:
    file = AppendFile(tmp_path / "f")
    file.append(b"one")
    file.append(b"two")
    assert (file.end, file.size_bytes, file.path.read_bytes()) == (6, 0, b"")
    file.flush()
    assert (file.end, file.size_bytes, file.path.read_bytes()) == (6, 6, b"onetwo")
    file.append(b"dropped")
    file.close()
    file.close()
    again = AppendFile(tmp_path / "f")
    again.append(b"three")
    again.sync()
    again.close()
    assert again.path.read_bytes() == b"onetwothree"


def test_append_file_writes_more_pieces_than_the_system_takes_at_a_time(tmp_path: Path) -> None:
    file = AppendFile(tmp_path / "f")
    pieces = [str(number).encode() for number in range(3_000)]
    file.append(*pieces)
    file.flush()
    assert file.path.read_bytes() == b"".join(pieces)
    file.close()


def test_append_file_rolls_back_a_write_that_fails_half_way(tmp_path: Path) -> None:
    file = AppendFile(tmp_path / "f")
    file.append(b"x" * 1_000)
    file.flush()
    file.append(b"y" * 5_000)
    with file_size_limit(3_000), pytest.raises(StoreError, match=r"cannot write .*/f: File too large"):
        file.flush()
    assert file.path.read_bytes() == b"x" * 1_000
    file.flush()  # there is room again: nothing was lost
    assert file.path.read_bytes() == b"x" * 1_000 + b"y" * 5_000
    file.close()


def test_append_file_refuses_to_share_a_new_name(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"")
    with pytest.raises(StoreError, match="File exists"):
        AppendFile(tmp_path / "f", exclusive=True)


def test_page_that_was_a_hop_before_can_be_read(tmp_path: Path) -> None:
    """A page that is fetched plainly, then rendered: no record names the first exchange, so none may refer to it."""
    with Store.open(tmp_path, StoreSettings(), "g1") as store:
        store.fetched(response())
        store.fetched(response())
        first, again = (store.add_page(record(url), response(url)) for url in ("http://example.com/", "http://b.com/"))
        store.finish()
    for stored in (first, again):
        assert Page(stored, tmp_path).content == b"<p>hello"
    (path,) = (tmp_path / "warc").iterdir()
    with path.open("rb") as file:
        kinds = [each.rec_type for each in ArchiveIterator(file)]
    assert [kind for kind in kinds if kind.startswith("re") and kind != "request"] == ["response", "revisit"] * 2
