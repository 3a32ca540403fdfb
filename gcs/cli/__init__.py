"""The command line. Each command is a module, loaded only when it is used.

Exit codes: 0 done, 1 failed, 2 usage, 3 stopped by a limit, 4 stuck (somebody has to act; state kept), 130 interrupted
(state kept, resumable).
"""

import gc
import importlib
import sys

import click

from gcs.app.say import say
from gcs.errors import DiskFullError, GcsError
from gcs.version import __version__

#: what to do about a full disk
FREE_SOME = "; free some space and run the same command again: nothing stored is lost"
#: command → (module, what it does); the text stands here so that `gcs --help` loads nothing
COMMANDS = {
    "demo": ("gcs.cli.demo", "Crawl a small web that ships with GCS, and print the report."),
    "crawl": ("gcs.cli.crawl", "Crawl from seeds on this machine; run again on the same DIR to resume."),
    "plan": ("gcs.cli.plan", "Plan the next session from the last one; says what each choice would cost."),
    "schedule": ("gcs.cli.schedule", "Crawl the next session at certain times, by RQ's cron and a worker."),
    "gatherer": ("gcs.cli.gatherer", "Join a crawl with this machine; SIGTERM hands over and leaves."),
    "seed-server": ("gcs.cli.seedserver", "Keep the URLs of a crawl and hand them out to gatherers (WEB-SAILOR)."),
    "helper": ("gcs.cli.helper", "Lend this machine to a crawl; it keeps nothing on disk."),
    "shift": ("gcs.cli.shift", "Night shifts of machines that lend themselves: schedule, list, cancel, cron, worker."),
    "ls": ("gcs.cli.ls", "List the crawls of a folder."),
    "status": ("gcs.cli.status", "Show how a crawl stands."),
    "pause": ("gcs.cli.control", "Pause a running crawl: it starts no more fetches until it is resumed."),
    "resume": ("gcs.cli.control", "Let a paused crawl go on."),
    "stop": ("gcs.cli.control", "Stop a running crawl; its state is kept."),
    "rebalance": ("gcs.cli.control", "Ask the leader of a running crawl to share the work anew."),
    "seed": ("gcs.cli.control", "Add seeds to a running crawl."),
    "station": ("gcs.cli.station", "Serve the page from which a crawl is watched and run, its API and its metrics."),
    "token": ("gcs.cli.token", "Make, list and revoke tokens of the station."),
    "export": ("gcs.cli.export", "Write what was gathered as jsonl, csv, Markdown, cdxj or WACZ."),
    "duplicates": ("gcs.cli.duplicates", "Report pages that are nearly the same."),
    "merge": ("gcs.cli.merge", "Bring together what the machines of a team have stored."),
    "sink": ("gcs.cli.sink", "Bring the pages of a crawl to a file, a database or a stream."),
    "sql": ("gcs.cli.sql", "Ask what was gathered in SQL: pages, failures, redirects, links, hosts."),
    "verify": ("gcs.cli.verify", "Check the files of a crawl against one another, and repair what can be derived."),
    "index": ("gcs.cli.index", "Index the text of what crawls have stored, for search."),
    "search": ("gcs.cli.search", "Find pages by words, phrases, site, language, date; with an index or without."),
    "librarian": ("gcs.cli.librarian", "Answer the searches of a team from the index of this machine."),
    "profile": ("gcs.cli.profile", "Profiles: what people wait for, and where it is pushed; add, list, remove, test."),
    "watch": ("gcs.cli.watch", "Match stored pages against the profiles, and push what matched."),
    "study": ("gcs.cli.study", "Repeat an experiment of the papers on a web graph: tables and plots."),
    "doctor": ("gcs.cli.doctor", "Look at what a crawl needs on this machine; every problem with its remedy."),
    "settings": ("gcs.cli.settings", "List every setting with its default."),
    "kube": ("gcs.cli.kube", "Make secrets and scale helpers from inside of a Kubernetes cluster; see k8s/."),
    "space": ("gcs.cli.space", "Look at the whiteboard."),
}

#: commands that write nothing to any disk, not even compiled modules
TRACELESS = frozenset({"helper"})


class Commands(click.Group):
    """A click group that imports a command's module when the command is used."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """In the order of COMMANDS, which is that of their use in a crawl."""
        return list(COMMANDS)

    def get_command(self, _ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        sys.dont_write_bytecode |= name in TRACELESS
        gc.disable()  # loading makes many objects and no garbage
        command: click.Command = getattr(importlib.import_module(COMMANDS[name][0]), name.replace("-", "_"))
        gc.enable()
        return command

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="gcs")
def gcs() -> None:
    """GCS: a web crawler that a team of machines shares."""


def main() -> None:
    """Run a command. An expected error becomes one line on stderr and its exit code."""
    try:
        sys.exit(gcs.main(standalone_mode=False) or 0)
    except GcsError as error:
        advice = FREE_SOME if isinstance(error, DiskFullError) else ""
        say(f"gcs: {error}{advice}", err=True)
        sys.exit(error.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(2)
    except click.ClickException as error:
        say(f"gcs: {_one_line(error)}", err=True)
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except BrokenPipeError:  # the reader of our output has gone: nothing is wrong
        sys.stderr.close()
        sys.exit(0)


def _one_line(error: click.ClickException) -> str:
    """Click's message in one line, and where to read more."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    help_of = f" (see {context.command_path} --help)" if context else ""
    return " ".join(error.format_message().split()).removesuffix(".") + help_of
