"""`gcs helper --gateway`: what is said to who gives too little; a whole crawl with it runs in tests/k8s."""

from collections.abc import Callable


def test_helper_says_what_it_needs(call: Callable) -> None:
    nowhere = call("helper")
    assert nowhere.code == 2
    assert "--gateway" in nowhere.err
    nobody = call("helper", "--gateway", "http://127.0.0.1:9")
    assert nobody.code == 2
    assert "--token" in nobody.err
    odd = call("helper", "--gateway", "redis://127.0.0.1:9", "--token", "x")
    assert odd.code == 2
    assert "station" in odd.err
