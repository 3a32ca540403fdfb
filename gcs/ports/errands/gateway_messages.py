"""The messages of the gateway besides claims: what a helper sends, and what it is answered. All are JSON."""

import dataclasses
from typing import Annotated

import msgspec
from msgspec import Meta

from gcs.core.helpers.claims import Errand
from gcs.core.messages.tuples import Means
from gcs.ports.errands import HelperTerms

#: the header in which a helper says which machine it is, of those that share its token
MACHINE = "X-GCS-Machine"


class Greeting(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """hello: what the helper can do."""

    means: Means = Means.PLAIN
    #: the program of the helper, for the log
    agent: Annotated[str, Meta(max_length=200)] = ""


class Welcome(msgspec.Struct, frozen=True):
    """The answer to hello: the name of the helper, and how the crawl fetches and reads."""

    helper: str
    place: str
    trusted: bool
    terms: HelperTerms


class Wanted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """take: how many errands, and how long to wait for the first."""

    limit: Annotated[int, Meta(ge=1, le=64)] = 1
    timeout_s: Annotated[float, Meta(ge=0, le=60)] = 0.0


class Errands(msgspec.Struct, frozen=True):
    """The errands that were taken."""

    errands: list[Errand]


class Ids(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The errands that a request is about, by their ids."""

    ids: Annotated[list[Annotated[str, Meta(max_length=512)]], Meta(max_length=256)] = []


class Beat(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """beat: how many errands it does at once; 0 while it rests."""

    connections: Annotated[int, Meta(ge=0, le=10_000)] = 1
    pages_per_s: Annotated[float, Meta(ge=0, le=1e6)] = 0.0


class HelperStanding(msgspec.Struct, frozen=True):
    """The answer to beat: the errands that the helper holds, and whether the crawl is over."""

    held: list[str]
    is_over: bool = False
    #: why there is nothing to do for the helper; "" if there is something, or that is not known
    why_idle: str = ""


def public_terms(terms: HelperTerms, trusted: bool) -> HelperTerms:
    """The terms for a helper; what a stranger must not know (headers may hold passwords) is left out."""
    if trusted:
        return terms
    return dataclasses.replace(terms, fetch=dataclasses.replace(terms.fetch, headers=(), from_address=""))
