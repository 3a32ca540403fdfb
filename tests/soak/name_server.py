"""The names of a soak test's web: a DNS server on loopback that gives each host an address of its own.

`h17.DOMAIN` has an address in 127.64.0.0/10; a host that has none, or is no host, does not exist (NXDOMAIN). It can be
told to fail for a while. `use_in_this_process` makes a process and its children ask this server, by a mount namespace
of their own: the machine's /etc/resolv.conf stays as it is.
"""

import asyncio
import ctypes
import os
import struct
from collections import Counter
from collections.abc import Callable
from pathlib import Path

_NXDOMAIN, _SERVFAIL = 3, 2
_TYPE_A = 1
_TTL_S = 300
_CLONE_NEWNS, _MS_REC, _MS_PRIVATE, _MS_BIND = 0x20000, 0x4000, 1 << 18, 4096


class NameServer(asyncio.DatagramProtocol):
    """Answers questions for addresses."""

    def __init__(self, domain: str, is_there: Callable[[int], bool], counts: Counter[str]) -> None:
        self._suffix = b"".join(bytes([len(label)]) + label.encode() for label in domain.split(".")) + b"\0"
        self._is_there, self._counts = is_there, counts
        self.fails = False

    async def start(self) -> str:
        """Listen on a free address of loopback, at the port of DNS; its address."""
        loop = asyncio.get_running_loop()
        for last in range(1, 255):
            address = f"127.53.53.{last}"
            try:
                await loop.create_datagram_endpoint(lambda: self, (address, 53))
            except OSError:
                continue
            return address
        raise OSError("no address of 127.53.53.0/24 has a free port 53 (root is needed)")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self._counts["names_asked"] += 1
        self._transport.sendto(self.reply(data), addr)  # type: ignore[attr-defined]

    def close(self) -> None:
        self._transport.close()

    def reply(self, data: bytes) -> bytes:
        """The answer to a question."""
        first = data[13 : 13 + data[12]]
        end = data.find(b"\0", 12) + 1
        question = data[12 : end + 4]
        kind = struct.unpack(">H", question[-4:-2])[0]
        host = int(first[1:]) if first[:1] == b"h" and first[1:].isdigit() and len(first) < 10 else -1
        is_there = host >= 0 and question[1 + len(first) : -4].lower() == self._suffix and self._is_there(host)
        status = _SERVFAIL if self.fails else 0 if is_there else _NXDOMAIN
        address = b""
        if not status and kind == _TYPE_A:
            place = bytes([127, 64 + (host >> 16 & 63), host >> 8 & 255, host & 255])
            address = b"\xc0\x0c" + struct.pack(">HHIH", _TYPE_A, 1, _TTL_S, 4) + place
        return data[:2] + struct.pack(">HHHHH", 0x8580 | status, 1, bool(address), 0, 0) + question + address


def use_in_this_process(address: str, folder: Path) -> None:
    """From now on this process and its children ask this name server, and no other. Takes root."""
    conf = folder / "resolv.conf"
    conf.write_text(f"nameserver {address}\noptions timeout:1 attempts:2\n")
    libc = ctypes.CDLL(None, use_errno=True)

    def call(name: str, *arguments: object) -> None:
        if getattr(libc, name)(*arguments):
            code = ctypes.get_errno()
            raise OSError(code, f"{name}: {os.strerror(code)}")

    call("unshare", _CLONE_NEWNS)
    call("mount", b"none", b"/", None, _MS_REC | _MS_PRIVATE, None)
    call("mount", os.fsencode(conf), b"/etc/resolv.conf", None, _MS_BIND, None)
