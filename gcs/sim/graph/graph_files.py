"""Web graphs on disk: a list of links, a folder of text files, or the cache of a graph that was read before.

A list of links is a file (`edges`). A folder holds it as `edges.txt` ("src dst" per line, from 0) and, where there
are URLs, `urls.txt` (line k is the URL of page k) and `pages.tsv` (columns site_id and bytes of page k), each of them
as it is or as .gz.

What was read is kept as numpy arrays in a cache, under the hash of the files: the second time they are only mapped into
memory. A cache can be deleted at any moment.
"""

import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from gcs.errors import UsageError
from gcs.sim.graph.edges import links, numbers, unpacked
from gcs.sim.graph.web_graph import Ids, Pages, WebGraph, rows

#: pages of the runs at the beginning, at least, and how many runs there are at most
RUN_PAGES, RUNS = 10, 200_000
#: goes into the hash of a graph: to be changed with the form that the cache has
_FORM = b"3"
#: a list with fewer links per page number, and no URLs, has gaps in its numbers
_SPARSE = 0.1
_MOST_PAGES = 2**31 - 1
#: arrays of a graph that are kept in files of their own
_ARRAYS = ("offsets", "targets", "sites", "sizes_bytes")


def is_graph(place: Path) -> bool:
    return place.is_file() or _file(place, "edges.txt").exists()


def has_upstream(place: Path) -> bool:
    """Whether a folder holds the further links that `load` can be asked for."""
    return _file(place, "edges_upstream.txt").exists()


def load(place: Path, upstream: bool = False, cache: Path | None = None) -> WebGraph:
    """Read a graph; with `upstream`, the links of `edges_upstream.txt.gz` too."""
    if place.is_file():
        files = {"edges.txt": place}
    else:
        lists = ["edges.txt", *(["edges_upstream.txt"] if upstream else ())]
        files = {name: _file(place, name) for name in (*lists, "urls.txt", "pages.tsv")}
        files = {name: file for name, file in files.items() if name in lists or file.exists()}
    packed = {name: _bytes(file) for name, file in files.items()}
    digest = xxhash.xxh3_128(_FORM)
    for name, data in packed.items():
        digest.update(name.encode())
        digest.update(data)
    name = place.resolve().name.split(".")[0] + ("+upstream" if upstream else "")
    kept = cache / digest.hexdigest() if cache else None
    if kept and kept.is_dir():
        return _read_cache(name, kept)
    texts = {each: unpacked(files[each], data) for each, data in packed.items()}
    graph = _parsed(files, name, texts, digest.hexdigest())
    if kept:
        _write_cache(graph, kept)
        return _read_cache(name, kept)
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


def _site(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}"


def _parsed(files: dict[str, Path], name: str, texts: dict[str, bytes], digest: str) -> WebGraph:
    found = [links(files[each], text) for each, text in texts.items() if each.startswith("edges")]
    sources, targets = (np.concatenate(columns) for columns in list(zip(*found))[:2])
    place, urls = files["edges.txt"].parent, found[0][2]
    if "urls.txt" in texts:
        if urls:
            raise UsageError(f"{files['edges.txt']}: names pages by URL; with urls.txt beside it, it must number them")
        urls = _lines(files["urls.txt"], texts["urls.txt"])
    site_ids: Pages | None = None
    sizes: Ids | None = None
    if "pages.tsv" in texts:
        site_ids, sizes = numbers(files["pages.tsv"], texts["pages.tsv"])
    named = len(urls) or (len(sizes) if sizes is not None else 0)
    linked = int(max(sources.max(initial=-1), targets.max(initial=-1))) + 1
    if named and named < linked:
        raise UsageError(f"{place}: a link names page {linked - 1}, but there are only {named} pages")
    if sizes is not None and len(sizes) != named:
        raise UsageError(f"{files['pages.tsv']}: {len(sizes)} pages, but {named} URLs")
    if not named and len(sources) < _SPARSE * linked:
        known, both = np.unique(np.concatenate([sources, targets]), return_inverse=True)
        linked, sources, targets = len(known), both[: len(sources)], both[len(sources) :]
    if max(named, linked) > _MOST_PAGES:
        raise UsageError(f"{place}: {linked:,} pages; there is room for {_MOST_PAGES:,}")
    offsets, flat = rows(sources, targets, named or linked)
    if site_ids is None:
        site_ids = sites_of(urls) if urls else ranges_of(offsets, flat)
    return WebGraph(name, offsets, flat, urls, site_ids.astype(np.int32), sizes, digest)


def _lines(path: Path, text: bytes) -> list[str]:
    try:
        lines = text.decode().replace("\r\n", "\n").split("\n")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 ({error})") from None
    return lines[:-1] if not lines[-1] else lines


def _file(folder: Path, name: str) -> Path:
    """A file of the folder as it is, if it is there, or else compressed."""
    return folder / name if (folder / name).exists() else folder / f"{name}.gz"


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}); a graph folder holds edges.txt.gz") from None


def _write_cache(graph: WebGraph, place: Path) -> None:
    partial = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        partial.mkdir(parents=True, exist_ok=True)
        for name in _ARRAYS:
            if (array := getattr(graph, name)) is not None:
                np.save(partial / f"{name}.npy", array)
        if graph.urls:
            (partial / "urls.txt").write_text("\n".join(graph.urls), "utf-8", newline="\n")
        partial.rename(place)
    except OSError as error:
        if not place.is_dir():  # else somebody else was quicker
            raise UsageError(f"{place}: cannot be written ({error.strerror}); choose another --cache") from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _read_cache(name: str, place: Path) -> WebGraph:
    files = {each: place / f"{each}.npy" for each in _ARRAYS}
    arrays: dict[str, Any] = {each: np.load(file, mmap_mode="r") for each, file in files.items() if file.exists()}
    urls = place / "urls.txt"
    lines = urls.read_bytes().decode().split("\n") if urls.exists() else ()
    return WebGraph(name, urls=lines, digest=place.name, **arrays)


# -- sites of a graph without URLs


def ranges_of(offsets: Ids, targets: NDArray[np.int32]) -> NDArray[np.int32]:
    """The sites of a graph without URLs: the range of each page. Pages of a range link among themselves.

    The pages are cut into runs; of neighbouring ranges, those are merged that gain most modularity, until none gains.
    """
    pages, total = len(offsets) - 1, len(targets)
    run_of_page = np.arange(pages) // max(RUN_PAGES, -(-pages // RUNS))
    ranges = np.unique(run_of_page)  # of each run
    sources, sinks = np.repeat(run_of_page, np.diff(offsets)), run_of_page[targets]
    ends = np.bincount(sources, minlength=len(ranges)) + np.bincount(sinks, minlength=len(ranges))
    low, high, links = _collapsed(np.minimum(sources, sinks), np.maximum(sources, sinks), np.ones(total, np.int64))
    collapsed_at = len(ends)
    while len(ends) > 1:
        beside = high - low == 1
        between = np.bincount(low[beside], links[beside], len(ends) - 1).astype(np.int64)
        gain = 2 * total * between - ends[:-1] * ends[1:]  # times 2 · total²: whole numbers, so that ties are ties
        merged = (gain > 0) & (gain >= np.append(gain[1:], 0)) & (gain > np.append(0, gain[:-1]))
        if not merged.any():
            break
        number = np.cumsum(np.append(True, ~merged)) - 1
        ranges, low, high = number[ranges], number[low], number[high]
        ends = np.bincount(number, ends).astype(np.int64)
        if len(ends) < collapsed_at / 2:
            low, high, links = _collapsed(low, high, links)
            collapsed_at = len(ends)
    return ranges.astype(np.int32)[run_of_page]


def _collapsed(low: Ids, high: Ids, links: Ids) -> tuple[Ids, Ids, Ids]:
    """Each pair of different ranges once, with all links between the two."""
    apart = low < high
    if not apart.any():
        return low[apart], high[apart], links[apart]
    width = int(high.max()) + 1
    pairs, where = np.unique(low[apart] * width + high[apart], return_inverse=True)
    return pairs // width, pairs % width, np.bincount(where, links[apart]).astype(np.int64)
