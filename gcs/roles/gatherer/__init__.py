"""The gatherer: takes URLs from its frontier, fetches them politely, reads them, stores them, queues their links.

gatherer.py    Gatherer: startup → step* → shutdown; the Scheduler calls each step
fetch/         Dispatcher    frontier ─► window ─► RobotsCache ─► FetchRouter (own fetch engine, or helpers)
               Responses     fetch engine ─► Reader (and text pool) ─► Recorder
record/        Recorder      page facts ─► record log ─► marks and links
               Intake        links ─► frontier, or other gatherers
               Checkpoints   make the work durable, and continue from it after a restart
               Recrawl       queues the URLs of the last session again; Meter counts
helpers/       Lending, Rendering; SpotCheck for the pages that untrusted helpers deliver
membership.py  Membership: TeamMember, or SeedClient at a seed-server; None for a gatherer alone
team/          TeamMember has Whiteboard, BlockExchange, PlanFollower, BulletinWriter and Ownership;
               Ownership has Router, HandOvers, SuperpageStats and RangeRecovery
"""

from gcs.ports.reader import Reader
from gcs.roles.gatherer.dependencies import Dependencies, GathererState, Outlet
from gcs.roles.gatherer.gatherer import Gatherer

__all__ = ["Dependencies", "Gatherer", "GathererState", "Outlet", "Reader"]
