"""Somebody else writes into the keys of a running crawl: what is no tuple changes nothing, what was one is missed."""

import json

from .board import Board


def test_crawl_goes_on_whatever_a_stranger_puts_into_its_keys(board: Board) -> None:
    crawl = board.crawl()
    try:
        board.await_pages(50)
        for name in ("{gcs:crawl:g0}:urls", "{gcs:crawl:g1}:handover", "{gcs:crawl:seeds}:seeds", "{gcs:crawl}:member"):
            for fields in ({"foo": "bar"}, {"p": ""}, {"p": "x", "s": "y"}):
                board.client.xadd(name, fields)
        for name in ("{gcs:crawl:g1}:urls", "{gcs:crawl:g0}:handover:book", "{gcs:crawl}:bulletin:until"):
            board.client.set(name, "mine")
        out, err = crawl.communicate(timeout=90)
    finally:
        crawl.kill()
        crawl.communicate()
    assert crawl.returncode == 0, err
    board.check(out)
    assert "restarted" not in err
    assert 1 <= err.count("foreign-entries") <= 4, err  # once for each inbox and taker
    assert 1 <= err.count("foreign-key") <= 4, err  # three that were written, and the book of one of them
    assert err.count("WARNING") <= 20, err


def test_message_that_was_damaged_makes_the_end_a_warning(board: Board) -> None:
    crawl = board.crawl()
    try:
        board.await_pages(50)
        board.client.xadd("{gcs:crawl:g0}:urls", {"p": b"\x01\x01\xc1", "s": "", "n": 0})
        out, err = crawl.communicate(timeout=90)
    finally:
        crawl.kill()
        crawl.communicate()
    assert crawl.returncode == 4, err
    board.check(out)
    assert json.loads(out)["dead_letters"] == 1
    assert "1 messages were damaged and set aside" in err
