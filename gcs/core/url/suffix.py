"""Public suffixes and registered domains: which hosts belong to one owner.

By the rules of publicsuffix.org, as the `publicsuffixlist` package ships them (private section included:
`a.github.io` and `b.github.io` are two owners). Hosts are those of canonical URLs: lower case, ASCII.

Invariant: registered_domain(h) is h or a tail of h that begins at a label, and so is public_suffix(h).
The list is read when the first name is asked for, and only then: half the commands never need it.
"""

from contextlib import suppress
from functools import cache, lru_cache
from typing import Protocol


class _List(Protocol):
    def publicsuffix(self, domain: str) -> str | None: ...


@lru_cache(maxsize=16384)
def public_suffix(host: str) -> str:
    """The suffix under which anyone may register a name; an address is its own."""
    if host[:1] == "[" or host[host.rfind(".") + 1 :].isdigit():
        return host
    # the list spells foreign scripts in Unicode: decode a few hosts rather than encode the whole list
    labels = host.split(".")
    suffix = _list().publicsuffix(".".join(map(_decoded, labels)) if "xn--" in host else host)
    return host if suffix is None else ".".join(labels[-(suffix.count(".") + 1) :])


@lru_cache(maxsize=16384)
def registered_domain(host: str) -> str:
    """The public suffix and the label before it; a host that is no longer than its suffix is its own domain."""
    suffix = public_suffix(host)
    labels = host.removesuffix(suffix).split(".")  # ends with an empty label where there is more than the suffix
    return host if len(labels) < 2 else f"{labels[-2]}.{suffix}"


def _decoded(label: str) -> str:
    if label.startswith("xn--"):
        with suppress(UnicodeError):  # then it is a name, but none that the list could hold
            return label[4:].encode().decode("punycode")
    return label


@cache
def _list() -> _List:
    # imported here because it is slow to load (see above)
    from publicsuffixlist import PublicSuffixList

    rules: _List = PublicSuffixList(accept_encoded_idn=False)
    return rules
