"""The processes of a crawl: a team on this machine, one member of it, a helper, a station."""
