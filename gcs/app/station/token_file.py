"""The tokens of a station that has a folder of crawls: their hashes, in a file that only its user can read."""

from pathlib import Path

import msgspec

from gcs.app.crawl_dir import write_whole
from gcs.app.station.crawl_jobs import STATION
from gcs.core.messages.tuples import Access
from gcs.errors import UsageError


class TokenFile:
    """FOLDER/.station/tokens.json. Written by `gcs token`; read by the station, before it refuses a token."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / STATION / "tokens.json"

    def read(self) -> list[Access]:
        try:
            return [msgspec.convert(each, Access) for each in msgspec.json.decode(self._file.read_bytes(), type=list)]
        except FileNotFoundError:
            return []
        except (OSError, msgspec.MsgspecError) as error:
            raise UsageError(f"{self._file}: the tokens cannot be read ({error})") from None

    def add(self, key: Access) -> None:
        self._write([*self.read(), key])

    def remove(self, id: str) -> bool:
        kept = [key for key in self.read() if key.id != id]
        is_there = len(kept) < len(self.read())
        self._write(kept)
        return is_there

    def _write(self, keys: list[Access]) -> None:
        write_whole(self._file, msgspec.json.encode(keys), "choose another folder", 0o600)
