"""The station: page, API, live events and metrics of a crawl, over HTTP; and the door for helpers.

whiteboard ─► lookout ─► (values) ─► api, events, metrics ─► page
page ─► doorman (host, origin, token) ─► control ─► whiteboard
"""

from gcs.roles.station.http.auth import is_loopback
from gcs.roles.station.station import ListenAddress, Station

__all__ = ["ListenAddress", "Station", "is_loopback"]
