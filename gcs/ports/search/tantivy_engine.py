"""The index in tantivy: segments in a folder, which the library writes and merges by itself (`gcs-crawler[search]`).

A page is indexed as its words (`core.search.words`), joined by spaces, so that the library cuts them where all our
engines do. What is shown of it is stored beside, as one value that is compressed here: so it costs half of what the
library takes for it, and half of the space. The positions are a document, too, and so in
the same commit.

Invariant: a word of a query goes to the library as a term, never through its own query language.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import tantivy
from isal import igzip_lib

from gcs.core.search.query import Between, Every, Is, Node, Phrase, Some, phrases
from gcs.core.search.results import FACETS, MOST_VALUES, TITLE_WEIGHT, Asked, EngineAnswer, FacetValue, RankedPage
from gcs.core.search.searchable import Searchable, sites_of
from gcs.core.search.words import joined
from gcs.errors import StoreError, UsageError
from gcs.ports.search import Place

#: memory of the writer: it makes a segment when it is full
_HEAP_BYTES = 64 << 20
_ANALYZER = "joined"
#: the one document of the positions, and that a document is a page
_POSITIONS, _PAGE = "positions", "page"
_PLACES = msgspec.msgpack.Decoder(dict[str, Place])
_GZIP = b"\x1f\x8b"
_PAGES = msgspec.msgpack.Decoder(Searchable)
_COLUMNS = {"site": "host", "lang": "lang", "type": "type"}
_Query = tantivy.Query
_MUST, _SHOULD, _NOT = tantivy.Occur.Must, tantivy.Occur.Should, tantivy.Occur.MustNot


class TantivyEngine:
    """One index in a folder."""

    name = "tantivy"

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        try:
            self._index = tantivy.Index(_schema(), path=str(folder), reuse=True)
        except ValueError as error:
            raise StoreError(f"{folder}: the index cannot be opened ({error}); make it anew: --rebuild") from error
        self._index.register_tokenizer(_ANALYZER, tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build())
        self._schema = self._index.schema
        self._writer: Any = None

    def positions(self) -> dict[str, Place]:
        searcher = self._searcher()
        found = searcher.search(self._term("kept", _POSITIONS), limit=1, count=False).hits
        return _PLACES.decode(searcher.doc(found[0][1]).get_first("doc")) if found else {}

    def write(self, pages: Sequence[Searchable], gone: Sequence[str], positions: Mapping[str, Place]) -> None:
        writer = self._opened()
        try:
            for url in gone:
                writer.delete_documents_by_term("url", url)
            for page in pages:
                writer.delete_documents_by_term("url", page.url)
                writer.add_document(_document(page))
            writer.delete_documents_by_term("kept", _POSITIONS)
            kept = tantivy.Document()
            kept.add_text("kept", _POSITIONS)
            kept.add_bytes("doc", msgspec.msgpack.encode(dict(positions)))
            writer.add_document(kept)
            writer.commit()
        except (ValueError, OSError) as error:
            self._writer = None  # what is not committed is dropped
            raise StoreError(f"{self._folder}: the index cannot be written ({error})") from error

    def search(self, asked: Asked) -> EngineAnswer:
        searcher = self._searcher()
        query = self._query(asked.node)
        is_ranked = any(True for _ in phrases(asked.node))
        order = {} if is_ranked else {"order_by_field": "day"}
        found = searcher.search(query, limit=max(asked.window, 1), **order)
        best = [
            RankedPage(score if is_ranked else 0.0, _page(searcher.doc(address).get_first("doc")))
            for score, address in found.hits
        ]
        return EngineAnswer(found.count or 0, best, self._facets(searcher, query) if asked.facets else {})

    def pages(self) -> int:
        found: int = self._searcher().search(self._term("kept", _PAGE), limit=1).count or 0
        return found

    def close(self) -> None:
        if self._writer is not None:
            self._writer.wait_merging_threads()
            self._writer = None

    def _searcher(self) -> Any:
        self._index.reload()
        return self._index.searcher()

    def _opened(self) -> Any:
        if self._writer is None:
            try:
                self._writer = self._index.writer(_HEAP_BYTES, 1)
            except ValueError as error:
                raise UsageError(f"{self._folder}: another process writes this index ({error})") from error
        return self._writer

    def _facets(self, searcher: Any, query: Any) -> dict[str, list[FacetValue]]:
        terms = {name: {"terms": {"field": _COLUMNS[name], "size": MOST_VALUES}} for name in FACETS}
        told = searcher.aggregate(query, terms)
        return {
            name: [FacetValue(each["key"], int(each["doc_count"])) for each in told[name]["buckets"] if each["key"]]
            for name in FACETS
        }

    # -- queries ---------------------------------------------------------------------------------------

    def _query(self, node: Node) -> Any:
        if isinstance(node, Phrase):
            return self._phrase(node)
        if isinstance(node, Every):
            return _Query.boolean_query([(_MUST, self._query(part)) for part in node.parts])
        if isinstance(node, Some):
            return _Query.boolean_query([(_SHOULD, self._query(part)) for part in node.parts])
        if isinstance(node, Is):
            return _unscored(self._term(node.field, node.value))
        if isinstance(node, Between):
            field = "day" if node.field == "date" else "depth"
            number = tantivy.FieldType.Unsigned
            return _unscored(_Query.range_query(self._schema, field, number, node.least, node.most))
        everything = _unscored(self._term("kept", _PAGE))
        return _Query.boolean_query([(_MUST, everything), (_NOT, self._query(node.part))])

    def _phrase(self, phrase: Phrase) -> Any:
        title = _Query.boost_query(self._in("title", phrase), TITLE_WEIGHT)
        if phrase.in_title:
            return title
        return _Query.boolean_query([(_SHOULD, title), (_SHOULD, self._in("text", phrase))])

    def _in(self, field: str, phrase: Phrase) -> Any:
        if len(phrase.words) == 1:
            word = phrase.words[0]
            return _Query.regex_query(self._schema, field, f"{word}.*") if phrase.is_prefix else self._term(field, word)
        if phrase.is_prefix:
            return _Query.regex_phrase_query(self._schema, field, [*phrase.words[:-1], f"{phrase.words[-1]}.*"])
        return _Query.phrase_query(self._schema, field, list(phrase.words))

    def _term(self, field: str, value: str) -> Any:
        return _Query.term_query(self._schema, field, value)


def _unscored(query: Any) -> Any:
    return _Query.const_score_query(query, 0.0)


def _schema() -> Any:
    builder = tantivy.SchemaBuilder()
    for name in ("url", "site", "change", "kept"):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    for name in ("host", "lang", "type"):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic", fast=True)
    for name in ("title", "text"):
        builder.add_text_field(name, tokenizer_name=_ANALYZER, index_option="position")
    for name in ("day", "depth"):
        builder.add_unsigned_field(name, indexed=True, fast=True)
    builder.add_bytes_field("doc", stored=True)
    return builder.build()


def _document(page: Searchable) -> Any:
    document = tantivy.Document()
    for name, value in (
        ("url", page.url), ("host", page.host), ("lang", page.lang), ("type", page.kind), ("change", page.change),
        ("kept", _PAGE), ("title", joined(page.title)), ("text", joined(page.text)),
    ):  # fmt: skip
        document.add_text(name, value)
    for site in sites_of(page.host):
        document.add_text("site", site)
    document.add_unsigned("day", page.day)
    document.add_unsigned("depth", page.depth)
    document.add_bytes("doc", _packed(page))
    return document


def _packed(page: Searchable) -> bytes:
    return igzip_lib.compress(msgspec.msgpack.encode(page), 0, igzip_lib.COMP_GZIP)


def _page(doc: bytes) -> Searchable:
    is_packed = doc.startswith(_GZIP)  # not so in an index that an earlier version made
    return _PAGES.decode(igzip_lib.decompress(doc, igzip_lib.DECOMP_GZIP) if is_packed else doc)
