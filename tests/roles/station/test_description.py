"""The description of the API: complete, and true when it is fuzzed by it."""

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import hypothesis
import pytest
import schemathesis
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance

from gcs.core.access import Role
from gcs.core.tuples import Control, CrawlState
from gcs.roles.station import Address
from tests.roles.station.stage import TOKENS, Stage, stage


@dataclass(frozen=True)
class Target:
    """A station in a thread of its own, since schemathesis waits for its answers."""

    at: Stage
    loop: asyncio.AbstractEventLoop

    @property
    def schema(self):
        return schemathesis.openapi.from_url(f"{self.at.url}/openapi.json")

    def run_on(self) -> None:
        """Whatever was ordered before, the crawl is running now."""
        going = self.at.space.out(Control(CrawlState.RUNNING, "test"))
        asyncio.run_coroutine_threadsafe(going, self.loop).result(10)


@pytest.fixture(scope="module", params=["127.0.0.1", "0.0.0.0"], ids=["loopback", "outside"])
def target(request) -> Iterator[Target]:
    found: list[Target] = []
    begun, ended = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        async with stage(Address(request.param, 0)) as at:
            found.append(Target(at, loop))
            begun.set()
            await ended.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    assert begun.wait(10)
    yield found[0]
    loop.call_soon_threadsafe(ended.set)
    thread.join()
    loop.close()


def test_description_names_every_call(target):
    found = {(each.ok().method.upper(), each.ok().path) for each in target.schema.get_all_operations()}
    served = {
        (route.method, route.resource.canonical)
        for route in target.at.station._runner.app.router.routes()
        if route.method != "HEAD" and route.resource.canonical.startswith("/api/")
    }
    assert found == served
    assert target.schema.raw_schema["components"]["schemas"]["Report"]["required"]


@pytest.mark.parametrize("token", [TOKENS[Role.CONTROL], TOKENS[Role.HELPER], None], ids=["control", "helper", "none"])
def test_api_holds_to_its_description_whatever_it_is_sent(target, token):
    """No 5xx, no answer that the description does not know; for good and for bad requests."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    statuses = set()
    for found in target.schema.get_all_operations():
        operation = found.ok()
        if operation.path == "/api/events":  # it does not end
            continue

        @hypothesis.settings(max_examples=8, deadline=None, database=None, derandomize=True)
        @hypothesis.given(case=operation.as_strategy() | operation.as_strategy(generation_mode=GenerationMode.NEGATIVE))
        def fuzz(case):
            response = case.call(base_url=target.at.url, headers=headers)
            assert response.status_code < 500, (case, response.text)
            # whether a text is a URL, no schema can say
            skipped = [positive_data_acceptance] if case.operation.path == "/api/seeds" else []
            case.validate_response(response, excluded_checks=skipped)
            statuses.add((case.operation.method.upper(), response.status_code))

        target.run_on()
        fuzz()
    orders = {status for method, status in statuses if method == "POST"}
    assert (202 in orders) == (token == TOKENS[Role.CONTROL])
    if token == TOKENS[Role.CONTROL]:
        assert {("GET", 200), ("POST", 202), ("POST", 400)} <= statuses
    else:
        assert orders <= {401, 403}
