"""The seed-server of WEB-SAILOR: it keeps every URL and decides who fetches what; its clients only fetch."""

from gcs.roles.seedserver.seed_server import SeedServer

__all__ = ["SeedServer"]
