"""In which order a crawl goes through its frontier (papers.md M6, S7), and how far it may go without a word (M7).

`orders` are the orders, `rank` makes sortable numbers of importances, `ledger` keeps account of OPIC's cash, and
`superstep` predicts from the graph of the last session how many pages a gatherer may fetch between two exchanges.
"""

from gcs.core.ordering.orders import (
    BEHIND,
    BFS,
    GIFT,
    ORDERS,
    Found,
    Ledger,
    Ordering,
    Scored,
    listed,
    rank,
    redirected,
)

__all__ = [
    "BEHIND",
    "BFS",
    "GIFT",
    "ORDERS",
    "Found",
    "Ledger",
    "Ordering",
    "Scored",
    "listed",
    "rank",
    "redirected",
]
