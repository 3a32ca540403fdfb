"""A process that stores pages without end, until it is killed: python -m records.writer DIR SEED.

Page i is http://example.com/i. Now and then it makes a checkpoint, as a frontier does: the position in the log
and how many pages lie before it. At its start it goes on behind the checkpoint and what `tail` adds to it.
"""

import random
import sys
from pathlib import Path

import msgspec

from gcs.ports.records.layout import StoreSettings
from gcs.ports.records.record_log import Position
from gcs.ports.records.record_store import Store

from .pages import record, response

SETTINGS = StoreSettings(warc_bytes=200_000, log_records=200)


class Checkpoint(msgspec.Struct):
    position: Position
    pages: int


def load(directory: Path) -> Checkpoint:
    path = directory / "checkpoint"
    return msgspec.json.decode(path.read_bytes(), type=Checkpoint) if path.exists() else Checkpoint(Position(), 0)


def save(directory: Path, checkpoint: Checkpoint) -> None:
    part = directory / "checkpoint.part"
    part.write_bytes(msgspec.json.encode(checkpoint))
    part.replace(directory / "checkpoint")


def url_of(page: int) -> str:
    return f"http://example.com/{page}"


def main(directory: Path, seed: int) -> None:
    rng = random.Random(seed)
    with Store.open(directory, SETTINGS, "g1") as store:
        checkpoint = load(directory)
        page = checkpoint.pages
        for stored in store.tail(checkpoint.position):
            assert stored.url == url_of(page), (stored.url, page)
            page += 1
        print("ready", flush=True)
        while True:
            body = rng.randbytes(rng.choice((0, 10, 1_000, 6_000))) if rng.random() < 0.9 else b"the same again"
            store.add_page(record(url_of(page), text="t" * rng.randrange(2_000)), response(url_of(page), body))
            page += 1
            if rng.random() < 0.2:
                store.flush()
            if rng.random() < 0.01:
                save(directory, Checkpoint(store.sync(), page))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
