"""The mutable side of a served fake web: the log, the tries of flaky URLs, the prepared answers.

One per server; its connections share it. Filled by connections, emptied by `reset` (log and tries) and
by age (prepared answers, bounded in bytes).
"""

import dataclasses
from collections import Counter
from typing import NamedTuple

import msgspec

from gcs.fakeweb import PagePlan, RequestLog, Site, Web

#: bytes of prepared answers to keep; hot pages and small webs then cost no rendering
_CACHE_BYTES = 128 << 20


class Prepared(NamedTuple):
    """An answer, ready to send."""

    plan: PagePlan
    raw: bytes
    is_allowed: bool


class Service:
    """What all connections of one server share."""

    def __init__(self, web: Web) -> None:
        self.web = web
        self.log = RequestLog()
        self.tries: Counter[str] = Counter()
        self._prepared: dict[tuple[str, bytes], Prepared] = {}
        self._prepared_bytes = 0

    def prepare(self, site: Site, path: str, accepts: bytes) -> Prepared:
        """The answer to a path of a site for a client that accepts these content codings."""
        key = (site.origin + path, accepts)
        found = self._prepared.get(key)
        if found is not None:
            return found
        plan = self.web.plan_at(site, path)
        raw = self.web.answer(plan, accepts)
        # without its links, which are in the bytes now: thousands of them would burden the garbage collector
        found = Prepared(msgspec.structs.replace(plan, links=()), raw, site.allows(path))
        self._prepared[key] = found
        self._prepared_bytes += len(found.raw)
        while self._prepared_bytes > _CACHE_BYTES:
            self._prepared_bytes -= len(self._prepared.pop(next(iter(self._prepared))).raw)
        return found

    def reset(self) -> None:
        """Forgets what was requested."""
        self.log = RequestLog()
        self.tries.clear()

    def set_session(self, session: int) -> None:
        """The same web at the same port, at a later (or earlier) time."""
        self.web = Web(dataclasses.replace(self.web.spec, session=session), self.web.port)
        self._prepared.clear()
        self._prepared_bytes = 0
