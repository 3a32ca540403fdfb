"""Sources that are no web servers (papers.md T2), read as if they were: a folder or table is a list of links, what lies
in it are pages.

    engine     sends requests to the web's engine or to a source      files      folders
    answer     what a source answers, made a Response                 database   SQLite
                                                                      news       NNTP
"""

from gcs.ports.fetch.sources.source_engine import SourceFetcher

__all__ = ["SourceFetcher"]
