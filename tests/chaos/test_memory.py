"""A whiteboard that is out of memory: for a while, and for good."""

import time

from .board import Board


def test_whiteboard_out_of_memory_for_a_while_costs_nothing(board: Board) -> None:
    crawl = board.crawl()
    try:
        for pages in (50, 250):
            board.await_pages(pages)
            board.limit(1)
            time.sleep(4)  # longer than a lease
            board.limit(0)
        out, err = crawl.communicate(timeout=90)
    finally:
        crawl.kill()
        crawl.communicate()
    assert crawl.returncode == 0, err
    board.check(out)
    assert "Traceback" not in err
    assert 1 <= err.count("out-of-memory") <= 6, err  # once for each connection that has met it
    assert err.count("WARNING") <= 12, err


def test_whiteboard_out_of_memory_for_good_ends_the_crawl_which_can_be_resumed(board: Board) -> None:
    crawl = board.crawl("space.patience_s=4")
    try:
        board.await_pages(50)
        board.limit(1)
        out, err = crawl.communicate(timeout=90)
        assert crawl.returncode == 4, err
        assert "is out of memory: raise its maxmemory, then start the crawl again; nothing is lost" in err or (
            "is Redis out of memory" in err
        )
        assert "Traceback" not in err
        assert err.count("WARNING") <= 12, err
        board.limit(0)
        crawl = board.crawl()
        out, err = crawl.communicate(timeout=90)
        assert crawl.returncode == 0, err
        board.check(out)
    finally:
        crawl.kill()
        crawl.communicate()
