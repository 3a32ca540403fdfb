"""`python -m gcs` is `gcs`."""

from gcs.cli import main

main()
