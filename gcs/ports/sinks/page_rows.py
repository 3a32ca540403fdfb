"""A page as a row: its id, and the columns of the record."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from gcs.ports.records.page import Page
from gcs.ports.records.parquet import FIELDS, record_batch

#: columns of every sink that has columns; the id is the key
ROW_COLUMNS = ("id", *FIELDS)


def as_row(page: Page) -> dict[str, Any]:
    """For people and JSON: times in ISO 8601, what plug-ins have added as an object."""
    record = page.record
    row = {"id": page.id} | {name: getattr(record, name) for name in FIELDS}
    row["fetched_at"] = datetime.fromtimestamp(record.fetched_at, UTC).isoformat().replace("+00:00", "Z")
    row["fields"] = msgspec.Raw(record.fields.encode()) if record.fields else {}
    return row


def as_table(pages: Sequence[Page]) -> Any:
    """For Arrow: the columns of the Parquet files, behind the id."""
    import pyarrow as pa

    batch = record_batch([page.record for page in pages])
    ids = pa.array([page.id for page in pages], pa.string())
    table = pa.Table.from_batches([batch])
    return table.add_column(0, pa.field("id", pa.string(), nullable=False), ids)
