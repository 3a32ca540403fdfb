"""Serves a fake web on loopback addresses: in this process (`FakeWeb`) or in one of its own (`FakeWebProcess`)."""

from gcs.ports.fetch.fakeweb.process import FakeWebProcess
from gcs.ports.fetch.fakeweb.server import FakeWeb

__all__ = ["FakeWeb", "FakeWebProcess"]
