"""The short form of the vanishing helpers; `scripts/chaos helpers` is the long one."""

from pathlib import Path

from .vanishing import Night, Script

SHORT = Script(seed=20261116, pages=240, hosts=20, delay_s=0.25)


def test_vanishing_helpers_lose_no_page_and_no_politeness(tmp_path: Path) -> None:
    said: list[str] = []
    verdict = Night(tmp_path, SHORT, said.append).run()
    print("\n".join(said))
    assert verdict.troubles == ()
    assert verdict.pages == SHORT.pages
    assert verdict.kills >= 3
