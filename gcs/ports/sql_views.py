"""The summaries of a crawl as tables of DuckDB, for `gcs sql`: views, so nothing is copied.

Records of the log file that is still open are not in the Parquet files yet: of a crawl that runs, the last are missing.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from gcs.core.page.values import DEFAULTS
from gcs.errors import UsageError
from gcs.ports.records.parquet import FIELDS

if TYPE_CHECKING:
    import duckdb

#: view → what it holds, and its query; each may use those above it
VIEWS = {
    "records": (
        "every answer of every session, as it was stored",
        "SELECT *{missing} FROM read_parquet({files}, union_by_name = true)",
    ),
    "newest": (
        "each URL once, as it was found last",
        "SELECT * FROM records WHERE status <> 304 AND NOT (failure <> '' AND held_at_us > 0) "
        "QUALIFY row_number() OVER (PARTITION BY url ORDER BY session DESC, fetched_at DESC) = 1",
    ),
    "pages": (
        "pages, each once: nothing else",
        "SELECT * FROM newest WHERE status BETWEEN 200 AND 299 AND failure = '' AND NOT source",
    ),
    "redirects": (
        "what leads elsewhere: url, target",
        "SELECT url, final_url AS target, status, parent, depth, session, fetched_at FROM newest "
        "WHERE status BETWEEN 300 AND 399 AND failure = ''",
    ),
    "failures": (
        "what ended without a page: url, failure",
        "SELECT url, failure, status, parent, depth, session, fetched_at FROM newest WHERE failure <> ''",
    ),
    "links": (
        "a row for each link of each page: page, link, anchor (with --anchors)",
        "SELECT url AS page, unnest(outlinks) AS link, unnest(anchors) AS anchor, unnest(rels) AS rel FROM pages",
    ),
    "requisites": (
        "what pages need, with --requisites: style sheets, images, scripts",
        "SELECT url, parent, requisite, status, content_type, bytes, session, fetched_at FROM newest "
        "WHERE requisite > 0 AND status BETWEEN 200 AND 299 AND failure = ''",
    ),
    "headers": (
        "a row for each header of each page: page, name (lower case), value",
        "SELECT page, lower(split_part(header, ': ', 1)) AS name, "
        "substr(header, instr(header, ': ') + 2) AS value "
        "FROM (SELECT url AS page, unnest(headers) AS header FROM pages)",
    ),
    "hosts": (
        "hosts, with pages and bytes",
        "SELECT split_part(url, '/', 3) AS host, count(*) AS pages, sum(bytes)::BIGINT AS bytes FROM pages "
        "GROUP BY ALL",
    ),
}


def open_views(directory: Path) -> "duckdb.DuckDBPyConnection":
    """A database in memory with the views of this crawl. UsageError: there is nothing to look at."""
    files = sorted(str(file) for file in (directory / "summaries").glob("*.parquet"))
    if not files:
        raise UsageError(f"{directory}: there are no summaries (summaries/*.parquet) here yet; give the DIR of a crawl")
    try:
        import duckdb
    except ImportError:
        raise UsageError("gcs sql needs DuckDB: pip install 'gcs-crawler[duckdb]'") from None
    database = duckdb.connect()
    listed = "[" + ", ".join("'" + file.replace("'", "''") + "'" for file in files) + "]"
    described = database.execute("DESCRIBE SELECT * FROM read_parquet(?, union_by_name = true)", [files]).fetchall()
    there = {row[0] for row in described}
    missing = "".join(f", {_literal(DEFAULTS[name])} AS {name}" for name in FIELDS if name not in there)
    for name, (_, query) in VIEWS.items():
        database.execute(f"CREATE VIEW {name} AS {query.replace('{files}', listed).replace('{missing}', missing)}")
    return database


def _literal(value: object) -> str:
    """What stands in a column that files of an earlier version do not have."""
    return {list: "[]::VARCHAR[]", str: "''", bool: "false"}.get(type(value), str(value))
