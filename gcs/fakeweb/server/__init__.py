"""Serves a fake web on loopback addresses: in this process (`FakeWeb`) or in one of its own (`FakeWebProcess`)."""

from gcs.fakeweb.server.listener import FakeWeb
from gcs.fakeweb.server.server_process import FakeWebProcess

__all__ = ["FakeWeb", "FakeWebProcess"]
