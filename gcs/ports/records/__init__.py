"""The record store: WARC files, the record log, and summaries in Parquet.

record_store   writes and recovers            reading        reads everything that a crawl stored
record_log     what was stored, frame by frame    recovery   after a crash
warc, warc_files, cdxj                        WARC records, the files of them, an index of them
parquet, finished_files                       summaries, and the upload of closed files
crawl_graph                                   the web graph of a crawl, from its records
layout, append_file                           where files lie, and how they grow
"""
