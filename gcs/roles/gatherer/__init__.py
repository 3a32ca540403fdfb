"""The gatherer: takes URLs from its frontier, fetches them politely, reads them, stores them, queues their links.

Dispatcher   frontier ─► window ─► robots.txt ─► fetch engine
Recorder     answers ─► Reader ─► record log ─► marks and links
Gatherer     startup → step* → shutdown: runs the two in turns and makes their work durable
"""

from gcs.roles.gatherer.gatherer import Gatherer, Parts, State
from gcs.roles.gatherer.reader import Reader

__all__ = ["Gatherer", "Parts", "Reader", "State"]
