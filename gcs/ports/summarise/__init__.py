"""Summarise: what a document says (links, title, text…), one module per format, and the process pool for text."""

from gcs.ports.summarise.gist import gist
from gcs.ports.summarise.options import DEFAULT, Depth, Options, SummarySettings
from gcs.ports.summarise.summarisers import Registry, Source, Summariser
from gcs.ports.summarise.text_pool import TextPool
from gcs.ports.summarise.text_worker import Extract

__all__ = [
    "DEFAULT",
    "Depth",
    "Extract",
    "Options",
    "Registry",
    "Source",
    "Summariser",
    "SummarySettings",
    "TextPool",
    "gist",
    "summarise",
]

#: the built-in summarisers; `Registry.with_plugins().summarise` is the same with those of installed packages
summarise = Registry().summarise
