"""The tuples of one type in one place, in memory: what the Lua scripts do to three Redis keys, as plain Python.

Pure but for being changed: the time is passed in, payloads are bytes.

Invariant: the same calls give the same answers as the scripts do (the contract suite runs on both).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from gcs.ports.space.port import DeadLetter, Flow, Numbered, Receipt


@dataclass(slots=True)
class InboxEntry:
    """One tuple and who holds it."""

    id: int
    payload: bytes
    sender: str = ""
    number: int = 0
    key: str = ""
    expires_at: float | None = None
    #: it was delivered at least once; a holder of "" means that it was released
    delivered: bool = False
    holder: str = ""
    held_since: float = 0.0
    deliveries: int = 0


@dataclass(slots=True)
class MemoryInbox:
    """Filled by `put` and `post`; emptied by `finish` and expiry."""

    kind: str
    entries: dict[int, InboxEntry] = field(default_factory=dict)
    size_bytes: int = 0
    sent: dict[str, int] = field(default_factory=dict)
    committed: dict[str, int] = field(default_factory=dict)
    #: numbers committed ahead of `committed`
    ahead: dict[str, set[int]] = field(default_factory=dict)
    last_id: int = 0

    def put(self, payloads: list[bytes], numbered: Numbered | None, limit: int, expires_at: float | None) -> Receipt:
        """Add payloads in order, as far as there is room, each number once."""
        sender = numbered.sender if numbered else ""
        sent = committed = 0
        if numbered:
            self._commit_up_to(sender, numbered.base - 1)
            committed = self.committed.get(sender, 0)
            sent = self.sent[sender] = max(self.sent.get(sender, 0), committed)
        accepted, full = 0, False
        for number, payload in enumerate(payloads, numbered.first if numbered else 1):
            if not numbered or number == sent + 1:
                if self.entries and self.size_bytes + len(payload) > limit:
                    full = True
                    break
                self._add(InboxEntry(0, payload, sender, number if numbered else 0, expires_at=expires_at))
                if numbered:
                    sent = self.sent[sender] = number
            elif number > sent + 1:
                break
            accepted += 1
        return Receipt(accepted, full=full, sent=sent, committed=committed)

    def post(self, key: str, payload: bytes, expires_at: float | None) -> None:
        """Put a posted tuple in place of the one with its key."""
        old = self.posted(key)
        if old is not None:
            self.finish(old.id)
        self._add(InboxEntry(0, payload, key=key, expires_at=expires_at))

    def posted(self, key: str) -> InboxEntry | None:
        return next((entry for entry in self.entries.values() if entry.key == key), None)

    def purge(self, now: float) -> None:
        """Drop what has expired."""
        for entry in list(self.entries.values()):
            if entry.expires_at is not None and entry.expires_at <= now:
                self.finish(entry.id)

    def own(self, taker: str) -> list[int]:
        """Ids of what this name holds."""
        return [entry.id for entry in self.entries.values() if entry.holder == taker]

    def lapsed(self, now: float, lease_s: float) -> Iterator[InboxEntry]:
        """What is held too long, or was released."""
        for entry in list(self.entries.values()):
            if entry.delivered and (not entry.holder or now - entry.held_since >= lease_s):
                yield entry

    def fresh(self) -> Iterator[InboxEntry]:
        """What was never delivered."""
        return (entry for entry in list(self.entries.values()) if not entry.delivered)

    def hold(self, entry: InboxEntry, taker: str, now: float) -> None:
        """Deliver it to a taker."""
        entry.delivered, entry.holder, entry.held_since = True, taker, now
        entry.deliveries += 1

    def finish(self, entry_id: int) -> bool:
        """Remove a tuple and book it; False if it was not there any more."""
        entry = self.entries.pop(entry_id, None)
        if entry is None:
            return False
        self.size_bytes -= len(entry.payload)
        if entry.number > self.committed.get(entry.sender, 0):
            self.ahead.setdefault(entry.sender, set()).add(entry.number)
            self._commit_up_to(entry.sender, self.committed.get(entry.sender, 0))
        return True

    def bury(self, entry: InboxEntry, reason: str, into: Callable[[DeadLetter], None]) -> None:
        """Move a tuple to the dead letters."""
        letter = (entry.sender, entry.number, entry.deliveries, entry.holder)
        if self.finish(entry.id):
            into(DeadLetter(str(entry.id), self.kind, reason, entry.payload, *letter))

    def flows(self) -> dict[str, Flow]:
        """What each sender has put and what of it is committed."""
        return {sender: Flow(sent, self.committed.get(sender, 0)) for sender, sent in self.sent.items()}

    def _add(self, entry: InboxEntry) -> None:
        self.last_id += 1
        entry.id = self.last_id
        self.entries[entry.id] = entry
        self.size_bytes += len(entry.payload)

    def _commit_up_to(self, sender: str, number: int) -> None:
        upto = max(number, self.committed.get(sender, 0))
        ahead = self.ahead.get(sender, set())
        while upto + 1 in ahead:
            upto += 1
        self.committed[sender] = upto
        self.ahead[sender] = {later for later in ahead if later > upto}
