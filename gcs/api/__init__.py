"""GCS as a library: what `import gcs` offers. `gcs/__init__.py` loads each part when it is used first."""
