"""The audit log: who did what, without what may be secret."""

from pathlib import Path

from gcs.roles.station.crawls.audit import AuditLog, now_entry
from gcs.roles.station.crawls.supervisor import NewCrawl
from gcs.roles.station.interest.interest_schemas import NewProfile

SECRET = "https://hooks.example/services/T0/s3cret"


def test_log_tells_what_was_done_and_no_secret(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit.log")
    log.write(now_entry("ann", "profiles", "docs", NewProfile("mine", "apples", webhooks=[SECRET]), 202))
    headers = f'[fetch]\nheaders = ["Authorization: {SECRET}"]'
    log.write(now_entry("bob", "new", "", NewCrawl(["https://a.example/"], toml=headers), 202))
    new, profile = log.read(10)
    assert (profile.who, profile.did, profile.crawl, profile.status) == ("ann", "profiles", "docs", 202)
    assert "apples" in profile.detail and "https://a.example/" in new.detail
    assert "s3cret" not in (tmp_path / "audit.log").read_text()
    assert "(not shown)" in profile.detail and "(not shown)" in new.detail
