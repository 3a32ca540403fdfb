"""The URL-Registry of a seed-server (WEB-SAILOR §3.3), on disk."""

from gcs.ports.registry.node import Node, State
from gcs.ports.registry.registry import Count, Registry

__all__ = ["Count", "Node", "Registry", "State"]
