"""Processes that follow what a crawl stores, beside it: sinks, the index, the watch of profiles.

Such a process goes on until its standard input ends and it has dealt with everything: so also a crawl that is killed
has its last pages dealt with.
"""

import contextlib
import os
import select
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import click

from gcs.errors import StoreError
from gcs.ports.search.index_place import INDEX
from gcs.ports.watch import watch_file

#: environment variable: this directory has an index and a watch already, from whoever started this process
_ATTENDED_TO = "GCS_ATTENDED_TO"
#: what deals with the rest, if a process failed; of others nothing is left undone
_REMEDIES = {
    "sink": "gcs sink {} --to TARGET delivers the rest",
    "index": "gcs index {} indexes the rest",
    "watch": "gcs watch {} does the rest",
}


class AnsweredTeam(NamedTuple):
    """Whose searches an index answers, and by which name."""

    space_url: str
    crawl: str
    name: str


class Followers(contextlib.AbstractContextManager["Followers"]):
    """At the end of the `with` block they are let come to their end, and waited for."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, command: str, *words: str, environment: Mapping[str, str] = {}) -> None:
        """Run `gcs COMMAND DIR`; what nobody else may see comes by the environment."""
        self._processes[f"{command} {len(self._processes)}"] = subprocess.Popen(
            [sys.executable, "-m", "gcs", command, str(self._directory), *words, "--attend", "--log", "warning"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            env={**os.environ, **environment},
            start_new_session=True,  # Ctrl-C is for the crawl
        )

    def __exit__(self, *_: object) -> None:
        for process in self._processes.values():
            assert process.stdin
            process.stdin.close()
        failed = {name.split()[0] for name, process in self._processes.items() if process.wait()} & _REMEDIES.keys()
        if failed:
            raise StoreError(
                "not all pages were dealt with; nothing is lost: "
                + "; ".join(_REMEDIES[name].format(self._directory) for name in sorted(failed))
            )


def attended() -> bool:
    """Whether whoever started this process has not closed its standard input; nothing is ever written there."""
    readable, _, _ = select.select([sys.stdin], [], [], 0)
    return not readable


@contextlib.contextmanager
def index_and_watch(directory: Path, index: bool, watch: bool, team: AnsweredTeam | None = None) -> Iterator[None]:
    """While the body runs: an index that is kept up to date, and the watch where there are profiles, or may be soon.

    `team`: the index answers its searches.

    Not in the gatherers of a team that this process starts: one of each is enough for a directory.
    """
    if os.environ.get(_ATTENDED_TO) == str(directory.absolute()):
        yield
        return
    os.environ[_ATTENDED_TO] = str(directory.absolute())
    with Followers(directory) as followers:
        if index or (directory / INDEX).is_dir():
            followers.start("index")
            if team:
                at = {"GCS_SPACE": team.space_url}
                followers.start("librarian", "--crawl", team.crawl, "--name", team.name, environment=at)
        if watch or watch_file(directory).exists():
            followers.start("watch")
        try:
            yield
        finally:
            os.environ.pop(_ATTENDED_TO, None)


def index_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command --index."""
    about = "Index the text of the pages while they come, for gcs search; done wherever DIR has an index."
    return click.option("--index", is_flag=True, envvar="GCS_INDEX", help=about)(command)
