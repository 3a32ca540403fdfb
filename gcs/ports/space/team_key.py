"""Where the team key comes from: never from a command line, a setting or the whiteboard, which others can read.

In this order: the file that the URL of the whiteboard names (`?team_key=FILE`), the variable GCS_SPACE_KEY, the file
that GCS_SPACE_KEY_FILE names. Without any of them, the team has no key (`core.messages.seal`).

Invariant: no message holds a part of the key.
"""

from collections.abc import Mapping
from pathlib import Path

from gcs.errors import UsageError
from gcs.ports.space.address import SpaceAddress

VARIABLE, FILE_VARIABLE = "GCS_SPACE_KEY", "GCS_SPACE_KEY_FILE"
#: bytes of a key: fewer can be found by trying; a file with more holds no key
LEAST_BYTES, MOST_BYTES = 32, 4096
ADVICE = "make one with: openssl rand -hex 32"


def team_key(address: SpaceAddress, environment: Mapping[str, str]) -> bytes:
    """The key of the team, b"" if it has none."""
    file = address.options.get("team_key", "")
    if file:
        return _from_file(file, "--space …?team_key=")
    if VARIABLE in environment:
        return _checked(environment[VARIABLE].encode(), VARIABLE)
    file = environment.get(FILE_VARIABLE, "")
    return _from_file(file, f"{FILE_VARIABLE}=") if file else b""


def _from_file(name: str, source: str) -> bytes:
    try:
        with Path(name).open("rb") as file:
            return _checked(file.read(MOST_BYTES + 1), f"{source}{name}")
    except OSError as error:
        raise UsageError(f"{source}{name}: the team key cannot be read ({error.strerror}); {ADVICE}") from None


def _checked(key: bytes, source: str) -> bytes:
    key = key.strip()  # a file ends in a newline
    if not LEAST_BYTES <= len(key) <= MOST_BYTES:
        raise UsageError(f"{source}: a team key has {LEAST_BYTES} to {MOST_BYTES} bytes, not {len(key)}; {ADVICE}")
    return key
