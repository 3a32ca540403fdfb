"""The summary of a helper as the result of a request, as if the gatherer had fetched the page."""

import msgspec

from gcs.core.messages.tuples import Means, SummaryTS
from gcs.core.page.values import Failure, FailureKind, Request, Response, Result
from gcs.roles.gatherer.fetch.dispatcher import PageVisit

_KINDS = frozenset(FailureKind)


def result_of(summary: SummaryTS, request: Request, means: Means, lent_at: float, now: float) -> Result:
    """The result of the request; a 2xx carries the page's facts in the request's tag."""
    started_at = min(max(summary.started_at, lent_at), now)  # the helper's clock is its own
    elapsed_s = min(summary.elapsed_s, now - lent_at)
    if not summary.status:
        kind = FailureKind(summary.failure) if summary.failure in _KINDS else FailureKind.PROTOCOL
        return Failure(request, kind, summary.message, started_at, elapsed_s)
    if 200 <= summary.status < 300:
        assert isinstance(request.tag, PageVisit)
        is_rendered = means is Means.BROWSER
        final_url = summary.page.final_url or summary.url
        # a browser has seen all there is to see
        page = msgspec.structs.replace(summary.page, final_url=final_url, shell=summary.page.shell and not is_rendered)
        visit = msgspec.structs.replace(request.tag, page=page, doubted=not summary.trusted, is_rendered=is_rendered)
        request = msgspec.structs.replace(request, tag=visit)
    return Response(
        request,
        summary.status,
        summary.reason,
        summary.http_version,
        tuple(summary.headers),
        summary.body,
        b"",  # what it says has been read
        summary.request_head,
        summary.ip,
        started_at,
        elapsed_s,
        summary.helper,
        None if summary.request_head else (summary.size_bytes, summary.digest),
    )
