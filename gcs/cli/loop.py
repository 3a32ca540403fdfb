"""The event loop of a crawling process."""

import gc
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run_loop(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on uvloop, with a garbage collector that knows what a crawl is."""
    import uvloop

    # a page makes thousands of objects and no cycles: looking for cycles every 700 objects costs a tenth of the crawl
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    return uvloop.run(main)
