"""A deterministic web for the demo, the tests and the benchmarks, as a value. `ports.fetch.fakeweb` serves it."""

from gcs.core.fakeweb.log import HostLog, RequestLog
from gcs.core.fakeweb.plan import Content, Element, Link, Manner, PagePlan, Spelling
from gcs.core.fakeweb.sites import Site
from gcs.core.fakeweb.spec import FakeWebSpec
from gcs.core.fakeweb.survey import Survey, survey
from gcs.core.fakeweb.web import Web

__all__ = [
    "Content",
    "Element",
    "FakeWebSpec",
    "HostLog",
    "Link",
    "Manner",
    "PagePlan",
    "RequestLog",
    "Site",
    "Spelling",
    "Survey",
    "Web",
    "survey",
]
