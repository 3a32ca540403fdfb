"""The description of the API: complete, and true when it is fuzzed by it."""

from collections.abc import Iterator

import hypothesis
import pytest
import schemathesis
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance

from gcs.core.helpers.access import Role
from gcs.core.messages.tuples import Control, CrawlState
from gcs.roles.station.station import ListenAddress
from tests.roles.station.stage import TOKENS, Target, in_thread


@pytest.fixture(scope="module", params=["127.0.0.1", "0.0.0.0"], ids=["loopback", "outside"])
def target(request) -> Iterator[Target]:
    with in_thread(ListenAddress(request.param, 0)) as target:
        yield target


def schema_of(target: Target):
    return schemathesis.openapi.from_url(f"{target.at.url}/openapi.json")


def test_description_names_every_call(target):
    found = {(each.ok().method.upper(), each.ok().path) for each in schema_of(target).get_all_operations()}
    served = {
        (route.method, route.resource.canonical)
        for route in target.at.station._runner.app.router.routes()
        if route.method != "HEAD" and route.resource.canonical.startswith("/api/")
    }
    assert found == served
    assert schema_of(target).raw_schema["components"]["schemas"]["Report"]["required"]


@pytest.mark.parametrize("token", [TOKENS[Role.CONTROL], TOKENS[Role.HELPER], None], ids=["control", "helper", "none"])
def test_api_holds_to_its_description_whatever_it_is_sent(target, token):
    """No 5xx, no answer that the description does not know; for good and for bad requests."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    statuses = set()
    for found in schema_of(target).get_all_operations():
        operation = found.ok()
        if operation.path.startswith("/api/crawls/") or operation.path == "/api/events":  # as below; it does not end
            continue

        @hypothesis.settings(max_examples=8, deadline=None, database=None, derandomize=True)
        @hypothesis.given(case=operation.as_strategy() | operation.as_strategy(generation_mode=GenerationMode.NEGATIVE))
        def fuzz(case):
            response = case.call(base_url=target.at.url, headers=headers)
            assert response.status_code < 500, (case, response.text)
            # whether a text is a URL, no schema can say
            skipped = [positive_data_acceptance] if case.operation.path == "/api/seeds" else []
            case.validate_response(response, excluded_checks=skipped)
            if case.operation.path != "/api/tickets":  # it only looks
                statuses.add((case.operation.method.upper(), response.status_code))

        target.put(Control(CrawlState.RUNNING, "test"))
        fuzz()
    orders = {status for method, status in statuses if method == "POST"}
    assert (202 in orders) == (token == TOKENS[Role.CONTROL])
    if token == TOKENS[Role.CONTROL]:
        assert {("GET", 200), ("POST", 202), ("POST", 400)} <= statuses
    else:
        assert orders <= {401, 403}
