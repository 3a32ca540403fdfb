"""Consent: what the charter of a crawl may ask of a machine only if its owner agrees.

A charter comes from the whiteboard. Without consent, whoever can write there could have a gatherer import code, read
its files or its network, and send its pages elsewhere. The owner agrees on the command line of the gatherer
(`--allow order=mymodule:score`, or `--allow order` for any) or in GCS_ALLOW; `gcs crawl` agrees for the gatherers that
it starts, to what its own settings say. Built-in orders and the crawl directory need no consent.
"""

from collections.abc import Callable, Collection, Iterable, Sequence

import click

from gcs.core.ordering import ORDERS
from gcs.core.url.sources import is_below
from gcs.errors import ConsentError, UsageError
from gcs.settings import Settings

VARIABLE = "GCS_ALLOW"
#: characters of a value that an error shows
SHOWN = 200


def order_of(settings: Settings) -> str:
    """The order by which the team works: the gatherers' own, or the seed-server's."""
    by_server = settings.team.coordination == "seed-server"
    return settings.seed_server.order if by_server else settings.crawl.order


#: what needs consent → what it does to the machine, and the values that the settings ask for
NEEDS: dict[str, tuple[str, Callable[[Settings], Iterable[str]]]] = {
    "order": ("import code", lambda settings: [order_of(settings)] if order_of(settings) not in ORDERS else []),
    "plugins": ("import code", lambda settings: settings.crawl.plugins),
    "store": ("send its pages elsewhere", lambda settings: filter(None, [settings.store.url])),
    "sources": ("read files, databases or news", lambda settings: settings.fetch.sources),
    "private": ("fetch from its own network", lambda settings: ["yes"] if settings.fetch.allow_private else []),
    "proxy": ("fetch through a proxy", lambda settings: filter(None, [settings.fetch.proxy])),
    "signature": ("sign requests with its key", lambda settings: filter(None, [settings.fetch.signature_agent])),
    "ca_file": ("trust other certificates", lambda settings: filter(None, [settings.fetch.ca_file])),
}

allow_option = click.option(
    "--allow", multiple=True, envvar=VARIABLE, metavar="WHAT[=VALUE]",
    help="Let the crawl use this machine for it, or for this value only: order, plugins (your own code), store,"
    " sources, private (addresses), proxy, signature, ca_file. Repeat for several. [nothing]",
)  # fmt: skip


def check(settings: Settings, allowed: Sequence[str], used: Collection[str] = NEEDS) -> None:
    """Refuse settings that ask for more than the owner of this machine allows, of what the process uses."""
    for each in allowed:
        name = each.partition("=")[0]
        if name not in NEEDS:
            raise UsageError(f"--allow {name}: there is no such thing to allow; there are {', '.join(NEEDS)}")
    for name in used:
        deed, values = NEEDS[name]
        for value in values(settings):
            if not any(_covers(each, name, value) for each in allowed):
                shown = f"{name}={value}"[:SHOWN] if name != "private" and "@" not in value else name
                raise ConsentError(
                    f"the crawl asks this machine to {deed} ({shown}), which its owner has not allowed: to allow it, "
                    f"add --allow {shown}, or set {VARIABLE}"
                )


def all_of(settings: Settings) -> str:
    """Consent to exactly what these settings ask for, as GCS_ALLOW has it."""
    return " ".join(
        name if name == "private" else f"{name}={value}"
        for name, (_, values) in NEEDS.items()
        for value in values(settings)
    )


def _covers(allowed: str, name: str, value: str) -> bool:
    """Whether what is allowed covers this value; a folder covers what lies below it."""
    what, has_value, limit = allowed.partition("=")
    if what != name or not has_value:
        return what == name
    return value == limit or (name == "sources" and is_below(value, limit))
