"""How a team is coordinated: from the setting to the blueprint of its session. The leader makes the first plan of it.

| coordination | blueprint                                                                        |
|--------------|----------------------------------------------------------------------------------|
| superpages   | that of `gcs plan`, if there is one; else none: the plan follows the crawl       |
| hash         | hosts (or URLs or domains, by team.hash_by) by hash                              |
| metis-*      | that of `gcs plan`; where there is none, it is made first, from the last session |
| independent  | URLs by hash, for the seeds; all else is its finder's                            |
| seed-server  | none: the seed-server decides, not a plan                                        |

This module brings numpy; a crawl without a blueprint does without it.
"""

import subprocess
import sys
from pathlib import Path

import msgspec

from gcs.app import crawl_dir
from gcs.app.crawl_dir import write_whole
from gcs.core.plan.blueprint import Blueprint, hashed
from gcs.core.plan.team_settings import TeamSettings
from gcs.errors import CodecError, GcsError, UsageError


def write_blueprint(file: Path, blueprint: Blueprint, *, is_named: bool = False) -> None:
    """Write a plan; `is_named`: the user has named the file."""
    write_whole(file, blueprint.encode(), "give another place with -o FILE", is_named=is_named)


def read_blueprint(file: Path) -> Blueprint:
    try:
        return Blueprint.decode(file.read_bytes())
    except OSError as error:
        raise UsageError(f"{file}: cannot be read ({error.strerror}); gcs plan makes one") from None
    except CodecError as error:
        raise UsageError(f"{file}: is no plan of gcs plan ({error})") from None


def blueprint_of(directory: Path, team: TeamSettings, session: int, gatherers: int, file: Path | None) -> bytes:
    """The blueprint for this session, encoded; b"" where there is none."""
    if file is not None:
        # hot pages are named to nobody, because their owners know them from the last session: that of this crawl
        return msgspec.structs.replace(read_blueprint(file), hot_pages=()).encode()
    way, made = team.coordination, crawl_dir.plan_file(directory, session)
    if way == "hash":
        return hashed(f"{team.hash_by}-hash", gatherers).encode()
    if way == "independent":
        return hashed("url-hash", gatherers).encode()
    if way in ("metis-site", "metis-page"):
        if not made.exists() or not _fits(read_blueprint(made), way, gatherers):
            _make(directory, team, session, gatherers)
        return read_blueprint(made).encode()
    return read_blueprint(made).encode() if way == "superpages" and made.exists() else b""


def _fits(blueprint: Blueprint, model: str, gatherers: int) -> bool:
    return blueprint.model == model and blueprint.parts == gatherers


def _make(directory: Path, team: TeamSettings, session: int, gatherers: int) -> None:
    """Plan from the last session, in a process of its own: METIS takes over the signals of the one it runs in."""
    if session == 1:
        raise UsageError(
            f"coordination {team.coordination} plans from the last session, and this is the first: crawl once by "
            "superpages, then gcs crawl --next; or give the plan of another crawl with --plan FILE"
        )
    command = [sys.executable, "-m", "gcs", "plan", str(directory), "-k", str(gatherers)]
    command += ["--model", team.coordination, "--compare", "none", "--unlisted", team.unlisted]
    command += ["--cut-sites", team.cut_sites]
    done = subprocess.run([*command, "--hot-pages", str(team.hot_pages)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise GcsError(f"gcs plan failed: {done.stderr.strip()}")
