"""The summary of an errand: what a helper says of an answer.

Only what a server said counts. Where there was no answer, it may be our network and not the page: then the gatherer is
asked to fetch it by itself, and judges by what it finds.
"""

from gcs.core.page import Failure, FailureKind, Result
from gcs.core.tuples import SummaryTS, UrlTS
from gcs.ports.reader import Reader
from gcs.ports.records.warc import payload_digest

#: failures that are the page's, from wherever it is fetched
OF_THE_PAGE = frozenset({FailureKind.TOO_LARGE, FailureKind.ENCODING})


def unfetched(errand: UrlTS, helper: str, why: str = "") -> SummaryTS:
    """Fetch it yourself."""
    return SummaryTS(errand.gatherer, errand.run, errand.number, errand.url, helper, message=why)


def summary_of(errand: UrlTS, helper: str, result: Result, reader: Reader) -> SummaryTS:
    """What became of an errand."""
    if isinstance(result, Failure):
        if result.kind not in OF_THE_PAGE:
            return unfetched(errand, helper, f"{result.kind}: {result.message}")
        return SummaryTS(
            *(errand.gatherer, errand.run, errand.number, errand.url, helper),
            failure=str(result.kind),
            message=result.message,
            started_at=result.started_at,
            elapsed_s=result.elapsed_s,
        )
    reading = reader.read(result) if 200 <= result.status < 300 else None
    document = reading.document if reading else None
    return SummaryTS(
        *(errand.gatherer, errand.run, errand.number, errand.url, helper),
        status=result.status,
        reason=result.reason,
        http_version=result.http_version,
        headers=list(result.headers),
        ip=result.ip,
        started_at=result.started_at,
        elapsed_s=result.elapsed_s,
        size_bytes=len(result.body),
        digest=payload_digest(result.body),
        final_url=reading.final_url if reading else errand.url,
        title=document.title if document else "",
        description=document.description if document else "",
        language=document.language if document else "",
        text=document.text if document else "",
        simhash=document.simhash if document else 0,
        outlinks=reading.outlinks if reading else [],
        noindex=bool(reading and reading.noindex),
        source=bool(document and document.source),
        shell=bool(reading and reading.shell),
        request_head=result.request_head if errand.payload else b"",
        body=result.body if errand.payload else b"",
    )
