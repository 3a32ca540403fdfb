import subprocess
import sys
from pathlib import Path

import duckdb
import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gcs.core.page.values import NOT_KEPT, PageRecord
from gcs.errors import StoreError
from gcs.ports.records import parquet
from gcs.ports.records.record_log import VERSION, Opened
from gcs.ports.records.record_store import LogFile

from .pages import record

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
MICROSECONDS = st.integers(0, 4_000_000_000_000_000).map(lambda us: us / 1e6)
BY_NAME = {
    "depth": st.integers(0, 2**31 - 1),
    "status": st.integers(0, 999),
    "fetched_at": MICROSECONDS,
    "simhash": st.integers(0, 2**64 - 1),
}
BY_KIND = {str: TEXT, int: st.integers(0, 2**62), bool: st.booleans(), list[str]: st.lists(TEXT, max_size=4)}
RECORDS = st.builds(
    PageRecord,
    **{
        field.name: BY_NAME.get(field.name, BY_KIND.get(field.type))
        for field in msgspec.structs.fields(PageRecord)
        if field.name not in NOT_KEPT
    },
)


def logged(directory: Path, records: list[PageRecord]) -> Path:
    file = LogFile.create(directory, 1, Opened(VERSION, "g1", "", 0, 0))
    for page in records:
        file.append_record(page)
    file.sync()
    file.file.close()
    return directory / "000001.log"


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(RECORDS, max_size=5))
def test_summaries_give_back_what_the_log_held(tmp_path: Path, records: list[PageRecord]) -> None:
    log, path = logged(tmp_path, records), tmp_path / "g1-000001.parquet"
    assert parquet.convert(log, path) == (len(records), 0)
    assert list(parquet.read_pages(path)) == records
    assert list(parquet.read_pages(path, skip=2)) == records[2:]
    log.unlink()


def test_summaries_have_a_stable_schema(tmp_path: Path) -> None:
    path = tmp_path / "g1-000001.parquet"
    parquet.convert(logged(tmp_path, [record()]), path)
    columns = {field.name: str(field.type) for field in pq.read_schema(path)}
    assert columns == {
        **dict.fromkeys(parquet.FIELDS, "string"),
        "depth": "int32",
        "status": "int32",
        "fetched_at": "timestamp[us, tz=UTC]",
        "bytes": "int64",
        **dict.fromkeys(
            ("outlinks", "keywords", "anchors", "rels", "requisites", "headers", "dates"), "list<element: string>"
        ),
        "text_cut": "bool",
        "simhash": "uint64",
        "warc_offset": "int64",
        "warc_bytes": "int64",
        "noindex": "bool",
        "source": "bool",
        "shell": "bool",
        **dict.fromkeys(("session", "visits", "changes", "misses", "held_at_us", "requisite"), "int64"),
    }
    assert pq.ParquetFile(path).metadata.row_group(0).column(0).compression == "ZSTD"


def test_summaries_bound_the_row_group_by_rows_and_by_text(tmp_path: Path) -> None:
    pages = [record(outlinks=[]) for _ in range(1_500)] + [record(text="x" * (5 << 18)) for _ in range(9)]
    path = tmp_path / "g1-000001.parquet"
    assert parquet.convert(logged(tmp_path, pages), path).rows == 1_509
    metadata = pq.ParquetFile(path).metadata
    assert [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)] == [1_000, 507, 2]


def test_summaries_read_only_the_fields_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "g1-000001.parquet"
    parquet.convert(logged(tmp_path, [record(depth=7)]), path)
    assert list(parquet.read_rows(path, ["depth", "url"])) == [(7, "http://example.com/")]


def test_summaries_written_before_a_column_existed_have_its_default(tmp_path: Path) -> None:
    path = tmp_path / "g1-000001.parquet"
    parquet.convert(logged(tmp_path, [record(failure="dns")]), path)
    pq.write_table(pq.read_table(path).drop_columns(["failure", "noindex"]), path)
    assert list(parquet.read_pages(path)) == [record()]


def test_summaries_of_a_damaged_file_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_bytes(b"PAR1 nothing PAR1")
    with pytest.raises(StoreError, match=r"x.parquet is damaged \(.*\); see gcs verify"):
        list(parquet.read_pages(tmp_path / "x.parquet"))


def test_summaries_schema_covers_the_page_record() -> None:
    assert parquet.schema().names == list(parquet.FIELDS)
    assert {*parquet.FIELDS, *NOT_KEPT} == set(PageRecord.__struct_fields__)
    assert all(isinstance(field, pa.Field) and not field.nullable for field in parquet.schema())


def test_summaries_of_a_value_that_does_not_fit_are_an_error_and_leave_the_log(tmp_path: Path) -> None:
    log = logged(tmp_path, [record(simhash=-1)])
    with pytest.raises(StoreError, match=r"cannot convert .*000001\.log"):
        parquet.convert(log, tmp_path / "g1-000001.parquet")
    assert list(tmp_path.iterdir()) == [log]


@pytest.mark.parametrize("length", [0, 1, 31, 32, 255, 256, 65_535, 65_536, 200_000])
def test_summaries_hold_texts_of_every_length(tmp_path: Path, length: int) -> None:
    pages = [record(text="é" * (length // 2) + "x" * (length % 2), markdown="ü" * length), record(text="end")]
    path = tmp_path / "g1-000001.parquet"
    parquet.convert(logged(tmp_path, pages), path)
    assert list(parquet.read_pages(path)) == pages


def test_summaries_of_an_older_log_have_the_defaults_of_newer_columns(tmp_path: Path) -> None:
    file = LogFile.create(tmp_path, 1, Opened(VERSION, "g1", "", 0, 0))
    older = [getattr(record(text="then"), name) for name in parquet.FIELDS[: parquet.FIELDS.index("markdown")]]
    file.append(b"P", msgspec.msgpack.encode(older))
    file.sync()
    file.file.close()
    path = tmp_path / "g1-000001.parquet"
    parquet.convert(tmp_path / "000001.log", path)
    assert list(parquet.read_pages(path)) == [record(text="then")]


def test_summaries_are_the_same_to_every_reader(tmp_path: Path) -> None:
    """Arrow's own writer is the oracle; DuckDB reads it, too."""
    pages = [
        record(f"http://example.com/{n}", depth=n, outlinks=["http://a/"] * (n % 3), text="t" * n) for n in range(9)
    ]
    path = tmp_path / "g1-000001.parquet"
    parquet.convert(logged(tmp_path, pages), path)
    table = pq.read_table(path, page_checksum_verification=True)
    assert table.equals(pa.Table.from_batches([parquet.record_batch(pages)]))
    depths = pq.ParquetFile(path).metadata.row_group(0).column(parquet.FIELDS.index("depth")).statistics
    assert (depths.min, depths.max, depths.null_count) == (0, 8, 0)
    found = duckdb.sql(f"select sum(len(outlinks)), sum(len(text)), epoch_us(max(fetched_at)) from '{path}'").fetchall()
    assert found == [(9, 36, round(pages[0].fetched_at * 1e6))]


def test_summaries_are_written_without_arrow(tmp_path: Path) -> None:
    """Its libraries would take 42 MB of a gatherer's memory."""
    logged(tmp_path, [record()])
    program = (
        "import sys; from pathlib import Path; from gcs.ports.records import parquet;"
        f"parquet.convert(Path({str(tmp_path / '000001.log')!r}), Path({str(tmp_path / 'g1-000001.parquet')!r}));"
        "sys.exit(bool({'pyarrow', 'numpy'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_tables_are_made_without_pandas() -> None:
    """It is 50 MB that nothing here needs, but pyarrow loads it where it can."""
    program = (
        "import sys; from gcs.ports.records import parquet; from tests.ports.records.pages import record;"
        "parquet.record_batch([record()]);"
        "sys.exit('pandas' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
