"""What a crawl directory remembers from run to run: the seeds, and the settings that are not the defaults.

So `gcs crawl -o DIR` goes on as the crawl began: same scope, same contact, same politeness. Limits are not
remembered, because to go on past a limit is what a second run is for.

Invariant: the files are replaced in one step, so a full disk or a crash leaves the old ones.
"""

from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from gcs.errors import StoreError
from gcs.settings import Settings, differences

#: settings that hold for one run only
ONE_RUN = frozenset({"crawl.max_pages", "crawl.max_seconds"})


@dataclass(frozen=True, slots=True)
class Memory:
    """The seeds that a crawl was ever given, and its settings by dotted key."""

    seeds: tuple[str, ...] = ()
    settings: dict[str, object] = field(default_factory=dict)

    @staticmethod
    def read(directory: Path) -> "Memory":
        """What the directory remembers: nothing, where there was no crawl."""
        seeds, settings = _files(directory)
        try:
            return Memory(
                tuple(seeds.read_text().splitlines()) if seeds.exists() else (),
                msgspec.json.decode(settings.read_bytes(), type=dict[str, object]) if settings.exists() else {},
            )
        except OSError as error:
            raise StoreError(f"{error.filename}: cannot be read ({error.strerror})") from None
        except ValueError:
            raise StoreError(f"{directory}/state: its seeds or settings are damaged; start a new directory") from None

    def write(self, directory: Path, seeds: list[str], settings: Settings) -> None:
        """Remember these from now on; `seeds` hold all that came before."""
        seeds_file, settings_file = _files(directory)
        kept = msgspec.json.encode({key: value for key, value in differences(settings).items() if key not in ONE_RUN})
        if tuple(seeds) != self.seeds:
            write_whole(seeds_file, "".join(f"{seed}\n" for seed in seeds).encode(), "choose another -o DIR")
        if kept != msgspec.json.encode(self.settings):
            write_whole(settings_file, kept, "choose another -o DIR", 0o600)  # a proxy may have a password


def write_whole(file: Path, data: bytes, advice: str, mode: int = 0o666) -> None:
    """Write a file in one step: it is there with all of this, or as it was."""
    try:
        if file.is_symlink() or (file.exists() and not file.is_file()):  # a link, pipe or device must stay one
            file.write_bytes(data)
        else:
            _replace(file, data, mode)
    except OSError as error:
        raise StoreError(f"{file}: cannot be written ({error.strerror}); {advice}") from None


def _replace(file: Path, data: bytes, mode: int) -> None:
    partial = file.with_name(f".{file.name}.part")
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        partial.touch(mode)
        partial.write_bytes(data)
        partial.replace(file)
    except OSError:
        partial.unlink(missing_ok=True)
        raise


def _files(directory: Path) -> tuple[Path, Path]:
    return directory / "state" / "seeds.txt", directory / "state" / "settings.json"
