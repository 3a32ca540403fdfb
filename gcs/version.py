"""The version of GCS."""

__version__ = "0.1.0"
