"""Plans made ahead, in files. Apart from `sessions`, because a blueprint brings numpy and most crawls need none."""

from pathlib import Path

from gcs.cli.memory import write_whole
from gcs.core.blueprint import Blueprint
from gcs.errors import CodecError, UsageError


def write_blueprint(file: Path, blueprint: Blueprint) -> None:
    """Keep a plan for a session."""
    write_whole(file, blueprint.encode(), "give another place with -o FILE")


def read_blueprint(file: Path) -> Blueprint:
    """The plan in this file."""
    try:
        return Blueprint.decode(file.read_bytes())
    except OSError as error:
        raise UsageError(f"{file}: cannot be read ({error.strerror}); gcs plan makes one") from None
    except CodecError as error:
        raise UsageError(f"{file}: is no plan of gcs plan ({error})") from None
