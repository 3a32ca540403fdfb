"""The sinks of a crawl from the command line: `gcs sink` beside it, a process for each.

Such a process goes on until its standard input ends and everything is delivered, so that also a crawl that is killed
has its last pages delivered.
"""

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from gcs.app.processes.beside import Followers
from gcs.ports.sinks.sink_names import named_sink

#: environment variable of the target: a command line, which everybody can see, may not hold a password
TARGET_VARIABLE = "GCS_SINK"
#: the same of the targets of a crawl or a gatherer
SINKS_VARIABLE = "GCS_SINKS"
#: what is said of a target
TARGETS = (
    "pages.jsonl, pages.csv, pages.duckdb, corpus.md/, pages.parquet/, s3://…, postgresql://…, redis://…, "
    "opensearch=https://KEY@HOST/INDEX (or elasticsearch, meilisearch, typesense), or NAME=TARGET of a sink of yours."
)


def sink_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command --sink."""
    about = f"Bring each page there, too: {TARGETS}"
    return click.option("--sink", "sinks", multiple=True, envvar=SINKS_VARIABLE, metavar="TARGET", help=about)(command)


@contextlib.contextmanager
def sinks_beside(directory: Path, targets: Sequence[str]) -> Iterator[None]:
    """While the body runs, and until everything is delivered. Raises an error for a target that cannot be."""
    for target in targets:
        named_sink(target).close()  # a mistake is told before anything is crawled
    os.environ.pop(SINKS_VARIABLE, None)  # gatherers that this process starts have no sinks of their own
    with Followers(directory) as followers:
        for target in targets:
            followers.start("sink", environment={TARGET_VARIABLE: target})
        yield
