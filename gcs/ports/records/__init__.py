"""The record store: WARC files, the record log, and summaries in Parquet.

Public: `store.Store` (write and recover), `settings.StoreSettings`, `log.Position`, `digests.Digests`,
`reading.read_records` (everything that a crawl stored).
"""
