"""The gateway: for helpers that cannot, or must not, reach the whiteboard. They need HTTP and a token.

    hello   who am I, and how does the crawl fetch          take     errands under a lease
    beat    I am here, and do so many at once               put      the summary of an errand
    bye     I am gone                                       extend, return

A token of the role helper opens the gateway and nothing else. A helper is not trusted: an errand must be on the lease
of the token that names it, sizes and form are checked before anything is kept, and links are made canonical here
(`core.helpers.claims`). Whether a claim is true is for its gatherer to find out (`core.helpers.trust`).

Invariant: whatever a helper sends, the whiteboard gets a summary only of an errand on that helper's lease, once (again
only if the whiteboard failed in between, which does no harm). A request that no honest helper makes is a strike. After
some strikes the helper is cut off: its token opens nothing any more, and its errands go to others. Every refusal is
logged with the helper's name. Machines that share a token (they name themselves in a header) come and go one by one;
trust, strikes and credit belong to the token.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from aiohttp import web

from gcs.core.helpers.access import Role, helper_name, machine_name, token_id
from gcs.core.helpers.claims import Claim, Errand, summary_of
from gcs.core.helpers.idleness import why_idle
from gcs.core.helpers.pools import BEAT_S, BEAT_TTL_S, pool
from gcs.core.helpers.trust import TrustSettings
from gcs.core.messages.template import template
from gcs.core.messages.tuples import Access, Charter, Control, CrawlState, CutOff, HelperBeat, Means, Member, UrlTS
from gcs.core.url.join import Joiner
from gcs.errors import SettingsError
from gcs.events import Events
from gcs.ports.errands import HelperTerms
from gcs.ports.errands import gateway_messages as messages
from gcs.ports.space.port import Space
from gcs.ports.system.tasks import repeat
from gcs.roles.station.http.auth import KEY, needs
from gcs.roles.station.http.problems import problem
from gcs.roles.station.leases import MOST, Credit, GatewayHelper, Lease
from gcs.settings import of_charter, terms

#: longest wait for errands, and the part of a lease that it may take
WAIT_S, WAIT = 20.0, 0.2
#: seconds between two checks of leases and of helpers that were cut off
TEND_S = 0.5
#: most bytes of a request that is not a put, and of a put without the body of its page
SMALL_BYTES, PUT_BYTES = 64 << 10, 8 << 20
#: seconds without a request after which a helper counts as gone at the end, and between two checks for helpers then
SILENT_S, FAREWELL_S = 3 * BEAT_S, 0.1
#: seconds without a request after which a helper that holds nothing is forgotten
GONE_S = 60.0
#: leases after the start in which unknown errands are no strike: an earlier station may have lent them
GRACE_LEASES = 4.0

events = Events("gateway")

Answer = msgspec.Struct | web.Response
#: the message of a verb, and its handler
Verb = tuple[type[msgspec.Struct], Callable[[GatewayHelper, Any], Awaitable[Answer]]]


class RefusedError(Exception):
    """A request is refused. `strike`: no honest helper makes such a request."""

    def __init__(self, status: int, why: str, *, strike: bool = False) -> None:
        super().__init__(why)
        self.status, self.strike = status, strike


class Gateway:
    """Lends the errands of one crawl to helpers, over HTTP."""

    def __init__(self, space: Space, clock: Callable[[], float] = time.monotonic) -> None:
        self._space, self._clock = space, clock
        self._opened_at = clock()
        self._helpers: dict[str, GatewayHelper] = {}  # by machine
        self._credits: dict[str, Credit] = {}  # by token
        self._cut_off: dict[str, str] = {}  # helper → why; read from the board
        self._charter: Charter | None = None
        #: the last one that could not be read; the one before stays in force
        self._unreadable: Charter | None = None
        self._terms, self._trust, self._joiner = HelperTerms(), TrustSettings(), Joiner()

    def routes(self) -> list[web.RouteDef]:
        verbs: dict[str, Verb] = {
            "hello": (messages.Greeting, self._hello),
            "take": (messages.Wanted, self._take),
            "put": (Claim, self._put),
            "extend": (messages.Ids, self._extend),
            "return": (messages.Ids, self._return),
            "beat": (messages.Beat, self._beat),
            "bye": (messages.Ids, self._bye),
        }
        return [web.post(f"/gateway/{name}", self._guarded(name, verb)) for name, verb in verbs.items()]

    async def run(self) -> None:
        """Tend until cancelled: whatever fails, leases must end."""
        await repeat(self.tend, TEND_S, events, "tending-failed")

    async def tend(self) -> None:
        """Give back errands whose leases ended; read from the board who is cut off, and the crawl's settings."""
        for helper in list(self._helpers.values()):  # helpers come and go during the awaits
            if ended := helper.lapse(self._clock()):
                events.info("lapsed", helper=helper.name, errands=len(ended), quota=int(helper.credit.quota))
                await self._space.release([lease.taken for lease in ended])
        self._helpers = {
            name: helper for name, helper in self._helpers.items() if helper.held or self._silent_s(helper) <= GONE_S
        }
        for note in await self._space.scan(template(CutOff)):
            if note.helper not in self._cut_off:
                self._cut_off[note.helper] = note.reason
                await self._let_go_all(note.helper)
        await self._read_charter()

    async def farewell(self) -> None:
        """If the crawl is over: wait until all helpers have heard of it and said goodbye, except for silent ones."""
        while await self._is_over():
            if all(self._silent_s(helper) > SILENT_S for helper in self._helpers.values()):
                return
            await asyncio.sleep(FAREWELL_S)

    # -- requests --------------------------------------------------------------------------------------

    def _guarded(self, name: str, verb: Verb) -> Callable[[web.Request], Awaitable[web.Response]]:
        """A handler with a limit of bytes, which logs and counts refusals."""
        message, handle = verb

        @needs(Role.HELPER)
        async def handler(request: web.Request) -> web.Response:
            helper = self._helper(request[KEY], request.headers.get(messages.MACHINE, ""))
            if helper is None:
                return problem(429, f"a token is for {MOST} machines: make another one", {"Retry-After": "60"})
            try:
                self._check(helper)
                body = await self._read(request, name)
                answer = await handle(helper, msgspec.json.decode(body, type=message))
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                return await self._refuse(helper, name, RefusedError(422, str(error), strike=True))
            except RefusedError as refusal:
                return await self._refuse(helper, name, refusal)
            if isinstance(answer, web.Response):
                return answer
            return web.Response(body=msgspec.json.encode(answer), content_type="application/json")

        return handler

    async def _read(self, request: web.Request, verb: str) -> bytes:
        limit = SMALL_BYTES
        if verb == "put":
            limit = PUT_BYTES + self._terms.fetch.max_body_bytes * 2 * 4 // 3  # in base64: as sent, and as rendered
        body = bytearray()
        async for chunk in request.content.iter_chunked(1 << 16):
            body += chunk
            if len(body) > limit:
                raise RefusedError(413, f"more than {limit} bytes", strike=True)
        return bytes(body)

    async def _refuse(self, helper: GatewayHelper, verb: str, refusal: RefusedError) -> web.Response:
        events.warning("refused", helper=helper.name, verb=verb, status=refusal.status, reason=str(refusal))
        if refusal.strike:
            credit = helper.credit
            credit.strikes += 1
            if credit.strikes >= self._trust.strikes and credit.holder not in self._cut_off:
                await self.cut_off(credit.holder, f"{credit.strikes} requests that no honest helper makes: {refusal}")
        return problem(refusal.status, str(refusal))

    async def cut_off(self, holder: str, reason: str) -> None:
        """Refuse all requests with this token from now on."""
        events.error("cut-off", helper=holder, reason=reason)
        self._cut_off[holder] = reason
        await self._space.out(CutOff(holder, reason, self._space.name, time.time()))
        await self._space.remove(template(Access, id=token_id(holder)))
        await self._let_go_all(holder)

    def _check(self, helper: GatewayHelper) -> None:
        if reason := self._cut_off.get(helper.credit.holder):
            raise RefusedError(403, f"cut off: {reason}")

    async def _let_go_all(self, holder: str) -> None:
        for name in [name for name, helper in self._helpers.items() if helper.credit.holder == holder]:
            await self._let_go(name)

    async def _let_go(self, name: str) -> None:
        helper = self._helpers.pop(name, None)
        if helper:
            leases = [lease for errand in list(helper.held) if (lease := helper.let_go(errand))]
            await self._space.release([lease.taken for lease in leases])
            await self._space.take(template(HelperBeat, helper=name))

    def _helper(self, key: Access, machine: str) -> GatewayHelper | None:
        """The helper that sent a request; None if its token has too many machines."""
        holder, name = helper_name(key), machine_name(key, machine)
        found = self._helpers.get(name)
        if found is None:
            credit = self._credits.setdefault(holder, Credit(holder))
            if sum(helper.credit is credit for helper in self._helpers.values()) >= MOST:
                return None
            found = self._helpers[name] = GatewayHelper(name, credit, key.place, key.trusted, time.time())
        found.heard_at = self._clock()
        return found

    def _silent_s(self, helper: GatewayHelper) -> float:
        return self._clock() - helper.heard_at

    # -- verbs -----------------------------------------------------------------------------------------

    async def _hello(self, helper: GatewayHelper, greeting: messages.Greeting) -> Answer:
        if greeting.means is Means.BROWSER and not helper.trusted:
            raise RefusedError(403, "what a browser renders cannot be checked: this token must be a --trusted one")
        await self._read_charter()
        if self._charter is None:
            raise RefusedError(409, "there is no crawl yet: come again")
        helper.means = greeting.means
        events.info("hello", helper=helper.name, place=helper.place, means=helper.means, agent=greeting.agent)
        told = messages.public_terms(self._terms, helper.trusted)
        return messages.Welcome(helper.name, helper.place, helper.trusted, told)

    async def _take(self, helper: GatewayHelper, wanted: messages.Wanted) -> Answer:
        credit, lease_s = helper.credit, self._terms.lease_s
        room = credit.room(wanted.limit)
        timeout_s = min(wanted.timeout_s, WAIT_S, WAIT * lease_s)
        if not room:
            await asyncio.sleep(min(timeout_s, TEND_S))
            return messages.Errands([])
        began = self._clock()
        credit.used += room
        try:
            taken = await self._space.take_many(
                [template(UrlTS)], at=pool(helper.place, helper.means), limit=room, timeout_s=timeout_s, lease_s=lease_s
            )
        finally:
            credit.used -= room
        if self._helpers.get(helper.name) is not helper:  # the helper said goodbye meanwhile, or was cut off
            await self._space.release(taken)
            self._check(helper)
            return messages.Errands([])
        helper.lease({each.item.id: Lease(each, began + lease_s) for each in taken})
        return messages.Errands([Errand.of(each.item) for each in taken])

    async def _put(self, helper: GatewayHelper, claim: Claim) -> Answer:
        lease = self._lease(helper, claim.id)
        try:
            summary = summary_of(
                *(claim, lease.taken.item, helper.credit.holder),
                trusted=helper.trusted,
                joiner=self._joiner,
                text=self._terms.summary.depth != "links",
                heed=self._terms.nofollow,
                now=time.time(),
            )
        except ValueError as error:
            raise RefusedError(422, str(error), strike=True) from None
        helper.let_go(claim.id)  # before any await: a claim is put once
        is_done = False
        try:
            receipt = await self._space.out(summary, to=summary.gatherer)
            if receipt.full:
                return problem(503, "the gatherer's inbox is full: put it again in a moment", {"Retry-After": "1"})
            await self._space.ack([lease.taken])
            is_done = True
        finally:  # if the whiteboard failed, the helper keeps the lease and puts again
            if not is_done and self._helpers.get(helper.name) is helper:
                helper.lease({claim.id: lease})
        helper.credit.past.append(claim.id)
        if summary.status:
            helper.add_page(summary.size_bytes)
        return messages.Ids([claim.id])

    async def _extend(self, helper: GatewayHelper, asked: messages.Ids) -> Answer:
        leases = [helper.held[errand] for errand in asked.ids if errand in helper.held]
        began = self._clock()
        still = {each.item.id for each in await self._space.renew([lease.taken for lease in leases])}
        for lease in leases:
            errand = lease.taken.item.id
            if errand in still:
                lease.until = began + self._terms.lease_s
            else:
                helper.let_go(errand)
        return messages.Ids(sorted(still))

    async def _return(self, helper: GatewayHelper, asked: messages.Ids) -> Answer:
        leases = [lease for errand in asked.ids if (lease := helper.let_go(errand))]
        await self._space.release([lease.taken for lease in leases])
        return messages.Ids([lease.taken.item.id for lease in leases])

    async def _beat(self, helper: GatewayHelper, beat: messages.Beat) -> Answer:
        helper.connections = beat.connections
        fellows = [each for each in self._helpers.values() if each.credit is helper.credit]
        wished = sum(each.connections for each in fellows if self._silent_s(each) < BEAT_TTL_S)
        able = min(beat.connections, math.ceil(int(helper.credit.quota) * beat.connections / max(wished, 1)))
        figures = (helper.pages, helper.bytes, beat.pages_per_s, helper.since)
        await self._space.out(HelperBeat(helper.name, helper.place, helper.means, able, *figures), ttl_s=BEAT_TTL_S)
        return messages.HelperStanding(list(helper.held), await self._is_over(), await self._why_idle(helper, beat))

    async def _bye(self, helper: GatewayHelper, _: messages.Ids) -> Answer:
        await self._let_go(helper.name)
        events.info("bye", helper=helper.name, pages=helper.pages)
        return messages.Ids([])

    def _lease(self, helper: GatewayHelper, errand: str) -> Lease:
        lease = helper.held.get(errand)
        if lease and self._clock() < lease.until:
            return lease
        if lease or errand in helper.credit.past:
            raise RefusedError(409, "this errand is yours no longer: it was put before, or its lease has ended")
        is_new_here = self._clock() < self._opened_at + GRACE_LEASES * self._terms.lease_s
        raise RefusedError(409, "this errand is not on your lease", strike=not is_new_here)

    async def _why_idle(self, helper: GatewayHelper, beat: messages.Beat) -> str:
        if helper.held or beat.pages_per_s:
            return ""
        members, control = await self._space.scan(template(Member)), await self._space.read(template(Control))
        return why_idle(members, control, helper.place, helper.means)

    async def _is_over(self) -> bool:
        control = await self._space.read(template(Control))
        return control is not None and control.state in (CrawlState.DONE, CrawlState.STOPPING)

    async def _read_charter(self) -> None:
        charter = await self._space.read(template(Charter))
        if charter is None or charter in (self._charter, self._unreadable):
            return
        try:
            settings = of_charter(charter.settings)
        except SettingsError as error:  # that is no fault of the helper's
            self._unreadable = charter
            events.warning("charter-refused", reason=str(error))
            return
        self._charter, self._terms, self._trust = charter, terms(settings), settings.trust
        self._joiner = Joiner(settings.urls)
