"""The studies: one module for each experiment of a paper, with its rows, charts and findings."""

from collections.abc import Mapping
from types import MappingProxyType

from gcs.sim.studies import (
    any_team,
    cambazoglu,
    cho_communication,
    cho_coverage,
    cho_overlap,
    cho_quality,
    cho_replication,
    cho_seeds,
    marin_failures,
    marin_prediction,
    marin_queues,
    scale,
    teams,
    teng_helpers,
    teng_hot_pages,
    teng_special,
    teng_superpages,
    web_sailor,
)
from gcs.sim.studies.study import (
    Chart,
    ChartLine,
    Finding,
    Rental,
    Row,
    SeenCrawl,
    Setup,
    Study,
    StudyRequest,
    Tick,
    WebTimes,
)

__all__ = [
    "OWN",
    "STUDIES",
    "Chart",
    "ChartLine",
    "Finding",
    "Rental",
    "Row",
    "SeenCrawl",
    "Setup",
    "Study",
    "StudyRequest",
    "Tick",
    "WebTimes",
]  # fmt: skip

_MODULES = (
    cho_coverage, cho_seeds, cho_overlap, cho_communication, cho_replication, cho_quality, cambazoglu,
    marin_failures, marin_prediction, marin_queues,
    teng_superpages, teng_hot_pages, teng_special, teng_helpers, web_sailor, scale,
)  # fmt: skip
STUDIES: Mapping[str, Study] = MappingProxyType({module.STUDY.name: module.STUDY for module in _MODULES})
#: for the user's own questions, besides the papers' experiments
OWN: Mapping[str, Study] = MappingProxyType({module.STUDY.name: module.STUDY for module in (any_team, teams)})
