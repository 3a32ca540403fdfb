"""GCS, Grand Central Station: a web crawler that a team of machines shares."""

__version__ = "0.1.0"
