"""`gcs profile`: what people want to hear of, and where it goes."""

import os
import secrets
import time
from pathlib import Path

import click
import msgspec

from gcs.app.say import say
from gcs.core.search.matching import matches
from gcs.core.search.query import parse, phrases
from gcs.core.search.snippet import snippet
from gcs.core.watch.atom import atom_feed
from gcs.core.watch.profile import CHANGED, EVENTS, NEW, Profile
from gcs.core.watch.push_target import WEBHOOK, PushTarget
from gcs.core.watch.signature import SECRET_BYTES, key_of, make_secret
from gcs.errors import UsageError
from gcs.ports.records.follower import log_ends
from gcs.ports.search.find_pages import searchables
from gcs.ports.watch import watch_file
from gcs.ports.watch.watch_store import WatchStore

#: environment variables of receivers, apart by spaces, and of the secret of webhooks: for what no command line may hold
PUSH_VARIABLE, SECRET_VARIABLE = "GCS_PUSH", "GCS_PUSH_SECRET"

directory_argument = click.argument("directory", type=click.Path(path_type=Path), metavar="DIR")


@click.group()
def profile() -> None:
    """Profiles: what people wait for, in the language of gcs search, and where it is pushed.

    They belong to a crawl directory. gcs crawl matches each page against them as it is stored, new or changed or gone.
    """


@profile.command()
@directory_argument
@click.argument("name")
@click.argument("query")
@click.option(
    "--on", "events", multiple=True, type=click.Choice(EVENTS), default=(NEW, CHANGED), show_default=True,
    help="What must have become of the page; can be given several times.",
)  # fmt: skip
@click.option(
    "--least-words", type=click.IntRange(min=0), default=0,
    help="Of a changed page: so many words at least have come or gone.",
)  # fmt: skip
@click.option("--diff", "with_diff", is_flag=True, help="With a changed page comes what has changed.")
@click.option(
    "--push", "addresses", multiple=True, metavar="URL",
    help="Receiver: https://… (a webhook), smtp://HOST/?to=NAME@HOST&every=SECONDS, redis://HOST/0?stream=NAME; "
    f"can be given several times. {PUSH_VARIABLE} holds receivers that no command line may show.",
)  # fmt: skip
def add(
    directory: Path,
    name: str,
    query: str,
    events: tuple[str, ...],
    least_words: int,
    with_diff: bool,
    addresses: tuple[str, ...],
) -> int:
    """Add the profile NAME to the crawl in DIR, or change it: pages that match QUERY.

    A webhook is signed (standardwebhooks.com) with the secret in GCS_PUSH_SECRET, or with a new one, which is printed.
    The feed of the station shows the matches of every profile.
    """
    made = Profile(name, query, tuple(dict.fromkeys(events)), least_words, with_diff).check()
    targets = [PushTarget.parse(each) for each in (*addresses, *os.environ.get(PUSH_VARIABLE, "").split())]
    given = os.environ.get(SECRET_VARIABLE, "").strip()
    if given:
        key_of(given)
    with WatchStore(directory) as store:
        store.begin(log_ends(directory))
        known = {state.target.key for state in store.targets() if state.profile == name}
        with_secrets = []
        for target in targets:
            is_new = target.kind == WEBHOOK and not given and target.key not in known
            secret = make_secret(secrets.token_bytes(SECRET_BYTES)) if is_new else given
            with_secrets.append((target, secret if target.kind == WEBHOOK else ""))
            if is_new:
                say(f"secret of {target.shown}: {secret}", err=True)
        store.add(made, with_secrets)
    say(f"profile {name}: {query}")
    return 0


@profile.command("list")
@directory_argument
@click.option("--json", "as_json", is_flag=True, help="Print the profiles as JSON.")
def list_profiles(directory: Path, as_json: bool) -> int:
    """List the profiles of DIR, with their receivers and what these wait for. No secret is shown."""
    with _existing(directory) as store:
        profiles, targets = store.profiles(), store.targets()
    told = []
    for each in profiles:
        receivers = [
            {"to": t.target.shown, "waiting": t.waiting, "failures": t.failures, "problem": t.problem}
            for t in targets
            if t.profile == each.name
        ]
        told.append(msgspec.structs.asdict(each) | {"receivers": receivers})
        if not as_json:
            words = f", at least {each.least_words} words" if each.least_words else ""
            say(f"{each.name}: {each.query}  ({', '.join(each.on)}{words}{', with diff' if each.with_diff else ''})")
            for receiver in receivers:
                problem = (
                    f", {receiver['failures']} tries failed: {receiver['problem']}" if receiver["failures"] else ""
                )
                say(f"  → {receiver['to']}: {receiver['waiting']:,} waiting{problem}")
    if as_json:
        say(msgspec.json.encode(told))
    return 0


@profile.command()
@directory_argument
@click.argument("name")
def remove(directory: Path, name: str) -> int:
    """Remove the profile NAME, with its matches."""
    with _existing(directory) as store:
        store.remove(name)
    say(f"profile {name} removed")
    return 0


@profile.command()
@directory_argument
@click.argument("query")
@click.option("-n", "--most", type=click.IntRange(min=1), default=10, show_default=True, help="Pages to show.")
@click.option("--json", "as_json", is_flag=True, help="Print the pages as JSON.")
def test(directory: Path, query: str, most: int, as_json: bool) -> int:
    """Show which pages of DIR a profile with this QUERY would match, or the QUERY of the profile of that name."""
    if watch_file(directory).exists():
        with _existing(directory) as store:
            query = {each.name: each.query for each in store.profiles()}.get(query, query)
    node = parse(query)
    wanted = list(phrases(node))
    found = seen = 0
    shown: list[dict[str, str]] = []
    for page in searchables(str(directory)):
        seen += 1
        if matches(node, page):
            found += 1
            if len(shown) < most:
                shown.append({"url": page.url, "title": page.title, "excerpt": snippet(page.text, wanted).text})
    if as_json:
        say(msgspec.json.encode({"found": found, "of": seen, "pages": shown}))
        return 0
    for each in shown:
        say(each["title"] or "(no title)", bold=True)
        say(f"  {each['url']}\n  {each['excerpt']}")
    say(f"{found:,} of {seen:,} pages match")
    return 0


@profile.command("matches")
@directory_argument
@click.argument("name", required=False)
@click.option("-n", "--most", type=click.IntRange(min=1), default=20, show_default=True, help="Matches to show.")
@click.option("--atom", is_flag=True, help="Print them as an Atom feed.")
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON, a line each.")
def show_matches(directory: Path, name: str | None, most: int, atom: bool, as_json: bool) -> int:
    """Show what was found last for the profile NAME, or for all."""
    with _existing(directory) as store:
        if name:
            store.profile(name)
        matches_found = store.matches(name, most=most, newest=True)
    if atom:
        times = [_rfc3339(each.match.fetched_at) for each in matches_found]
        feed = atom_feed(
            name or "all", directory.name, [each.match for each in matches_found], times, _rfc3339(time.time())
        )
        say(feed)
        return 0
    for each in matches_found:
        match = each.match
        if as_json:
            say(msgspec.json.encode(match))
            continue
        say(f"{match.profile}: {match.event}: {match.title or '(no title)'}", bold=True)
        say(f"  {match.url}\n  {match.excerpt}")
        if match.diff:
            say("\n".join(f"    {line}" for line in match.diff.splitlines()))
    return 0


def _rfc3339(at: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


def _existing(directory: Path) -> WatchStore:
    if not watch_file(directory).exists():
        raise UsageError(f"{directory} has no profiles: gcs profile add {directory} NAME QUERY")
    return WatchStore(directory)
