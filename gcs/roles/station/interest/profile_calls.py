"""The calls about profiles: list, add, remove, and what they matched.

Whoever has the role to add a profile need not own the machine. So the receivers that are named here are webhooks at
public addresses, and these are checked again each time one is connected to (`push/webhook.py`). Receivers that the
owner has added on the command line stay, and their addresses are not shown.
"""

import asyncio
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from gcs.core.watch.profile import Profile
from gcs.core.watch.push_target import PUBLIC_WEBHOOK, PushTarget
from gcs.core.watch.signature import SECRET_BYTES, make_secret
from gcs.ports.records.follower import log_ends
from gcs.ports.watch import watch_file
from gcs.ports.watch.watch_store import WatchStore
from gcs.roles.station.http.endpoint import CrawlCall, Endpoint
from gcs.roles.station.interest.interest_schemas import (
    AddedProfile,
    FoundMatch,
    FoundMatches,
    MatchesQuery,
    NewProfile,
    ProfileList,
    ProfileName,
    ProfileRow,
    ReceiverRow,
)
from gcs.roles.station.interest.search_calls import SearchCalls, place_of
from gcs.roles.station.view.schemas import Accepted

T = TypeVar("T")


def interest_endpoints(on_add: Callable[[Path], object] = lambda _: None) -> list[Endpoint]:
    """The calls of search and of profiles."""
    return [*SearchCalls().endpoints(), *ProfileCalls(on_add).endpoints()]


class ProfileCalls:
    """`on_add` is called with the crawl directory when a profile was added: somebody has to watch it."""

    def __init__(self, on_add: Callable[[Path], object]) -> None:
        self._on_add = on_add

    def endpoints(self) -> list[Endpoint]:
        matches = "The newest matches of a profile, or of all"
        return [
            Endpoint("GET", "profiles", "What people wait for, and where it goes", ProfileList, _profiles),
            Endpoint("GET", "matches", matches, FoundMatches, _matches, MatchesQuery),
            Endpoint("POST", "profiles", "Add a profile, or change it", AddedProfile, self._add, NewProfile),
            Endpoint("POST", "profiles/remove", "Remove a profile, with its matches", Accepted, _remove, ProfileName),
        ]

    async def _add(self, call: CrawlCall, given: NewProfile) -> AddedProfile:
        place = place_of(call)
        made = Profile(given.name, given.query, tuple(dict.fromkeys(given.on)), given.least_words, given.with_diff)
        made.check()
        targets = [PushTarget.public_webhook(address.strip()) for address in given.webhooks]
        secret = make_secret(secrets.token_bytes(SECRET_BYTES)) if targets else ""
        await asyncio.to_thread(_store, place, made, targets, secret)
        self._on_add(place)
        return AddedProfile(made.name, secret)


def _store(place: Path, made: Profile, targets: list[PushTarget], secret: str) -> None:
    with WatchStore(place) as store:
        store.begin(log_ends(place))
        kept = [each.target for each in store.targets() if each.profile == made.name]
        owners = [(target, "") for target in kept if target.kind != PUBLIC_WEBHOOK]
        store.add(made, [*owners, *((target, secret) for target in targets)])


async def _remove(call: CrawlCall, given: ProfileName) -> Accepted:
    await asyncio.to_thread(_read, place_of(call), lambda store: store.remove(given.name), None)
    return Accepted("removed")


async def _profiles(call: CrawlCall, _: None) -> ProfileList:
    return ProfileList(await asyncio.to_thread(_read, place_of(call), _rows, []))


def _rows(store: WatchStore) -> list[ProfileRow]:
    receivers: dict[str, list[ReceiverRow]] = {}
    for each in store.targets():
        row = ReceiverRow(each.target.shown, each.target.kind, each.waiting, each.failures, each.problem)
        receivers.setdefault(each.profile, []).append(row)
    return [
        ProfileRow(each.name, each.query, list(each.on), each.least_words, each.with_diff, receivers.get(each.name, []))
        for each in store.profiles()
    ]


async def _matches(call: CrawlCall, query: MatchesQuery) -> FoundMatches:
    def read(store: WatchStore) -> list[FoundMatch]:
        found = store.matches(query.profile or None, most=query.most, newest=True)
        return [FoundMatch(each.seq, each.at, each.match) for each in found]

    return FoundMatches(await asyncio.to_thread(_read, place_of(call), read, []))


def _read(place: Path, read: Callable[[WatchStore], T], otherwise: T) -> T:
    """What is kept of the profiles; `otherwise`, if nobody has added one yet."""
    if not watch_file(place).exists():
        return otherwise
    with WatchStore(place) as store:
        return read(store)
