"""Web graphs on disk: a folder of text files, or the form in which GCS remembers one.

The folder holds `edges.txt.gz` ("src dst" per line, 0-based; lines that begin with # at the top are remarks) and, where
there are URLs, `urls.txt.gz` (line k is the URL of page k) and `pages.tsv.gz` (columns site_id and bytes of page k).

What was read is kept as numpy arrays in a cache, under the hash of the files: the second time they are mapped into
memory in no time. A cache can be deleted at any moment.
"""

import os
import shutil
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import xxhash
from isal import igzip
from numpy.typing import NDArray
from pyarrow import csv

from gcs.core.graph import Session, cut_giants
from gcs.errors import UsageError
from gcs.sim.graph import Ids, Pages, WebGraph, rows

#: goes into the hash of a graph: to be changed with the form that the cache has
_FORM = b"1"
#: where nobody says what a site is, at least so many ranges of pages are taken for sites
_RANGES = 1000


def load(folder: Path, upstream: bool = False, cache: Path | None = None) -> WebGraph:
    """Read a graph; with `upstream`, the links of `edges_upstream.txt.gz` too."""
    names = ["edges.txt.gz", *(["edges_upstream.txt.gz"] if upstream else ()), "urls.txt.gz", "pages.tsv.gz"]
    packed = {name: _bytes(folder / name) for name in names if name.startswith("edges") or (folder / name).exists()}
    digest = xxhash.xxh3_128(_FORM)
    for name, data in packed.items():
        digest.update(name.encode())
        digest.update(data)
    name = folder.resolve().name + ("+upstream" if upstream else "")
    place = cache / digest.hexdigest() if cache else None
    if place and place.is_dir():
        return _remembered(name, place)
    graph = _parsed(folder, name, packed, digest.hexdigest())
    if place:
        _remember(graph, place)
        return _remembered(name, place)
    return graph


def from_crawl(name: str, pages: Iterable[tuple[str, int, Sequence[str]]]) -> WebGraph:
    """The graph that a crawl has seen: URL, size and out-links of each page that it stored.

    Links to what was not stored are left out, since nothing is known of their other end.
    """
    number: dict[str, int] = {}
    sizes, links = [], []
    digest = xxhash.xxh3_128(_FORM)
    for url, size, outlinks in pages:
        if url in number:
            continue
        number[url] = len(number)
        sizes.append(size)
        links.append(outlinks)
        digest.update("\n".join([url, str(size), *outlinks]).encode())
    known = [[number[link] for link in outlinks if link in number] for outlinks in links]
    sources = np.repeat(np.arange(len(known)), [len(targets) for targets in known])
    targets = np.array([target for targets in known for target in targets], np.int64)
    urls = list(number)
    offsets, flat = rows(sources, targets, len(urls))
    return WebGraph(name, offsets, flat, urls, sites_of(urls), np.array(sizes, np.int64), digest.hexdigest())


def sites_of(urls: Sequence[str]) -> NDArray[np.int32]:
    """The site of each page: its scheme and host, numbered in the order in which they come up."""
    number: dict[str, int] = {}
    return np.fromiter((number.setdefault(_site(url), len(number)) for url in urls), np.int32, len(urls))


def ranges_of(offsets: Ids, targets: NDArray[np.int32]) -> NDArray[np.int32]:
    """Sites of a graph without URLs: ranges of pages, cut where few links reach across.

    Published graphs number their pages in the order of their URLs, so a range is a site or a part of one.
    """
    pages = len(offsets) - 1
    sources = np.repeat(np.arange(pages, dtype=np.int32), np.diff(offsets))
    ones = np.ones(pages, np.int64)
    session = Session(sources, targets, ones, ones, np.zeros(pages, np.int64))
    return cut_giants(session, 1 / _RANGES).astype(np.int32)


def _site(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}"


def _parsed(folder: Path, name: str, packed: dict[str, bytes], digest: str) -> WebGraph:
    found = [_numbers(folder / file, data) for file, data in packed.items() if file.startswith("edges")]
    sources, targets = (np.concatenate(columns) if len(found) > 1 else columns[0] for columns in zip(*found))
    urls = _lines(folder / "urls.txt.gz", packed["urls.txt.gz"]) if "urls.txt.gz" in packed else []
    site_ids: Pages | None = None
    sizes: Ids | None = None
    if "pages.tsv.gz" in packed:
        site_ids, sizes = _numbers(folder / "pages.tsv.gz", packed["pages.tsv.gz"])
    named = len(urls) or (len(sizes) if sizes is not None else 0)
    linked = int(max(sources.max(initial=-1), targets.max(initial=-1))) + 1
    if named and named < linked:
        raise UsageError(f"{folder}: a link names page {linked - 1}, but there are only {named} pages")
    if sizes is not None and len(sizes) != named:
        raise UsageError(f"{folder / 'pages.tsv.gz'}: {len(sizes)} pages, but {named} URLs")
    offsets, flat = rows(sources, targets, named or linked)
    if site_ids is None:
        site_ids = sites_of(urls) if urls else ranges_of(offsets, flat)
    return WebGraph(name, offsets, flat, urls, site_ids.astype(np.int32), sizes, digest)


def _numbers(path: Path, packed: bytes) -> tuple[Ids, Ids]:
    """The two columns of whole numbers below the head of a file: the lines that begin with no digit."""
    text = _unpacked(path, packed)
    start = 0
    while start < len(text) and not text[start : start + 1].isdigit():
        start = text.find(b"\n", start) + 1 or len(text)
    if start == len(text):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    end = text.find(b"\n", start)
    tab = b"\t" in text[start : end if end >= 0 else len(text)]
    try:
        table = csv.read_csv(
            pa.py_buffer(memoryview(text)[start:]),
            csv.ReadOptions(column_names=["a", "b"], block_size=1 << 24),
            csv.ParseOptions(delimiter="\t" if tab else " "),
            csv.ConvertOptions(column_types={"a": pa.int64(), "b": pa.int64()}, null_values=[]),
        )
    except pa.ArrowInvalid as error:
        raise UsageError(f"{path}: every line must hold two whole numbers ({error})") from None
    return table["a"].to_numpy(), table["b"].to_numpy()


def _lines(path: Path, packed: bytes) -> list[str]:
    try:
        lines = _unpacked(path, packed).decode().split("\n")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 ({error})") from None
    return lines[:-1] if not lines[-1] else lines


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}); a graph folder holds edges.txt.gz") from None


def _unpacked(path: Path, packed: bytes) -> bytes:
    try:
        text: bytes = igzip.decompress(packed)  # type: ignore[no-untyped-call]
        return text
    except (OSError, EOFError, zlib.error, igzip.BadGzipFile) as error:
        raise UsageError(f"{path}: not a readable gzip file ({error})") from None


def _remember(graph: WebGraph, place: Path) -> None:
    partial = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        partial.mkdir(parents=True, exist_ok=True)
        for name in ("offsets", "targets", "sites", "sizes_bytes"):
            if (array := getattr(graph, name)) is not None:
                np.save(partial / f"{name}.npy", array)
        if graph.urls:
            (partial / "urls.txt").write_text("\n".join(graph.urls))
        partial.rename(place)
    except OSError as error:
        if not place.is_dir():  # else somebody else was quicker
            raise UsageError(f"{place}: cannot be written ({error.strerror}); choose another --cache") from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _remembered(name: str, place: Path) -> WebGraph:
    def array(what: str) -> NDArray[np.generic] | None:
        file = place / f"{what}.npy"
        return np.load(file, mmap_mode="r") if file.exists() else None

    urls = place / "urls.txt"
    return WebGraph(
        name,
        array("offsets"),  # type: ignore[arg-type]
        array("targets"),  # type: ignore[arg-type]
        urls.read_text().split("\n") if urls.exists() else (),
        array("sites"),  # type: ignore[arg-type]
        array("sizes_bytes"),  # type: ignore[arg-type]
        place.name,
    )
