"""The priority queues of a frontier (Marin et al.): many keys in, the best R out, never one at a time.

    queue = make_queue("quickheap")
    queue.insert_many(keys, ids)          # numpy arrays: float64 keys, higher is better; uint64 ids below 2**62
    keys, ids = queue.extract_top(8000)   # the best, best first; ties by the smaller id; fewer if there are fewer

| name       | from   | cost of a batch               | good for                                                 |
|------------|--------|-------------------------------|----------------------------------------------------------|
| quickheap  | Marin  | amortised, uneven             | the default; on disk, few and sequential block accesses  |
| tournament | Marin  | logarithmic in the worst case | even steps; T trees on T threads; in memory, where numba |
|            |        |                               | is installed, the fastest                                |
| heap       | folk   | 2 lg n comparisons a key      | a yardstick                                              |

Invariant: every queue gives out the same pairs in the same order for the same calls. A pair that was inserted twice
comes out twice: to change a priority, insert the id again and drop the stale pair when it comes out.
On disk: `gcs.ports.frontier.disk_queue`. `contract` says what a queue can do, and needs no numpy; `queue_maker` makes
queues.
"""
