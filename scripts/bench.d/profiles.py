"""What it costs to match a page against many profiles: the inverted index of the profiles, beside a look at each.

The profiles are made of words and addresses of the pages: two or three words, phrases, alternatives, a site, a title,
what must not be there. `topics`: their words are drawn from the vocabulary, each word as often as any other, since
people wait for what is not on every page. `common`: their words are drawn from the texts, so that one profile in eight
matches a page. The pages are those of `scripts/bench search` (`--docs` takes real ones). CPU time of this process;
`words` is what a page's words cost, which the matching needs, and `look at each` is of some of the pages.

    scripts/bench profiles [--profiles 10000] [--pages 1000000] [--docs FOLDER] [--json]
"""

import argparse
import json
import os
import random
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

import msgspec
from lib.corpus import Corpus

from gcs.core.search.matching import matches
from gcs.core.search.query import parse
from gcs.core.search.searchable import Searchable
from gcs.core.watch.profile_index import ProfileIndex

ROOT = Path(__file__).parents[2]
HOME = Path(os.environ.get("BENCH_HOME") or Path(tempfile.gettempdir()) / "gcs-bench")
URLS = ROOT.parent / "shared" / "data" / "debian-docs" / "urls.txt.gz"
#: pages that are looked at by each profile
SLOWLY = 5
#: pages of the collection that are matched, from all over it
SAMPLE = 10_000


def queries(pages: list[Searchable], count: int, is_common: bool) -> list[str]:
    """What people might wait for: by kinds in turn, words of pages that exist."""
    chance, found = random.Random(1), []
    vocabulary = sorted({word for page in pages for word in page.vocabulary if len(word) > 3 and word.isascii()})
    while len(found) < count:
        page = chance.choice(pages)
        said = [word for word in page.text_words if len(word) > 3 and word.isascii()]
        if len(said) < 10:
            continue
        one, two, three = chance.sample(said if is_common else vocabulary, 3)
        at = chance.randrange(len(page.text_words) - 1)
        forms = (
            f"{one} {two}", f"{one} {two} {three}", f'"{" ".join(page.text_words[at : at + 2])}"', f"{one} OR {two}",
            f"{one} site:{page.host}", f"title:{one}", f"{one} -{two}", f"{one[:4]}* {two}",
            f"site:{page.host} change:new", f"{one} lang:en date:>=2024",
        )  # fmt: skip
        found.append(forms[len(found) % len(forms)])
    return found


def measure(pages: list[Searchable], asked: list[str]) -> dict[str, float]:
    pages = [msgspec.structs.replace(page) for page in pages]  # as they come: nothing of them is known
    index = ProfileIndex()
    start = time.process_time()
    for number, query in enumerate(asked):
        index.add(f"p{number}", query)
    adding = time.process_time() - start
    start = time.process_time()
    for page in pages:
        assert page.vocabulary is not None and page.text_line
    words_s = time.process_time() - start
    start = time.process_time()
    found = [index.matching(page) for page in pages]
    matching = time.process_time() - start
    candidates = sum(len(index.candidates(page)) for page in pages)
    nodes = {f"p{number}": parse(query) for number, query in enumerate(asked)}
    start = time.process_time()
    slowly = [sorted(name for name, node in nodes.items() if matches(node, page)) for page in pages[:SLOWLY]]
    each = time.process_time() - start
    assert slowly == found[:SLOWLY], "the index is not exact"
    return {
        "profiles": len(index),
        "pages": len(pages),
        "ms_a_page": round(1_000 * matching / len(pages), 4),
        "words_ms_a_page": round(1_000 * words_s / len(pages), 4),
        "look_at_each_ms_a_page": round(1_000 * each / SLOWLY, 2),
        "profiles_asked_a_page": round(candidates / len(pages), 1),
        "matches_a_page": round(sum(map(len, found)) / len(pages), 1),
        "us_to_add_one": round(1e6 * adding / len(asked), 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--profiles", type=int, default=10_000)
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--docs", type=Path, help="folder of real HTML")
    given = parser.parse_args()
    if not URLS.exists():
        sys.exit(f"{URLS} is absent: this benchmark takes URLs from there")
    corpus = Corpus(HOME, given.pages)
    corpus.make(URLS, given.docs)
    pages = list(islice(corpus, 0, None, max(given.pages // SAMPLE, 1)))
    told = {}
    for name, is_common in (("topics", False), ("common", True)):
        told[name] = measure(pages, queries(pages, given.profiles, is_common))
    print(json.dumps(told) if given.json else "\n".join(f"{name}: {each}" for name, each in told.items()))


if __name__ == "__main__":
    main()
