"""Making a queue by its name: in memory, or on blocks. Loads all of them, and numpy."""

from collections.abc import Mapping
from dataclasses import dataclass

from gcs.core.queues.blocks import Blocks, RankedBlocks, Storage
from gcs.core.queues.chunks import PagedChunks, RingChunks
from gcs.core.queues.contract import Queue, QueueCounts
from gcs.core.queues.heap import BinaryHeap
from gcs.core.queues.kernels import can_compile
from gcs.core.queues.quickheap import QuickHeap
from gcs.core.queues.tournament import Matches, TournamentTree
from gcs.core.queues.tournament_rows import RowTree
from gcs.errors import UsageError

QUEUES = ("quickheap", "tournament", "heap")
#: entries in a node of the tournament tree: where a merge costs more than the call of it
NODE_KEYS = 8192


@dataclass(frozen=True, slots=True)
class QueueLayout:
    """How a queue lies on blocks."""

    #: entries in a block, which is a node of the tournament tree; 16 bytes each
    block_keys: int = 16_384
    #: blocks in memory, at most
    cache_blocks: int = 1024


def make_queue(name: str, counts: QueueCounts | None = None, node_keys: int = NODE_KEYS) -> Queue:
    """An empty queue in memory. `counts`, if given, counts what it does, which is slow without numba."""
    if name == "quickheap":
        return QuickHeap(RingChunks(), counts)
    if name == "tournament":
        return make_tree(node_keys, counts)
    if name == "heap":
        return BinaryHeap(counts)
    raise UsageError(f"no queue is called {name!r}; there are {', '.join(QUEUES)}")


def make_paged_queue(
    name: str,
    storage: Storage,
    layout: QueueLayout,
    counts: QueueCounts | None = None,
    slots: Mapping[int, int] | None = None,
) -> tuple[Queue, Blocks]:
    """A queue on blocks, and these; with the slots of blocks that hold something, if it is to be restored."""
    slots, keys = slots or {}, layout.block_keys
    if name == "quickheap":
        ranked = RankedBlocks(storage, layout.cache_blocks, counts, slots)
        return QuickHeap(PagedChunks(ranked, keys), counts, layout.cache_blocks * keys // 2), ranked
    blocks = Blocks(storage, layout.cache_blocks, counts, slots)
    if name == "tournament":
        return TournamentTree(Matches(blocks, counts), keys, counts), blocks
    return make_queue(name, counts), blocks  # a heap lies on no blocks


def make_tree(node_keys: int = NODE_KEYS, counts: QueueCounts | None = None) -> RowTree | TournamentTree:
    """A tournament tree in memory: compiled where numba is installed, unless it has to count."""
    if counts is None and can_compile():
        return RowTree(node_keys)
    return TournamentTree(Matches({}, counts), node_keys, counts)
