"""Making a queue by its name: in memory, or on blocks. Loads all of them, and numpy."""

from collections.abc import Mapping
from dataclasses import dataclass

from gcs.core.queues.blocks import Blocks, RankedBlocks, Storage
from gcs.core.queues.chunks import PagedChunks, RingChunks
from gcs.core.queues.contract import Queue, QueueCounts
from gcs.core.queues.heap import BinaryHeap
from gcs.core.queues.kernels import can_compile
from gcs.core.queues.primitives import Primitives, Vectors
from gcs.core.queues.quickheap import QuickHeap
from gcs.core.queues.tournament import TournamentTree
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


def make_queue(name: str, do: Primitives | None = None, node_keys: int = NODE_KEYS) -> Queue:
    """An empty queue in memory. `do`, if given: the steps that it is made of, whose `counts` say what the queue did."""
    if name == "quickheap":
        return QuickHeap(RingChunks(), do)
    if name == "tournament":
        return make_tree(node_keys, do)
    if name == "heap":
        return BinaryHeap(do.counts if do else QueueCounts())
    raise UsageError(f"no queue is called {name!r}; there are {', '.join(QUEUES)}")


def make_paged_queue(
    name: str,
    storage: Storage,
    layout: QueueLayout,
    do: Primitives | None = None,
    slots: Mapping[int, int] | None = None,
) -> tuple[Queue, Blocks]:
    """A queue on blocks, and these; with the slots of blocks that hold something, if it is to be restored."""
    do, slots, keys = do or Vectors(), slots or {}, layout.block_keys
    if name == "quickheap":
        ranked = RankedBlocks(storage, layout.cache_blocks, do.counts, slots)
        return QuickHeap(PagedChunks(ranked, keys), do, layout.cache_blocks * keys // 2), ranked
    if name == "tournament":
        return make_paged_tree(storage, layout, do, slots)
    return make_queue(name, do), Blocks(storage, layout.cache_blocks, do.counts, slots)  # a heap lies on no blocks


def make_paged_tree(
    storage: Storage, layout: QueueLayout, do: Primitives | None = None, slots: Mapping[int, int] | None = None
) -> tuple[TournamentTree, Blocks]:
    """A tournament tree on blocks, and these."""
    do = do or Vectors()
    blocks = Blocks(storage, layout.cache_blocks, do.counts, slots or {})
    return TournamentTree(blocks, layout.block_keys, do), blocks


def make_tree(node_keys: int = NODE_KEYS, do: Primitives | None = None) -> RowTree | TournamentTree:
    """A tournament tree in memory: compiled where numba is installed, unless it is to be made of other steps."""
    if do is None and can_compile():
        return RowTree(node_keys)
    return TournamentTree({}, node_keys, do or Vectors())
