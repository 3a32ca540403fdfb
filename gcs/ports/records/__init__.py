"""The record store: WARC files, the record log, and summaries in Parquet.

- `record_store` writes, `recovery` mends after a crash, `reading` reads everything that a crawl stored.
- `record_log` is the log of what was stored, frame by frame; `parquet` makes summaries of it.
- `warc` is the format of the archived exchanges, `cdxj` their index for replay tools.
- `finished_files` converts and uploads closed files; `layout` says where files lie.
- `crawl_graph` is the web graph of a crawl, made from its records.
"""
