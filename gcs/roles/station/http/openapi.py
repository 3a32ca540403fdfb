"""The OpenAPI description of the API, made from the table of endpoints and the schemas of their values."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

import msgspec

from gcs.core.helpers.access import Role
from gcs.roles.station.http.endpoint import Endpoint
from gcs.roles.station.http.problems import ProblemDetails
from gcs.version import __version__

_REF = "#/components/schemas/{name}"
#: with a token, or without
_ANYBODY: list[dict[str, list[str]]] = [{}, {"token": []}]
#: statuses of problems: of any call, of a call with parameters or a body, and of a command
_ALWAYS, _TAKES, _ORDERS = (401, 403, 421, 503), (400,), (409,)


def describe(table: Sequence[Endpoint], *, has_one: bool = True, anybody_looks: bool) -> dict[str, Any]:
    """The description (OpenAPI 3.1), as JSON values.

    `has_one`: the station was started for one crawl; `anybody_looks` on loopback, without a token.
    """
    kinds = dict.fromkeys(
        [ProblemDetails, *(each.gives for each in table), *(each.takes for each in table if each.takes)]
    )
    _, components = msgspec.json.schema_components(list(kinds), ref_template=_REF)
    paths: dict[str, dict[str, Any]] = {}
    looks = {"security": _ANYBODY} if anybody_looks else {}
    for each in table:
        for path in each.paths(has_one):
            operation = paths.setdefault(path, {})[each.method.lower()] = _operation(each, path, components)
            if anybody_looks and (each.role or (Role.VIEW if each.method == "GET" else None)) is Role.VIEW:
                operation["security"] = _ANYBODY
    for path in (*(("/api/feed", "/api/matches/events") if has_one else ()), *_OF_MATCHES):
        paths[path] = {"get": _located(_matches(path) | looks, path)}
    for path in (*(("/api/events",) if has_one else ()), "/api/crawls/{crawl}/events"):
        paths[path] = {"get": _located(_EVENTS | looks, path)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "GCS station",
            "version": __version__,
            "description": "Crawls: how they stand, what they gathered, and orders to them. GET needs the role view "
            "(none on loopback), POST the role control, always. An example: "
            "curl -H 'Authorization: Bearer TOKEN' -X POST http://127.0.0.1:8642/api/crawls/docs/pause",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer", "description": "gcs token create"}},
        },
        "security": [{"token": []}],
    }


#: matches in other forms than JSON
_OF_MATCHES = ("/api/crawls/{crawl}/feed", "/api/crawls/{crawl}/matches/events")


def _matches(path: str) -> dict[str, Any]:
    """The operation of the feed of matches, or of their events."""
    name, kind, about = (
        ("feed", "application/atom+xml", "The newest matches as an Atom feed")
        if path.endswith("/feed")
        else ("matches_events", "text/event-stream", "Matches as they come, behind `after` or Last-Event-ID")
    )
    parameters = [{"name": each, "in": "query", "schema": {"type": "string"}} for each in ("profile", "after")]
    responses = {"200": {"description": "OK", "content": {kind: {"schema": {"type": "string"}}}}}
    responses |= {str(status): _problem(status) for status in (400, 404, *_ALWAYS)}
    return {"operationId": name, "summary": about, "parameters": parameters, "responses": responses}


def _located(operation: dict[str, Any], path: str) -> dict[str, Any]:
    """The operation as it is at this path: with the crawl as a parameter, if the path names one."""
    if "{crawl}" not in path:
        return operation
    crawl = {"name": "crawl", "in": "path", "required": True, "schema": {"type": "string"}, "description": "Its id"}
    operation = {**operation, "operationId": f"crawl_{operation['operationId']}"}
    operation["parameters"] = [crawl, *operation.get("parameters", ())]
    operation["responses"] = {**operation["responses"], "404": _problem(404)}
    return operation


def _operation(each: Endpoint, path: str, components: dict[str, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": each.name.replace("/", "_"),
        "summary": each.summary,
        "responses": {
            str(each.status): {
                "description": HTTPStatus(each.status).phrase,
                "content": {"application/json": {"schema": {"$ref": _REF.format(name=each.gives.__name__)}}},
            }
        },
    }
    wrong = [
        *_ALWAYS,
        *((404,) if each.of_crawl else ()),
        *(_TAKES if each.takes else ()),
        *(_ORDERS if each.method == "POST" else ()),
    ]
    if each.takes and each.method == "GET":
        taken = components[each.takes.__name__]
        operation["parameters"] = [
            {"name": name, "in": "query", "required": name in taken.get("required", ()), "schema": schema}
            for name, schema in taken["properties"].items()
        ]
    elif each.takes:
        body = {"schema": {"$ref": _REF.format(name=each.takes.__name__)}}
        operation["requestBody"] = {"required": True, "content": {"application/json": body}}
        wrong += [413, 415]
    for status in sorted(wrong):
        operation["responses"][str(status)] = _problem(status)
    return _located(operation, path)


def _problem(status: int) -> dict[str, Any]:
    content = {"application/problem+json": {"schema": {"$ref": _REF.format(name=ProblemDetails.__name__)}}}
    return {"description": HTTPStatus(status).phrase, "content": content}


_EVENTS: dict[str, Any] = {
    "operationId": "events",
    "summary": "Live: server-sent events status, links, rebalances, errors and pages, whose data is what the call of "
    "that name gives; each is sent when it has changed",
    "responses": {
        "200": {"description": "OK", "content": {"text/event-stream": {"schema": {"type": "string"}}}},
        **{str(status): _problem(status) for status in _ALWAYS},
    },
}
