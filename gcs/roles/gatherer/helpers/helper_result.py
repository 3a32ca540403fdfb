"""What a helper brought, as if we had fetched it."""

import msgspec

from gcs.core.messages.tuples import Means, SummaryTS
from gcs.core.page.values import Document, Failure, FailureKind, Request, Response, Result
from gcs.ports.reader import PageReading
from gcs.roles.gatherer.fetch.dispatcher import PageVisit

_KINDS = frozenset(FailureKind)


def result_of(summary: SummaryTS, request: Request, means: Means, lent_at: float, now: float) -> Result:
    """The result of a request; a 2xx carries what was read, in the request's tag."""
    started_at = min(max(summary.started_at, lent_at), now)  # the helper's clock is its own
    elapsed_s = min(summary.elapsed_s, now - lent_at)
    if not summary.status:
        kind = FailureKind(summary.failure) if summary.failure in _KINDS else FailureKind.PROTOCOL
        return Failure(request, kind, summary.message, started_at, elapsed_s)
    if 200 <= summary.status < 300:
        assert isinstance(request.tag, PageVisit)
        visit = msgspec.structs.replace(
            request.tag,
            reading=_reading_of(summary, means),
            doubted=not summary.trusted,
            is_rendered=means is Means.BROWSER,
        )
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


def _reading_of(summary: SummaryTS, means: Means) -> PageReading:
    document = Document(
        hrefs=[],
        title=summary.title,
        description=summary.description,
        language=summary.language,
        text=summary.text,
        simhash=summary.simhash,
        source=summary.source,
    )
    is_shell = summary.shell and means is Means.PLAIN  # a browser has seen all there is to see
    return PageReading(document, summary.outlinks, summary.final_url or summary.url, summary.noindex, is_shell)
