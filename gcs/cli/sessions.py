"""The sessions of a crawl directory: which one is under way, the plans made for them, and their reports.

DIR/state/session        the number of the session under way, or the last one; absent for the first
DIR/sessions/0002.plan   what `gcs plan` made for session 2
DIR/sessions/0001.json   the report of session 1
"""

from pathlib import Path

import msgspec

from gcs.cli.memory import write_whole
from gcs.core.report import Report
from gcs.errors import StoreError

_ADVICE = "choose another place"


def current(directory: Path) -> int:
    """The session under way, or the last one; 0 where there was none."""
    file = directory / "state" / "session"
    try:
        if file.exists():
            return int(file.read_text())
    except (OSError, ValueError):
        raise StoreError(f"{file}: does not say which session it is; write its number there") from None
    return 1 if (directory / "state").is_dir() else 0


def begin(directory: Path, number: int) -> None:
    """From now on, this session is under way."""
    write_whole(directory / "state" / "session", f"{number}\n".encode(), _ADVICE)


def was_barren(directory: Path) -> bool:
    """Whether the last session ended without a page: to run it again means to ask again."""
    last = reports(directory).get(current(directory))
    return last is not None and last.is_barren


def plan_file(directory: Path, number: int) -> Path:
    """Where the plan of a session is, if there is one."""
    return directory / "sessions" / f"{number:04d}.plan"


def report_file(directory: Path, number: int) -> Path:
    """Where the report of a session is, when it has ended."""
    return directory / "sessions" / f"{number:04d}.json"


def reports(directory: Path) -> dict[int, Report]:
    """The reports of the sessions that have ended, by number."""
    found: dict[int, Report] = {}
    for file in sorted((directory / "sessions").glob("[0-9]*.json")):
        try:
            found[int(file.stem)] = msgspec.json.decode(file.read_bytes(), type=Report)
        except (OSError, ValueError) as error:
            raise StoreError(f"{file}: is no report ({error}); move it away") from None
    return found
