"""A gatherer's share of the pages that its team may store (`crawl.max_pages`); the leader hands shares out.

What a gatherer was granted and what it has given back only grow, within a session. Giving back is durable before it is
told: after a crash nobody may use what another was given meanwhile.

Invariant: `cap` is not above what the leader counts on, and stored pages are not above `cap`.
"""

import msgspec

from gcs.core.messages.tuples import PageAllowance
from gcs.ports.frontier import Frontier

NOTE = "page-share"


class _State(msgspec.Struct, array_like=True, frozen=True):
    session: int = 1
    granted: int = 0
    returned: int = 0


class PageShare:
    """What one gatherer may store in this session."""

    def __init__(self, frontier: Frontier, max_pages: int) -> None:
        self._frontier, self._is_limited = frontier, max_pages > 0
        packed = frontier.note(NOTE)
        self._state = msgspec.msgpack.decode(packed, type=_State) if packed else _State()
        #: as of the last commit: what the team is told
        self._told = self._state

    @property
    def cap(self) -> int | None:
        """The pages that may be stored in the session; None for no limit."""
        return self._state.granted - self._state.returned if self._is_limited else None

    @property
    def is_committed(self) -> bool:
        return self._told == self._state

    def take(self, allowance: PageAllowance | None, session: int) -> None:
        """What the leader has granted, and has noted as given back."""
        state = self._state if self._state.session == session else _State(session)
        if allowance is not None and allowance.session == session:
            granted, returned = max(state.granted, allowance.granted), max(state.returned, allowance.returned)
            state = _State(session, granted, returned)
        self._state = state

    def give_back(self, used: int) -> None:
        """All but so many pages: those that are stored or in flight."""
        if self._is_limited and self._state.granted - self._state.returned > used:
            self._state = msgspec.structs.replace(self._state, returned=self._state.granted - used)

    def is_noted(self, allowance: PageAllowance | None) -> bool:
        """Whether the leader knows what was given back: others can use it."""
        known = allowance.returned if allowance is not None and allowance.session == self._state.session else 0
        return known >= self._state.returned

    def before_commit(self) -> None:
        if self._is_limited:
            self._frontier.set_note(NOTE, msgspec.msgpack.encode(self._state))

    def after_commit(self) -> None:
        self._told = self._state

    def figures(self) -> dict[str, float]:
        """For the heartbeat. What was granted may be told at once: the leader knows it."""
        if not self._is_limited or self._told.session != self._state.session:
            return {}
        session, granted, returned = self._state.session, self._state.granted, self._told.returned
        return {"share_session": float(session), "granted": float(granted), "returned": float(returned)}
