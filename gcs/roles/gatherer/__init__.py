"""The gatherer: takes URLs from its frontier, fetches them politely, reads them, stores them, queues their links.

Dispatcher   frontier ─► window ─► robots.txt ─► fetch engine
Answers      fetch engine ─► Reader (and text pool) ─► Recorder
Recorder     readings ─► record log ─► marks and links
Intake       links ─► frontier, or the team
Checkpoints  all of it made durable, and taken up again
Gatherer     startup → step* → shutdown: runs them in turns, as the Pulse calls
Hands        who fetches: our own engine, or helpers (Lending, Rendering; what strangers bring goes through Scrutiny)
Team         the others: plans, foreign links, hand-over (Observer, Mail, Standing, Herald; Holdings, which has Router,
             HandOvers, Census and LookBack). A seed-server's gatherer has a Client in its place (Company)
"""

from gcs.ports.reader import Reader
from gcs.roles.gatherer.dependencies import Dependencies, GathererState
from gcs.roles.gatherer.gatherer import Gatherer

__all__ = ["Dependencies", "Gatherer", "GathererState", "Reader"]
