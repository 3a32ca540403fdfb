"""kill -9 at ten random moments of a crawl: nothing is lost, nothing is stored twice, the WARC stays valid."""

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from warcio.archiveiterator import ArchiveIterator

from gcs.fakeweb import FakeWebSpec, survey
from gcs.fakeweb.server import FakeWebProcess
from gcs.ports.records.reading import read_records

CONNECTIONS = 16
KILLS = 10


def command(directory: Path, seed: str) -> list[str]:
    flags = ["--scope", "any", "--delay", "0", "--allow-private", "--summary", "links", "--json"]
    limits = ["--connections", str(CONNECTIONS), "--set", "frontier.checkpoint_s=0.3", "--set", "store.log_records=300"]
    return [sys.executable, "-m", "gcs", "crawl", seed, "-o", str(directory), *flags, *limits]


def test_crawl_survives_ten_kills(tmp_path: Path) -> None:
    chance = random.Random(20261116)
    with FakeWebProcess(FakeWebSpec.plain(hosts=20, pages=2000, latency_s=0.03)) as web:
        kills = 0
        while kills < KILLS:
            crawl = subprocess.Popen(command(tmp_path, web.seeds[0]), stdout=subprocess.DEVNULL)
            before = web.log.requests
            while web.log.requests == before and crawl.poll() is None:
                time.sleep(0.01)  # it is still starting: a kill here would show nothing
            time.sleep(chance.uniform(0.0, 0.4))
            assert crawl.poll() is None, f"the crawl ended before kill {kills + 1}"
            crawl.send_signal(signal.SIGKILL)
            crawl.wait()
            kills += 1
        assert subprocess.run(command(tmp_path, web.seeds[0]), stdout=subprocess.DEVNULL).returncode == 0
        truth = survey(web.web)
        stored = Counter(record.url for record in read_records(tmp_path) if record.is_page)
        assert set(stored) == truth.pages
        assert set(stored.values()) == {1}
        fetched_again = sum(count - 1 for count in web.log.repeated().values())
        robots_again = KILLS * len(web.web.sites)
        assert fetched_again <= KILLS * CONNECTIONS + robots_again
    assert responses(tmp_path) == stored


def responses(directory: Path) -> Counter[str]:
    """The pages in the WARC files, every record read to its end and its digests checked."""
    found: Counter[str] = Counter()
    for file in sorted((directory / "warc").glob("*.warc.gz")):
        with file.open("rb") as stream:
            for record in ArchiveIterator(stream, check_digests="raise"):
                record.content_stream().read()
                if (
                    record.rec_type in ("response", "revisit")
                    and "robots.txt" not in record.rec_headers["WARC-Target-URI"]
                ):
                    found[record.rec_headers["WARC-Target-URI"]] += 1
    return found
