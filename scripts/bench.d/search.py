"""The full-text index: time, size, memory and answers of our engines, beside the same engines by themselves.

A collection of a million pages (`lib/corpus.py`). Each row is a process of its own:

    tantivy, sqlite              our index, as `gcs index` fills it: commits of 2,000 pages, replaced by URL, facets
    tantivy alone                title and text with tantivy's own tokenizer, one writer of 64 MB, one commit at the end
    sqlite alone                 title and text in FTS5 with its own tokenizer, a transaction for 2,000 pages

Then 1,000 queries, the same for all: words by their frequency, two and three words, phrases of pages, a site, a title.
Ours answer with ten results: candidates, near-duplicates folded, excerpts, facets. The engines alone give ten titles.

    scripts/bench search [--pages 1000000] [--docs FOLDER] [--rows tantivy,sqlite] [--json]

`--docs`: HTML whose texts are taken up to a tenth of the pages, and whose words the others are made of.
"""

import argparse
import json
import os
import random
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from lib.corpus import Corpus

from gcs.core.search.query import parse
from gcs.core.search.results import Asked, present
from gcs.core.search.searchable import Searchable
from gcs.core.search.words import words
from gcs.ports.search.index_place import make_index, open_index

ROOT = Path(__file__).parents[2]
HOME = Path(os.environ.get("BENCH_HOME") or Path(tempfile.gettempdir()) / "gcs-bench")
URLS = ROOT.parent / "shared" / "data" / "debian-docs" / "urls.txt.gz"
ROWS = ("feed", "tantivy", "sqlite", "tantivy alone", "sqlite alone")
BATCH, QUERIES, SHOWN = 2_000, 1_000, 10
Search = Callable[[str], int]


def batched(corpus: Corpus) -> Iterator[list[Searchable]]:
    pages = iter(corpus)
    while batch := list(islice(pages, BATCH)):
        yield batch


def fill(row: str, corpus: Corpus, folder: Path) -> None:
    if row == "feed":  # what it takes to have the pages at all
        sum(1 for _ in corpus)
    elif row in ("tantivy", "sqlite"):
        engine = make_index(folder, row)
        for number, pages in enumerate(batched(corpus)):
            engine.write(pages, [], {"g0": (1, number)})
        engine.close()
    elif row == "tantivy alone":
        fill_tantivy(corpus, folder)
    else:
        fill_sqlite(corpus, folder)


def fill_tantivy(corpus: Corpus, folder: Path) -> None:
    import tantivy

    folder.mkdir(parents=True)
    schema = tantivy.SchemaBuilder()
    for name in ("url", "title", "text"):
        schema.add_text_field(name, stored=True, tokenizer_name="raw" if name == "url" else "default")
    writer = tantivy.Index(schema.build(), path=str(folder)).writer(64 << 20, 1)
    for page in corpus:
        writer.add_document(tantivy.Document(url=page.url, title=page.title, text=page.text))
    writer.commit()
    writer.wait_merging_threads()


def fill_sqlite(corpus: Corpus, folder: Path) -> None:
    folder.mkdir(parents=True)
    database = sqlite3.connect(folder / "pages.sqlite", isolation_level=None)
    database.execute("pragma journal_mode = wal")
    database.execute("pragma synchronous = normal")
    database.execute("create virtual table page using fts5(url unindexed, title, text)")
    for pages in batched(corpus):
        database.execute("begin")
        rows = ((page.url, page.title, page.text) for page in pages)
        database.executemany("insert into page values (?, ?, ?)", rows)
        database.execute("commit")
    database.close()


def searcher(row: str, folder: Path) -> Search:
    """A function that answers a query; it returns how many it shows."""
    if row in ("tantivy", "sqlite"):
        engine = open_index(folder)

        def ours(query: str) -> int:
            asked = Asked(parse(query), SHOWN)
            return len(present(asked, [engine.search(asked)]).pages)

        return ours
    if row == "tantivy alone":
        import tantivy

        index = tantivy.Index.open(str(folder))
        found = index.searcher()

        def alone(query: str) -> int:
            parsed = index.parse_query(query, ["title", "text"], conjunction_by_default=True)
            hits = found.search(parsed, SHOWN).hits
            return len([found.doc(address)["title"] for _, address in hits])

        return alone
    database = sqlite3.connect(folder / "pages.sqlite")

    def fts(query: str) -> int:
        quoted = query if '"' in query else " AND ".join(f'"{word}"' for word in query.split())
        rows = database.execute("select title from page where page match ? order by rank limit ?", (quoted, SHOWN))
        return len(rows.fetchall())

    return fts


def queries(corpus: Corpus) -> dict[str, list[str]]:
    """By kind. All words are of pages; a page in a thousand gives words for one query."""
    chance, kinds = random.Random(1), ("word", "two words", "three words", "phrase", "site", "title")
    found: dict[str, list[str]] = {kind: [] for kind in kinds}
    step = max(corpus.pages // QUERIES, 1)
    for number, page in enumerate(islice(corpus, 0, None, step)):
        said = [word for word in words(page.text) if word.isascii() and len(word) > 1]
        if len(said) < 5 or number >= QUERIES:
            continue
        kind, at = kinds[number % len(kinds)], chance.randrange(len(said) - 4)
        count = {"two words": 2, "three words": 3}.get(kind, 1)
        found[kind].append(query_of(kind, page, " ".join(chance.sample(said, count)), " ".join(said[at : at + 2])))
    return found


def query_of(kind: str, page: Searchable, some: str, pair: str) -> str:
    if kind == "phrase":
        return f'"{pair}"'
    if kind == "site":
        return f"{some} site:{page.host}"
    return f"title:{some}" if kind == "title" else some


def ask(row: str, asked: dict[str, list[str]], search: Search) -> dict[str, Any]:
    """Milliseconds: each query once, after fifty that warm up."""
    plain = {
        kind: some for kind, some in asked.items() if row in ("tantivy", "sqlite") or kind not in ("site", "title")
    }
    for query in islice((query for some in plain.values() for query in some), 0, None, 20):
        search(query)
    took: dict[str, list[float]] = {}
    for kind, some in plain.items():
        for query in some:
            start = time.perf_counter()
            search(query)
            took.setdefault(kind, []).append(1_000 * (time.perf_counter() - start))
    every = sorted(each for some in took.values() for each in some)
    told = {"queries": len(every), "p50_ms": at(every, 0.5), "p95_ms": at(every, 0.95), "most_ms": round(every[-1], 1)}
    return told | {f"{kind} p50": at(sorted(some), 0.5) for kind, some in took.items()}


def at(values: list[float], part: float) -> float:
    return round(values[min(int(part * len(values)), len(values) - 1)], 2)


def memory_mb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def size_mb(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) >> 20


def run(step: str, row: str, corpus: Corpus) -> dict[str, Any]:
    """One step, in this process."""
    folder = HOME / "search" / row.replace(" ", "-")
    if step == "fill":
        shutil.rmtree(folder, ignore_errors=True)
        start = time.perf_counter()
        fill(row, corpus, folder)
        cpu = time.process_time()
        told = {"cpu_s": round(cpu, 1), "wall_s": round(time.perf_counter() - start, 1), "fill_peak_mb": memory_mb()}
        return told | ({} if row == "feed" else {"size_mb": size_mb(folder)})
    asked = json.loads((HOME / "search" / "queries.json").read_text())
    return ask(row, asked, searcher(row, folder)) | {"search_peak_mb": memory_mb()}


def rows(names: list[str], steps: list[str], options: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name in names:
        told: dict[str, Any] = {}
        for step in steps:
            if (step, name) != ("ask", "feed"):
                command = [sys.executable, __file__, *options, "--run", step, "--rows", name]
                done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
                told |= json.loads(done.stdout)
        print(name, told, file=sys.stderr, flush=True)
        yield name, told


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--docs", type=Path, help="folder of real HTML")
    parser.add_argument("--rows", default=",".join(ROWS))
    parser.add_argument("--steps", default="fill,ask")
    parser.add_argument("--run", choices=("fill", "ask"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    corpus = Corpus(HOME, given.pages)
    names = given.rows.split(",")
    if given.run:
        print(json.dumps(run(given.run, names[0], corpus)))
        return
    if not URLS.exists():
        sys.exit(f"{URLS} is absent: this benchmark takes URLs from there")
    corpus.make(URLS, given.docs)
    (HOME / "search").mkdir(parents=True, exist_ok=True)
    (HOME / "search" / "queries.json").write_text(json.dumps(queries(corpus)))
    told = dict(rows(names, given.steps.split(","), ["--pages", str(given.pages)]))
    print(json.dumps(told) if given.json else "\n".join(f"{name:14s} {row}" for name, row in told.items()))


if __name__ == "__main__":
    main()
