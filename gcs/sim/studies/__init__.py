"""The studies: one module for each experiment, each with the rows, charts and findings of its own."""

from collections.abc import Mapping
from types import MappingProxyType

from gcs.sim.studies import cho_coverage
from gcs.sim.studies.study import Chart, Finding, Line, Row, Study, Tick, Wish

__all__ = ["STUDIES", "Chart", "Finding", "Line", "Row", "Study", "Tick", "Wish"]

STUDIES: Mapping[str, Study] = MappingProxyType({module.STUDY.name: module.STUDY for module in (cho_coverage,)})
