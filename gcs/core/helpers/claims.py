"""Claims: what a helper reports through the gateway, and how a claim becomes a summary on the whiteboard.

Invariant: pure. A summary made here is of the errand's own URL and within bounds; its links are canonical, and its
simhash and the digest of its body are computed here. Whether a claim is true, the gatherer finds out
(`core.helpers.trust`).
"""

import base64
import binascii
import hashlib
import ipaddress
import re
from typing import Annotated

import msgspec
from msgspec import Meta

from gcs.core.messages.tuples import Means, SummaryTS, UrlTS
from gcs.core.page.language import detect
from gcs.core.page.simhash import simhash
from gcs.core.page.values import Document, FailureKind, Line, PageFacts, WrittenUrl
from gcs.core.polite.politeness import seconds_of_date
from gcs.core.url.join import Joiner, facts_of

#: header fields of one answer, and characters of their names, of their values, and of the reason in its first line
FIELDS, NAME, VALUE, REASON = 500, 256, 65_536, 200
#: headers that are kept of a page which is not archived
SPEAKING = frozenset({"content-type", "etag", "last-modified", "retry-after", "location"})
#: a validator that names one state of a page; "*", or a list, would be answered 304 for ever
_ETAG = re.compile(r'(?:W/)?"[^"]*"|[^"*,\s]+')
#: the name of a header (a token of RFC 9110), and what no value holds
_FIELD_NAME, _CONTROL = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"), re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
#: a request without a body
_REQUEST_HEAD = re.compile(rb"GET (?P<target>[^\s]+) [^\r\n]+\r\n(?:[^\r\n]+\r\n)*\r\n")

#: what a stranger is not believed, because no spot check looks at it
_UNCHECKED = {
    **dict.fromkeys(("markdown", "author", "published", "modified", "site_name", "page_type"), ""),
    "text_cut": False,
    "keywords": [],
    "anchors": [],
    "rels": [],
    "dates": [],
}

Number = Annotated[float, Meta(ge=0, le=1e12)]


class Errand(msgspec.Struct, frozen=True):
    """A URL to fetch now, as a helper sees it."""

    id: str
    url: str
    #: seconds, from before it was asked for, within which the request must start and end
    lease_s: float
    means: Means = Means.PLAIN
    etag: str = ""
    last_modified: str = ""
    once: bool = False
    payload: bool = False
    rendered: bool = False

    @classmethod
    def of(cls, errand: UrlTS) -> "Errand":
        """From the tuple on the whiteboard."""
        names = (name for name in cls.__struct_fields__ if name != "id")
        return cls(errand.id, **{name: getattr(errand, name) for name in names})

    def tuple(self, place: str) -> UrlTS:
        """The tuple on the whiteboard, as far as a helper has to know it."""
        gatherer, run, number = self.id.rsplit("/", 2)
        names = (name for name in self.__struct_fields__ if name != "id")
        return UrlTS(gatherer, run, int(number), place=place, **{name: getattr(self, name) for name in names})


class Claim(Document, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a helper says of one errand: the answer, and the document in it. The gateway makes the links canonical."""

    id: Annotated[str, Meta(max_length=512)]
    url: WrittenUrl
    #: of the answer; 0 if there was none
    status: Annotated[int, Meta(ge=0, le=999)] = 0
    #: without a status: too-large or encoding, where the page is at fault; "" where the helper has not tried
    failure: Annotated[str, Meta(max_length=40)] = ""
    message: Line = ""
    reason: Annotated[str, Meta(max_length=REASON)] = ""
    http_version: Annotated[str, Meta(pattern="^(1\\.0|1\\.1|2|3)$")] = "1.1"
    headers: Annotated[
        list[tuple[Annotated[str, Meta(max_length=NAME)], Annotated[str, Meta(max_length=VALUE)]]],
        Meta(max_length=FIELDS),
    ] = []  # noqa: RUF012
    ip: Annotated[str, Meta(max_length=64)] = ""
    started_at: Number = 0.0
    elapsed_s: Number = 0.0
    size_bytes: Annotated[int, Meta(ge=0, le=1 << 40)] = 0
    #: "sha1:BASE32" of the body
    digest: Annotated[str, Meta(pattern="^(sha1:[A-Z2-7]{32})?$")] = ""
    #: base64, for the WARC, where the errand asks for it
    request_head: Annotated[str, Meta(max_length=1 << 16)] = ""
    body: str = ""
    #: base64, of a browser, where the errand asks for it
    rendered: str = ""
    #: why the answer was cut short
    truncated: Annotated[str, Meta(pattern="^(length|unspecified)?$")] = ""


def summary_of(
    claim: Claim, errand: UrlTS, helper: str, *, trusted: bool, joiner: Joiner, text: bool, heed: bool, now: float
) -> SummaryTS:
    """The claim as a summary of that errand; ValueError where it cannot be one.

    `text`: the crawl keeps texts; `heed`: it heeds nofollow and noindex; `now`: seconds since the epoch.
    """
    if claim.url != errand.url:
        raise ValueError(f"the errand is {errand.url}, the claim is of {claim.url[:200]}")
    head = (errand.gatherer, errand.run, errand.number, errand.url, helper)
    if not claim.status:
        failure = claim.failure if claim.failure in (FailureKind.TOO_LARGE, FailureKind.ENCODING) else ""
        return SummaryTS(*head, failure=failure, message=claim.message, trusted=trusted)
    request_head, body = _payload(claim) if errand.payload else (b"", b"")
    archived = bool(request_head)
    facts = PageFacts()
    if 200 <= claim.status < 300:
        kept = claim.text if text else ""
        facts = facts_of(claim, errand.url, joiner, heed=heed)
        if kept:  # a browser tells only what the page declares
            facts = msgspec.structs.replace(facts, simhash=simhash(kept), language=detect(kept, claim.language))
        facts = msgspec.structs.replace(facts, text=kept)
        if not (trusted and text):  # spot checks compare title, text and links
            facts = msgspec.structs.replace(facts, **_UNCHECKED)
    return SummaryTS(
        *head,
        status=claim.status,
        reason=claim.reason,
        http_version=claim.http_version,
        headers=[field for field in claim.headers if _is_kept(*field, archived, now)],
        ip=_address(claim.ip) if archived else "",
        started_at=claim.started_at,
        elapsed_s=claim.elapsed_s,
        size_bytes=len(body) if archived else claim.size_bytes,
        digest=_digest(body) if archived else claim.digest,
        page=facts,
        request_head=request_head,
        body=body,
        trusted=trusted,
        truncated=claim.truncated,
        rendered=_decoded(claim.rendered, "rendered") if errand.rendered and trusted else b"",
    )


def _decoded(text: str, name: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f"{name} is no base64: {error}") from None


def _payload(claim: Claim) -> tuple[bytes, bytes]:
    head, body = _decoded(claim.request_head, "request_head"), _decoded(claim.body, "body")
    if head:
        request = _REQUEST_HEAD.fullmatch(head)
        if not request:
            raise ValueError("request_head is no head of a GET request")
        # the WARC keeps it beside the page; by a proxy the whole URL is asked for
        if request["target"].decode("latin-1") not in (claim.url, claim.url[claim.url.index("/", len("https://")) :]):
            raise ValueError("request_head is of another URL")
    return head, body


def _address(ip: str) -> str:
    """An address, which will stand in a WARC header; ValueError if it is none."""
    return str(ipaddress.ip_address(ip)) if ip else ""


def _is_kept(name: str, value: str, archived: bool, now: float) -> bool:
    """Whether this header field is kept.

    Not one that would be another one where it is stored: a name that holds a colon or begins with a space is part of
    another header there. Not validators that would hide changes from the next session.
    """
    if not _FIELD_NAME.fullmatch(name) or _CONTROL.search(value):
        return False
    match name.lower():
        case "etag":
            return _ETAG.fullmatch(value.strip()) is not None
        case "last-modified":
            at = seconds_of_date(value)
            return at is not None and at <= now
        case other:
            return archived or other in SPEAKING


def _digest(body: bytes) -> str:
    return "sha1:" + base64.b32encode(hashlib.sha1(body, usedforsecurity=False).digest()).decode()
