"""The frontier of a gatherer; the docstring of `gcs.ports.frontier.frontier` has the life of a URL and the tables."""

from gcs.ports.frontier.frontier import Frontier, FrontierSettings
from gcs.ports.frontier.url_rows import Mark

__all__ = ["Frontier", "FrontierSettings", "Mark"]
