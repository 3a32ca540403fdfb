"""What the fake web saw: every request, for assertions.

The server writes it, tests read it, in the same process or as JSON through `/__log`. It reads no clock:
times are given, in seconds on one monotonic clock of the server.

Invariant: gaps are between *starts* of requests, robots.txt included: when their bytes came, not when a busy server
read them. A crawler that counts its delay from the end of the last answer can therefore never appear too fast.
"""

import msgspec

#: distinct header blocks that are kept; conditional requests make many
_HEADS_KEPT = 1_000


class HostLog(msgspec.Struct):
    """The requests to one host."""

    requests: int = 0
    last_start_s: float = 0.0
    #: least time between two starts; None before the second request
    min_gap_s: float | None = None
    in_flight: int = 0
    max_in_flight: int = 0


class RequestLog(msgspec.Struct):
    """All requests since the start or the last reset."""

    #: URL → start of every request for it
    hits: dict[str, list[float]] = msgspec.field(default_factory=dict)
    #: address → its figures
    hosts: dict[str, HostLog] = msgspec.field(default_factory=dict)
    #: requests for URLs that robots.txt refuses, in order
    forbidden: list[str] = msgspec.field(default_factory=list)
    #: status → answers; 0 counts the ones without a status (resets, garbage)
    statuses: dict[int, int] = msgspec.field(default_factory=dict)
    #: header block, without the request line → how often it came
    heads: dict[str, int] = msgspec.field(default_factory=dict)
    #: bytes of answers, heads included
    sent_bytes: int = 0
    requests: int = 0
    connections: int = 0

    def start(self, address: str, url: str, at_s: float, *, is_allowed: bool, headers: bytes) -> None:
        """Notes a request whose head has arrived, and when."""
        self.requests += 1
        self.hits.setdefault(url, []).append(at_s)
        if not is_allowed:
            self.forbidden.append(url)
        host = self.hosts.get(address)
        if host is None:
            host = self.hosts[address] = HostLog()
        else:
            gap_s = abs(at_s - host.last_start_s)  # a busy server may read the later one first
            host.min_gap_s = gap_s if host.min_gap_s is None else min(host.min_gap_s, gap_s)
        host.last_start_s = max(host.last_start_s, at_s)
        host.requests += 1
        host.in_flight += 1
        host.max_in_flight = max(host.max_in_flight, host.in_flight)
        block = headers.decode("latin-1")
        if block in self.heads or len(self.heads) < _HEADS_KEPT:
            self.heads[block] = self.heads.get(block, 0) + 1

    def end(self, address: str, status: int, sent_bytes: int) -> None:
        """Notes that the answer is out, or that the client went away."""
        host = self.hosts.get(address)
        if host is not None and host.in_flight:  # not one that a reset forgot
            host.in_flight -= 1
        self.statuses[status] = self.statuses.get(status, 0) + 1
        self.sent_bytes += sent_bytes

    def repeated(self) -> dict[str, int]:
        """URLs that were asked for more than once, with the number of times."""
        return {url: len(times) for url, times in self.hits.items() if len(times) > 1}

    def header_values(self, name: str) -> set[str]:
        """All values that a request header was seen with."""
        start = name.lower() + ":"
        lines = (line for block in self.heads for line in block.split("\r\n"))
        return {line[len(start) :].strip() for line in lines if line.lower().startswith(start)}
