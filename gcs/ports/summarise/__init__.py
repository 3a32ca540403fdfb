"""Summarise: what a document says (links, title, text…), one module per format, and the process pool for text."""

from gcs.ports.summarise.gist import gist
from gcs.ports.summarise.options import DEFAULT, Depth, Options, SummarySettings
from gcs.ports.summarise.summarisers import Source, Summariser, Summarisers
from gcs.ports.summarise.text_pool import TextPool
from gcs.ports.summarise.text_worker import TextExtract

__all__ = [
    "DEFAULT",
    "Depth",
    "Options",
    "Source",
    "Summariser",
    "Summarisers",
    "SummarySettings",
    "TextExtract",
    "TextPool",
    "gist",
    "summarise",
]

#: the built-in summarisers; `Summarisers.with_plugins().summarise` is the same with those of installed packages
summarise = Summarisers().summarise
