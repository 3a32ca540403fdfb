"""What `--sink TARGET` names: a built-in sink by its target's form, or any sink as NAME=TARGET."""

import re
from pathlib import Path

from gcs.errors import SettingsError
from gcs.ports.own_code import load_named
from gcs.ports.sinks import Sink

#: group of entry points by which an installed package offers sinks
SINK_GROUP = "gcs.sinks"
#: how a target tells its sink: by its scheme …
_SCHEMES = {
    **dict.fromkeys(("postgresql", "postgres"), "postgresql"),
    **dict.fromkeys(("redis", "rediss"), "redis"),
    **dict.fromkeys(("s3", "gs", "az", "memory"), "parquet"),
}
#: … or by its end
_ENDS = {".jsonl": "jsonl", ".csv": "csv", ".duckdb": "duckdb", ".md": "md", ".parquet": "parquet"}
#: an object of the user's, by its module
_OBJECT = re.compile(r"[A-Za-z_][\w.]*:[\w.]+")
_NAMED = re.compile(r"(?P<name>[A-Za-z_][\w.-]*(?::[\w.]+)?)=(?P<target>.+)", re.DOTALL)


def named_sink(text: str) -> Sink:
    """The sink of a TARGET, of NAME=TARGET, or of a module:object that needs no target."""
    if named := _NAMED.fullmatch(text):
        name, target = named["name"], named["target"]
    elif scheme := _SCHEMES.get(text.partition("://")[0] if "://" in text else ""):
        name, target = scheme, text
    elif (end := Path(text.rstrip("/")).suffix) in _ENDS:
        name, target = _ENDS[end], text
    elif _OBJECT.fullmatch(text):
        return Sink.of(load_named("sink", SINK_GROUP, text), text)
    else:
        forms = "pages.jsonl, pages.csv, pages.duckdb, pages.parquet/, corpus.md/, s3://…, postgresql://…, redis://…"
        engines = "opensearch=https://…, meilisearch=https://…, typesense=https://…"
        raise SettingsError(
            f"sink {text!r}: it is none of {forms}, {engines}; write NAME=TARGET, or module:object=TARGET"
        )
    target = target if "://" in target else str(Path(target).expanduser().absolute())
    return Sink.of(_built_in(name) or load_named("sink", SINK_GROUP, name), f"{name}={target}", target)


def _built_in(name: str) -> type | None:
    """The class of a built-in sink; None for other names. What it needs is loaded only here."""
    if name in ("jsonl", "csv", "md", "parquet"):
        from gcs.ports.sinks.file_sinks import CsvTable, JsonLines, ParquetParts
        from gcs.ports.sinks.markdown_files import MarkdownFiles

        return {"jsonl": JsonLines, "csv": CsvTable, "md": MarkdownFiles, "parquet": ParquetParts}[name]
    if name in ("duckdb", "postgresql"):
        from gcs.ports.sinks.database_sinks import DuckDb, PostgreSql

        return DuckDb if name == "duckdb" else PostgreSql
    if name == "redis":
        from gcs.ports.sinks.redis_sink import RedisStream

        return RedisStream
    if name in ("opensearch", "elasticsearch", "meilisearch", "typesense"):
        from gcs.ports.sinks.search_engines import Meilisearch, OpenSearch, Typesense

        return {"meilisearch": Meilisearch, "typesense": Typesense}.get(name, OpenSearch)
    return None
