"""Errands through the gateway: for helpers that have a token and reach the station by HTTP, and nothing else.

A gateway that does not answer is waited for, up to `PATIENCE_S`; a refusal is final. If the gateway says that an errand
is no longer this helper's, that is no error: another helper has it.
"""

import asyncio
import base64
import contextlib
import io
from collections.abc import Sequence
from typing import TypeVar
from urllib.parse import urlsplit

import aiohttp
import msgspec

from gcs.core.helpers.claims import FIELDS, NAME, REASON, VALUE, Claim
from gcs.core.messages.tuples import HelperBeat, Means, SummaryTS, UrlTS
from gcs.core.page.values import LINE_LENGTH, MOST_LINKS, TEXT_LENGTH, URL_LENGTH
from gcs.errors import GcsError, UsageError
from gcs.events import Events
from gcs.ports.errands.gateway_messages import MACHINE, Beat, Errands, Greeting, HelperStanding, Ids, Wanted, Welcome
from gcs.ports.fetch import one_line
from gcs.version import __version__

#: seconds for which a gateway that is away is waited for, and between two tries
PATIENCE_S, PAUSE_S = 30.0, 0.5
#: seconds for one request, beside the wait for errands
ANSWER_S = 20.0
#: answers that pass by themselves
PASSING = frozenset({429, 502, 503, 504})
#: answers that no second try makes better, and what to do
FINAL = {
    401: "the token is wrong, or was revoked: ask whoever runs the crawl for another",
    403: "this token may not help here",
    404: "there is no gateway: give the address of a gcs station",
    421: "the station is not known by that name",
}

#: fields of the answer, and of the page, that a claim and a summary share
ANSWER = (
    *("url", "status", "failure", "http_version", "ip", "started_at", "elapsed_s", "size_bytes", "digest"),
    *("truncated",),
)
PAGE = (
    *("language", "noindex", "source", "shell", "text_cut", "author", "published", "modified", "site_name"),
    *("page_type", "keywords", "anchors", "rels", "dates"),
)

T = TypeVar("T", bound=msgspec.Struct)

events = Events("errands")


class GatewayError(GcsError):
    """The gateway refuses this helper."""


class AwayError(GatewayError):
    """The gateway cannot be reached."""


class LateError(Exception):
    """The errand is not this helper's any more, or never was."""


class GatewayErrands:
    """See `gcs.ports.errands.ErrandPort`. Made by `open_gateway`."""

    def __init__(self, line: "GatewayConnection", welcome: Welcome, means: Means) -> None:
        self.helper, self.place, self.means, self.terms = welcome.helper, welcome.place, means, welcome.terms
        self.why_idle = ""
        self._line = line

    async def take(self, limit: int, timeout_s: float) -> list[UrlTS]:
        answer = await self._line.ask("take", Wanted(min(limit, 64), timeout_s), Errands, timeout_s)
        return [errand.tuple(self.place) for errand in answer.errands]

    async def extend(self, errands: Sequence[UrlTS]) -> list[UrlTS]:
        still = await self._line.ask("extend", Ids([errand.id for errand in errands]), Ids)
        return [errand for errand in errands if errand.id in still.ids]

    async def put(self, summary: SummaryTS) -> None:
        with contextlib.suppress(LateError):
            await self._line.ask("put", claim_of(summary), Ids)

    async def give_back(self, errands: Sequence[UrlTS]) -> None:
        if errands:
            await self._line.ask("return", Ids([errand.id for errand in errands]), Ids)

    async def beat(self, beat: HelperBeat) -> bool:
        answer = await self._line.ask("beat", Beat(beat.connections, beat.pages_per_s), HelperStanding)
        self.why_idle = one_line(answer.why_idle)
        return not answer.is_over

    async def close(self) -> None:
        try:
            with contextlib.suppress(GcsError, LateError):  # a gateway that is away finds out by itself
                await self._line.ask("bye", Ids(), Ids, patience_s=0.0)
        finally:
            await self._line.close()


class GatewayConnection:
    """The HTTP connection to a gateway."""

    def __init__(self, url: str, token: str, machine: str = "") -> None:
        self._url = url.rstrip("/")
        named = {MACHINE: machine} if machine else {}
        self._session = aiohttp.ClientSession(
            headers={"Authorization": f"Bearer {token}", "User-Agent": f"gcs/{__version__}", **named},
            timeout=aiohttp.ClientTimeout(total=None),
        )

    async def ask(
        self, verb: str, message: msgspec.Struct, wanted: type[T], wait_s: float = 0.0, patience_s: float = PATIENCE_S
    ) -> T:
        """The answer to a message. LateError: the errand is another's. GatewayError: no answer, or a refusal."""
        loop = asyncio.get_running_loop()
        body, deadline, told = msgspec.json.encode(message), loop.time() + patience_s, False
        while True:
            try:
                status, answer = await self._post(verb, body, ANSWER_S + wait_s)
                why = f"it answers {status}: {_detail(answer)}"
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                status, answer, why = 0, b"", one_line(str(error) or type(error).__name__)
            if status == 200:
                return self._understood(answer, wanted)
            if status == 409 and verb != "hello":
                raise LateError(verb)
            if status and status not in PASSING and status != 409:
                why = FINAL.get(status, f"{verb} was answered {status}")
                raise GatewayError(f"{self._url}: {why} ({_detail(answer)})")
            if not told and patience_s:
                told = True  # so that the user knows what is waited for
                events.info("waiting", gateway=self._url, reason=why, at_most_s=patience_s)
            if loop.time() + PAUSE_S > deadline:
                raise AwayError(f"{self._url}: the gateway is out of reach ({why}); is the station running?")
            await asyncio.sleep(PAUSE_S)

    def _understood(self, answer: bytes, wanted: type[T]) -> T:
        try:
            return msgspec.json.decode(answer, type=wanted)
        except (msgspec.DecodeError, UnicodeDecodeError, GcsError) as error:
            why = one_line(str(error))
            raise GatewayError(f"{self._url}: this is no gateway; give the address of a gcs station ({why})") from None

    async def close(self) -> None:
        await self._session.close()

    async def _post(self, verb: str, body: bytes, timeout_s: float) -> tuple[int, bytes]:
        headers = {"Content-Type": "application/json"}
        async with asyncio.timeout(timeout_s):
            async with self._session.post(
                f"{self._url}/gateway/{verb}", data=io.BytesIO(body), headers=headers, allow_redirects=False
            ) as answer:
                return answer.status, await answer.read()


async def open_gateway(url: str, token: str, means: Means, machine: str = "") -> GatewayErrands:
    """Errands from the gateway of a station; `machine` tells apart the machines that share a token."""
    if not _is_address(url):
        raise UsageError(f"--gateway {url}: give the address of a station, such as https://crawl.example.org")
    line = GatewayConnection(url, token, machine)
    try:
        welcome = await line.ask("hello", Greeting(means, f"gcs/{__version__}"), Welcome)
    except BaseException:
        await line.close()
        raise
    return GatewayErrands(line, welcome, means)


def _is_address(url: str) -> bool:
    """Whether this is an http(s) URL with a host."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and url.isprintable()
    except ValueError:
        return False


class _Refusal(msgspec.Struct):
    """The body of an answer with an error status."""

    detail: str


def _detail(answer: bytes) -> str:
    """The reason that a station gives for a refusal; the beginning of an answer that is not a station's."""
    try:
        return one_line(msgspec.json.decode(answer, type=_Refusal).detail)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return one_line(answer[:200].decode("utf-8", "replace"))


def claim_of(summary: SummaryTS) -> Claim:
    """A summary as a claim for the gateway, cut to its bounds; its links are absolute already."""
    page = summary.page
    same = {name: getattr(summary, name) for name in ANSWER} | {name: getattr(page, name) for name in PAGE}
    is_elsewhere = page.final_url not in ("", summary.url) and len(page.final_url) <= URL_LENGTH
    return Claim(
        id=summary.id,
        message=summary.message[:LINE_LENGTH],
        title=page.title[:LINE_LENGTH],
        description=page.description[:LINE_LENGTH],
        reason=summary.reason[:REASON],
        headers=[(name[:NAME], value[:VALUE]) for name, value in summary.headers[:FIELDS]],
        canonical=page.final_url if is_elsewhere else None,
        hrefs=[url for url in page.outlinks if len(url) <= URL_LENGTH][:MOST_LINKS],
        text=page.text[:TEXT_LENGTH],
        markdown=page.markdown[:TEXT_LENGTH],
        request_head=base64.b64encode(summary.request_head).decode(),
        body=base64.b64encode(summary.body).decode(),
        rendered=base64.b64encode(summary.rendered).decode(),
        **same,
    )
