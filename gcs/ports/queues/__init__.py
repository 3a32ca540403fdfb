"""The frontier's queues on disk: those of `core.queues`, larger than memory, and there again after a crash.

    queue = open_queue("quickheap", directory)
    queue.insert_many(keys, ids)
    queue.save()

What is promised: a queue that is opened is exactly what it was at its last `save` that returned, or, if the process or
the machine died in a later `save`, what it would have been after that one. What was inserted or extracted since is
forgotten: whoever needs more writes it down elsewhere and replays it (the frontier has its own marks). One
process at a time. After an error of the disk, close the queue and open it again.

`open_scratch`: a queue larger than memory that is never saved, for who can fill it again, as the frontier's pool can.
"""

from gcs.ports.queues.disk import DiskQueue, DiskSettings, open_queue, open_scratch

__all__ = ["DiskQueue", "DiskSettings", "open_queue", "open_scratch"]
