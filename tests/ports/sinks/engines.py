"""Servers that speak as search engines do, for the contract of sinks: the real ones cannot be had in the tests.

Each checks requests by the public description of the API (OpenSearch 2 and Elasticsearch 8: bulk, create index;
Meilisearch 1: documents, tasks; Typesense 27: collections, import) and refuses what these would refuse. A test may put
`faults` in their way: a status for the next requests, or what the engine says of a document.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

KEY = "s3cret-key"
Answer = tuple[int, Any]


class Engine:
    """What all of them have: documents by id, and the next faults."""

    #: the header that must come with each request
    key: tuple[str, str]

    def __init__(self) -> None:
        self.documents: dict[str, dict[str, Any]] = {}
        #: answers with a status instead of what was asked
        self.faults: list[int] = []
        #: urls of documents that cannot be mapped, and those for which there is no room now
        self.broken: set[str] = set()
        self.full: set[str] = set()
        self.requests = 0

    def answer(self, method: str, path: str, query: dict[str, str], kind: str, body: bytes) -> Answer:
        raise NotImplementedError


def lines_of(body: bytes) -> list[dict[str, Any]]:
    assert b"\r" not in body
    found = [json.loads(line) for line in body.split(b"\n") if line]
    assert all(isinstance(each, dict) for each in found)
    return found


class OpenSearchEngine(Engine):
    key = ("Authorization", f"ApiKey {KEY}")
    _METADATA = frozenset(("_index", "_id", "version", "version_type", "routing", "if_seq_no", "if_primary_term"))

    def __init__(self) -> None:
        super().__init__()
        self.mapping: dict[str, Any] | None = None
        self.versions: dict[str, int] = {}

    def answer(self, method: str, path: str, query: dict[str, str], kind: str, body: bytes) -> Answer:
        if (method, path) == ("HEAD", "/pages"):
            return (200, None) if self.mapping else (404, None)
        if (method, path) == ("PUT", "/pages"):
            if self.mapping:
                return 400, {"error": {"type": "resource_already_exists_exception"}, "status": 400}
            assert kind == "application/json"
            self.mapping = json.loads(body)["mappings"]["properties"]
            types = {"keyword", "text", "long", "date"}
            assert all(field["type"] in types for field in self.mapping.values())
            return 200, {"acknowledged": True, "shards_acknowledged": True, "index": "pages"}
        assert (method, path) == ("POST", "/pages/_bulk"), (method, path)
        assert kind in ("application/x-ndjson", "application/json") and body.endswith(b"\n")
        lines, items = iter(lines_of(body)), []
        for line in lines:
            ((action, metadata),) = line.items()
            assert action in ("index", "delete") and set(metadata) <= self._METADATA
            assert len(metadata["_id"].encode()) <= 512
            document = next(lines) if action == "index" else None
            items.append({action: {"_index": "pages", "_id": metadata["_id"], **self._do(metadata, document)}})
        return 200, {"took": 1, "errors": any("error" in next(iter(item.values())) for item in items), "items": items}

    def _do(self, metadata: dict[str, Any], document: dict[str, Any] | None) -> dict[str, Any]:
        name, version = metadata["_id"], metadata["version"]
        assert metadata["version_type"] == "external_gte" and isinstance(version, int)
        if document and document["url"] in self.full:
            return {"status": 429, "error": {"type": "es_rejected_execution_exception", "reason": "queue full"}}
        if document and document["url"] in self.broken:
            return {"status": 400, "error": {"type": "mapper_parsing_exception", "reason": "failed to parse"}}
        if version < self.versions.get(name, 0):
            return {"status": 409, "error": {"type": "version_conflict_engine_exception", "reason": "newer"}}
        self.versions[name] = version
        if document is None:
            return {"status": 200 if self.documents.pop(name, None) else 404, "result": "deleted"}
        assert self.mapping is not None
        for field, value in document.items():
            is_number = self.mapping[field]["type"] in ("long", "date")
            assert isinstance(value, int if is_number else str), field
        is_new = name not in self.documents
        self.documents[name] = document
        return {"status": 201 if is_new else 200, "result": "created" if is_new else "updated"}


class MeilisearchEngine(Engine):
    key = ("Authorization", f"Bearer {KEY}")

    def __init__(self) -> None:
        super().__init__()
        self.tasks: list[tuple[int, Callable[[], str]]] = []
        self.is_made = False

    def answer(self, method: str, path: str, query: dict[str, str], kind: str, body: bytes) -> Answer:
        if method == "GET" and (task := re.fullmatch(r"/tasks/(\d+)", path)):
            return 200, self._task(int(task[1]))
        assert method == "POST"
        if path == "/indexes/pages/documents":
            assert query == {"primaryKey": "id"} and kind == "application/x-ndjson"
            documents = lines_of(body)
            return self._enqueued(lambda: self._put(documents), "documentAdditionOrUpdate")
        assert path == "/indexes/pages/documents/delete-batch" and kind == "application/json"
        names = json.loads(body)
        assert isinstance(names, list)
        return self._enqueued(lambda: self._delete(names), "documentDeletion")

    def _enqueued(self, do: Callable[[], str], kind: str) -> Answer:
        self.tasks.append((0, do))
        told = {"taskUid": len(self.tasks) - 1, "indexUid": "pages", "status": "enqueued", "type": kind}
        return 202, told | {"enqueuedAt": "2024-01-01T00:00:00.0Z"}

    def _task(self, number: int) -> dict[str, Any]:
        """A task is enqueued, then processing, then done: a step each time that somebody looks."""
        looks, do = self.tasks[number]
        self.tasks[number] = looks + 1, do
        if looks < 2:
            return {"uid": number, "status": ("enqueued", "processing")[looks], "error": None}
        code = do()
        error = {"message": code, "code": code, "type": "invalid_request"} if code else None
        return {"uid": number, "status": "failed" if code else "succeeded", "error": error}

    def _put(self, documents: list[dict[str, Any]]) -> str:
        if not all(re.fullmatch(r"[A-Za-z0-9_-]{1,511}", each["id"]) for each in documents):
            return "invalid_document_id"
        if any(each["url"] in self.full for each in documents):
            return "no_space_left_on_device"
        self.is_made = True
        self.documents |= {each["id"]: each for each in documents}
        return ""

    def _delete(self, names: list[str]) -> str:
        if not self.is_made:
            return "index_not_found"
        for name in names:
            self.documents.pop(name, None)
        return ""


class TypesenseEngine(Engine):
    key = ("X-TYPESENSE-API-KEY", KEY)

    def __init__(self) -> None:
        super().__init__()
        self.fields: list[dict[str, Any]] | None = None

    def answer(self, method: str, path: str, query: dict[str, str], kind: str, body: bytes) -> Answer:
        if (method, path) == ("GET", "/collections/pages"):
            return (200, {"name": "pages"}) if self.fields else (404, {"message": "Not Found"})
        if (method, path) == ("POST", "/collections"):
            schema = json.loads(body)
            assert schema["name"] == "pages"
            assert {field["type"] for field in schema["fields"]} <= {"string", "int32", "int64"}
            assert all(field.get("optional") for field in schema["fields"] if field.get("index") is False)
            self.fields = schema["fields"]
            return 201, schema
        if method == "DELETE":
            found = re.fullmatch(r"/collections/pages/documents/(\w+)", path)
            assert found
            known = self.documents.pop(found[1], None)
            return (200, known) if known else (404, {"message": "Could not find a document"})
        assert (method, path, query) == ("POST", "/collections/pages/documents/import", {"action": "upsert"})
        assert kind == "text/plain"
        return 200, "\n".join(json.dumps(self._put(each)) for each in lines_of(body)).encode()

    def _put(self, document: dict[str, Any]) -> dict[str, Any]:
        if document["url"] in self.full:
            return {"success": False, "code": 500, "error": "Rejecting write: running out of resource"}
        if document["url"] in self.broken:
            return {"success": False, "code": 400, "error": "Field `title` must be a string."}
        assert self.fields is not None and isinstance(document["id"], str)
        for field in self.fields:
            value = document.get(field["name"])
            if value is None and field.get("optional"):
                continue
            assert isinstance(value, str if field["type"] == "string" else int), field
        self.documents[document["id"]] = document
        return {"success": True}


ENGINES = {"opensearch": OpenSearchEngine, "meilisearch": MeilisearchEngine, "typesense": TypesenseEngine}


@contextmanager
def served(name: str) -> Iterator[tuple[Engine, str]]:
    """An engine, and the target of the sink that writes there."""
    engine = ENGINES[name]()
    failed: list[BaseException] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def serve(self) -> None:
            engine.requests += 1
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, told = self._answer(body)
            content = told if isinstance(told, bytes) else b"" if told is None else json.dumps(told).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = serve  # noqa: N815

        def _answer(self, body: bytes) -> Answer:
            if self.headers.get(engine.key[0]) != engine.key[1]:
                return 401, {"message": "no"}
            if engine.faults:
                return engine.faults.pop(0), {"message": "not now"}
            parts = urlsplit(self.path)
            query = {each: values[0] for each, values in parse_qs(parts.query).items()}
            try:
                return engine.answer(self.command, parts.path, query, self.headers.get("Content-Type", ""), body)
            except (AssertionError, KeyError, ValueError) as error:  # a request that the API does not know
                failed.append(error)
                return 400, {"message": repr(error)}

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield engine, f"{name}=http://{KEY}@127.0.0.1:{server.server_port}/pages"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
        assert not failed, failed
