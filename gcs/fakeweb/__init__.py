"""A deterministic web for the demo, the tests and the benchmarks, as a value. `fakeweb.server` serves it."""

from gcs.fakeweb.page_plan import Content, Element, Manner, PagePlan, PlannedLink, Spelling
from gcs.fakeweb.request_log import HostLog, RequestLog
from gcs.fakeweb.sites import Site
from gcs.fakeweb.spec import FakeWebSpec
from gcs.fakeweb.survey import Survey, survey
from gcs.fakeweb.web import Web

__all__ = [
    "Content", "Element", "FakeWebSpec", "HostLog", "Manner", "PagePlan", "PlannedLink", "RequestLog", "Site",
    "Spelling", "Survey", "Web", "survey",
]  # fmt: skip
