"""Stores of some records, for tests that read them."""

from pathlib import Path

from gcs.ports.records.layout import StoreSettings
from gcs.ports.records.record_store import Store

from .pages import record


def store(directory: Path, gatherer: str, *records: dict[str, object]) -> None:
    """Store records that differ from an ordinary one by these changes; some of them become Parquet."""
    with Store.open(directory, StoreSettings(log_records=2), gatherer) as records_store:
        for changes in records:
            records_store.add_page(record(**changes))
            records_store.flush()
        records_store.sync()
