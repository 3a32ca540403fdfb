"""Summaries: a closed log file as one Parquet file, a row per page record, in the order of the log.

Made in a temporary file that is renamed when it is durable, so that a Parquet file is always whole and the
conversion may be repeated. Memory is bounded by the row group. A gatherer writes with `parquet_file`; pyarrow, which
takes 42 MB, is imported here only, by those who read.

Invariant: the rows hold everything of the page records: `read_pages` gives back what `convert` took.
"""

import os
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from operator import attrgetter
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec

from gcs.core.page.values import COLUMNS, DEFAULTS, PageRecord
from gcs.errors import DamagedError, StoreError
from gcs.ports.parquet_file import Column, Kind, ParquetWriter
from gcs.ports.records.layout import store_error, sync_directory
from gcs.ports.records.record_log import PAGE, Frame, LogReading, row_decoder
from gcs.ports.system.own_file import own_stream

#: records of a group whose size is not known
_FEW_RECORDS = 100
#: a row group is closed at this many rows …
_GROUP_ROWS = 1_000
#: … or when its frames in the log have this length
_GROUP_BYTES = 8 << 20
#: offsets of Arrow have 32 bits
_MOST_BYTES = (1 << 31) - 1
FIELDS = COLUMNS
_KNOWN = {field.name: field for field in msgspec.structs.fields(PageRecord)}
_BY_NAME = {"depth": Kind.INT32, "status": Kind.INT32, "fetched_at": Kind.TIME, "simhash": Kind.UINT64}
_BY_TYPE = {str: Kind.TEXT, int: Kind.INT64, bool: Kind.BOOL, list[str]: Kind.TEXTS}
#: columns that are most of a record, and the others
_LONG_TEXTS = ("text", "markdown")
_DECODED = tuple(name for name in FIELDS if name not in _LONG_TEXTS)
#: first byte of a text in msgpack → bytes before its content; 1 for the others
_HEAD_BYTES = {0xD9: 2, 0xDA: 3, 0xDB: 5}


def _arrow() -> tuple[Any, Any]:
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # the built-in pool costs 30 MB more
    import pyarrow as pa
    import pyarrow.parquet as pq

    return pa, pq


def schema() -> Any:
    """The types of the columns for Arrow. Stable: columns are only ever added at the end."""
    pa, _ = _arrow()
    types = {
        Kind.TEXT: pa.string(),
        Kind.TEXTS: pa.list_(pa.string()),
        Kind.BOOL: pa.bool_(),
        Kind.INT32: pa.int32(),
        Kind.INT64: pa.int64(),
        Kind.UINT64: pa.uint64(),
        Kind.TIME: pa.timestamp("us", "UTC"),
    }
    return pa.schema([pa.field(name, types[_kind(name)], nullable=False) for name in FIELDS])


class Converted(NamedTuple):
    """What came of a log file."""

    rows: int
    #: places at which it was damaged
    gaps: int


def convert(log_path: Path, parquet_path: Path) -> Converted:
    """Write the Parquet form of a closed log file."""
    temporary = parquet_path.with_name(parquet_path.name + ".tmp")
    try:
        converted = _write(log_path, temporary)
        temporary.replace(parquet_path)
        sync_directory(parquet_path.parent)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise store_error("write", parquet_path, error) from error
    except OverflowError as error:  # a value that does not fit its column
        temporary.unlink(missing_ok=True)
        raise StoreError(f"cannot convert {log_path} to {parquet_path}: {error}") from error
    return converted


def _write(log_path: Path, path: Path) -> Converted:
    log = LogReading(log_path)
    rows = 0
    with own_stream(path, "wb") as file:
        writer = ParquetWriter(file, [Column(name, _kind(name)) for name in FIELDS])
        for group in _groups(log.frames()):
            writer.write(group)
            rows += len(group)
        writer.close()
        file.flush()
        os.fsync(file.fileno())
    return Converted(rows, log.gaps)


def _groups(frames: Iterator[Frame]) -> Iterator[list[tuple[Any, ...]]]:
    """The rows of row groups. Long texts stay as they are in the log, in UTF-8: they are not decoded."""
    decode = row_decoder(_DECODED)
    fetched_at, *long_texts = map(FIELDS.index, ("fetched_at", *_LONG_TEXTS))
    group: list[tuple[Any, ...]] = []
    size_bytes = 0
    for frame in frames:
        if frame.kind != PAGE:
            continue
        row = list(msgspec.structs.astuple(decode(frame)))
        row[fetched_at] = round(row[fetched_at] * 1e6)
        for at in long_texts:
            row[at] = _utf8(row[at])
        group.append(tuple(row))
        size_bytes += len(frame.body)
        if len(group) == _GROUP_ROWS or size_bytes >= _GROUP_BYTES:
            yield group
            group, size_bytes = [], 0
    if group:
        yield group


def _utf8(text: msgspec.Raw) -> memoryview:
    """The content of a text of msgpack, behind its head."""
    data = memoryview(text)
    return data[_HEAD_BYTES.get(data[0], 1) :] if data else data


def _kind(name: str) -> Kind:
    """What the column of that name holds."""
    return _BY_NAME.get(name) or _BY_TYPE[_KNOWN[name].type]


def record_batch(group: Sequence[PageRecord], columns: Any = None) -> Any:
    """Records as an Arrow batch."""
    pa, _ = _arrow()
    columns = columns or schema()
    values = dict(zip(FIELDS, zip(*map(attrgetter(*FIELDS), group)))) or dict.fromkeys(FIELDS, ())
    values["fetched_at"] = tuple(round(at * 1e6) for at in values["fetched_at"])
    return pa.record_batch([_array(values[field.name], field.type) for field in columns], schema=columns)


def _array(values: Sequence[Any], kind: Any) -> Any:
    """Values as an Arrow array, by its layout: `pa.array` would load pandas where there is one, 50 MB for nothing."""
    import numpy as np

    pa, _ = _arrow()
    if pa.types.is_list(kind):
        inner = _array(list(chain.from_iterable(values)), kind.value_type)
        return pa.Array.from_buffers(kind, len(values), [None, _offsets(values)], children=[inner])
    if pa.types.is_string(kind):
        texts = [value.encode() for value in values]
        data = pa.py_buffer(b"".join(texts))
        return pa.Array.from_buffers(kind, len(values), [None, _offsets(texts), data])
    if pa.types.is_boolean(kind):
        data = np.packbits(np.array(values, np.bool_), bitorder="little")
    else:
        data = np.array(values, np.int64 if pa.types.is_timestamp(kind) else kind.to_pandas_dtype())
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(data)])


def _offsets(values: Sequence[Any]) -> Any:
    """Where each value begins, and where the last one ends."""
    import numpy as np

    pa, _ = _arrow()
    ends = np.cumsum([0, *map(len, values)], dtype=np.int64)
    if ends[-1] > _MOST_BYTES:
        raise OverflowError(f"{ends[-1]} values or bytes are more than a column of one row group can hold")
    return pa.py_buffer(ends.astype(np.int32))


def write_records(records: Iterator[PageRecord], path: Path) -> int:
    """Write records that were never in a log to a Parquet file, durably; how many there were."""
    _, pq = _arrow()
    columns, count = schema(), 0
    with (
        own_stream(path, "wb") as file,
        pq.ParquetWriter(file, columns, compression="zstd", write_page_checksum=True) as writer,
    ):
        while group := list(islice(records, _FEW_RECORDS)):
            writer.write_batch(record_batch(group, columns))
            count += len(group)
        writer.close()
        file.flush()
        os.fsync(file.fileno())
    return count


def read_rows(source: Path | BinaryIO, fields: Sequence[str] = FIELDS, skip: int = 0) -> Iterator[tuple[Any, ...]]:
    """The rows of a Parquet file as tuples of the fields asked for; `fetched_at` in seconds since the epoch."""
    pa, pq = _arrow()
    try:
        with pq.ParquetFile(source, page_checksum_verification=True) as file:
            rows = _rows(file, list(fields))
            yield from islice(rows, skip, None)
    except FileNotFoundError as error:
        raise StoreError(f"cannot read {source}: {error}") from error
    except (OSError, ValueError, pa.ArrowException) as error:
        text = " ".join(str(error).split())
        raise DamagedError(f"{source} is damaged ({text}); see gcs verify") from error


def _rows(file: Any, fields: list[str]) -> Iterator[tuple[Any, ...]]:
    pa, _ = _arrow()
    known = set(file.schema_arrow.names)
    for batch in file.iter_batches(_GROUP_ROWS, columns=[f for f in fields if f in known], use_threads=False):
        columns = []
        for name in fields:
            if name == "fetched_at":
                columns.append([at / 1e6 for at in batch.column(name).cast(pa.int64()).to_pylist()])
            elif name in known:
                columns.append(batch.column(name).to_pylist())
            else:  # written before the column existed
                columns.append([DEFAULTS[name]] * len(batch))
        yield from zip(*columns)


def read_pages(source: Path | BinaryIO, skip: int = 0) -> Iterator[PageRecord]:
    """The page records of a Parquet file, without the first `skip`."""
    for row in read_rows(source, FIELDS, skip):
        yield PageRecord(**dict(zip(FIELDS, row)))
