"""A collection of pages for `scripts/bench search`: URLs of the Debian documentation, texts of real and of made pages.

The real pages are those of a folder with HTML (packages of documentation, laid out). The made ones have the words of
the real ones, as often as these have them; a third of a page's words are of its site's own choice, so that sites have
topics. Lengths are lognormal, 170 words at the median. Equal numbers give an equal collection.
"""

import gzip
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import zstandard

from gcs.core.search.searchable import Searchable, host_of
from gcs.ports.summarise import Options, Source
from gcs.ports.summarise.html import summarise_html

#: words of the vocabulary, and of a site's own choice
_VOCABULARY, _TOPIC = 200_000, 300
_MEDIAN_WORDS, _SPREAD, _MOST_WORDS = 170, 0.8, 4_000
_MOST_HTML = 400_000
_DAYS = [20200101 + 100 * month + day for month in range(12) for day in range(28)]


class Corpus:
    """The pages, kept in one file."""

    def __init__(self, folder: Path, pages: int) -> None:
        self.pages = pages
        self._file = folder / f"corpus-{pages}.zst"

    def make(self, urls: Path, docs: Path | None) -> None:
        """Write the file if it is not there; `docs` is the folder of real pages."""
        if self._file.exists():
            return
        self._file.parent.mkdir(parents=True, exist_ok=True)
        partial = self._file.with_suffix(".part")
        pack = msgspec.msgpack.Encoder().encode
        with partial.open("wb") as raw, zstandard.ZstdCompressor(1).stream_writer(raw) as out:
            for page in _pages(self.pages, urls, docs):
                packed = pack(page)
                out.write(len(packed).to_bytes(4, "little") + packed)
        partial.replace(self._file)

    def __iter__(self) -> Iterator[Searchable]:
        unpack = msgspec.msgpack.Decoder(Searchable).decode
        with self._file.open("rb") as raw, zstandard.ZstdDecompressor().stream_reader(raw) as reader:
            buffer, at = b"", 0
            while more := reader.read(1 << 22):
                buffer, at = buffer[at:] + more, 0
                while at + 4 <= len(buffer):
                    size = int.from_bytes(buffer[at : at + 4], "little")
                    if at + 4 + size > len(buffer):
                        break
                    yield unpack(buffer[at + 4 : at + 4 + size])
                    at += 4 + size


def _pages(pages: int, urls: Path, docs: Path | None) -> Iterator[Searchable]:
    counts: Counter[str] = Counter()
    at = 0
    with gzip.open(urls, "rt") as lines:
        for text, title in _real(docs):
            if at >= pages // 10:  # enough of them
                break
            counts.update(text.split())
            url = next(lines).strip()
            yield _page(at, url, title, text)
            at += 1
        words, weights = _words(counts)
        chance = np.random.default_rng(1)
        common = _stream(chance, words, weights)
        host, topic = "", words
        for line in lines:
            if at >= pages:
                return
            url = line.strip()
            if (now := host_of(url)) != host:
                host, topic = now, words[chance.integers(0, len(words), _TOPIC)]
            length = min(int(chance.lognormal(math.log(_MEDIAN_WORDS), _SPREAD)) + 5, _MOST_WORDS)
            drawn = [next(common) for _ in range(length - length // 3)]
            drawn += topic[(chance.random(length // 3) ** 3 * _TOPIC).astype(int)].tolist()
            yield _page(at, url, " ".join(drawn[-6:]), " ".join(drawn))
            at += 1


def _page(number: int, url: str, title: str, text: str) -> Searchable:
    day = _DAYS[number * 7919 % len(_DAYS)]
    return Searchable(url, host_of(url), title, text, "en", "html", day, number % 9, "new", hash_of(number))


def hash_of(number: int) -> int:
    """A signature like no other."""
    return number * 0x9E3779B97F4A7C15 % (1 << 64)


def _stream(chance: np.random.Generator, words: "np.ndarray", weights: "np.ndarray") -> Iterator[str]:
    while True:
        yield from words[np.searchsorted(weights, chance.random(1 << 20))].tolist()


def _words(counts: Counter[str]) -> "tuple[np.ndarray, np.ndarray]":
    """The vocabulary, and how often a word is drawn, summed up."""
    if not counts:
        counts = Counter({f"word{rank}": 1_000_000 // rank + 1 for rank in range(1, _VOCABULARY + 1)})
    chosen = counts.most_common(_VOCABULARY)
    summed = np.cumsum([count for _, count in chosen], dtype=float)
    return np.array([word for word, _ in chosen], dtype=object), summed / summed[-1]


def _real(docs: Path | None) -> Iterator[tuple[str, str]]:
    """Text and title of each page in the folder that has a text."""
    for file in sorted(docs.rglob("*.html")) if docs else ():
        if file.is_file() and not file.is_symlink() and file.stat().st_size <= _MOST_HTML:
            source = Source(file.read_bytes(), "text/html", f"http://a.example/{file.name}", "fast", Options())
            document = summarise_html(source)
            if len(document.text) > 100:
                yield document.text, document.title
