"""What `--sink TARGET` names: a built-in sink by its target's form, or any sink as NAME=TARGET."""

import importlib
import re
from pathlib import Path

from gcs.errors import SettingsError
from gcs.ports.own_code import load_named
from gcs.ports.sinks import Sink

#: group of entry points by which an installed package offers sinks
SINK_GROUP = "gcs.sinks"
#: name → where its class is; loaded when it is used
BUILT_IN = {
    "jsonl": "gcs.ports.sinks.file_sinks:JsonLines",
    "csv": "gcs.ports.sinks.file_sinks:CsvTable",
    "md": "gcs.ports.sinks.file_sinks:MarkdownFiles",
    "parquet": "gcs.ports.sinks.file_sinks:ParquetParts",
    "duckdb": "gcs.ports.sinks.database_sinks:DuckDb",
    "postgresql": "gcs.ports.sinks.database_sinks:PostgreSql",
    "redis": "gcs.ports.sinks.redis_sink:RedisStream",
}
#: how a target tells its sink: by its scheme …
_SCHEMES = {
    **dict.fromkeys(("postgresql", "postgres"), "postgresql"),
    **dict.fromkeys(("redis", "rediss"), "redis"),
    **dict.fromkeys(("s3", "gs", "az", "memory"), "parquet"),
}
#: … or by its end
_ENDS = {".jsonl": "jsonl", ".csv": "csv", ".duckdb": "duckdb", ".md": "md", ".parquet": "parquet"}
_NAMED = re.compile(r"(?P<name>[A-Za-z_][\w.-]*(?::[\w.]+)?)=(?P<target>.+)", re.DOTALL)


def named_sink(text: str) -> Sink:
    """The sink of a TARGET, of NAME=TARGET, or of a module:object that needs no target."""
    if named := _NAMED.fullmatch(text):
        name, target = named["name"], named["target"]
    elif scheme := _SCHEMES.get(text.partition("://")[0] if "://" in text else ""):
        name, target = scheme, text
    elif (end := Path(text.rstrip("/")).suffix) in _ENDS:
        name, target = _ENDS[end], text
    elif re.fullmatch(r"[A-Za-z_][\w.]*:[\w.]+", text):
        return Sink.of(load_named("sink", SINK_GROUP, text), text)
    else:
        forms = "pages.jsonl, pages.csv, pages.duckdb, pages.parquet/, corpus.md/, s3://…, postgresql://…, redis://…"
        raise SettingsError(f"sink {text!r}: it is none of {forms}; write NAME=TARGET, or module:object=TARGET")
    target = target if "://" in target else str(Path(target).expanduser().absolute())
    module, _, attribute = BUILT_IN.get(name, "").partition(":")
    kind = getattr(importlib.import_module(module), attribute) if module else load_named("sink", SINK_GROUP, name)
    return Sink.of(kind, f"{name}={target}", target)
