"""What a page has cost a crawl, from its directory: CPU, traffic and disk, for `gcs study scale`.

Start-up is in the CPU time, so a crawl of a few hundred pages seems dearer than it is.
"""

from dataclasses import replace
from pathlib import Path

from gcs.app.crawl_dir import read_shares
from gcs.core.report import report
from gcs.core.report.counters import Counters
from gcs.ports.records.layout import SUMMARIES, WARC
from gcs.sim.engine.capacity import Costs


def crawl_costs(directory: Path, usual: Costs) -> Costs:
    """The costs of a crawl; what its directory does not tell is as `usual`."""
    shares, _ = read_shares(directory)
    total = sum((share.counters for share in report.current(shares)), Counters())
    if not total.pages:
        return usual
    stored, state = (_size_bytes([directory / WARC, directory / SUMMARIES]), _size_bytes([directory / "state"]))
    return replace(
        usual,
        page_cpu_s=total.cpu_s / total.pages if total.cpu_s else usual.page_cpu_s,
        page_bytes=total.size_bytes / total.pages,
        stored_bytes=stored / total.pages if stored else usual.stored_bytes,
        state_bytes=state / total.pages,
    )


def _size_bytes(folders: list[Path]) -> int:
    """Of all files below, as they lie on the disk."""
    files = [each for folder in folders for each in folder.rglob("*") if each.is_file()]
    return sum(each.stat().st_blocks * 512 for each in files)
