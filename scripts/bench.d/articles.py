"""Articles: how much of the text that a reader came for is found, and how much else, by depth.

As the public benchmark of article extraction counts: the words of a text are cut into shingles of four; of each page
the shares of those found, missed and too many; precision and recall are the means of these over the pages, and F1 is of
the two. Pages: articles made by `lib/articles.py`; documentation of Debian, where the elements that hold the text
are known (downloaded by `apt-get`, --scratch FOLDER keeps it); some twenty real articles that newspaper4k is tested
with, and their texts (from PyPI); with --public FOLDER the public set itself (ground-truth.json and html/*.html.gz).
--quick: only the first, and fewer. Times are those of one process, beside the bare parse.
"""

import argparse
import gzip
import io
import json
import re
import sys
import tarfile
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urljoin

import lxml.html
from languages import html_in, unpacked
from lib.articles import articles
from turbohtml import parse

from gcs.ports.summarise import DEFAULT, Depth, Source
from gcs.ports.summarise.html import summarise_html

SHINGLE = 4
#: real articles with their texts, on PyPI
NEWSPAPERS = "newspaper4k-0.9.6"
#: package → folder in it, the elements that hold the text, and those in them that do not
PACKAGES = {
    "python3.11-doc": ("", "//div[@role='main']", ".//a[contains(@class,'headerlink')]"),
    "postgresql-doc-15": (
        "",
        "//*[@id='docContent']",
        ".//div[contains(@class,'navheader') or contains(@class,'navfooter') or contains(@class,'toc')]"
        "|.//a[contains(@class,'id_link')]",
    ),
    "qtbase5-doc-html": ("", "//div[contains(@class,'mainContent')]", ".//div[contains(@class,'sidebar')]"),
    "apache2-doc": (
        "usr/share/doc/apache2-doc/manual/en",
        "//*[@id='page-content']",
        ".//*[@id='quickview' or contains(@class,'top')]",
    ),
    "git-doc": ("", "//div[@id='content']", ".//table[contains(@class,'toc')]"),
}
#: pages of each package, and words of a page that is long enough to have a main part
PAGES, FEWEST_WORDS = 40, 250
_INLINE = frozenset(
    (
        *("a", "abbr", "b", "big", "cite", "code", "em", "font", "i", "kbd", "q", "s", "samp", "small", "span"),
        *("strong", "sub", "sup", "tt", "u", "var"),
    )
)


class Page(NamedTuple):
    """A page, and the truth about it."""

    set: str
    html: bytes
    text: str


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--depths", default="fast,full")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--scratch", type=Path)
    parser.add_argument("--public", type=Path)
    asked = parser.parse_args()
    pages = [Page(f"made, {page.kind}", page.html.encode(), page.text) for page in articles(45 if asked.quick else 180)]
    with tempfile.TemporaryDirectory(prefix="gcs-bench-articles-") as scratch:
        if not asked.quick:
            pages += of_packages(asked.scratch or Path(scratch))
            pages += of_newspapers()
    if asked.public:
        pages += of_public(asked.public)
    result = measured(pages, asked.depths.split(","))
    if asked.json:
        print(json.dumps(result))
        return
    for row in result["rows"]:
        print(
            "{depth:5s} {set:32s} {pages:4d}  F1 {f1:.3f}  precision {precision:.3f}  recall {recall:.3f}".format(**row)
        )
    print({name: f"{ms:.2f} ms" for name, ms in result["ms_a_page"].items()}, f"{result['empty']} empty")


# -- pages


def of_packages(scratch: Path) -> Iterator[Page]:
    for package, (folder, holds, without) in PACKAGES.items():
        found = 0
        for path in sorted(html_in(unpacked(package, scratch) / folder), key=lambda each: each.name[::-1]):
            content = path.read_bytes()
            tree = lxml.html.document_fromstring(content)
            text = "\n".join(text_of(element, without) for element in tree.xpath(holds)[:1])
            if len(text.split()) >= FEWEST_WORDS:
                found += 1
                yield Page(f"Debian, {package}", content, text)
            if found == PAGES:
                break


def text_of(element: lxml.html.HtmlElement, without: str) -> str:
    """The text of an element but for some in it, with a blank around each block."""
    for each in element.xpath(without):
        each.drop_tree()
    return "".join(_pieces(element))


def _pieces(element: lxml.html.HtmlElement) -> Iterator[str]:
    apart = "" if element.tag in _INLINE else "\n"
    yield apart
    if isinstance(element.tag, str) and element.tag not in ("script", "style", "noscript"):
        yield element.text or ""
        for child in element:
            yield from _pieces(child)
            yield child.tail or ""
    yield apart


def of_newspapers() -> Iterator[Page]:
    """Articles of real sites, of which some are over two megabytes, and what their readers came for."""
    base = "https://pypi.org/simple/newspaper4k/"
    try:
        with urllib.request.urlopen(base, timeout=60) as answer:
            archive = re.search(rf'href="([^"]*/{NEWSPAPERS}\.tar\.gz)', answer.read().decode())
        with urllib.request.urlopen(urljoin(base, archive[1] if archive else ""), timeout=60) as answer:  # noqa: S310
            packed = tarfile.open(fileobj=io.BytesIO(answer.read()))  # noqa: SIM115 (in memory)
    except (OSError, tarfile.TarError) as error:
        print(f"left out: {NEWSPAPERS}, which PyPI does not give ({error})", file=sys.stderr)
        return
    files = {name.rpartition("/tests/data/")[2]: name for name in packed.getnames()}
    for name in sorted(files):
        text = files.get(name.replace("html/", "txt/").replace(".html", ".txt"))
        if name.startswith("html/") and text:
            html, said = (packed.extractfile(each) for each in (files[name], text))
            yield Page("newspapers", html.read() if html else b"", said.read().decode() if said else "")


def of_public(folder: Path) -> Iterator[Page]:
    for name, entry in json.loads((folder / "ground-truth.json").read_text()).items():
        html = gzip.decompress((folder / "html" / f"{name}.html.gz").read_bytes())
        yield Page("public set", html, entry["articleBody"])


# -- judgement


def shingles(text: str) -> Counter[tuple[str, ...]]:
    words = re.findall(r"\w+", text)
    return Counter(zip(*(words[at:] for at in range(SHINGLE)))) if len(words) > SHINGLE else Counter([tuple(words)])


def shares(true: str, found: str) -> tuple[float, float, float]:
    """Of one page: found, too many and missed, as parts of all."""
    true_shingles, found_shingles = shingles(true), shingles(found)
    both = (true_shingles & found_shingles).total()
    counts = both, found_shingles.total() - both, true_shingles.total() - both
    return tuple(count / max(sum(counts), 1) for count in counts)  # type: ignore[return-value]


def f1(pages: list[tuple[float, float, float]]) -> dict[str, float]:
    precision = sum(tp / (tp + fp) if tp + fp else 1.0 for tp, fp, _ in pages) / len(pages)
    recall = sum(tp / (tp + fn) if tp + fn else 1.0 for tp, _, fn in pages) / len(pages)
    return {"f1": 2 * precision * recall / max(precision + recall, 1e-9), "precision": precision, "recall": recall}


def measured(pages: list[Page], depths: list[Depth]) -> dict:
    rows: list[dict] = []
    times, empty = {}, 0
    times["parse"] = timed(pages, lambda page: parse(page.html, encoding="utf-8", positions=False))
    for depth in ("links", *depths):
        times[depth] = timed(pages, partial(read, depth=depth))
    for depth in depths:
        by_set: dict[str, list[tuple[float, float, float]]] = {}
        for page in pages:
            text = read(page, depth)
            empty += not text
            for name in (page.set, page.set.partition(",")[0] + ", all", "all"):
                by_set.setdefault(name, []).append(shares(page.text, text))
        rows += [{"depth": depth, "set": name, "pages": len(each), **f1(each)} for name, each in sorted(by_set.items())]
    return {"rows": rows, "ms_a_page": times, "empty": empty}


def read(page: Page, depth: Depth) -> str:
    return summarise_html(Source(page.html, "text/html; charset=utf-8", "http://articles.test/", depth, DEFAULT)).text


def timed(pages: list[Page], work) -> float:
    """Milliseconds a page."""
    start = time.process_time()
    for page in pages:
        work(page)
    return (time.process_time() - start) / len(pages) * 1e3


if __name__ == "__main__":
    main()
