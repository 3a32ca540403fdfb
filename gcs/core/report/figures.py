"""A figure that changes over time, as Prometheus and OpenTelemetry have it."""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple


class Figure(NamedTuple):
    """One figure, with a value for each set of labels."""

    #: it ends in its unit; that of a counter in _total
    name: str
    kind: Literal["counter", "gauge"]
    text: str
    samples: Sequence[tuple[Mapping[str, str], float]]
