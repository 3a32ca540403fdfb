"""Sinks that are search engines: OpenSearch and Elasticsearch, Meilisearch, Typesense. One document for each URL.

    opensearch=https://user:password@host:9200/pages      (the same: elasticsearch=…; KEY@host for an API key)
    meilisearch=https://KEY@host/pages
    typesense=https://KEY@host/pages

The index is made where it is not there. A page that is stored again takes the place of itself; one that is gone, or
asks not to be indexed now, goes. What an engine will never take (a document that breaks a mapping of the user's) is
named in the log and left out: else nothing would come after it.

Invariant: `write` returns when the engine has confirmed each page of the batch.
"""

import time
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from gcs.events import Events
from gcs.ports.records.page import Page
from gcs.ports.sinks.engine_client import EngineClient, EngineError
from gcs.ports.sinks.engine_document import EngineBatch, EngineDocument, document_id

T = TypeVar("T")
events = Events("sink")
_NDJSON = "application/x-ndjson"
#: seconds that a task of Meilisearch may take, and between two looks at it
_TASK_S, _LOOK_S = 120.0, 0.05
#: why OpenSearch never takes a document; whatever else is wrong may be mended, and the batch comes again
_BROKEN = ("mapper_parsing_exception", "document_parsing_exception", "strict_dynamic_mapping_exception")


class _BulkError(msgspec.Struct, frozen=True):
    type: str = ""
    reason: str | None = ""


class _BulkItem(msgspec.Struct, frozen=True):
    status: int
    error: _BulkError | None = None


class _BulkAnswer(msgspec.Struct, frozen=True):
    items: list[dict[str, _BulkItem]]


class _Task(msgspec.Struct, frozen=True):
    """Of Meilisearch, when it was given."""

    task_uid: int = msgspec.field(name="taskUid")


class _TaskError(msgspec.Struct, frozen=True):
    message: str = ""
    code: str = ""


class _TaskState(msgspec.Struct, frozen=True):
    status: str
    error: _TaskError | None = None


class _ImportAnswer(msgspec.Struct, frozen=True):
    """A line of Typesense."""

    success: bool
    error: str = ""
    code: int = 0


class OpenSearch:
    """OpenSearch and Elasticsearch, by the bulk API. An older copy of a page never replaces a newer one."""

    batch_pages = 500

    def __init__(self, target: str) -> None:
        self._client = EngineClient(target, lambda key: {"Authorization": f"ApiKey {key}"})
        self._is_made = False
        self.close = self._client.close

    def write(self, pages: Sequence[Page]) -> None:
        batch = EngineBatch(pages)
        self._make()
        lines = bytearray()
        named: list[str] = []
        for record in (*batch.stored, *batch.gone):
            is_gone = len(named) >= len(batch.stored)
            version = {"version": int(record.fetched_at * 1_000), "version_type": "external_gte"}
            action = {"delete" if is_gone else "index": {"_id": document_id(record.url), **version}}
            lines += msgspec.json.encode(action) + b"\n"
            if not is_gone:
                lines += msgspec.json.encode(EngineDocument.of(record)) + b"\n"
            named.append(record.url)
        if not named:
            return
        answer = self._client.call("POST", f"/{self._client.index}/_bulk", bytes(lines), _NDJSON).checked()
        _check(self._client.index, named, list(map(_bulk_outcome, _decoded(answer, _BulkAnswer).items)))

    def _make(self) -> None:
        if self._is_made:
            return
        if self._client.call("HEAD", f"/{self._client.index}").checked(404).status == 404:
            word, text = {"type": "keyword", "ignore_above": 8_000}, {"type": "text"}
            number = {"type": "long"}
            properties = {
                **dict.fromkeys(("id", "url", "site", "language", "type", "published", "change"), word),
                **dict.fromkeys(("title", "summary", "text", "author"), text),
                **dict.fromkeys(("depth", "session"), number),
                "fetched_at": {"type": "date", "format": "epoch_second"},
                "fields": {"type": "keyword", "index": False, "doc_values": False},
            }
            body = msgspec.json.encode({"mappings": {"properties": properties}})
            answer = self._client.call("PUT", f"/{self._client.index}", body)
            if answer.find(b"already_exists") < 0:  # else another one was faster
                answer.checked()
        self._is_made = True


class Meilisearch:
    """Meilisearch: documents are given as tasks, and each task is waited for."""

    batch_pages = 1_000

    def __init__(self, target: str) -> None:
        self._client = EngineClient(target, lambda key: {"Authorization": f"Bearer {key}"})
        self.close = self._client.close

    def write(self, pages: Sequence[Page]) -> None:
        batch, documents = EngineBatch(pages), f"/indexes/{self._client.index}/documents"
        if batch.stored:
            body = b"\n".join(msgspec.json.encode(EngineDocument.of(record)) for record in batch.stored)
            self._do(f"{documents}?primaryKey=id", body, _NDJSON)
        if batch.gone:
            body = msgspec.json.encode([document_id(record.url) for record in batch.gone])
            self._do(f"{documents}/delete-batch", body, "application/json")

    def _do(self, path: str, body: bytes, kind: str) -> None:
        task = _decoded(self._client.call("POST", path, body, kind).checked(), _Task).task_uid
        give_up_at = time.monotonic() + _TASK_S
        while time.monotonic() < give_up_at:
            found = _decoded(self._client.call("GET", f"/tasks/{task}").checked(), _TaskState)
            if found.status == "succeeded":
                return
            if found.status in ("failed", "canceled"):
                error = found.error or _TaskError()
                if error.code == "index_not_found":  # there is nothing that could go
                    return
                raise EngineError(f"task {found.status}: {error.message[:300]}")
            time.sleep(_LOOK_S)
        raise EngineError(f"a task was not done within {_TASK_S:.0f} s")


class Typesense:
    """Typesense, by the import of documents."""

    batch_pages = 500

    def __init__(self, target: str) -> None:
        self._client = EngineClient(target, lambda key: {"X-TYPESENSE-API-KEY": key})
        self._is_made = False
        self.close = self._client.close

    def write(self, pages: Sequence[Page]) -> None:
        batch, documents = EngineBatch(pages), f"/collections/{self._client.index}/documents"
        self._make()
        if batch.stored:
            body = b"\n".join(msgspec.json.encode(EngineDocument.of(record)) for record in batch.stored)
            answer = self._client.call("POST", f"{documents}/import?action=upsert", body, "text/plain").checked()
            told = [_decoded(line, _ImportAnswer) for line in answer.splitlines()]
            outcomes = [_Outcome(each.success, each.error, not each.success and each.code == 400) for each in told]
            _check(self._client.index, [record.url for record in batch.stored], outcomes)
        for record in batch.gone:
            self._client.call("DELETE", f"{documents}/{document_id(record.url)}").checked(404)

    def _make(self) -> None:
        if self._is_made:
            return
        if self._client.call("GET", f"/collections/{self._client.index}").checked(404).status == 404:
            facets = ("site", "language", "type", "change")
            fields: list[dict[str, Any]] = [
                *({"name": name, "type": "string"} for name in ("url", "title", "summary", "text", "author")),
                *({"name": name, "type": "string", "facet": True} for name in facets),
                *({"name": name, "type": "int32"} for name in ("depth", "session")),
                {"name": "fetched_at", "type": "int64"},
                *(
                    {"name": name, "type": "string", "index": False, "optional": True}
                    for name in ("published", "fields")
                ),
            ]
            body = msgspec.json.encode({"name": self._client.index, "fields": fields})
            self._client.call("POST", "/collections", body).checked(409)  # another one was faster
        self._is_made = True


class _Outcome(NamedTuple):
    """What became of a page: taken, refused for good, or neither."""

    is_taken: bool
    why: str = ""
    is_refused: bool = False


def _bulk_outcome(item: dict[str, "_BulkItem"]) -> _Outcome:
    ((action, told),) = item.items()
    # 409: the engine has a newer copy. 404: what is to go is not there
    is_taken = 200 <= told.status < 300 or told.status == 409 or (action == "delete" and told.status == 404)
    kind = told.error.type if told.error else ""
    return _Outcome(is_taken, f"{told.status} {kind} {told.error.reason if told.error else ''}", kind in _BROKEN)


def _check(index: str, urls: Sequence[str], outcomes: Sequence[_Outcome]) -> None:
    """Raise if the engine has to be asked again; name what it will never take."""
    if len(outcomes) != len(urls):
        raise EngineError(f"it answered for {len(outcomes)} of {len(urls)} pages")
    again = [each.why for each in outcomes if not each.is_taken and not each.is_refused]
    if again:
        raise EngineError(f"{len(again)} pages were not taken: {again[0][:300]}")
    for url, each in zip(urls, outcomes):
        if not each.is_taken:
            events.warning("page-refused", index=index, url=url, reason=each.why[:300])


def _decoded(content: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(content, type=kind)
    except msgspec.DecodeError as error:
        raise EngineError(f"its answer cannot be read ({error})") from None
