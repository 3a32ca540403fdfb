"""Named runs of a crawl whose team is elsewhere: `gcs crawl -n 0 --run NAME`, for jobs that come again and again.

The whiteboard keeps the seeds, the settings, the session and the name of the run that began the session. So a job needs
no disk of its own.

Invariant: a run that is started again goes on with the session of its name. Only a run of another name begins the next
session, and only when the last one has ended.
"""

from pathlib import Path

from gcs.app import crawl_dir
from gcs.app.crawl_input import SavedCrawl
from gcs.core.messages.template import template
from gcs.core.messages.tuples import Charter, Control, CrawlState
from gcs.ports.space.redis_space import open_space
from gcs.settings import of_charter


async def recall(directory: Path, url: str, crawl: str, run: str) -> bool:
    """Save in an empty directory what the whiteboard keeps of the crawl; whether this run begins the next session."""
    space = await open_space(url, crawl=crawl, name="crew")
    try:
        charter, control = await space.read(template(Charter)), await space.read(template(Control))
    finally:
        await space.close()
    if charter is None:
        return False
    if not SavedCrawl.read(directory).seeds:
        SavedCrawl().write(directory, charter.seeds, of_charter(charter.settings))
        crawl_dir.begin_session(directory, charter.session)
    return charter.run != run and _has_ended(control)


def _has_ended(control: Control | None) -> bool:
    """Whether the session is over: done, or as long as it may be. One that a person has stopped is not."""
    if control is None:
        return False
    return control.state is CrawlState.DONE or (control.state is CrawlState.STOPPING and control.reason == "limit")
